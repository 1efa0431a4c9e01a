// Which socket and which cache a process runs on, as the system says. No MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/place.hpp"

namespace plait::topology {

/// Of one process, on its node: the first CPU of what it cannot leave.
struct Spot {
  std::uint64_t node;
  std::int32_t socket, cache;  ///< the last level's; -1: it may run on several
};

/// By the CPUs that the calling thread may use. `system`: where Linux describes them. Where it does not, all share one.
[[nodiscard]] Spot spot_on(std::uint64_t node, const std::string& system = "/sys/devices/system/cpu");

/// Spots of ranks by numbers.
[[nodiscard]] std::vector<Where> where(std::span<const Spot> ranks);

}  // namespace plait::topology
