// A neighbourhood: exchanges with the same processes again and again. One thread at a time uses a type of it.
//
// Each process has a block that those of its node see: a line for each type and neighbour with the number of the last message that is
// ready, another with the number of the last one that it has read from that neighbour, and what it sends, as the program has written it. A
// neighbour on the node reads the elements out of the sender's segment. One on another node is sent a message of the MPI's.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/event_count.hpp"
#include "layout/layout.hpp"
#include "shan/elements.hpp"
#include "shan/shared.hpp"

namespace plait::shan {

struct Segment {
  int id;
  SharedBlock block;
};

/// What a type may have, as the program says.
struct Limits {
  long send_bytes, receive_bytes;  ///< with one neighbour
  int send_elements, receive_elements;
};

/// Communicators of the neighbourhood's own.
class Duplicate {
 public:
  explicit Duplicate(MPI_Comm comm);
  ~Duplicate();
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class Neighborhood {
 public:
  /// Collective over `all`. Throws Failure, MPIError.
  Neighborhood(const std::vector<int>& neighbors, std::vector<Limits> limits, MPI_Comm node, MPI_Comm all);
  ~Neighborhood();
  Neighborhood(const Neighborhood&) = delete;
  Neighborhood& operator=(const Neighborhood&) = delete;

  [[nodiscard]] int types() const noexcept { return static_cast<int>(limits_.size()); }
  [[nodiscard]] int neighbors() const noexcept { return static_cast<int>(neighbors_.size()); }

  /// Where the program writes its elements, for all neighbours.
  struct Lists {
    int *send_count, *receive_count, *send_length, *receive_length;
    long *send_offset, *receive_offset;
  };
  [[nodiscard]] Lists lists(int type) const noexcept;
  void set_datatypes(int type, int neighbor, MPI_Datatype send, MPI_Datatype receive);

  void send(const Segment& segment, int type, int neighbor);
  /// The next from that neighbour; false where it has not come.
  [[nodiscard]] bool try_receive(const Segment& segment, int type, int neighbor);
  void receive(const Segment& segment, int type, int neighbor);
  /// Is the last send over?
  [[nodiscard]] bool has_left(int type, int neighbor);
  void wait_for_send(int type, int neighbor);
  /// All that is outstanding; where nothing is and `begin_next`, the next from each.
  void receive_all(const Segment& segment, int type, bool begin_next);
  void wait_for_sends(int type);

  void barrier();
  [[nodiscard]] int local_rank(int rank) const;

 private:
  /// What a process shows its neighbours on the node, of one type and neighbour.
  struct Shown {
    alignas(64) std::atomic<std::uint64_t> sent;  ///< messages that are ready
    std::int32_t segment;                         ///< where the last one lies, by its number
    std::uint64_t run_version;                    ///< changes with the datatype; 0: there is none, the lists say
    std::uint64_t runs;                           ///< of it
    SharedHeap::Place run_place;
    alignas(64) std::atomic<std::uint64_t> taken;  ///< messages of that neighbour's that have been read
  };
  /// At the beginning of the block, the bell of the process; then a Shown for each type and neighbour; then the lists.
  struct Head {
    EventCount bell;  ///< something is ready or has been read
  };

  struct Neighbor {
    int rank;                          ///< in comm_
    int local;                         ///< in the node; -1: it is elsewhere
    int index;                         ///< of this process there
    std::vector<std::size_t> list_at;  ///< where each type's lists lie in its block
    std::vector<Limits> limits;        ///< its own
    int neighbors;                     ///< that it has
  };

  /// One type with one neighbour.
  struct Way {
    std::uint64_t sent = 0, received = 0;
    std::shared_ptr<const layout::Layout> send_layout, receive_layout;
    std::unique_ptr<OwnBlock> runs;  ///< send_layout, published
    // On the node: what the neighbour has published.
    std::unique_ptr<layout::Layout> theirs;
    std::uint64_t theirs_version = 0;
    // On another:
    std::vector<std::byte> outgoing, incoming;
    std::optional<std::size_t> come;  ///< bytes in `incoming`, until they are where the program wants them
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  };

  class Bell;

  [[nodiscard]] Way& way(int type, int neighbor) noexcept {
    return ways_[static_cast<std::size_t>(type) * neighbors_.size() + static_cast<std::size_t>(neighbor)];
  }
  [[nodiscard]] static Shown& shown(std::byte* block, int neighbors, int type, int neighbor) noexcept;
  [[nodiscard]] Shown& own(int type, int neighbor) const noexcept {
    return shown(block_->at(static_cast<std::size_t>(me_)), neighbors(), type, neighbor);
  }
  [[nodiscard]] Shown& theirs(int type, const Neighbor& n) const noexcept {
    return shown(block_->at(static_cast<std::size_t>(n.local)), n.neighbors, type, n.index);
  }
  [[nodiscard]] Head& head(int local) const noexcept { return *reinterpret_cast<Head*>(block_->at(static_cast<std::size_t>(local))); }
  [[nodiscard]] static Lists lists_in(std::byte* block, std::size_t at, int neighbors, const Limits& limits) noexcept;
  [[nodiscard]] int tag(int type, int index) const noexcept { return type + types() * index; }

  static std::size_t place_lists(const std::vector<Limits>& limits, int neighbors, std::vector<std::size_t>& list_at);
  void meet(const std::vector<int>& neighbors);
  void post(int type, int neighbor);
  [[nodiscard]] Elements to_send(const Segment& segment, int type, int neighbor);
  [[nodiscard]] Elements to_receive(const Segment& segment, int type, int neighbor);
  [[nodiscard]] Elements theirs_to_read(const Segment& segment, int type, int neighbor);
  template <class Done>
  void wait(bool polls, Done done);

  Duplicate comm_, node_;
  int me_ = 0;  ///< in the node
  std::vector<Limits> limits_;
  std::vector<std::size_t> list_at_;
  std::vector<int> local_of_;  ///< of each process of comm_
  std::vector<Neighbor> neighbors_;
  bool any_far_ = false;
  std::unique_ptr<SharedBlock> block_;
  std::vector<Way> ways_;
};

}  // namespace plait::shan
