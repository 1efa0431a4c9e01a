#include "lend/shares.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <bitset>

#include "lend/board.hpp"

namespace plait::lend {
namespace {

using Set = std::bitset<kMostCpus>;

Set set_of(const cpu_set_t& mask) noexcept {
  Set set;
  for (std::size_t cpu = 0; cpu < std::min<std::size_t>(kMostCpus, CPU_SETSIZE); ++cpu) set[cpu] = CPU_ISSET(cpu, &mask);
  return set;
}

std::vector<int> list_of(const Set& set) {
  std::vector<int> list;
  for (std::size_t cpu = 0; cpu < kMostCpus; ++cpu) {
    if (set[cpu]) list.push_back(static_cast<int>(cpu));
  }
  return list;
}

/// The part of a set that the `seat`th of so many processes has.
std::vector<int> part_of(const Set& set, std::size_t seat, std::size_t processes) {
  const std::vector<int> all = list_of(set);
  return {all.begin() + static_cast<std::ptrdiff_t>(seat * all.size() / processes),
          all.begin() + static_cast<std::ptrdiff_t>((seat + 1) * all.size() / processes)};
}

}  // namespace

const char* text_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      break;
    case Reason::alone:
      return "there is one process on the node";
    case Reason::too_few:
      return "there are more processes on the node than CPUs that they may use";
    case Reason::overlap:
      return "processes share some of their CPUs: bind each to its own, or none of them";
    case Reason::no_memory:
      return "the system gives no memory that its processes can share";
    case Reason::unknown:
      return "the system has more than 1024 CPUs, which is all that lending knows";
  }
  return "";
}

Shares share(std::span<const cpu_set_t> masks, std::size_t me) {
  std::vector<Set> sets;
  for (const cpu_set_t& mask : masks) sets.push_back(set_of(mask));
  Shares found;
  if (sets.size() < 2) found.reason = Reason::alone;
  if (std::ranges::any_of(sets, [](const Set& set) { return set.none(); })) found.reason = Reason::unknown;
  for (std::size_t i = 0; i < sets.size() && found.reason == Reason::none; ++i) {
    const auto alike = static_cast<std::size_t>(std::ranges::count(sets, sets[i]));
    const auto before = static_cast<std::size_t>(std::count(sets.begin(), sets.begin() + static_cast<std::ptrdiff_t>(i), sets[i]));
    if (sets[i].count() < alike) found.reason = Reason::too_few;
    if (std::ranges::any_of(sets, [&](const Set& other) { return other != sets[i] && (other & sets[i]).any(); }))
      found.reason = Reason::overlap;
    std::vector<int>& to = i == me ? found.own : found.others;
    const std::vector<int> part = part_of(sets[i], before, alike);
    to.insert(to.end(), part.begin(), part.end());
  }
  if (found.reason != Reason::none) found.own = found.others = {};
  return found;
}

cpu_set_t usable_cpus() {
  cpu_set_t mask{};
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return {};
  const auto places = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_num_places"));
  const auto count = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "omp_get_place_num_procs"));
  const auto ids = reinterpret_cast<void (*)(int, int*)>(dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids"));
  if (!places || !count || !ids) return mask;
  for (int place = 0; place < places(); ++place) {
    std::vector<int> cpus(static_cast<std::size_t>(count(place)));
    ids(place, cpus.data());
    for (const int cpu : cpus) {
      if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &mask);
    }
  }
  return mask;
}

}  // namespace plait::lend
