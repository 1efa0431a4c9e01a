// Datatypes that functions of the program's look at while a collective call with a request goes on. MPI lets a program free them once the
// call has returned: then they are freed when the last of these calls has ended. Any thread.
#pragma once

#include <mpi.h>

namespace plait::collective {

/// What one call uses.
class KeptType {
 public:
  KeptType() = default;
  ~KeptType() {
    if (type_ != MPI_DATATYPE_NULL) give_back();
  }
  KeptType(const KeptType&) = delete;
  KeptType& operator=(const KeptType&) = delete;

  /// Once. Throws std::bad_alloc.
  void keep(MPI_Datatype type);

 private:
  void give_back() noexcept;

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The program frees one. False where no call uses it: then it is to be freed now.
[[nodiscard]] bool free_type_later(MPI_Datatype type) noexcept;

}  // namespace plait::collective
