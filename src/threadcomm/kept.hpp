// Datatypes and operations that collective calls with requests use. MPI lets a program free them once the call has returned: then
// they are freed when the last of these calls has ended. Any thread.
#pragma once

#include <mpi.h>

namespace plait::threadcomm {

/// What one call uses.
class Kept {
 public:
  Kept() = default;
  ~Kept() {
    if (type_ != MPI_DATATYPE_NULL) give_type();
    if (op_ != MPI_OP_NULL) give_op();
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  /// Once each. Throw std::bad_alloc.
  void keep_type(MPI_Datatype type);
  void keep_op(MPI_Op op);

 private:
  void give_type() noexcept;
  void give_op() noexcept;

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
};

/// The program frees one. False where no call uses it: then it is to be freed now.
[[nodiscard]] bool free_type_later(MPI_Datatype type) noexcept;
[[nodiscard]] bool free_op_later(MPI_Op op) noexcept;

}  // namespace plait::threadcomm
