#include "places.hpp"

#include <sys/mman.h>

#include <new>

#include "error.hpp"

namespace plait::lbm {
namespace {

class Own final : public Places {
 public:
  explicit Own(std::size_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    data_ = p;
    madvise(p, bytes, MADV_HUGEPAGE);  // 19 streams need 19 entries of the TLB at least; advice only
  }
  ~Own() override { munmap(data_, bytes_); }

 private:
  std::size_t bytes_;
};

class Shared final : public Places {
 public:
  Shared(std::size_t bytes, MPI_Comm comm) {
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
    int rank = 0;
    MPI_Comm_rank(node_, &rank);
    if (shan_alloc_shared(&segment_, 0, SHAN_DATA, static_cast<long>(bytes), node_) != SHAN_SUCCESS) {
      MPI_Comm_free(&node_);
      throw Error("the processes of a node cannot share the memory of the lattice: use another model, or a smaller lattice.size");
    }
    shan_get_shared_ptr(&segment_, rank, &data_);
  }
  ~Shared() override {
    shan_free_shared(&segment_);
    MPI_Comm_free(&node_);
  }

  [[nodiscard]] const shan_segment_t* segment() const override { return &segment_; }
  [[nodiscard]] MPI_Comm node() const override { return node_; }

 private:
  shan_segment_t segment_{};
  MPI_Comm node_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<Places> Places::own(std::size_t bytes) { return std::make_unique<Own>(bytes); }

std::unique_ptr<Places> Places::shared(std::size_t bytes, MPI_Comm comm) { return std::make_unique<Shared>(bytes, comm); }

}  // namespace plait::lbm
