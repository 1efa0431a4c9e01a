// The ranks of a communicator that lies within one process, as far as they meet in memory that all of them see: one line of
// it handed from each to the others is all that a barrier or a small allreduce takes.
//
// A meeting is over when all have come. What a rank brings lies in one of two places in turn: who brings something to the next
// meeting but one has been at the next one, to which all came after they had read what was brought to this one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stream/message.hpp"
#include "transport/ring.hpp"

namespace plait::threadcomm {

struct Rank;
struct Members;

class Team {
 public:
  /// What a rank can bring.
  static constexpr std::size_t kBytes = 256;
  /// A meeting of more ranks is better made in several steps.
  static constexpr std::size_t kRanks = 32;

  explicit Team(const Members& all);

  /// By every rank, with as many bytes. Returns when all have come; then `brought` may be read until this rank's next meeting.
  void meet(Rank& rank, const lane::Memory& what, stream::Call call);
  [[nodiscard]] const std::byte* brought(const Rank& rank, std::size_t by) const noexcept;

 private:
  friend class Wait;
  struct alignas(64) Place {
    std::atomic<std::uint32_t> meeting{0};
    alignas(16) std::byte data[kBytes];
  };
  [[nodiscard]] bool is_over(std::uint32_t meeting, std::size_t rank) const noexcept;
  void wait(Rank& rank, stream::Call call);

  alignas(64) std::atomic<std::uint32_t> here_{0};  ///< ranks that have come, all meetings together
  alignas(64) std::atomic<std::uint32_t> over_{0};  ///< the last meeting that is over; what follows is read with it
  std::size_t size_;
  std::unique_ptr<Place[]> places_;  ///< two of each rank
  std::vector<ParkingSpot*> spots_;  ///< where the ranks sleep
};

}  // namespace plait::threadcomm
