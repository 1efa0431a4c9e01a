// Are there more threads that wait for each other than cores for them? Then waiting by polling keeps those from running that are
// waited for. A guess that orders nothing. Any thread.
#pragma once

namespace plait {

/// How many processes of the job run on this node, as far as is known: 1 if it is not.
void set_processes_here(int processes) noexcept;

/// This thread takes part; said as often as it likes.
void join_crowd() noexcept;
[[nodiscard]] bool is_crowd() noexcept;

}  // namespace plait
