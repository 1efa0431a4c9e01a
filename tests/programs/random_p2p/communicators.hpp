// The communicators of the program and the fences between rounds. In stream mode communicator k is a stream
// communicator and the last one a multiplex stream communicator; in plain mode all are duplicates of `world`.
#pragma once

#include <mpi.h>
#include <sched.h>

#ifdef PLAIT_LINKED
#include <plait/mpix.h>
#endif

#include <vector>

#include "model.hpp"
#include "report.hpp"

namespace random_p2p {

class Communicators {
 public:
  Communicators(const Shape& shape, MPI_Comm world, Where& where) : shape_(shape), comms_(shape.communicators(), MPI_COMM_NULL) {
    RANDOM_P2P_TRY(where, MPI_Comm_dup, world, &control_);
    for (int k = 0; k < shape.endpoints; ++k) duplicate(world, comms_[shape.endpoints + k], where);
#ifdef PLAIT_LINKED
    if (shape.streams) {
      streams_.resize(shape.endpoints);
      for (MPIX_Stream& s : streams_) RANDOM_P2P_TRY(where, MPIX_Stream_create, MPI_INFO_NULL, &s);
      for (int k = 0; k < shape.endpoints; ++k) RANDOM_P2P_TRY(where, MPIX_Stream_comm_create, world, streams_[k], &comms_[k]);
      if (shape.multiplex) {
        RANDOM_P2P_TRY(where, MPIX_Stream_comm_create_multiplex, world, shape.endpoints, streams_.data(), &comms_.back());
      }
    }
#endif
    for (MPI_Comm& c : comms_) {
      if (c == MPI_COMM_NULL) duplicate(world, c, where);
      RANDOM_P2P_TRY(where, MPI_Comm_set_errhandler, c, MPI_ERRORS_RETURN);
    }
  }
  void free(Where& where) {
    for (MPI_Comm& c : comms_) RANDOM_P2P_TRY(where, MPI_Comm_free, &c);
    RANDOM_P2P_TRY(where, MPI_Comm_free, &control_);
#ifdef PLAIT_LINKED
    for (MPIX_Stream& s : streams_) RANDOM_P2P_TRY(where, MPIX_Stream_free, &s);
#endif
  }

  MPI_Comm operator[](int communicator) const { return comms_[communicator]; }

  /// Until all that `fence` names have come here. Every thread of the process calls it, for the endpoints it drives.
  void wait(Fence fence, const std::vector<int>& endpoints, Where& where) const {
    if (fence == Fence::none) return;
    std::vector<MPI_Request> requests;
    if (fence == Fence::group) {
      for (const int k : endpoints) {
        RANDOM_P2P_TRY(where, MPI_Ibarrier, comms_[shape_.endpoints + k], &requests.emplace_back());
      }
      finish(requests, endpoints, where);
      return;
    }
    // A message to the process itself, not a std::barrier: whoever waits has to drive the MPI's progress.
    const int self = where.process, first = endpoints.front(), back = shape_.endpoints;
    const int others = endpoints.size() == 1 ? shape_.endpoints - 1 : 0;
    if (first != 0) {
      RANDOM_P2P_TRY(where, MPI_Irecv, nullptr, 0, MPI_BYTE, self, back + first, control_, &requests.emplace_back());
      RANDOM_P2P_TRY(where, MPI_Isend, nullptr, 0, MPI_BYTE, self, first, control_, &requests.emplace_back());
      finish(requests, endpoints, where);
      return;
    }
    for (int k = 1; k <= others; ++k) RANDOM_P2P_TRY(where, MPI_Irecv, nullptr, 0, MPI_BYTE, self, k, control_, &requests.emplace_back());
    finish(requests, endpoints, where);
    RANDOM_P2P_TRY(where, MPI_Ibarrier, control_, &requests.emplace_back());
    finish(requests, endpoints, where);
    for (int k = 1; k <= others; ++k) {
      RANDOM_P2P_TRY(where, MPI_Isend, nullptr, 0, MPI_BYTE, self, back + k, control_, &requests.emplace_back());
    }
    finish(requests, endpoints, where);
  }

 private:
  /// With hints that say which wildcards are not used, if any are not.
  void duplicate(MPI_Comm world, MPI_Comm& made, Where& where) const {
    if (shape_.ranks || (shape_.features.has(Feature::any_tag) && shape_.features.has(Feature::wildcard))) {
      RANDOM_P2P_TRY(where, MPI_Comm_dup, world, &made);
      return;
    }
    MPI_Info hints = MPI_INFO_NULL;
    RANDOM_P2P_TRY(where, MPI_Info_create, &hints);
    if (!shape_.features.has(Feature::any_tag)) RANDOM_P2P_TRY(where, MPI_Info_set, hints, "mpi_assert_no_any_tag", "true");
    if (!shape_.features.has(Feature::wildcard)) RANDOM_P2P_TRY(where, MPI_Info_set, hints, "mpi_assert_no_any_source", "true");
    RANDOM_P2P_TRY(where, MPI_Comm_dup_with_info, world, hints, &made);
    RANDOM_P2P_TRY(where, MPI_Info_free, &hints);
  }
  void finish(std::vector<MPI_Request>& requests, const std::vector<int>& endpoints, Where& where) const {
    for (int done = 0;;) {
      RANDOM_P2P_TRY(where, MPI_Testall, static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) break;
      for (const int k : endpoints) {
        int found = 0;
        if (!shape_.features.has(Feature::progress)) {
          const int source = shape_.features.has(Feature::wildcard) ? MPI_ANY_SOURCE : 0;
          RANDOM_P2P_TRY(where, MPI_Iprobe, source, nobody_tag, comms_[k], &found, MPI_STATUS_IGNORE);
        }
      }
      sched_yield();
    }
    requests.clear();
  }

  Shape shape_;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::vector<MPI_Comm> comms_;
#ifdef PLAIT_LINKED
  std::vector<MPIX_Stream> streams_;
#endif
};

}  // namespace random_p2p
