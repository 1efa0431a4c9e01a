#include "threadcomm/team.hpp"

#include "base/backoff.hpp"
#include "lane/idle.hpp"
#include "lane/node.hpp"
#include "lane/task.hpp"
#include "stream/hang.hpp"
#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

namespace {

/// Some microseconds; then the endpoint is looked after, too.
constexpr int kSpins = 300;

}  // namespace

Team::Team(const Members& all) : size_(all.peers.size()), places_(std::make_unique<Place[]>(2 * size_)) {
  for (const stream::Peer& p : all.peers) spots_.push_back(&static_cast<transport::EndpointMemory*>(lane::Node::get().at(p.address))->spot);
}

bool Team::is_over(std::uint32_t meeting, std::size_t rank) const noexcept {
  // acquire: what was brought. Two ranks look at each other's place, which spares a line. Meetings wrap around.
  const std::uint32_t seen =
      size_ == 2 ? places_[2 * (1 - rank) + meeting % 2].meeting.load(std::memory_order_acquire) : over_.load(std::memory_order_acquire);
  return static_cast<std::int32_t>(seen - meeting) >= 0;
}

const std::byte* Team::brought(const Rank& rank, std::size_t by) const noexcept { return places_[2 * by + rank.meetings % 2].data; }

void Team::meet(Rank& rank, const lane::Memory& what, stream::Call call) {
  const auto me = static_cast<std::size_t>(rank.rank);
  const std::uint32_t meeting = ++rank.meetings;
  Place& mine = places_[2 * me + meeting % 2];
  lane::pack(what, 0, mine.data, what.bytes);
  if (size_ == 2) {
    // release: the data.
    mine.meeting.store(meeting, std::memory_order_release);
    spots_[1 - me]->wake_if_parked();
  } else if (here_.fetch_add(1, std::memory_order_acq_rel) + 1 == meeting * static_cast<std::uint32_t>(size_)) {
    // acq_rel above: the last to come has seen what all have brought, and hands it on.
    over_.store(meeting, std::memory_order_release);
    for (ParkingSpot* const spot : spots_) spot->wake_if_parked();
    return;
  }
  for (int i = lane::is_crowded() ? 0 : kSpins; i > 0; --i) {
    if (is_over(meeting, me)) return;
    relax();
  }
  if (!is_over(meeting, me)) wait(rank, call);
}

/// A meeting that has to be waited for while the endpoint moves on: every round of its progress looks, also the last one before
/// it sleeps.
class Wait final : public lane::Task {
 public:
  Wait(const Team& team, Rank& rank) : team_(team), rank_(rank) {
    const lane::Use use(rank_.endpoint());
    rank_.endpoint().add(*this);
  }
  ~Wait() {
    const lane::Use use(rank_.endpoint());
    rank_.endpoint().remove(*this);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  bool step() noexcept override { return team_.is_over(rank_.meetings, static_cast<std::size_t>(rank_.rank)); }

  const Team& team_;
  Rank& rank_;
};

void Team::wait(Rank& rank, stream::Call call) {
  const Wait task(*this, rank);
  const auto me = static_cast<std::size_t>(rank.rank);
  stream::wait_until(
      rank.endpoint(), *rank.locals[0].context, call, [&] { return is_over(rank.meetings, me); },
      [&] { return "all " + std::to_string(size_) + " ranks to come to it on " + stream::name_of(*rank.locals[0].context); });
}

}  // namespace plait::threadcomm
