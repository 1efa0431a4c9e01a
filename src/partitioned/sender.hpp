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

class Sender {
 public:
  /// `elements`: of a message whose ranges are added; none: its partitions are readied. Throws std::bad_alloc, std::system_error.
  Sender(Side side, std::optional<std::uint64_t> elements);

  [[nodiscard]] const Side& side() const noexcept { return side_; }
  /// How many elements or partitions it has.
  [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }
  [[nodiscard]] bool adds() const noexcept { return adds_; }

  void start() noexcept;
  /// Has it ever been?
  [[nodiscard]] bool started() const noexcept { return round_ > 0; }

  // ---- any thread, once started

  /// Partitions [low, high]. False where one is ready already: then none of them is readied twice, but those before it are.
  [[nodiscard]] bool ready(int low, int high) noexcept;
  /// Elements [first, first + count). False where one has been added before: then nothing is added.
  [[nodiscard]] bool add(std::uint64_t first, std::uint64_t count) noexcept;
  [[nodiscard]] int readied() const noexcept;  ///< how many are; for people

  /// A round of work by a thread that waits or asks, unless another is at it; true if something moved.
  bool step() noexcept;
  [[nodiscard]] bool done() const noexcept;
  void set_polled(bool here) noexcept {
    if (channel_) channel_->set_polled(here);
  }

  // ---- for the engine

  [[nodiscard]] ChannelSender* channel() noexcept { return channel_.get(); }
  [[nodiscard]] bool matched() const noexcept { return !channel_ || between_nodes() || channel_->matched(); }
  [[nodiscard]] bool between_nodes() const noexcept { return net_.load(std::memory_order_relaxed) != nullptr; }
  /// The receiver is on another node.
  void go_by_net(std::unique_ptr<NetSender> net) noexcept;

  std::uint32_t number = 0;  ///< among those of this process

 private:
  void begin() noexcept;
  [[nodiscard]] std::uint32_t group_for(std::uint64_t part) const noexcept;
  [[nodiscard]] std::uint64_t mark_whole_groups(std::uint64_t before, std::uint64_t mask) const noexcept;
  void complete(std::uint64_t begin, std::uint64_t end) noexcept;
  void complete_partitions(std::uint64_t first, std::uint64_t end) noexcept;
  void count_down(std::uint64_t n) noexcept;
  [[nodiscard]] bool mark(std::uint64_t first, std::uint64_t end) noexcept;
  void unmark(std::uint64_t first, std::uint64_t end) noexcept;

  Side side_;
  bool adds_;
  std::uint64_t elements_;  ///< or partitions
  std::uint64_t part_bytes_;
  std::uint64_t granule_ = 0;  ///< bytes; ranges that are added complete groups of this size
  std::uint32_t round_ = 0;
  std::uint32_t group_ = 1;                ///< partitions in a group this round: a power of two, at most 64
  std::unique_ptr<ChannelSender> channel_;  ///< null for MPI_PROC_NULL
  std::unique_ptr<NetSender> owned_net_;
  std::atomic<NetSender*> net_{nullptr};
  Spinlock busy_;  ///< a thread is in step()

  /// A bit for each partition, or element. Those behind the last are set.
  std::vector<std::atomic<std::uint64_t>> bits_;
  std::vector<std::atomic<std::uint64_t>> added_;  ///< bytes of each granule
  std::atomic<std::uint64_t> left_{0};             ///< of a message without bytes: partitions that are not ready
};

}  // namespace plait::partitioned
