// The sending side of a partitioned message: which of its partitions are ready, and what becomes of those that are.
//
// Threads ready partitions at the same time without a lock: each sets its partition's bit by one read-modify-write of a word
// that 64 partitions share. Of the threads whose bits complete a group exactly one sees the group complete; it has acquired
// what the others wrote before, and sends the group. tests/models/partitioned.pml is the model of this and of the channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/spinlock.hpp"
#include "partitioned/channel_sender.hpp"
#include "partitioned/net_channel.hpp"
#include "partitioned/side.hpp"

namespace plait::partitioned {

/// Of a message whose ranges are added, as finepoints' are.
struct Ranges {
  std::uint64_t elements = 0;
  int threads = 1;  ///< that add them

  /// A thread's part, rounded up: the parts may leave the buffer.
  [[nodiscard]] std::uint64_t share() const noexcept {
    return (elements + static_cast<unsigned>(threads) - 1) / static_cast<unsigned>(threads);
  }
  /// What parts that are rounded down leave.
  [[nodiscard]] std::uint64_t rest() const noexcept { return elements % static_cast<unsigned>(threads); }
};

class Sender {
 public:
  /// Without `ranges` its partitions are readied. Throws std::bad_alloc, std::system_error.
  Sender(Side side, std::optional<Ranges> ranges);

  [[nodiscard]] const Side& side() const noexcept { return side_; }
  /// How many elements or partitions it has.
  [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }
  [[nodiscard]] bool adds() const noexcept { return ranges_.has_value(); }
  [[nodiscard]] const Ranges& ranges() const noexcept { return *ranges_; }

  void start() noexcept;
  /// Has it ever been?
  [[nodiscard]] bool started() const noexcept { return round_ > 0; }

  // ---- any thread, once started

  /// Partitions [low, high]. False where one is ready already: then none of them is readied twice, but those before it are.
  [[nodiscard]] bool ready(int low, int high) noexcept;
  /// Elements [first, first + count). False where one has been added before: then nothing is added.
  [[nodiscard]] bool add(std::uint64_t first, std::uint64_t count) noexcept;
  /// The same for a thread's part, rounded down: the last of the threads adds what these leave.
  [[nodiscard]] bool add_share(std::uint64_t first, std::uint64_t count) noexcept;
  [[nodiscard]] int readied() const noexcept;  ///< how many are; for people

  /// A round of work by a thread that waits or asks, unless another is at it; true if something moved.
  bool step() noexcept;
  /// The program has its buffer back.
  [[nodiscard]] bool done() const noexcept;
  /// Nothing of the round is left to be sent. What is added is copied where it cannot be sent at once, and may be left when it is done.
  [[nodiscard]] bool delivered() const noexcept;
  void set_polled(bool here) noexcept {
    if (channel_) channel_->set_polled(here);
  }

  // ---- for the engine

  [[nodiscard]] ChannelSender* channel() noexcept { return channel_.get(); }
  [[nodiscard]] bool matched() const noexcept { return !channel_ || between_nodes() || channel_->matched(); }
  [[nodiscard]] bool between_nodes() const noexcept { return net_.load(std::memory_order_relaxed) != nullptr; }
  /// The receiver is on another node.
  void go_by_net(std::unique_ptr<NetSender> net) noexcept;

  /// What others may read of it.
  [[nodiscard]] const lane::Memory& readable() const noexcept { return staging_.at ? staging_ : side_.memory; }

  /// All of it is delivered, and there is no round any more.
  void end() noexcept;

  std::uint32_t number = 0;  ///< among those of this process
  bool freed = false;        ///< the program has freed it

  /// Rounds of messages whose ranges are added that have begun and are not delivered. A hint.
  [[nodiscard]] static bool any_undelivered() noexcept { return undelivered.load(std::memory_order_relaxed) > 0; }

 private:
  void begin() noexcept;
  [[nodiscard]] std::uint32_t group_for(std::uint64_t part) const noexcept;
  void complete(std::uint64_t begin, std::uint64_t end) noexcept;
  void settle() noexcept;
  void complete_partitions(std::uint64_t first, std::uint64_t end) noexcept;
  void count_down(std::uint64_t n) noexcept;
  [[nodiscard]] bool mark(std::uint64_t first, std::uint64_t end) noexcept;
  void unmark(std::uint64_t first, std::uint64_t end) noexcept;

  inline static constinit std::atomic<int> undelivered{0};

  Side side_;
  std::optional<Ranges> ranges_;
  std::uint64_t elements_;  ///< or partitions
  std::uint64_t part_bytes_;
  std::uint64_t granule_ = 0;  ///< bytes; ranges that are added complete groups of this size
  std::uint32_t round_ = 0;
  std::uint32_t group_ = 1;  ///< partitions in a group this round: a power of two, at most 64
  std::unique_ptr<std::byte[]> room_;
  lane::Memory staging_;                    ///< the message's bytes in `room_`; of one whose partitions are readied: nothing
  std::unique_ptr<ChannelSender> channel_;  ///< null for MPI_PROC_NULL
  std::unique_ptr<NetSender> owned_net_;
  std::atomic<NetSender*> net_{nullptr};
  Spinlock busy_;         ///< a thread is in step()
  bool counted_ = false;  ///< among those undelivered; under the lock

  /// A bit for each partition, or element. Those behind the last are set.
  std::vector<std::atomic<std::uint64_t>> bits_;
  std::vector<std::atomic<std::uint64_t>> added_;  ///< bytes of each granule
  std::atomic<std::uint64_t> left_{0};             ///< of a message without bytes: partitions that are not ready
  std::atomic<std::uint64_t> taken_{0};            ///< units that the program has back
  std::atomic<int> shares_{0};                     ///< calls of add_share
  std::atomic<bool> rest_added_{false};            ///< by the last of these; one that was refused may have made another the last, too
};

}  // namespace plait::partitioned
