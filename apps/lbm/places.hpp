// The memory in which a lattice's places lie: the process's own, or shared with the processes of its node, which then read the places where
// they are. Made and given back by one thread.
#pragma once

#include <mpi.h>
#include <plait/SHAN_segment.h>

#include <cstddef>
#include <memory>

namespace plait::lbm {

class Places {
 public:
  /// The process's own, on no page yet. Throws std::bad_alloc.
  static std::unique_ptr<Places> own(std::size_t bytes);
  /// Shared by those processes of `comm` that are on one node. Collective over comm. Throws Error.
  static std::unique_ptr<Places> shared(std::size_t bytes, MPI_Comm comm);

  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  virtual ~Places() = default;

  [[nodiscard]] void* data() const { return data_; }
  /// What they are shared as, and with whom; null where they are the process's own.
  [[nodiscard]] virtual const shan_segment_t* segment() const { return nullptr; }
  [[nodiscard]] virtual MPI_Comm node() const { return MPI_COMM_NULL; }

 protected:
  Places() = default;
  void* data_ = nullptr;
};

}  // namespace plait::lbm
