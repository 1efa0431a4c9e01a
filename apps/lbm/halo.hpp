// What crosses the faces and edges between processes: which places, packed in which order.
//
// A crossing step reads and writes places one layer beyond the box. Before it, neighbours lend each other these
// places (Direction::lend); after it, they return them with what was written there (Direction::hand_back).
// Five of the 19 velocities cross a face, one crosses an edge.
#pragma once

#include <mpi.h>

#include <new>
#include <span>
#include <vector>

#include "lattice.hpp"

namespace plait::lbm {

enum class Direction { lend, hand_back };

/// The exchange that has to be complete before a step of that phase: before a crossing step the places beyond
/// the box are fetched, before a local step those written by the crossing step before it go home.
[[nodiscard]] constexpr Direction before(Phase phase) { return phase == Phase::crossing ? Direction::lend : Direction::hand_back; }

/// `count` places, `stride` apart, of one velocity.
struct Run {
  double* place;
  std::ptrdiff_t stride;
  std::int32_t count;
  std::int32_t offset;         // in the message
  const std::uint8_t* writer;  // kind of the site that writes these places in a crossing step, or null where none is a wall:
                               // where it is a wall nothing was written, and the box's own place must stay
};

/// Memory that the MPI, or plait, may hand over faster than other memory.
template <class T>
struct MPIAllocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    void* memory = nullptr;
    MPI_Alloc_mem(static_cast<MPI_Aint>(n * sizeof(T)), MPI_INFO_NULL, static_cast<void*>(&memory));
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { MPI_Free_mem(memory); }
  bool operator==(const MPIAllocator&) const = default;
};
using Message = std::vector<double, MPIAllocator<double>>;

/// What is exchanged with one neighbour across one face or edge.
class Link {
 public:
  Link(Lattice& lattice, const Int3& side);

  [[nodiscard]] int neighbor() const { return neighbor_; }
  /// Tags tell apart the links between the same two processes.
  [[nodiscard]] int send_tag() const { return send_tag_; }
  [[nodiscard]] int receive_tag() const { return receive_tag_; }

  /// A link may be cut into pieces, on both sides alike; any thread may handle a piece. pack() fills the
  /// piece's part of the send buffer, unpack() empties its part of the receive buffer.
  void pack(Direction d, int piece = 0, int pieces = 1) { pack(d, send_.data(), piece, pieces); }
  void unpack(Direction d, int piece = 0, int pieces = 1) { unpack(d, receive_.data(), piece, pieces); }
  /// The same with buffers of the caller's, for all of the link.
  void pack(Direction d, double* buffer, int piece, int pieces) const;
  void unpack(Direction d, const double* buffer, int piece, int pieces) const;
  /// The piece within a buffer.
  struct Extent {
    std::size_t first, count;
  };
  [[nodiscard]] Extent extent(int piece = 0, int pieces = 1) const;
  [[nodiscard]] std::span<double> send_buffer(int piece = 0, int pieces = 1) { return part(send_, piece, pieces); }
  [[nodiscard]] std::span<double> receive_buffer(int piece = 0, int pieces = 1) { return part(receive_, piece, pieces); }

  /// The places of a piece that are sent in that direction, or received, as an MPI datatype whose addresses count from `base`; the
  /// caller frees it. Both sides leave out the places whose writer is a wall: nobody reads them beyond the box, and at home they stay.
  [[nodiscard]] MPI_Datatype sent(Direction d, const void* base, int piece = 0, int pieces = 1) const;
  [[nodiscard]] MPI_Datatype received(Direction d, const void* base, int piece = 0, int pieces = 1) const;

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> runs(int piece, int pieces) const {
    return {inner_.size() * piece / pieces, inner_.size() * (piece + 1) / pieces};
  }
  [[nodiscard]] std::span<double> part(Message& buffer, int piece, int pieces) const {
    const Extent e = extent(piece, pieces);
    return {buffer.data() + e.first, e.count};
  }

  int neighbor_, send_tag_, receive_tag_;
  std::vector<Run> inner_;  // the box's own places that the neighbour borrows
  std::vector<Run> outer_;  // places beyond the box that are borrowed from it
  Message send_, receive_;
};

/// The faces and edges across which a box exchanges something with another.
[[nodiscard]] std::vector<Int3> shared_sides(const Subdomain& box);
/// How many places it lends across one of them. It borrows as many.
[[nodiscard]] long places_across(const Subdomain& box, const Int3& side);

class Halo {
 public:
  explicit Halo(Lattice& lattice);
  [[nodiscard]] std::vector<Link>& links() { return links_; }
  /// Bytes that this process sends before each step.
  [[nodiscard]] long bytes() const { return bytes_; }

 private:
  std::vector<Link> links_;
  long bytes_ = 0;
};

}  // namespace plait::lbm
