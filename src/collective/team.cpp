#include "collective/team.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/delay.hpp"
#include "base/error.hpp"
#include "collective/rank.hpp"
#include "lane/node.hpp"
#include "p2p/hang.hpp"
#include "progress/wait.hpp"

namespace plait::collective {

namespace {

/// All ranks together have that much to stage, but each no more than kMostChunk. Two, which often have a core each, stage less at a time:
/// one copies in while the other copies out. More ranks than cores want few meetings.
constexpr std::size_t kAllChunks = std::size_t{1} << 20;
constexpr std::size_t kMostChunk = std::size_t{128} << 10;
constexpr std::size_t kMostChunkOfTwo = std::size_t{16} << 10;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Rooms that ranks have left. Others may still look into them: they are used again when all have departed.
class Pool {
 public:
  static Pool& get() {
    static Pool& pool = *new Pool;  // never destroyed, like the region
    return pool;
  }

  Room take() {
    const std::lock_guard guard(lock_);
    const auto unused = std::ranges::find_if(left_, [](const Left& l) {
      // acquire: those who have departed look at it no more.
      return flags_of(l.room).departed.load(std::memory_order_acquire) == l.others;
    });
    if (unused == left_.end()) return {.flags = lane::Node::get().region().take(sizeof(ArrivalFlags))};
    const Room room = unused->room;
    left_.erase(unused);
    ArrivalFlags& flags = flags_of(room);
    flags.asleep.store(0, std::memory_order_relaxed);
    flags.departed.store(0, std::memory_order_relaxed);
    for (ArrivalFlags::Slot& slot : flags.slots) slot.meeting.store(0, std::memory_order_relaxed);
    return room;
  }
  void leave(const Room& room, std::size_t others) noexcept {
    try {
      const std::lock_guard guard(lock_);
      left_.push_back({room, static_cast<std::uint32_t>(others)});
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it is not used again
    }
  }

  static ArrivalFlags& flags_of(const Room& room) noexcept { return *static_cast<ArrivalFlags*>(room.flags.memory); }

 private:
  struct Left {
    Room room;
    std::uint32_t others;  ///< that have to depart
  };
  std::mutex lock_;
  std::vector<Left> left_;
};

}  // namespace

Team::Team(Rank& rank, std::vector<std::uint32_t> ranks)
    : rank_(rank),
      ranks_(std::move(ranks)),
      others_(ranks_.size() < rank.peers.size()),
      me_(static_cast<std::size_t>(std::ranges::find(ranks_, static_cast<std::uint32_t>(rank.rank)) - ranks_.begin())),
      room_(Pool::get().take()) {}

void Team::connect(const std::vector<std::uint64_t>& offsets) {
  const std::size_t n = offsets.size();
  bulk_.resize(n);
  near_.reserve(n);
  flags_.reserve(n);
  events_.reserve(n);
  lane::Node& node = lane::Node::get();
  for (std::size_t i = 0; i < n; ++i) {
    const lane::Address endpoint = rank_.peers[ranks_[i]].address;
    near_.push_back(endpoint.region == node.region_id() ? 1 : 0);
    events_.push_back(&static_cast<transport::EndpointMemory*>(node.at(endpoint))->event);
    flags_.push_back(static_cast<ArrivalFlags*>(node.at({endpoint.region, offsets[i]})));
  }
  one_process_ = std::ranges::find(near_, 0) == near_.end();
  // Whole cache lines, so that operations find their operands aligned.
  chunk_ =
      std::min(n == 2 ? kMostChunkOfTwo : kMostChunk, kAllChunks / n / 64 * 64);  // NOLINT(clang-analyzer-core.DivideZero): there are ranks
  share_ = round_up(chunk_ / n) + 64;                                             // shares are of whole elements
}

Team::~Team() {
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    // release: what this rank has read there.
    if (i != me_) flags_[i]->departed.fetch_add(1, std::memory_order_release);
  }
  Pool::get().leave(room_, flags_.empty() ? 0 : flags_.size() - 1);
}

// ---- meetings

