#include "topology/spot.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <tuple>

namespace plait::topology {
namespace {

/// The first number in a file.
std::optional<int> number_in(const std::string& file) {
  std::ifstream in(file);
  int n = 0;
  if (!(in >> n)) return {};
  return n;
}

using Ranges = std::vector<std::array<int, 2>>;  ///< first and last

/// The CPUs that a file names, such as "0-3,8-11"; none where there is no such file.
Ranges ranges_in(const std::string& file) {
  std::ifstream in(file);
  Ranges all;
  for (int first = 0; in >> first;) {
    int last = first;
    if (in.peek() == '-') in.ignore() >> last;
    all.push_back({first, last});
    if (in.get() != ',') break;
  }
  return all;
}

/// What a CPU shares with others.
struct Shared {
  int number;
  Ranges cpus;
};

Shared socket_of(const std::string& cpu) {
  return {number_in(cpu + "/topology/physical_package_id").value_or(0), ranges_in(cpu + "/topology/core_siblings_list")};
}

/// The cache of the highest level.
Shared last_cache_of(const std::string& cpu) {
  int highest = 0;
  std::string found;
  for (int i = 0;; ++i) {
    const std::string cache = cpu + "/cache/index" + std::to_string(i);
    const std::optional<int> level = number_in(cache + "/level");
    if (!level) break;
    if (*level <= highest) continue;
    highest = *level;
    found = cache;
  }
  Ranges cpus = found.empty() ? Ranges{} : ranges_in(found + "/shared_cpu_list");
  const int first = cpus.empty() ? 0 : cpus.front()[0];
  return {first, std::move(cpus)};
}

/// The number of what all these CPUs share, or -1. Those that share it with one are not asked themselves: an unbound process would read
/// thousands of files.
template <class Of>
int common(std::span<const int> cpus, Of of) {
  std::vector<int> left(cpus.begin(), cpus.end());
  std::optional<int> all;
  while (!left.empty()) {
    const int asked = left.front();
    const Shared its = of(asked);
    if (all && *all != its.number) return -1;
    all = its.number;
    std::erase_if(left, [&](int cpu) {
      return cpu == asked || std::ranges::any_of(its.cpus, [&](const auto& range) { return range[0] <= cpu && cpu <= range[1]; });
    });
  }
  return all.value_or(0);
}

/// None where the system does not say.
std::vector<int> cpus_of_thread() {
  // Linux refuses a set that has not a bit for each CPU that the machine may have.
  constexpr std::size_t kMostSets = 1024;  // a million CPUs
  for (std::vector<cpu_set_t> sets(1); sets.size() <= kMostSets; sets.resize(2 * sets.size())) {
    const std::size_t bytes = sets.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, sets.data()) == 0) {
      std::vector<int> cpus;
      for (int i = 0; i < static_cast<int>(8 * bytes); ++i) {
        if (CPU_ISSET_S(i, bytes, sets.data())) cpus.push_back(i);
      }
      return cpus;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

}  // namespace

Spot spot_on(std::uint64_t node, const std::string& system) { return spot_of(node, cpus_of_thread(), system); }

Spot spot_of(std::uint64_t node, std::span<const int> cpus, const std::string& system) {
  const auto folder = [&](int cpu) { return system + "/cpu" + std::to_string(cpu); };
  return {node, common(cpus, [&](int cpu) { return socket_of(folder(cpu)); }),
          common(cpus, [&](int cpu) { return last_cache_of(folder(cpu)); })};
}

std::vector<Where> where(std::span<const Spot> ranks) {
  std::map<std::uint64_t, int> nodes;
  std::map<std::tuple<int, int>, int> sockets;
  std::map<std::tuple<int, int>, int> caches;
  std::vector<Where> all;
  all.reserve(ranks.size());
  for (const Spot& s : ranks) {
    const int n = nodes.try_emplace(s.node, static_cast<int>(nodes.size())).first->second;
    const int k = sockets.try_emplace({n, s.socket}, static_cast<int>(sockets.size())).first->second;
    const int c = caches.try_emplace({k, s.cache}, static_cast<int>(caches.size())).first->second;
    all.push_back({n, k, c});
  }
  return all;
}

}  // namespace plait::topology
