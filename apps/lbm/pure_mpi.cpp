// pure-mpi: a process per core. Pack, exchange, unpack, update, one after the other.
#include "messages.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

class PureMpi final : public Model {
 public:
  explicit PureMpi(const World& world) : Model(world), messages_(world.halo, world.comm) {}

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (exchange) {
      messages_.pack(before(phase));
      watch.lap(times.pack);
      messages_.start();
      messages_.wait();
      watch.lap(times.wait);
      messages_.unpack(before(phase));
      watch.lap(times.unpack);
    }
    update_all(phase, thread);
    watch.lap(times.compute);
  }

 private:
  Messages messages_;
};

}  // namespace

std::unique_ptr<Model> make_pure_mpi(const World& world) { return std::make_unique<PureMpi>(world); }

}  // namespace plait::lbm
