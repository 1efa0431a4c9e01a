// masteronly: all threads pack and unpack; the first one alone communicates, while the others wait.
#include "messages.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

class Masteronly final : public Model {
 public:
  explicit Masteronly(const World& world) : Model(world), messages_(world.halo, world.comm) {}

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (exchange) {
      for (Link& link : world_.halo.links()) link.pack(before(phase), thread, world_.threads);
#pragma omp barrier
      watch.lap(times.pack);
      if (thread == 0) {
        messages_.start();
        messages_.wait();
      }
#pragma omp barrier
      watch.lap(times.wait);
      for (Link& link : world_.halo.links()) link.unpack(before(phase), thread, world_.threads);
#pragma omp barrier
      watch.lap(times.unpack);
    }
    update_all(phase, thread);
    watch.lap(times.compute);
  }

 private:
  Messages messages_;
};

}  // namespace

std::unique_ptr<Model> make_masteronly(const World& world) { return std::make_unique<Masteronly>(world); }

}  // namespace plait::lbm
