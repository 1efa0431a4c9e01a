// Which socket and which cache a process runs on, as the system says. No MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/place.hpp"

namespace plait::topology {

/// What a process cannot leave, on its node. -1: it may run on several; all such processes count as a group of their own.
struct Spot {
  std::uint64_t node;
  std::int32_t socket;  ///< Linux's number of it
  std::int32_t cache;   ///< the last level's, by the first CPU that shares it
};

constexpr const char* kSystem = "/sys/devices/system/cpu";

/// By the CPUs that the calling thread may use.
[[nodiscard]] Spot spot_on(std::uint64_t node, const std::string& system = kSystem);

/// By CPUs. `system`: where Linux describes them. Where it does not, all share one. Reads the files of one CPU of each socket and cache.
[[nodiscard]] Spot spot_of(std::uint64_t node, std::span<const int> cpus, const std::string& system = kSystem);

/// Spots of ranks by numbers.
[[nodiscard]] std::vector<Where> where(std::span<const Spot> ranks);

}  // namespace plait::topology
