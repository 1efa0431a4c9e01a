// A collective call on one rank: its messages to the same call on the other ranks, and the algorithm that sends them.
//
// Ranks exchange data by messages between their endpoints, which inside a process are one copy from buffer to buffer. They
// are matched apart from the program's, by the number of the call.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collective/combine.hpp"
#include "collective/kept.hpp"
#include "collective/rank.hpp"
#include "collective/steps.hpp"
#include "lane/task.hpp"
#include "p2p/message.hpp"
#include "p2p/types.hpp"

namespace plait::collective {

class Collective final : public lane::Task {
 public:
  /// Takes the next number of the rank's communicator. Before the endpoint is used.
  explicit Collective(Rank& rank, bool has_request = false) noexcept
      : rank_(rank), tag_(static_cast<int>(rank.sequence++ << kSubBits & ~kSign)), has_request_(has_request) {}
  ~Collective();

  // ---- for the algorithm

  [[nodiscard]] Rank& rank() const noexcept { return rank_; }
  [[nodiscard]] int me() const noexcept { return rank_.rank; }
  [[nodiscard]] int size() const noexcept { return rank_.size; }

  /// Messages between two ranks arrive in order. `sub`, up to 255, tells apart those that may come in another order.
  void send(int to, const lane::Memory& data, int sub = 0);
  void receive(int from, const lane::Memory& data, int sub = 0);

  /// co_await: until all that was sent and received is over. Throws where a message was too long.
  struct All {
    Collective& c;
    [[nodiscard]] bool await_ready() const noexcept { return c.settle(); }
    void await_suspend(std::coroutine_handle<> at) const noexcept { c.at_ = at; }
    void await_resume() const { c.check(); }
  };
  [[nodiscard]] All all() noexcept { return {*this}; }
  /// What the steps from here on combine. Those that call the MPI go on only where it lets them in. The program's own functions look at
  /// the datatype, which is kept until the end if the call has a request.
  void combines(const p2p::Type& type, const Combination& combination) {
    uses_mpi_ = combination.uses_mpi();
    if (has_request_ && type.layout && combination.is_the_programs()) kept_.keep(type.handle);
  }

  // ---- for the caller

  /// Begins, as far as it can go. By the rank's thread. Throws what the algorithm throws before it first waits.
  void begin(Steps algorithm);
  /// May be asked by any thread; what the call has written is seen then.
  [[nodiscard]] bool complete() const noexcept { return complete_.load(std::memory_order_acquire); }
  /// Once it is.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// For a person to read; while the endpoint is the caller's.
  [[nodiscard]] std::string waits_for() const;

 private:
  static constexpr int kSubBits = 8;
  static constexpr std::uint32_t kSign = std::uint32_t{1} << 31;

  bool step() noexcept override;
  [[nodiscard]] bool settle() noexcept;
  void check() const;
  void end() noexcept;
  lane::Operation& make(const lane::Memory& data);

  Rank& rank_;
  int tag_;
  int error_ = MPI_SUCCESS;
  bool listed_ = false;
  bool has_request_;
  bool uses_mpi_ = false;
  std::atomic<bool> complete_{false};
  KeptType kept_;
  std::coroutine_handle<> at_;  ///< where it waits
  Steps algorithm_;
  std::vector<lane::Operation*> pending_;
};

/// Contiguous bytes.
[[nodiscard]] inline lane::Memory bytes_at(void* at, std::size_t bytes) noexcept {
  return {static_cast<std::byte*>(at), bytes, 0, nullptr};
}
using p2p::memory_of;

/// Blocks of a buffer by rank: where they lie and what they are. Arrays are the program's and stay as long as the call.
struct Blocks {
  const void* at = nullptr;
  MPI_Count count = 0;  ///< of each block, where there are no `counts`
  const void* counts = nullptr;
  const void* displacements = nullptr;  ///< of blocks, in extents; without: one after the other
  const MPI_Datatype* types = nullptr;  ///< of each block; then displacements are in bytes
  p2p::Type type;
  bool large = false;  ///< counts are MPI_Count
  bool wide = false;   ///< displacements are MPI_Aint

  [[nodiscard]] MPI_Count count_of(int i) const noexcept {
    if (!counts) return count;
    return large ? static_cast<const MPI_Count*>(counts)[i] : static_cast<const int*>(counts)[i];
  }
  [[nodiscard]] MPI_Aint displacement_of(int i) const noexcept {
    if (!displacements) return static_cast<MPI_Aint>(i) * static_cast<MPI_Aint>(count);
    return wide ? static_cast<const MPI_Aint*>(displacements)[i] : static_cast<const int*>(displacements)[i];
  }
  [[nodiscard]] lane::Memory block(int i) const;
  /// All of them, one after the other: for those without `counts`.
  [[nodiscard]] lane::Memory whole(int n) const { return memory_of(at, count * n, type); }
  [[nodiscard]] bool regular() const noexcept { return !counts && !displacements && !types; }
};

/// An address some bytes on; it may be MPI_BOTTOM that is counted from.
[[nodiscard]] inline void* offset_by(const void* at, MPI_Aint bytes) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(at) + bytes);  // NOLINT(performance-no-int-to-ptr)
}

/// Data from one buffer into another; no more than it has room for.
void copy(const lane::Memory& from, const lane::Memory& to);

}  // namespace plait::collective
