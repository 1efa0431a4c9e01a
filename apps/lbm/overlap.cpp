// Four models that overlap communication and computation: some threads exchange while others update the interior; then all update the
// boundary. They differ in how many communicate (funneled: the first one; multiple: several, each a piece of every face on a communicator
// of its own), and in what these do else: nothing (reserved), or so much of the interior that all finish together (balanced). The interior
// is done apart where x is shared, too: without it nothing would overlap.
#include <plait/subteam.h>

#include <algorithm>

#include "messages.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

class Overlap final : public Model {
 public:
  Overlap(const World& world, int communicating, bool reserved)
      : Model(world),
        pieces_(world.halo, world.comm, communicating),
        team_(world.threads),
        communicating_(communicating),
        reserved_(reserved) {}

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (!exchange) {
      update_all(phase, thread);
      watch.lap(times.compute);
      return;
    }
    // Iterations are units of work, so that parts are equal; a span is done by the thread that has its first one.
    const Spans& interior = world_.lattice.interior();
    const auto communicate = [&] {
      if (thread < communicating_) exchange_halo(pieces_[thread], phase, times, watch);
    };
    const auto work = [&](long begin, long end) {
      const auto [first, last] = interior.begun_in(begin, end);
      update(world_.lattice, world_.fluid, phase, first, last);
    };
    if (!reserved_) {
      balance_[static_cast<int>(phase)].run(thread, 0, interior.work(), communicate, work);
    } else {
      communicate();
      if (thread >= communicating_) team_.loop(thread, communicating_, world_.threads - 1, 0, interior.work(), work);
#pragma omp barrier
    }
    const auto [first, last] = world_.lattice.boundary().part(thread, world_.threads);
    update(world_.lattice, world_.fluid, phase, first, last);
#pragma omp barrier
    watch.lap(times.compute);
  }

 private:
  Pieces pieces_;
  Team team_;
  // The two kinds of step take different times.
  Balance balance_[2]{{team_, 0, world_.threads - 1}, {team_, 0, world_.threads - 1}};
  int communicating_;
  bool reserved_;
};

}  // namespace

std::unique_ptr<Model> make_funneled_reserved(const World& world) { return std::make_unique<Overlap>(world, 1, true); }
std::unique_ptr<Model> make_funneled_balanced(const World& world) { return std::make_unique<Overlap>(world, 1, false); }
std::unique_ptr<Model> make_multiple_reserved(const World& world) {
  return std::make_unique<Overlap>(world, std::max(1, world.threads / 2), true);
}
std::unique_ptr<Model> make_multiple_balanced(const World& world) { return std::make_unique<Overlap>(world, world.threads, false); }

}  // namespace plait::lbm
