// Datatypes of every family over every element, where their bytes lie, and the memory messages are made in.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "model.hpp"

namespace random_p2p {

constexpr std::byte canary{0xCA};
constexpr std::size_t margin = 32;  ///< canary bytes on either side of a buffer

/// One datatype, flattened by hand: the oracle must not ask the library under test where the bytes lie.
struct Layout {
  struct Piece {
    std::uint32_t offset, length;
  };
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Element element = Element::byte;
  std::uint32_t elements = 1;  ///< in one instance
  std::uint32_t extent = 0;
  std::vector<Piece> pieces;  ///< of one instance, in the order in which they are packed
  [[nodiscard]] bool dense() const { return pieces.size() == 1 && pieces[0].length == extent; }
  [[nodiscard]] std::size_t span(std::uint32_t count) const { return std::size_t{count} * extent; }
};

/// All datatypes of the program, made once and used by all threads.
class Types {
 public:
  Types() {
    for (int e = 0; e < element_kinds; ++e) make(static_cast<Element>(e));
  }
  ~Types() {
    for (auto& row : layouts_) {
      for (Layout& layout : row) {
        if (layout.type != MPI_BYTE && layout.type != MPI_INT && layout.type != MPI_DOUBLE) MPI_Type_free(&layout.type);
      }
    }
  }
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  [[nodiscard]] const Layout& get(Element e, int family) const { return layouts_[static_cast<int>(e)][family]; }

 private:
  void make(Element e) {
    auto& row = layouts_[static_cast<int>(e)];
    const std::uint32_t extent = e == Element::pair ? 16 : packed_bytes(e);
    for (int f = 0; f < families; ++f) row[f] = Layout{.element = e, .elements = family_elements[f], .extent = extent, .pieces = {}};

    MPI_Datatype base = e == Element::byte ? MPI_BYTE : e == Element::integer ? MPI_INT : MPI_DOUBLE;
    if (e == Element::pair) {
      const int lengths[] = {1, 1};
      const MPI_Aint places[] = {0, 8};
      const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
      MPI_Datatype bare = MPI_DATATYPE_NULL;
      MPI_Type_create_struct(2, lengths, places, types, &bare);
      MPI_Type_create_resized(bare, 0, 16, &base);
      MPI_Type_free(&bare);
    }
    row[0].type = base;

    MPI_Type_contiguous(3, base, &row[1].type);
    row[1].extent = 3 * extent;

    MPI_Type_vector(3, 2, 5, base, &row[2].type);
    row[2].extent = 12 * extent;

    const int block_lengths[] = {2, 1, 3}, block_places[] = {7, 0, 3};  // not in the order of addresses
    MPI_Type_indexed(3, block_lengths, block_places, base, &row[3].type);
    row[3].extent = 9 * extent;

    const int struct_lengths[] = {1, 2};
    const MPI_Aint struct_places[] = {extent, 4 * MPI_Aint{extent}};
    const MPI_Datatype struct_types[] = {base, base};
    MPI_Datatype bare = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, struct_lengths, struct_places, struct_types, &bare);
    MPI_Type_create_resized(bare, 0, 8 * MPI_Aint{extent}, &row[4].type);
    MPI_Type_free(&bare);
    row[4].extent = 8 * extent;

    MPI_Type_vector(4, 256, 300, base, &row[5].type);  // blocks long enough to be worth a copy each
    row[5].extent = (3 * 300 + 256) * extent;

    const std::vector<std::vector<std::array<std::uint32_t, 2>>> blocks = {{{0, 1}},
                                                                           {{0, 3}},
                                                                           {{0, 2}, {5, 2}, {10, 2}},
                                                                           {{7, 2}, {0, 1}, {3, 3}},
                                                                           {{1, 1}, {4, 2}},
                                                                           {{0, 256}, {300, 256}, {600, 256}, {900, 256}}};
    for (int f = 0; f < families; ++f) {
      MPI_Type_commit(&row[f].type);
      for (const auto& [first, n] : blocks[f]) {
        if (e != Element::pair) {
          row[f].pieces.push_back({first * extent, n * extent});
          continue;
        }
        for (std::uint32_t i = first; i < first + n; ++i) {
          row[f].pieces.push_back({i * extent, 4});
          row[f].pieces.push_back({i * extent + 8, 8});
        }
      }
    }
  }

  std::array<std::array<Layout, families>, element_kinds> layouts_;
};

/// What a message carries: its identity, then words that follow from it.
inline void fill_payload(std::uint64_t id, std::byte* to, std::size_t bytes) {
  std::uint64_t word = id;
  for (std::size_t at = 0; at < bytes; at += 8) {
    if (at != 0) word = mix(id + at * golden);
    std::memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

/// Lays packed bytes out; what is between them stays as it is.
inline void scatter(const Layout& layout, const std::byte* packed, std::size_t bytes, std::byte* to) {
  if (layout.dense()) {
    if (bytes != 0) std::memcpy(to, packed, bytes);
    return;
  }
  for (;; to += layout.extent) {
    for (const Layout::Piece& p : layout.pieces) {
      if (bytes == 0) return;
      const std::size_t n = bytes < p.length ? bytes : p.length;
      std::memcpy(to + p.offset, packed, n);
      packed += n;
      bytes -= n;
    }
  }
}

/// Memory of one round. Every second chunk comes from MPI_Alloc_mem, which a library may treat better than other memory.
class Arena {
 public:
  Arena() = default;
  ~Arena() {
    for (const Chunk& c : chunks_) release(c);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* allocate(std::size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    while (at_ < chunks_.size() && used_ + bytes > chunks_[at_].size) {
      ++at_;
      used_ = 0;
    }
    if (at_ == chunks_.size()) add(bytes);
    std::byte* const result = chunks_[at_].memory + used_;
    used_ += bytes;
    return result;
  }
  /// Nothing allocated so far is used any more. A rare heavy round does not keep its memory.
  void reset() {
    std::size_t sum = 0;
    for (const Chunk& c : chunks_) sum += c.size;
    while (sum > keep && chunks_.size() > 1) {
      sum -= chunks_.back().size;
      release(chunks_.back());
      chunks_.pop_back();
    }
    at_ = used_ = 0;
  }

 private:
  struct Chunk {
    std::byte* memory;
    std::size_t size;
    bool of_mpi;
  };
  static constexpr std::size_t keep = 32 << 20;

  void add(std::size_t bytes) {
    Chunk c{.memory = nullptr, .size = bytes < (1 << 20) ? 1 << 20 : bytes, .of_mpi = chunks_.size() % 2 == 1};
    if (c.of_mpi) {
      MPI_Alloc_mem(static_cast<MPI_Aint>(c.size), MPI_INFO_NULL, &c.memory);
    } else {
      c.memory = static_cast<std::byte*>(::operator new(c.size, std::align_val_t{64}));
    }
    chunks_.push_back(c);
  }
  static void release(const Chunk& c) {
    if (c.of_mpi) {
      MPI_Free_mem(c.memory);
    } else {
      ::operator delete(c.memory, std::align_val_t{64});
    }
  }

  std::vector<Chunk> chunks_;
  std::size_t at_ = 0, used_ = 0;
};

}  // namespace random_p2p
