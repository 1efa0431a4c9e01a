#include "partitioned/control_channel.hpp"

#include <algorithm>
#include <exception>

#include "base/error.hpp"

namespace plait::partitioned {

void ControlChannel::open(MPI_Comm comm, std::uint64_t node, bool needed) {
  int size = 0;
  check(PMPI_Comm_size(comm, &size));
  node_ = node;
  Card mine;
  mine.node = node;
  try {
    if (needed) {
      const Region::Place place = lane::Node::get().region().take(sizeof(ControlQueue<ControlMessage>));
      own_ = static_cast<ControlQueue<ControlMessage>*>(place.memory);
      mine.region = lane::Node::get().region().name();
      mine.offset = place.offset;
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): without shared memory the others use the MPI
  }
  cards_.resize(static_cast<std::size_t>(size));
  const int bytes = static_cast<int>(sizeof mine);
  check(PMPI_Allgather(&mine, bytes, MPI_BYTE, cards_.data(), bytes, MPI_BYTE, comm));
  if (std::ranges::none_of(cards_, [](const Card& c) { return c.region.file >= 0; })) cards_.clear();
  ways_.resize(cards_.size());
}

bool ControlChannel::reaches(int process) noexcept {
  const auto p = static_cast<std::size_t>(process);
  if (p >= cards_.size()) return false;
  Way& way = ways_[p];
  if (way.known) return way.to != nullptr;
  way.known = true;
  const Card& card = cards_[p];
  if (card.region.file < 0 || card.node != node_ || !lane::Node::get().attach(card.region)) return false;
  way.to = static_cast<ControlQueue<ControlMessage>*>(lane::Node::get().at({card.region.id(), card.offset}));
  return true;
}

bool ControlChannel::put(const ControlMessage& note, int process) noexcept {
  return ways_[static_cast<std::size_t>(process)].to->put(note);
}

bool ControlChannel::take(ControlMessage& note) noexcept { return own_ && own_->take(taken_, note); }

}  // namespace plait::partitioned
