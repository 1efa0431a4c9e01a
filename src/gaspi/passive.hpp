// Passive messages: the receiver takes part. A near sender puts its message into its own region and says so in its slot of the receiver's
// control block; what far ones send is kept until it is received. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/shared_memory.hpp"
#include "gaspi/deadline.hpp"
#include "gaspi/segments.hpp"

namespace plait::gaspi {

/// Of one of this process's segments, which is pinned. A call ends where it is deleted meanwhile.
struct Piece {
  const View& view;
  std::uint32_t segment;
  std::uint64_t offset, bytes;
  [[nodiscard]] std::byte* data() const noexcept { return view.data + offset; }
};

class Passive {
 public:
  explicit Passive(Job& job) : job_(job) {}

  [[nodiscard]] gaspi_return_t send(const Piece& message, std::uint16_t rank, gaspi_timeout_t timeout);
  [[nodiscard]] gaspi_return_t receive(const Piece& room, gaspi_rank_t& from, gaspi_timeout_t timeout);

  // By whoever drives the network: a piece of a far rank's message, and that one of ours has been received.
  void arrive(std::uint16_t from, std::uint64_t all, std::uint64_t at, std::span<const std::byte> data);
  void received(std::uint16_t by);

 private:
  /// To one rank there is one at a time; others wait.
  struct Sending {
    std::uint32_t segment = 0;
    std::uint64_t offset = 0, bytes = 0;
    bool left = false;      ///< its call has timed out: the same call takes it up
    bool received = false;  ///< by a far one
    Region::Place copy{0, nullptr};
  };
  struct Message {
    std::uint16_t from;
    std::vector<std::byte> data;
    std::uint64_t come = 0;
  };

  [[nodiscard]] bool begin(Peer& peer, const Piece& message);
  [[nodiscard]] bool is_over(Peer& peer);
  [[nodiscard]] bool ended(Peer& peer);
  [[nodiscard]] bool take(std::byte* to, std::uint64_t room, gaspi_rank_t& from, gaspi_return_t& result);
  [[nodiscard]] bool take_near(std::byte* to, std::uint64_t room, gaspi_rank_t& from, gaspi_return_t& result);

  Job& job_;
  std::mutex lock_;
  std::map<std::uint16_t, Sending> sending_;
  std::vector<Region::Place> copies_;  ///< not in use
  std::map<std::uint16_t, Message> coming_;
  std::deque<Message> arrived_;
  std::uint32_t next_ = 0;  ///< who is looked at first
};

}  // namespace plait::gaspi
