// Requests of operations that were put on a queue and do not hold it up.
#pragma once

#include <mpi.h>

#include "lane/request.hpp"
#include "queue/communicator.hpp"

namespace plait::queue {

/// Throws std::bad_alloc. The step tells its error to whoever ends the request.
[[nodiscard]] Request& make_request(Communicator& c, StepPointer step);

/// The queue of one; null: it is none of these.
[[nodiscard]] QueuePointer queue_of(const Request& r) noexcept;
/// What a wait on the queue needs of one. It is no request any more then.
[[nodiscard]] StepPointer take(Request& r) noexcept;

}  // namespace plait::queue
