#include "quiet.hpp"

#include "base/error.hpp"

namespace plait::layout {

constinit std::mutex quiet_calls;

namespace {

class Quiet {
 public:
  Quiet() {
    constexpr int kTag = 0x504C;  // keeps this apart from what other threads may create meanwhile
    MPI_Group self = MPI_GROUP_NULL;
    check(PMPI_Comm_group(MPI_COMM_SELF, &self));
    const int code = PMPI_Comm_create_group(MPI_COMM_SELF, self, kTag, &communicator_);
    PMPI_Group_free(&self);
    check(code);
    check(PMPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
    free_at_finalize();
  }
  [[nodiscard]] MPI_Comm get() const { return communicator_; }

 private:
  /// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI still works.
  void free_at_finalize() {
    int k = MPI_KEYVAL_INVALID;
    const auto free = [](MPI_Comm, int, void* quiet, void*) { return PMPI_Comm_free(&static_cast<Quiet*>(quiet)->communicator_); };
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free, &k, nullptr));
    check(PMPI_Comm_set_attr(MPI_COMM_SELF, k, this));
    check(PMPI_Comm_free_keyval(&k));
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace

MPI_Comm quiet() {
  static Quiet one;
  return one.get();
}

}  // namespace plait::layout
