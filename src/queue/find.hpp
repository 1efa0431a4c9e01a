// How a value is refused that MPIX_Stream_create is given. Any thread.
#pragma once

#include <string>

namespace plait::queue {

/// Says why on stderr. Throws MPIError{MPI_ERR_INFO_VALUE}.
[[noreturn]] void refuse(const std::string& why);

}  // namespace plait::queue
