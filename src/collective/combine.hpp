// What an MPI_Op does to elements, without the MPI where that is known: threads combine at the same time, and an MPI that
// lets only one thread in would have them wait for each other. Any thread.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "p2p/types.hpp"

namespace plait::collective {

struct UserFunction {
  MPI_User_function* small = nullptr;
#if MPI_VERSION >= 4
  MPI_User_function_c* large = nullptr;
#else
  void* large = nullptr;
#endif
};

/// An operation on elements of a datatype, as both are when a call begins: the program may free them while it goes on.
class Combination {
 public:
  Combination(const p2p::Type& type, MPI_Op op);

  /// upper = lower op upper, element by element.
  void operator()(const void* lower, void* upper, MPI_Count count) const;
  /// result = lower op upper, on elements without gaps. Where `has_loop`, it may be one of the two.
  void operator()(const void* lower, const void* upper, void* result, MPI_Count count) const;
  [[nodiscard]] bool has_loop() const noexcept { return loop_ != nullptr; }
  [[nodiscard]] MPI_Op operation() const noexcept { return op_; }
  [[nodiscard]] bool is_the_programs() const noexcept { return function_.small || function_.large; }
  [[nodiscard]] bool uses_mpi() const noexcept { return !loop_ && !is_the_programs(); }

 private:
  void (*loop_)(const void* lower, const void* upper, void* result, std::int64_t count);
  UserFunction function_;
  MPI_Datatype type_;
  MPI_Op op_;
  MPI_Aint extent_;
};
/// Throws MPIError where an operation of the MPI's does not fit the datatype. All ranks of a call ask before any of them begins: later one
/// alone would learn it, from an MPI that tells the error handler of MPI_COMM_SELF.
void require_fit(MPI_Datatype type, MPI_Op op);
/// Blocks in the order of a tree: neighbours 0 and 1, 2 and 3, ... first, then pairs of these, and so on. They are used up; the
/// result is in the last one, which is returned.
[[nodiscard]] void* combine_tree(std::span<void*> blocks, MPI_Count count, const Combination& combine);

/// The functions of operations that the program makes. Without memory for them the MPI is asked each time.
void remember_operation(MPI_Op op, MPI_User_function* function) noexcept;
#if MPI_VERSION >= 4
void remember_operation(MPI_Op op, MPI_User_function_c* function) noexcept;
#endif
void forget_operation(MPI_Op op) noexcept;

}  // namespace plait::collective
