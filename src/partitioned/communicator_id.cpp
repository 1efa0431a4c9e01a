#include "partitioned/communicator_id.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "p2p/world.hpp"

namespace plait::partitioned {
namespace {

using Held = std::shared_ptr<CommunicatorId>;

/// Set while there is one thread.
int keyval = MPI_KEYVAL_INVALID;

/// Well spread, and the same in all processes.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a * 0x9E3779B97F4A7C15u + b;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t next_child(CommunicatorId& parent) noexcept {
  return mix(parent.id, parent.children.fetch_add(1, std::memory_order_relaxed) + 1);
}

/// Calls of this thread's that make something else than duplicates.
thread_local int others = 0;

int copy(MPI_Comm, int, void*, void* from, void* to, int* flag) {
  *flag = 0;
  if (others > 0) return MPI_SUCCESS;
  auto* const made = new (std::nothrow) Held;
  if (!made) return MPI_ERR_NO_MEM;
  *made = std::make_shared<CommunicatorId>(next_child(**static_cast<Held*>(from)));
  *static_cast<void**>(to) = made;
  *flag = 1;
  return MPI_SUCCESS;
}

int remove(MPI_Comm, int, void* value, void*) {
  auto* const held = static_cast<Held*>(value);
  (*held)->freed.store(true, std::memory_order_relaxed);
  delete held;
  return MPI_SUCCESS;
}

Held* held_by(MPI_Comm comm) noexcept {
  void* value = nullptr;
  int found = 0;
  if (keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL) return nullptr;
  if (PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &found) != MPI_SUCCESS) return nullptr;
  return found ? static_cast<Held*>(value) : nullptr;
}

void name(MPI_Comm comm, std::uint64_t id) noexcept try {
  if (keyval == MPI_KEYVAL_INVALID || held_by(comm)) return;
  auto held = std::make_unique<Held>(std::make_shared<CommunicatorId>(id));
  if (PMPI_Comm_set_attr(comm, keyval, held.get()) == MPI_SUCCESS) {
    static_cast<void>(held.release());  // NOLINT(bugprone-unused-return-value): the attribute owns it now
  }
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it has none; calls that need it say so
}

std::uint64_t hash_of(MPI_Comm comm, bool own) {
  const std::vector<int> processes = p2p::GroupOf(comm, own).processes();
  return std::accumulate(processes.begin(), processes.end(), std::uint64_t{processes.size()},
                         [](std::uint64_t h, int p) { return mix(h, static_cast<std::uint64_t>(p)); });
}

}  // namespace

void open_ids() noexcept {
  if (PMPI_Comm_create_keyval(copy, remove, &keyval, nullptr) != MPI_SUCCESS) return;
  constexpr std::uint64_t kWorld = 1;
  constexpr std::uint64_t kSelf = 2;
  name(MPI_COMM_WORLD, kWorld);
  name(MPI_COMM_SELF, kSelf);
}

void identify_child(MPI_Comm parent, MPI_Comm child) noexcept {
  Held* const held = held_by(parent);
  if (!held) return;
  const std::uint64_t id = next_child(**held);
  if (child != MPI_COMM_NULL) name(child, id);
}

void identify_apart(MPI_Comm parent, MPI_Comm made, int tag) noexcept try {
  if (made == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID) return;
  static std::mutex lock;
  static std::map<std::uint64_t, std::uint64_t> numbers;
  // Of two groups each is the other's remote one.
  const auto [low, high] = std::minmax({hash_of(made, true), hash_of(made, false)});
  const Held* const held = held_by(parent);
  const std::uint64_t key = mix(mix(mix(low, high), static_cast<std::uint64_t>(tag)), held ? (*held)->id : 0);
  const std::lock_guard guard(lock);
  name(made, mix(key, ++numbers[key]));
} catch (...) {  // NOLINT(bugprone-empty-catch): it has none
}

NoDuplicate::NoDuplicate() noexcept { ++others; }
NoDuplicate::~NoDuplicate() { --others; }

std::shared_ptr<const CommunicatorId> id_of(MPI_Comm comm) noexcept {
  const Held* const held = held_by(comm);
  return held ? *held : nullptr;
}

}  // namespace plait::partitioned
