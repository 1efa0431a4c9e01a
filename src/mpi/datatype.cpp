// The exported functions on datatypes: MPI_Type_free, MPIX_Type_iov_len and MPIX_Type_iov.
#include <algorithm>
#include <span>

#include "collective/kept.hpp"
#include "layout/cache.hpp"
#include "layout/pieces.hpp"
#include "mpi/error.hpp"
#include "p2p/communicator.hpp"
#include "plait/mpix.h"

namespace plait::mpi {
namespace {

/// As many segments as fit through a small buffer on the stack, since an MPIX_Iov holds a pointer and not a number.
MPI_Count fill(const layout::Layout& l, MPI_Count first, std::span<MPIX_Iov> iov) {
  layout::Segment segments[64];
  std::size_t filled = 0;
  while (filled < iov.size()) {
    const std::size_t wanted = std::min(std::size(segments), iov.size() - filled);
    const std::size_t got = l.segments(first + static_cast<MPI_Count>(filled), std::span(segments, wanted));
    for (std::size_t i = 0; i < got; ++i) {
      iov[filled + i] = {layout::memory(segments[i].offset), static_cast<MPI_Aint>(segments[i].bytes)};
    }
    filled += got;
    if (got < wanted) break;
  }
  return static_cast<MPI_Count>(filled);
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

extern "C" int MPI_Type_free(MPI_Datatype* datatype) {
  if (datatype && plait::p2p::communicators_exist() && plait::collective::free_type_later(*datatype)) {
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
  }
  const plait::MpiLock lock;
  return PMPI_Type_free(datatype);
}

extern "C" int MPIX_Type_iov_len(MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count* iov_len, MPI_Count* actual_iov_bytes) {
  using namespace plait::mpi;
  return guarded([&] {
    plait::require(iov_len && actual_iov_bytes, MPI_ERR_ARG);
    plait::require(max_iov_bytes >= -1, MPI_ERR_COUNT);
    const auto layout = plait::layout::layout_of(datatype);
    const MPI_Count segments = layout->segments_within(max_iov_bytes < 0 ? layout->bytes() : std::int64_t{max_iov_bytes});
    *actual_iov_bytes = layout->start(segments).position;
    *iov_len = segments;
  });
}

extern "C" int MPIX_Type_iov(MPI_Datatype datatype, MPI_Count iov_offset, MPIX_Iov* iov, MPI_Count max_iov_len, MPI_Count* actual_iov_len) {
  using namespace plait::mpi;
  return guarded([&] {
    plait::require(actual_iov_len && (iov || max_iov_len <= 0), MPI_ERR_ARG);
    plait::require(iov_offset >= 0 && max_iov_len >= 0, MPI_ERR_COUNT);
    const auto layout = plait::layout::layout_of(datatype);
    *actual_iov_len = fill(*layout, iov_offset, std::span(iov, static_cast<std::size_t>(max_iov_len)));
  });
}

#pragma GCC visibility pop
