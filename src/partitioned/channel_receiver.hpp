// The receiving end of a channel inside a node. No MPI here. One thread at a time uses it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "lane/memory.hpp"
#include "partitioned/channel.hpp"

namespace plait::partitioned {

class ChannelReceiver {
 public:
  /// Where the sender's channel lies and what it is of; as the sender has told.
  struct Source {
    RegionName region;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;    ///< of the message
    std::uint64_t address = 0;  ///< of its buffer in that process, 0 where it is not contiguous
    SharedHeap::Place buffer;   ///< where that can be mapped
  };
  /// Null where its memory cannot be had from here.
  static std::unique_ptr<ChannelReceiver> attach(const Source& source);
  ChannelReceiver(const ChannelReceiver&) = delete;
  ChannelReceiver& operator=(const ChannelReceiver&) = delete;

  /// Tells the sender of a receiver whose partitions have so many bytes. `direct`: that of the same process may be read.
  void match(const lane::Memory& to, std::uint64_t part_bytes, bool direct);
  /// The receiver has gone; there may be another one.
  void unmatch() noexcept { shared_->state.store(ChannelMemory::kOffered, std::memory_order_release); }
  /// For good.
  void leave() noexcept { shared_->state.store(ChannelMemory::kLeft, std::memory_order_release); }

  [[nodiscard]] bool same_process() const noexcept;

  void begin(std::uint32_t round) noexcept {
    round_ = round;
    next_opened_ = 0;
    quiet_ = 0;
    // release: the program has done with the buffer.
    shared_->started.store(round, std::memory_order_release);
  }
  /// Takes what has come, or fetches it; true if something moved. arrived(begin, units): that much of the message is in the
  /// receive buffer, as far as it fits there.
  template <class Arrived>
  bool take(Arrived arrived) noexcept {
    bool any = false;
    std::uint64_t begin = 0;
    while (const std::uint64_t units = next_cell(begin)) {
      arrived(begin, units);
      any = true;
    }
    if (any) [[likely]] {
      quiet_ = 0;
      return true;
    }
    if (++quiet_ % kRoundsToOthers != 0 && !shared_->direct) return false;
    while (const std::uint64_t units = late_cell(begin)) {
      arrived(begin, units);
      any = true;
    }
    if (any || !may_pull()) return any;
    std::array<Piece, kPieces> pieces;
    const std::size_t n = pull(pieces);
    if (n > 0) end_pull(pieces, n);
    for (std::size_t i = 0; i < n; ++i) arrived(pieces[i].begin, pieces[i].units);
    return n > 0;
  }
  /// All of the round has come: wakes the sender.
  void end() noexcept { bell_->notify(); }
  /// The sender has ended without having sent all.
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  /// A thread waits and takes what comes.
  void set_polled(bool here) noexcept { shared_->taking.store(here ? 1 : 0, std::memory_order_relaxed); }

 private:
  struct Piece {
    std::uint64_t begin, units;
  };
  static constexpr std::size_t kPieces = 64;
  /// Other than the next cell is looked at every so many rounds in which there is nothing.
  static constexpr unsigned kRoundsToOthers = 16;

  ChannelReceiver(const Source& source, ChannelMemory& shared) noexcept;
  [[nodiscard]] std::uint64_t next_cell(std::uint64_t& begin) noexcept;
  [[nodiscard]] std::uint64_t late_cell(std::uint64_t& begin) noexcept;
  [[nodiscard]] bool has_come(std::uint64_t ticket) const noexcept;
  [[nodiscard]] std::uint64_t empty(std::uint64_t ticket, std::uint64_t& begin) noexcept;
  void report() noexcept;
  [[nodiscard]] bool may_pull() noexcept;
  [[nodiscard]] std::size_t pull(std::span<Piece> pieces) noexcept;
  void end_pull(std::span<const Piece> pieces, std::size_t n) noexcept;
  [[nodiscard]] std::uint64_t clipped(std::uint64_t begin, std::uint64_t units) const noexcept;
  [[nodiscard]] bool fetch(std::span<const Piece> pieces) noexcept;

  Source source_;
  ChannelMemory* shared_;
  EventCount* bell_;
  std::optional<PeerWindow> window_;  ///< the sender's buffer
  const lane::Memory* to_ = nullptr;
  std::uint32_t round_ = 0;
  std::uint32_t next_opened_ = 0;
  std::uint64_t head_;       ///< cells emptied without a gap
  std::uint64_t taken_ = 0;  ///< by bits: cells behind it that are emptied
  unsigned quiet_ = 0;       ///< rounds in which there was nothing
  std::uint64_t since_ = 0;  ///< when it was found quiet
  bool may_read_ = true, has_read_ = false, lost_ = false;
};

}  // namespace plait::partitioned
