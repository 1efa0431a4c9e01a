#include "collective/combine.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "collective/collective.hpp"
#include "collective/loops.hpp"
#include "layout/quiet.hpp"
#include "p2p/handle_bits.hpp"

namespace plait::collective {

namespace {

/// Handles of MPI's own operations and datatypes always mean the same: what was found last is kept.
Loop loop_of(MPI_Datatype type, MPI_Op op) {
  thread_local MPI_Datatype last_type = MPI_DATATYPE_NULL;
  thread_local MPI_Op last_op = MPI_OP_NULL;
  thread_local Loop last = nullptr;
  if (type == last_type && op == last_op) return last;
  const Loop found = find_loop(type, op);
  if (found) {
    last_type = type;
    last_op = op;
    last = found;
  }
  return found;
}

// ---- the program's operations

struct Functions {
  std::shared_mutex lock;
  std::unordered_map<std::uint64_t, UserFunction> all;
};

Functions& functions() {
  static Functions& functions = *new Functions;  // never destroyed: exit handlers may still free operations
  return functions;
}

void remember(MPI_Op op, UserFunction function) noexcept try {
  Functions& f = functions();
  const std::unique_lock guard(f.lock);
  f.all[p2p::to_bits(op)] = function;
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the MPI knows it
}

UserFunction function_of(MPI_Op op) {
  Functions& f = functions();
  const std::shared_lock guard(f.lock);
  const auto found = f.all.find(p2p::to_bits(op));
  return found == f.all.end() ? UserFunction{} : found->second;
}

}  // namespace

void remember_operation(MPI_Op op, MPI_User_function* function) noexcept {
  UserFunction f;
  f.small = function;
  remember(op, f);
}

#if MPI_VERSION >= 4
void remember_operation(MPI_Op op, MPI_User_function_c* function) noexcept {
  UserFunction f;
  f.large = function;
  remember(op, f);
}
#endif

void forget_operation(MPI_Op op) noexcept {
  Functions& f = functions();
  const std::unique_lock guard(f.lock);
  f.all.erase(p2p::to_bits(op));
}

void require_fit(MPI_Datatype type, MPI_Op op) {
  thread_local MPI_Datatype last_type = MPI_DATATYPE_NULL;
  thread_local MPI_Op last_op = MPI_OP_NULL;
  if (type == last_type && op == last_op) return;
  const MpiLock gate;
  const std::lock_guard guard(layout::quiet_calls);
  const int code = PMPI_Reduce(nullptr, nullptr, 0, type, op, 0, layout::quiet());
  require(code == MPI_SUCCESS, code);
  last_type = type;
  last_op = op;
}

Combination::Combination(const p2p::Type& type, MPI_Op op)
    : loop_(loop_of(type.handle, op)), type_(type.handle), op_(op), extent_(type.extent()) {
  if (!loop_) function_ = function_of(op);
}

void Combination::operator()(const void* lower, void* upper, MPI_Count count) const {
  if (loop_) {
    loop_(lower, upper, upper, count);
    return;
  }
  MPI_Datatype type = type_;
#if MPI_VERSION >= 4
  if (function_.large) {
    function_.large(const_cast<void*>(lower), upper, &count, &type);  // it only reads it
    return;
  }
#endif
  constexpr MPI_Count kMost = std::numeric_limits<int>::max();
  for (MPI_Count done = 0; done < count; done += kMost) {
    auto n = static_cast<int>(std::min(kMost, count - done));
    const auto at = static_cast<MPI_Aint>(done) * extent_;
    if (function_.small) {
      function_.small(offset_by(lower, at), offset_by(upper, at), &n, &type);
    } else {
      const MpiLock gate;
      check(PMPI_Reduce_local(offset_by(lower, at), offset_by(upper, at), n, type, op_));
    }
  }
}

void Combination::operator()(const void* lower, const void* upper, void* result, MPI_Count count) const {
  if (loop_) {
    loop_(lower, upper, result, count);
    return;
  }
  std::memcpy(result, upper, static_cast<std::size_t>(count * extent_));
  (*this)(lower, result, count);
}

void* combine_tree(std::span<void*> blocks, MPI_Count count, const Combination& combine) {
  for (std::size_t distance = 1; distance < blocks.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < blocks.size(); i += 2 * distance) {
      combine(blocks[i], blocks[i + distance], count);
      blocks[i] = blocks[i + distance];
    }
  }
  return blocks[0];
}

}  // namespace plait::collective
