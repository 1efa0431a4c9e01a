// gaspi-shared: nothing is packed inside a node. The lattice lies in memory that the processes of a node share; each says by datatypes
// where its places lie, tells its neighbours when they may be read, updates its interior, and reads theirs. Each thread does so with its
// share of each face. For a neighbour on another node the places are gathered into one message.
//
// Places that others read are written by nobody meanwhile. Each belongs to one link, and along a link:
// - Lent places of the box (read before a crossing step) are not written by that step: each of them has one writer, which is the neighbour.
//   They are written when the neighbour hands them back, which it does after it has read them.
// - Places beyond the box (read before a local step) are written when the neighbour lends again, after that step and so after reading.
// Sites of the interior have no place in either. The same holds where an exchange between is made by messages (Simulation::settle): what
// arrives has been sent after reading.
#include <plait/SHAN_comm.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "error.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

/// Within the time loop there is no way on. The call itself has said what is wrong.
void shan_must(int result) {
  if (result == SHAN_SUCCESS) return;
  std::fprintf(stderr, "plait-lbm: the exchange with shared notifications failed\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class GaspiShared final : public Model {
 public:
  explicit GaspiShared(const World& world) : Model(world), segment_(world.lattice.memory().segment()) {
    order_links();
    collectively(world.comm, [&] { make_neighborhood(); });
    collectively(world.comm, [&] { describe_links(); });
  }
  ~GaspiShared() override { shan_comm_free_comm(&neighborhood_); }

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (!exchange) {
      update_all(phase, thread);
    } else {
      const int type = type_of(before(phase), thread);
      for (const int k : order_of_sends_) shan_must(shan_comm_notify_or_write(&neighborhood_, segment_, type, k));
      watch.lap(times.pack);
      update_interior(phase, thread);
      watch.lap(times.compute);
      shan_must(shan_comm_wait4AllRecv(&neighborhood_, segment_, type));
      // A message to another node may need this process to leave it. Neighbours on the node need nothing more: see above.
      for (const int k : far_) shan_must(shan_comm_wait4Send(&neighborhood_, type, k));
#pragma omp barrier
      watch.lap(times.wait);
      update_boundary(phase, thread);
    }
    watch.lap(times.compute);
  }

 private:
  /// Threads may use different types at once.
  [[nodiscard]] static int type_of(Direction d, int thread) { return 2 * thread + (d == Direction::lend ? 0 : 1); }

  /// Two processes may share several links, since the lattice is periodic. The k-th time that one names the other belongs to the k-th
  /// time that it is named, so both go through these links alike: the lower rank by its own sides, the higher one by the opposite sides,
  /// which is the reverse. No process is its own neighbour: links cross only sides that are divided.
  void order_links() {
    int rank = 0;
    MPI_Comm_rank(world_.comm, &rank);
    std::vector<Link*> reversed;
    for (Link& link : world_.halo.links()) (link.neighbor() > rank ? links_ : reversed).push_back(&link);
    links_.insert(links_.end(), reversed.rbegin(), reversed.rend());
  }

  void make_neighborhood() {
    std::vector<int> neighbors;
    neighbors.reserve(links_.size());
    for (const Link* link : links_) neighbors.push_back(link->neighbor());
    const std::size_t types = 2 * static_cast<std::size_t>(world_.threads);
    std::vector<long> most(types);  // bytes
    for (std::size_t t = 0; t < types; ++t) {
      for (const Link* link : links_) {
        const auto bytes = link->extent(static_cast<int>(t / 2), world_.threads).count * sizeof(double);
        most[t] = std::max(most[t], static_cast<long>(bytes));
      }
    }
    const std::vector<int> no_lists(types);
    const int made =
        shan_comm_init_comm(&neighborhood_, 0, neighbors.data(), static_cast<int>(neighbors.size()), most.data(), most.data(),
                            no_lists.data(), no_lists.data(), static_cast<int>(types), world_.lattice.memory().node(), world_.comm);
    if (made != SHAN_SUCCESS) throw Error("shared notifications cannot be set up: use another model");
  }

  void describe_links() {
    const void* base = world_.lattice.memory().data();
    for (int k = 0; k < static_cast<int>(links_.size()); ++k) {
      const Link& link = *links_[k];
      for (int thread = 0; thread < world_.threads; ++thread) {
        for (const Direction d : {Direction::lend, Direction::hand_back}) {
          MPI_Datatype send = link.sent(d, base, thread, world_.threads), receive = link.received(d, base, thread, world_.threads);
          const int made = plait_shan_comm_datatypes(&neighborhood_, type_of(d, thread), k, send, receive);
          MPI_Type_free(&send);
          MPI_Type_free(&receive);
          if (made != SHAN_SUCCESS) throw Error("the layout of the lattice cannot be shared: use another model");
        }
      }
      (shan_comm_local_rank(&neighborhood_, link.neighbor()) < 0 ? far_ : order_of_sends_).push_back(k);
    }
    // To say that something may be read takes no time; to gather it for another node does.
    order_of_sends_.insert(order_of_sends_.end(), far_.begin(), far_.end());
  }

  const shan_segment_t* segment_;
  shan_neighborhood_t neighborhood_{};
  std::vector<Link*> links_;  // as the neighbourhood numbers them
  std::vector<int> far_, order_of_sends_;
};

}  // namespace

std::unique_ptr<Model> make_gaspi_shared(const World& world) { return std::make_unique<GaspiShared>(world); }

}  // namespace plait::lbm
