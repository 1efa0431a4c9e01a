// The requests of one completion call, sorted into plait's and the MPI's own. Lives as long as the call.
#pragma once

#include <mpi.h>

#include <span>

#include "base/scratch.hpp"
#include "mpi/completion.hpp"
#include "mpi/error.hpp"
#include "mpi/handle.hpp"
#include "mpi/waiting.hpp"
#include "p2p/status.hpp"

namespace plait::mpi {

/// What a call on many says of one that was null, inactive or complete from its start.
inline void end_empty(MPI_Status* status) noexcept {
  p2p::set_empty(status);
  if (p2p::wants(status)) status->MPI_ERROR = MPI_SUCCESS;
}

struct Ours {
  Request* request;
  int index;  ///< in the program's array
};

class Batch final : public Pending {
 public:
  /// What the call waits for. One that waits for all starts the inactive requests that such calls start.
  enum class Wants { kAll, kAny };

  /// Throws MPIError{MPI_ERR_REQUEST} where a handle is of a request that has ended.
  Batch(int count, const MPI_Request* requests, bool statuses, Wants wants)
      : room_(Scratch::bytes<Ours>(size(count)) + Scratch::bytes<Request*>(size(count)) + Scratch::bytes<MPI_Request>(size(count)) +
              2 * Scratch::bytes<int>(size(count)) + Scratch::bytes<MPI_Status>(statuses ? size(count) : 0)),
        all_ours_(room_.take<Ours>(size(count))),
        pointers_(room_.take<Request*>(size(count))),
        all_natives_(room_.take<MPI_Request>(size(count))),
        places_(room_.take<int>(size(count))),
        native_indices_(room_.take<int>(size(count))),
        native_statuses_(statuses ? room_.take<MPI_Status>(size(count)).data() : MPI_STATUSES_IGNORE) {
    std::size_t n = 0;
    std::size_t m = 0;
    for (int i = 0; i < count; ++i) {
      if (Request* const r = mpi::ours(requests[i])) {
        require(r->kind, MPI_ERR_REQUEST);
        if (wants == Wants::kAll) arm(*r);
        if (r->active) {
          all_ours_[n++] = {r, i};
        } else {
          any_inactive = true;
        }
      } else {
        all_natives_[m] = requests[i];
        // The MPI writes errors only where it returns one, and MPICH 5.0.2 returns none after a handler of the program's.
        if (statuses) native_statuses_[m].MPI_ERROR = MPI_SUCCESS;
        places_[m++] = i;
      }
    }
    left = all_ours_.first(n);
    their = all_natives_.first(m);
  }

  bool any_inactive = false;  ///< persistent requests of plait's that were not started: they are in none of the two
  std::span<Ours> left;       ///< of plait's: `drop` takes out one that has ended
  std::span<MPI_Request> their;

  void drop(std::size_t at) {
    left[at] = left.back();
    left = left.first(left.size() - 1);
  }
  [[nodiscard]] int native_count() const noexcept { return static_cast<int>(their.size()); }
  /// Where in the program's array a native stands.
  [[nodiscard]] int place(int native) const { return places_[static_cast<std::size_t>(native)]; }
  [[nodiscard]] int* native_indices() { return native_indices_.data(); }
  [[nodiscard]] MPI_Status* native_statuses() { return native_statuses_; }
  /// The natives as the MPI has left them, back to the program.
  void put_back(MPI_Request* requests) const {
    for (std::size_t i = 0; i < their.size(); ++i) requests[places_[i]] = their[i];
  }

  // As Pending has them.
  [[nodiscard]] std::span<Request*> ours() noexcept override {
    for (std::size_t i = 0; i < left.size(); ++i) pointers_[i] = left[i].request;
    return pointers_.first(left.size());
  }
  [[nodiscard]] int natives() const noexcept override { return native_count(); }

 private:
  static std::size_t size(int count) { return static_cast<std::size_t>(count); }

  Scratch room_;
  std::span<Ours> all_ours_;
  std::span<Request*> pointers_;
  std::span<MPI_Request> all_natives_;
  std::span<int> places_, native_indices_;
  MPI_Status* native_statuses_;
};

}  // namespace plait::mpi
