// Reductions of tasks: each thread of the team has a part of a block of memory for itself, where its tasks find their copies of the
// variables. The compiler adds the parts up when the construct ends.
//
// It describes a construct's variables by a list of words, which has these first, and three for each variable: its address, where its
// copies lie in a part, and one that is the library's.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cluster/omp/loops.hpp"
#include "cluster/omp/team.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;
using plait::fatal;

namespace {

enum : std::size_t {
  kVariables,
  kBytes,   ///< of a thread's part
  kMemory,  ///< the compiler says its alignment here, and finds the parts' begin
  kAllocator,
  kNext,  ///< a list of the same construct, and after these the construct's around
  kTable,
  kEnd,  ///< of the memory
  kFirst
};
constexpr std::size_t kWordsOfVariable = 3;
constexpr std::size_t kPage = 4096;

std::uintptr_t rounded(std::uintptr_t value, std::uintptr_t to) noexcept { return (value + to - 1) / to * to; }
void* pointer(std::uintptr_t address) noexcept { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)
Words next_of(Words list) noexcept { return static_cast<Words>(pointer(list[kNext])); }

/// Gives all lists of a construct their parts of a block, which begins at a page. Without a block: counts its bytes.
std::size_t place(Words list, std::uintptr_t block, int threads, Words around) {
  std::uintptr_t end = 0;
  for (;; list = next_of(list)) {
    const std::uintptr_t begin = rounded(end, std::max<std::uintptr_t>(list[kMemory], 1));
    end = begin + list[kBytes] * static_cast<std::uintptr_t>(threads);
    const bool is_last = !next_of(list);
    if (block) {
      list[kMemory] = block + begin;
      list[kEnd] = block + end;
      list[kTable] = 0;
      if (is_last) list[kNext] = reinterpret_cast<std::uintptr_t>(around);
    }
    if (is_last) return end;
  }
}

/// Memory of all threads' parts, in a block of the lists' own.
void place_alone(Words list, int threads, Words around) {
  const std::size_t bytes = place(list, 0, threads, nullptr);
  void* const block = allocate(bytes, kPage);
  std::memset(block, 0, bytes);
  place(list, reinterpret_cast<std::uintptr_t>(block), threads, around);
}

/// The address of this thread's copy of a variable, which is named by its own address or by that of any thread's copy.
struct Found {
  std::uintptr_t copy, original;
};
Found find(Words list, std::uintptr_t address, int thread) {
  for (Words l = list; l; l = next_of(l)) {
    const std::uintptr_t own = l[kMemory] + static_cast<std::uintptr_t>(thread) * l[kBytes];
    const bool is_copy = address >= l[kMemory] && address < l[kEnd];
    for (std::size_t i = 0; i < l[kVariables]; ++i) {
      const std::uintptr_t* const variable = l + kFirst + i * kWordsOfVariable;
      if (is_copy ? (address - l[kMemory]) % l[kBytes] == variable[1] : address == variable[0]) return {own + variable[1], variable[0]};
    }
  }
  fatal("in_reduction: no taskgroup or reduction around has the variable at %p", pointer(address));
}

}  // namespace

namespace plait::cluster::omp {

std::byte* common_memory(Member& m, std::size_t bytes) {
  // Two blocks in turn: who asks for one does not use the one before the last any more, as all have met since.
  const std::size_t which = m.commons++ % 2;
  void** const place = m.region->common + which;
  if (m.number == 0) {
    static struct {
      void* block;
      std::size_t bytes;
    } blocks[2];
    auto& [block, has] = blocks[which];
    if (has < bytes) {
      if (block) deallocate(block);
      block = allocate(bytes, kPage);
      has = bytes;
    }
    std::memset(block, 0, bytes);
    *place = block;
  }
  if (!meet(m)) return static_cast<std::byte*>(*place);
  // The region is cancelled: the thread needs memory until it comes to the construct's end.
  static thread_local std::vector<std::byte> own;
  own.assign(bytes + kPage, std::byte{});
  return own.data() + kPage - reinterpret_cast<std::uintptr_t>(own.data()) % kPage;
}

void begin_common(Member& m, Words reductions, void** memory) {
  const std::size_t own = memory ? rounded(reinterpret_cast<std::uintptr_t>(*memory), kPage) : 0;
  const std::size_t parts = reductions ? place(reductions, 0, team_size(m), nullptr) : 0;
  if (!memory && !reductions) return;
  std::byte* const block = common_memory(m, own + parts);
  if (memory) *memory = block;
  if (!reductions) return;
  place(reductions, reinterpret_cast<std::uintptr_t>(block + own), team_size(m), m.reductions());
  m.groups.push_back({reductions, true, false});
}

}  // namespace plait::cluster::omp

PLAIT_OMP unsigned GOMP_parallel_reductions(Function function, void* data, unsigned threads, unsigned flags) {
  Words list = nullptr;
  std::memcpy(static_cast<void*>(&list), data, sizeof list);
  if (const int team = team_of_all(threads)) {
    place_alone(list, team, nullptr);
    Region region;
    region.function = function;
    region.data = data;
    region.reductions = list;
    run_everywhere(region, threads);
    return static_cast<unsigned>(team);
  }
  unsigned had = 0;
  run_inside(function, data, threads, list,
             [&](Function f, void* d, unsigned n) { had = PLAIT_LIBGOMP(GOMP_parallel_reductions)(f, d, n, flags); });
  return had;
}

PLAIT_OMP void GOMP_taskgroup_reduction_register(Words list) {
  Member* const m = member();
  if (!m) {
    PLAIT_LIBGOMP(GOMP_taskgroup_reduction_register)(list);
    return;
  }
  place_alone(list, team_size(*m), m->reductions());
  if (m->groups.empty()) m->groups.emplace_back();
  m->groups.back().reductions = list;
}
/// Of regions as well, after their end.
PLAIT_OMP void GOMP_taskgroup_reduction_unregister(Words list) {
  // What libgomp has allocated is not shared.
  if (is_job() && shared(pointer(list[kMemory]))) {
    deallocate(pointer(list[kMemory]));
  } else {
    PLAIT_LIBGOMP(GOMP_taskgroup_reduction_unregister)(list);
  }
}
/// `count` addresses become those of this thread's copies; of the first `originals` the variables' own addresses follow.
PLAIT_OMP void GOMP_task_reduction_remap(std::size_t count, std::size_t originals, void** addresses) {
  Member* const m = member();
  if (!m) {
    PLAIT_LIBGOMP(GOMP_task_reduction_remap)(count, originals, addresses);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Found found = find(m->reductions(), reinterpret_cast<std::uintptr_t>(addresses[i]), m->number);
    addresses[i] = pointer(found.copy);
    if (i < originals) addresses[count + i] = pointer(found.original);
  }
}

/// The first thread has added up; the others have waited for that.
PLAIT_OMP void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  Member* const m = member();
  if (!m) {
    PLAIT_LIBGOMP(GOMP_workshare_task_reduction_unregister)(cancelled);
    return;
  }
  m->groups.pop_back();
  if (!cancelled) must_meet(*m);
}

PLAIT_OMP void GOMP_scope_start(Words reductions) {
  if (Member* const m = member()) {
    begin_common(*m, reductions, nullptr);
  } else {
    PLAIT_LIBGOMP(GOMP_scope_start)(reductions);
  }
}
