// Which CPU of the node is whose, by the CPUs that each process may use.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait::lend {

/// Why nothing can be lent on a node. Each process of it finds the same.
enum class Reason : std::uint8_t {
  none,
  alone,      ///< there is one process
  too_few,    ///< more processes than CPUs
  overlap,    ///< some share CPUs that others of them have not
  no_memory,  ///< that all could share
  unknown,    ///< the system does not say which CPUs some may use: it has too many
};
inline constexpr std::size_t kReasons = 6;
/// In words.
[[nodiscard]] const char* text_of(Reason reason) noexcept;

struct Shares {
  Reason reason = Reason::none;
  std::vector<int> own, others;  ///< CPUs of this process, and of all others
};

/// `masks`: of the node's processes, of which this is the `me`th. Processes that may use the same CPUs, as unbound ones do, have parts of
/// them, in order. Throws std::bad_alloc.
[[nodiscard]] Shares share(std::span<const cpu_set_t> masks, std::size_t me);

/// What this process may use, none where that cannot be found out: the CPUs of the calling thread, and of OpenMP's places, to one of which
/// it may have been bound.
[[nodiscard]] cpu_set_t usable_cpus();

}  // namespace plait::lend
