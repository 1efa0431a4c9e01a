// What a send or receive needs to know of its buffer.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/handle_table.hpp"
#include "lane/operation.hpp"
#include "layout/layout.hpp"
#include "p2p/handle_bits.hpp"

namespace plait::p2p {

/// Bytes of predefined datatypes without gaps, once they are known. These live as long as the MPI; there are fewer than 100.
extern FixedHandleTable<int, 1024> plain_sizes;

/// Bytes of a predefined datatype without gaps, -1 for others (and for predefined ones not seen before). Any thread.
[[nodiscard]] inline int plain_size(MPI_Datatype type) noexcept { return plain_sizes.find(to_bits(type), -1); }

/// `count` elements at `buffer`. Throws MPIError for a bad count or datatype.
[[nodiscard]] lane::Memory memory_of(const void* buffer, MPI_Count count, MPI_Datatype type);

/// The same of a message or a broadcast: MPICH and its kin take MPI_DATATYPE_NULL there if nothing moves, and programs rely on it.
[[nodiscard]] lane::Memory message_memory(const void* buffer, MPI_Count count, MPI_Datatype type);

/// A datatype as it is when a call begins: the program may free it while the call goes on. Throws MPIError for a bad one.
struct Type {
  Type() = default;
  Type(MPI_Datatype datatype);  // NOLINT(google-explicit-constructor)
  [[nodiscard]] MPI_Aint extent() const noexcept { return layout ? static_cast<MPI_Aint>(layout->extent()) : size; }

  MPI_Datatype handle = MPI_DATATYPE_NULL;
  int size = -1;                                 ///< as plain_size() has it
  std::shared_ptr<const layout::Layout> layout;  ///< of others
};
[[nodiscard]] lane::Memory memory_of(const void* buffer, MPI_Count count, const Type& type);

}  // namespace plait::p2p
