#include "quiet.hpp"

#include "base/error.hpp"

namespace plait::layout {

constinit std::mutex quiet_calls;

namespace {

constinit MPI_Comm communicator = MPI_COMM_NULL;

void make_communicator() {
  constexpr int kTag = 0x504C;  // keeps this apart from what other threads may create meanwhile
  MPI_Group self = MPI_GROUP_NULL;
  check(PMPI_Comm_group(MPI_COMM_SELF, &self));
  const int code = PMPI_Comm_create_group(MPI_COMM_SELF, self, kTag, &communicator);
  PMPI_Group_free(&self);
  check(code);
  check(PMPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN));
}

}  // namespace

MPI_Comm quiet() {
  static const bool made = (make_communicator(), true);
  static_cast<void>(made);
  return communicator;
}

void free_quiet() noexcept {
  if (communicator != MPI_COMM_NULL) PMPI_Comm_free(&communicator);
}

}  // namespace plait::layout
