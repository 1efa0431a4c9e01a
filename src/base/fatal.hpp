// The one way in which plait ends a job: where messages would be lost and nobody is left to be told by an error code. Any thread.
#pragma once

namespace plait {

/// Says why on stderr, in one line that begins with "plait: ", and ends the job. `format` as printf takes it.
[[noreturn]] [[gnu::format(printf, 1, 2)]] void fatal(const char* format, ...) noexcept;

/// How a job ends, MPI_Abort say; until it is set, by std::abort().
void set_fatal_end(void (*end)() noexcept) noexcept;

/// Until what was written to a pipe has been read, for so long at most; returns at once for anything else. A launcher that ends a job does
/// not always read its last lines.
void wait_until_read(int descriptor, int milliseconds = 500) noexcept;

}  // namespace plait
