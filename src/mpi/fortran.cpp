// Fortran. Its bindings are libraries of the MPI's, which call functions of C: MPI_X or PMPI_X, and plait has both (names.cpp).
//
// Open MPI's completion calls read the number of a request out of the MPI's own object after the call, which a persistent request of
// plait's is not. These calls are plait's own here, under all names by which programs and the modules call them: mpi_wait_,
// pmpi_wait_, ompi_wait_f.
#include <mpi.h>

#ifdef OMPI_MAJOR_VERSION

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace plait::mpi {
namespace {

/// Short arrays of a call.
template <class T>
class Array {
 public:
  explicit Array(int count) {
    if (static_cast<std::size_t>(count) > few_.size()) many_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
  }
  T* data() noexcept { return many_ ? many_.get() : few_.data(); }

 private:
  std::array<T, 16> few_;
  std::unique_ptr<T[]> many_;
};

constexpr std::size_t kStatus = sizeof(MPI_Status) / sizeof(MPI_Fint);

bool ignored(const MPI_Fint* statuses) noexcept { return statuses == MPI_F_STATUS_IGNORE || statuses == MPI_F_STATUSES_IGNORE; }

/// `call` gets requests and statuses as C has them. It gives its error, and of how many statuses there is something to tell.
struct Completed {
  int error, statuses;
};
template <class Call>
void complete(int count, MPI_Fint* numbers, MPI_Fint* told, MPI_Fint* ierr, Call call) noexcept {
  Completed result{MPI_ERR_NO_MEM, 0};
  try {
    const int n = count > 0 ? count : 0;
    Array<MPI_Request> requests(n);
    Array<MPI_Status> statuses(n);
    for (int i = 0; i < n; ++i) requests.data()[i] = MPI_Request_f2c(numbers[i]);
    result = call(requests.data(), ignored(told) ? MPI_STATUSES_IGNORE : statuses.data());
    for (int i = 0; i < n; ++i) numbers[i] = MPI_Request_c2f(requests.data()[i]);
    if (result.error == MPI_SUCCESS || result.error == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < result.statuses && !ignored(told); ++i)
        MPI_Status_c2f(&statuses.data()[i], told + static_cast<std::size_t>(i) * kStatus);
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nothing was begun
  }
  if (ierr) *ierr = result.error;
}

/// A status even where there is no request at all.
MPI_Status* some(MPI_Status* statuses, MPI_Status& spare) noexcept { return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &spare; }
void give(const MPI_Status& status, MPI_Fint* told) noexcept {
  if (!ignored(told)) MPI_Status_c2f(&status, told);
}

MPI_Fint from_one(int index) noexcept { return index == MPI_UNDEFINED ? index : index + 1; }

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::complete;
using plait::mpi::Completed;
using plait::mpi::from_one;
using plait::mpi::give;
using plait::mpi::some;

// LOGICAL is 0 or 1 here, as gfortran has it; others look at the lowest bit.
#define PLAIT_FORTRAN(NAME, ARGUMENTS)                                        \
  extern "C" void ompi_##NAME##_f ARGUMENTS;                                  \
  extern "C" [[gnu::alias("ompi_" #NAME "_f")]] void mpi_##NAME##_ ARGUMENTS; \
  extern "C" void ompi_##NAME##_f ARGUMENTS

PLAIT_FORTRAN(wait, (MPI_Fint * request, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(1, request, status, ierr, [](MPI_Request* r, MPI_Status* s) { return Completed{MPI_Wait(r, s), 1}; });
}

PLAIT_FORTRAN(test, (MPI_Fint * request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(1, request, status, ierr, [&](MPI_Request* r, MPI_Status* s) {
    const int error = MPI_Test(r, flag, s);
    return Completed{error, *flag};
  });
}

PLAIT_FORTRAN(waitall, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete(*count, requests, statuses, ierr, [&](MPI_Request* r, MPI_Status* s) { return Completed{MPI_Waitall(*count, r, s), *count}; });
}

PLAIT_FORTRAN(testall, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete(*count, requests, statuses, ierr, [&](MPI_Request* r, MPI_Status* s) {
    const int error = MPI_Testall(*count, r, flag, s);
    return Completed{error, *flag ? *count : 0};
  });
}

PLAIT_FORTRAN(waitany, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(*count, requests, status, ierr, [&](MPI_Request* r, MPI_Status* s) {
    MPI_Status which{};
    const int error = MPI_Waitany(*count, r, index, some(s, which));
    if (error == MPI_SUCCESS) give(which, status);
    *index = from_one(*index);
    return Completed{error, 0};
  });
}

PLAIT_FORTRAN(testany, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierr)) {
  complete(*count, requests, status, ierr, [&](MPI_Request* r, MPI_Status* s) {
    MPI_Status which{};
    const int error = MPI_Testany(*count, r, index, flag, some(s, which));
    if (error == MPI_SUCCESS && *flag) give(which, status);
    *index = from_one(*index);
    return Completed{error, 0};
  });
}

namespace {

template <class Call>
void complete_some(const MPI_Fint* count, MPI_Fint* requests, MPI_Fint* found, MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierr,
                   Call call) noexcept {
  complete(*count, requests, statuses, ierr, [&](MPI_Request* r, MPI_Status* s) {
    const int error = call(*count, r, found, indices, s);
    const int n = *found == MPI_UNDEFINED ? 0 : *found;
    for (int i = 0; i < n; ++i) indices[i] = from_one(indices[i]);
    return Completed{error, n};
  });
}

}  // namespace

PLAIT_FORTRAN(waitsome, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* found, MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete_some(count, requests, found, indices, statuses, ierr, MPI_Waitsome);
}

PLAIT_FORTRAN(testsome, (MPI_Fint * count, MPI_Fint* requests, MPI_Fint* found, MPI_Fint* indices, MPI_Fint* statuses, MPI_Fint* ierr)) {
  complete_some(count, requests, found, indices, statuses, ierr, MPI_Testsome);
}

#pragma GCC visibility pop

#endif
