// Where the buffers of calls lie, as the calls find it that put a step on a queue: what no step could use is told then.
#pragma once

#include "lane/memory.hpp"
#include "queue/device.hpp"

namespace plait::queue {

/// The first byte of the data; null where there is none. The datatype may hold the whole address, and the buffer be MPI_BOTTOM.
[[nodiscard]] std::byte* first_byte(const lane::Memory& memory) noexcept;

/// Where the data lie; `device`: the queue's, null where its memory is the host's. Throws MPIError{MPI_ERR_BUFFER} where that is no place
/// for a message: at null, on another device, past the end of what lies there, or some of them on the device and some not. Of a datatype
/// with many pieces it looks at some of them. Any thread.
[[nodiscard]] Place place_of(Device* device, const lane::Memory& memory);

/// The same of data that threads of the host read and write themselves: what only the device can use is MPI_ERR_BUFFER, too.
void require_of_host(Device* device, const lane::Memory& memory);

}  // namespace plait::queue
