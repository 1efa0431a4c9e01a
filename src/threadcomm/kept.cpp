#include "threadcomm/kept.hpp"

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "base/mpi_lock.hpp"
#include "p2p/handle_bits.hpp"
#include "threadcomm/combine.hpp"

namespace plait::threadcomm {

namespace {

/// Handles by how many calls use them.
class Uses {
 public:
  void add(std::uint64_t handle) {
    const std::lock_guard guard(lock_);
    ++uses_[handle].calls;
  }
  bool free_later(std::uint64_t handle) noexcept {
    const std::lock_guard guard(lock_);
    const auto found = uses_.find(handle);
    if (found == uses_.end()) return false;
    ++found->second.frees;
    return true;
  }
  /// How often it is to be freed now: MPI_Type_get_contents may have given the program the same handle once more.
  int remove(std::uint64_t handle) noexcept {
    const std::lock_guard guard(lock_);
    const auto found = uses_.find(handle);
    if (--found->second.calls > 0) return 0;
    const int frees = found->second.frees;
    uses_.erase(found);
    return frees;
  }

 private:
  struct Use {
    int calls = 0;
    int frees = 0;
  };
  std::mutex lock_;
  std::unordered_map<std::uint64_t, Use> uses_;
};

// Never destroyed: exit handlers may still free some.
Uses& types() {
  static Uses& all = *new Uses;
  return all;
}
Uses& ops() {
  static Uses& all = *new Uses;
  return all;
}

}  // namespace

void Kept::keep_type(MPI_Datatype type) {
  types().add(p2p::to_bits(type));
  type_ = type;
}

void Kept::keep_op(MPI_Op op) {
  ops().add(p2p::to_bits(op));
  op_ = op;
}

void Kept::give_type() noexcept {
  for (int n = types().remove(p2p::to_bits(type_)); n > 0; --n) {
    const MpiLock lock;
    MPI_Datatype type = type_;
    PMPI_Type_free(&type);
  }
}

void Kept::give_op() noexcept {
  if (ops().remove(p2p::to_bits(op_)) == 0) return;
  const MpiLock lock;
  forget_operation(op_);
  PMPI_Op_free(&op_);
}

bool free_type_later(MPI_Datatype type) noexcept { return types().free_later(p2p::to_bits(type)); }
bool free_op_later(MPI_Op op) noexcept { return ops().free_later(p2p::to_bits(op)); }

}  // namespace plait::threadcomm