ArrivalFlags::Slot& Team::open(p2p::Call call) {
  ++meeting_;
  // What the slot holds is of the meeting before that many; those who have come to the next one have read it.
  const std::uint32_t read = meeting_ - ArrivalFlags::kSlots + 1;
  if (static_cast<std::int32_t>(read - all_came_) > 0) wait_for_all(read, call);
  return Pool::flags_of(room_).slots[meeting_ % ArrivalFlags::kSlots];
}

void Team::arrive(std::uint64_t bytes) noexcept {
  ArrivalFlags::Slot& slot = Pool::flags_of(room_).slots[meeting_ % ArrivalFlags::kSlots];
  slot.bytes = bytes;
  delay();
  // release: all that this rank has brought.
  slot.meeting.store(meeting_, std::memory_order_release);
  // As in EventCount::notify, of all their event counts: who sleeps has said so in `asleep` before it prepared to.
  if (event_count_needs_fence) [[unlikely]]
    std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (flags_[0]->asleep.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  for (EventCount* const event : events_) event->notify();
}

const ArrivalFlags::Slot& Team::of(std::size_t rank, p2p::Call call) {
  wait(rank, meeting_, call);
  return flags_[rank]->slots[meeting_ % ArrivalFlags::kSlots];
}

void Team::wait_for_all(p2p::Call call) { wait_for_all(meeting_, call); }

void Team::wait_for_all(std::uint32_t meeting, p2p::Call call) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (i != me_) wait(i, meeting, call);
  }
  all_came_ = meeting;
}

void Team::wait(std::size_t rank, std::uint32_t meeting, p2p::Call call) {
  if (has_come(rank, meeting)) return;
  const progress::Patience& patience = others_ ? progress::kForLeader : progress::kForArrival;
  const int spins = progress::spins_of(patience);
  for (int i = 0; i < spins; ++i) {
    relax();
    if (has_come(rank, meeting)) return;
  }
  if (spins == 0) {
    for (int i = 0; i < patience.yields; ++i) {
      sched_yield();
      if (has_come(rank, meeting)) return;
      // It may wait for a message that this rank has to move.
      const lane::EndpointGuard guard(rank_.endpoint());
      static_cast<void>(rank_.endpoint().progress());
    }
  }
  wait_long(rank, meeting, call);
}

void Team::wait_long(std::size_t rank, std::uint32_t meeting, p2p::Call call) {
  // Before any preparation to sleep, which orders it; see arrive().
  std::atomic<std::uint32_t>& asleep = flags_[0]->asleep;
  asleep.fetch_add(1, std::memory_order_relaxed);
  delay();
  p2p::wait_until(
      rank_.endpoint(), call, [&] { return has_come(rank, meeting); },
      [&] { return "rank " + std::to_string(ranks_[rank]) + " to come to it on " + p2p::name_of(*rank_.hidden); },
      others_ ? progress::kForLeader : progress::kForMessage);
  asleep.fetch_sub(1, std::memory_order_relaxed);
}

// ---- bulk

Team::Bulk Team::begin_bulk(const void* mine) {
  const std::size_t bytes = 2 * (chunk_ + share_);
  if (room_.bulk_bytes < bytes) {
    try {
      room_.bulk = lane::Node::get().region().take(bytes);
    } catch (const std::bad_alloc&) {
      return {0, nullptr};
    }
    room_.bulk_bytes = bytes;
  }
  return {room_.bulk.offset, mine};
}

std::byte* Team::stage(std::uint64_t chunk, p2p::Call call) {
  std::uint32_t& read_by = read_by_[turn(chunk)];
  if (static_cast<std::int32_t>(read_by - all_came_) > 0) wait_for_all(read_by, call);
  read_by = meeting_ + 1;
  return static_cast<std::byte*>(room_.bulk.memory) + turn(chunk) * chunk_;
}

void Team::know_bulk(std::size_t rank, const Bulk& bulk) {
  require(bulk.offset != 0, MPI_ERR_NO_MEM);
  if (!bulk_[rank]) bulk_[rank] = static_cast<std::byte*>(lane::Node::get().at({rank_.peers[ranks_[rank]].address.region, bulk.offset}));
}

}  // namespace plait::collective
