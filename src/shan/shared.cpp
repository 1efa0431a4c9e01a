#include "shan/shared.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "shan/failure.hpp"

namespace plait::shan {
namespace {

constexpr std::size_t kPage = 4096;

struct Card {
  SharedHeap::Place place;
  std::uint64_t bytes;
};

}  // namespace

SharedBlock::SharedBlock(std::size_t bytes, MPI_Comm comm) {
  const MpiLock serial;
  int size = 0;
  int rank = 0;
  check(PMPI_Comm_size(comm, &size));
  check(PMPI_Comm_rank(comm, &rank));
  // Each process has a page at least, so that there is a place to find.
  const std::size_t taken = std::max(bytes, std::size_t{1});
  mine_ = SharedHeap::get().take(taken, kPage);
  if (mine_) std::memset(mine_, 0, taken);
  const Card mine{mine_ ? SharedHeap::get().find(mine_, taken) : SharedHeap::Place{}, bytes};
  std::vector<Card> cards(static_cast<std::size_t>(size));
  check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE, comm));
  int works = 1;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    bytes_.push_back(cards[i].bytes);
    if (static_cast<int>(i) == rank) {
      parts_.push_back({static_cast<std::byte*>(mine_), nullptr});
    } else {
      lane::PeerHeap heap;
      parts_.push_back(cards[i].place.heap.file >= 0 ? lane::map_buffer(heap, cards[i].place) : lane::MappedBuffer{});
    }
    if (!parts_.back().at) works = 0;
  }
  int all = 0;
  check(PMPI_Allreduce(&works, &all, 1, MPI_INT, MPI_MIN, comm));
  if (all) return;
  if (mine_) SharedHeap::get().give(mine_);
  throw Failure("no memory that the processes of the communicator can share: too little is left, or they are on different nodes");
}

SharedBlock::~SharedBlock() { SharedHeap::get().give(mine_); }

OwnBlock::OwnBlock(std::size_t bytes) : memory_(SharedHeap::get().take(bytes)), bytes_(bytes) {
  expect(memory_ != nullptr, "no memory that can be shared is left");
}

OwnBlock::~OwnBlock() { SharedHeap::get().give(memory_); }

}  // namespace plait::shan
