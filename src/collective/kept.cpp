#include "collective/kept.hpp"

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/mpi_lock.hpp"
#include "p2p/handle_bits.hpp"

namespace plait::collective {

namespace {

struct Use {
  int calls = 0;
  int frees = 0;
};

struct Uses {
  std::mutex lock;
  std::unordered_map<std::uint64_t, Use> of;
};

Uses& uses() {
  static Uses& uses = *new Uses;  // never destroyed: exit handlers may still free some
  return uses;
}

/// How often the datatype is to be freed now: MPI_Type_get_contents may have given the program the same handle once more.
int end_one_use(MPI_Datatype type) noexcept {
  Uses& u = uses();
  const std::lock_guard guard(u.lock);
  const auto found = u.of.find(p2p::to_bits(type));
  if (--found->second.calls > 0) return 0;
  const int frees = found->second.frees;
  u.of.erase(found);
  return frees;
}

}  // namespace

void KeptType::keep(MPI_Datatype type) {
  Uses& u = uses();
  const std::lock_guard guard(u.lock);
  ++u.of[p2p::to_bits(type)].calls;
  type_ = type;
}

void KeptType::give_back() noexcept {
  for (int n = end_one_use(type_); n > 0; --n) {
    const MpiLock lock;
    MPI_Datatype type = type_;
    PMPI_Type_free(&type);
  }
}

bool free_type_later(MPI_Datatype type) noexcept {
  Uses& u = uses();
  const std::lock_guard guard(u.lock);
  const auto found = u.of.find(p2p::to_bits(type));
  if (found == u.of.end()) return false;
  ++found->second.frees;
  return true;
}

}  // namespace plait::collective
