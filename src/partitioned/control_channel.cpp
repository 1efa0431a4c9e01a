#include "partitioned/control_channel.hpp"

#include <array>
#include <exception>

#include "base/error.hpp"

namespace plait::partitioned {

bool ControlChannel::open(MPI_Comm comm, std::uint64_t node, bool needed) {
  int size = 0;
  check(PMPI_Comm_size(comm, &size));
  node_ = node;
  std::array<int, 2> all{shared_memory_works() ? 1 : 0, needed ? 0 : 1};
  check(PMPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT, MPI_MIN, comm));
  const auto [all_share, none_needs] = all;
  if (!all_share) return false;
  if (none_needs) return true;
  QueuePlace mine;
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
  places_.resize(static_cast<std::size_t>(size));
  const int bytes = static_cast<int>(sizeof mine);
  check(PMPI_Allgather(&mine, bytes, MPI_BYTE, places_.data(), bytes, MPI_BYTE, comm));
  peers_.resize(places_.size());
  return true;
}

bool ControlChannel::reaches(int process) noexcept {
  const auto p = static_cast<std::size_t>(process);
  if (p >= places_.size()) return false;
  Peer& peer = peers_[p];
  if (peer.known) return peer.to != nullptr;
  peer.known = true;
  const QueuePlace& place = places_[p];
  if (place.region.file < 0 || place.node != node_ || !lane::Node::get().attach(place.region)) return false;
  peer.to = static_cast<ControlQueue<ControlMessage>*>(lane::Node::get().at({place.region.id(), place.offset}));
  return true;
}

bool ControlChannel::put(const ControlMessage& message, int process) noexcept {
  return peers_[static_cast<std::size_t>(process)].to->put(message);
}

bool ControlChannel::take(ControlMessage& message) noexcept { return own_ && own_->take(taken_, message); }

}  // namespace plait::partitioned
