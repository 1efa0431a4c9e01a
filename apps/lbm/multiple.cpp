// multiple: every thread packs, sends, receives and unpacks its share of each face, on a communicator of its own.
#include "messages.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

class Multiple final : public Model {
 public:
  explicit Multiple(const World& world) : Model(world), pieces_(world.halo, world.comm, world.threads) {}

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (exchange) {
      exchange_halo(pieces_[thread], phase, times, watch);
#pragma omp barrier
      watch.lap(times.unpack);
    }
    update_all(phase, thread);
    watch.lap(times.compute);
  }

 private:
  Pieces pieces_;
};

}  // namespace

std::unique_ptr<Model> make_multiple(const World& world) { return std::make_unique<Multiple>(world); }

}  // namespace plait::lbm
