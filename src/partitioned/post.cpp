#include "partitioned/post.hpp"

#include <algorithm>
#include <exception>

#include "layout/contents.hpp"

namespace plait::partitioned {

void Post::open(MPI_Comm comm, std::uint64_t node, bool needed) {
  int size = 0;
  layout::check(PMPI_Comm_size(comm, &size));
  node_ = node;
  Card mine;
  mine.node = node;
  try {
    if (needed) {
      const Region::Place place = lane::Node::get().region().take(sizeof(Mailbox<Note>));
      own_ = static_cast<Mailbox<Note>*>(place.memory);
      mine.region = lane::Node::get().region().name();
      mine.offset = place.offset;
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): without shared memory the others use the MPI
  }
  cards_.resize(static_cast<std::size_t>(size));
  const int bytes = static_cast<int>(sizeof mine);
  layout::check(PMPI_Allgather(&mine, bytes, MPI_BYTE, cards_.data(), bytes, MPI_BYTE, comm));
  if (std::ranges::none_of(cards_, [](const Card& c) { return c.region.file >= 0; })) cards_.clear();
  ways_.resize(cards_.size());
}

bool Post::reaches(int process) noexcept {
  const auto p = static_cast<std::size_t>(process);
  if (p >= cards_.size()) return false;
  Way& way = ways_[p];
  if (way.known) return way.to != nullptr;
  way.known = true;
  const Card& card = cards_[p];
  if (card.region.file < 0 || card.node != node_ || !lane::Node::get().attach(card.region)) return false;
  way.to = static_cast<Mailbox<Note>*>(lane::Node::get().at({card.region.pid, card.offset}));
  return true;
}

bool Post::put(const Note& note, int process) noexcept { return ways_[static_cast<std::size_t>(process)].to->put(note); }

bool Post::take(Note& note) noexcept { return own_ && own_->take(taken_, note); }

}  // namespace plait::partitioned
