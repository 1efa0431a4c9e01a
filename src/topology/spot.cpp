#include "topology/spot.hpp"

#include <sched.h>

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

/// The first CPU of those that share the cache of the highest level with this one.
std::optional<int> last_cache(const std::string& cpu) {
  int highest = 0;
  std::optional<int> found;
  for (int i = 0;; ++i) {
    const std::string cache = cpu + "/cache/index" + std::to_string(i);
    const std::optional<int> level = number_in(cache + "/level");
    if (!level) return found;
    if (*level <= highest) continue;
    highest = *level;
    found = number_in(cache + "/shared_cpu_list");
  }
}

/// Of all CPUs the same, or -1.
void note(std::optional<int>& all, int here) {
  if (!all) all = here;
  if (*all != here) all = -1;
}

}  // namespace

Spot spot_on(std::uint64_t node, const std::string& system) {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return {node, 0, 0};
  std::optional<int> socket;
  std::optional<int> cache;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &mine)) continue;
    const std::string cpu = system + "/cpu" + std::to_string(i);
    if (socket != -1) note(socket, number_in(cpu + "/topology/physical_package_id").value_or(0));
    if (cache != -1) note(cache, last_cache(cpu).value_or(0));
    if (socket == -1 && cache == -1) break;
  }
  return {node, socket.value_or(0), cache.value_or(0)};
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
