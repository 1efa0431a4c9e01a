// The sending end of a channel inside a node. No MPI here.
//
// Any number of threads may call `send` at once, each with groups of its own, while one other is in `push_opened`. Making,
// `begin` and freeing exclude all others.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "lane/memory.hpp"
#include "partitioned/channel.hpp"

namespace plait::partitioned {

/// Units [begin, end) of a message into a contiguous buffer of as many bytes.
void stage(const lane::Memory& from, const lane::Memory& to, std::uint64_t begin, std::uint64_t end) noexcept;

class ChannelSender {  // NOLINT(clang-analyzer-optin.performance.Padding): some have lines of their own
 public:
  /// `memory` stays where it is as long as this object lives. `readable`: where what finds no room is looked for later: `memory` itself,
  /// or a contiguous buffer of as many bytes, into which it is copied; then nobody looks at `memory` after `send`. Throws
  /// std::bad_alloc, std::system_error.
  ChannelSender(const lane::Memory& memory, std::uint32_t groups, const lane::Memory& readable);
  ~ChannelSender();
  ChannelSender(const ChannelSender&) = delete;
  ChannelSender& operator=(const ChannelSender&) = delete;

  /// Where the channel lies.
  [[nodiscard]] lane::Address address() const noexcept { return address_; }

  /// The receiver is there, on this node.
  [[nodiscard]] bool matched() const noexcept {
    // acquire: the receiver's section.
    return shared_->state.load(std::memory_order_acquire) == ChannelMemory::kMatched;
  }
  [[nodiscard]] std::uint64_t receiver_part() const noexcept { return shared_->part_bytes; }

  /// A new round, in which groups have so many bytes.
  void begin(std::uint32_t round, std::uint64_t group_bytes) noexcept;
  /// Units [begin, end), which are whole groups, are ready.
  void send(std::uint64_t begin, std::uint64_t end) noexcept;
  /// Puts what was opened into the ring, as far as there is room; true if something moved.
  bool push_opened() noexcept;
  /// All of the round has left the buffer.
  [[nodiscard]] bool done() const noexcept {
    // acquire, twice: whoever copied has read the buffer.
    return pushed_.load(std::memory_order_acquire) + shared_->pulled.load(std::memory_order_acquire) - base_ == length_;
  }
  /// The next opened group that this function has not yet returned. For a receiver on another node. False where there is none.
  bool take_opened(std::uint64_t& begin, std::uint64_t& end) noexcept;
  /// A thread waits and will push.
  void set_polled(bool here) noexcept { shared_->pushing.store(here ? 1 : 0, std::memory_order_relaxed); }

  /// The receiver does not look at the channel any more.
  [[nodiscard]] bool left() const noexcept { return shared_->state.load(std::memory_order_acquire) == ChannelMemory::kLeft; }
  /// The same, said on behalf of one that never will.
  void leave() noexcept { shared_->state.store(ChannelMemory::kLeft, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void map_target() noexcept;
  [[nodiscard]] bool places() const noexcept;
  [[nodiscard]] std::uint64_t take_ticket(bool placing) noexcept;
  void fill(const lane::Memory& from, std::uint64_t ticket, std::uint64_t begin, std::uint64_t units, bool placing) noexcept;
  void count(std::uint64_t units) noexcept;
  [[nodiscard]] bool hold() const noexcept;
  void open(std::uint64_t begin, std::uint64_t end) noexcept;
  [[nodiscard]] EventCount* meet() noexcept;
  [[nodiscard]] std::uint64_t group_end(std::uint32_t group) const noexcept {
    return std::min<std::uint64_t>((group + std::uint64_t{1}) * group_bytes_, length_);
  }
  [[nodiscard]] bool is_opened(std::uint32_t at, std::uint32_t& group) const noexcept;
  /// Takes a part of an opened group, at most `most` units; none where there is nothing left.
  [[nodiscard]] std::uint64_t claim(std::uint32_t group, std::uint64_t most, std::uint64_t& begin) noexcept;
  /// Takes all of it, if nobody has a part.
  [[nodiscard]] bool claim_whole(std::uint32_t group) noexcept;

  const lane::Memory& memory_;
  const lane::Memory& readable_;
  std::uint64_t length_;  ///< units
  lane::Address address_;
  ChannelMemory* shared_;
  std::uint32_t round_ = 0;
  std::uint64_t group_bytes_ = 1;
  std::uint64_t base_ = 0;  ///< of pushed and pulled in all rounds before

  std::optional<PeerWindow> target_;  ///< the receiver's buffer
  bool has_looked_ = false;           ///< whether that can be mapped
  /// The receiver's, once it is known here that pieces may go into the ring.
  std::atomic<EventCount*> bell_{nullptr};
  std::uint32_t next_opened_ = 0;  ///< of `push_opened` or `take_opened`

  // By all threads of the sender, on lines of their own.
  alignas(64) std::atomic<std::uint64_t> next_{0};  ///< ticket
  std::atomic<std::uint64_t> consumed_{0};          ///< cells that are known to have been emptied
  std::atomic<std::uint64_t> pushed_{0};            ///< units, in all rounds
  alignas(64) std::atomic<std::uint32_t> opened_{0};
};

}  // namespace plait::partitioned
