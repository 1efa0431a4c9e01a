// multiple: every thread packs, sends, receives and unpacks its share of each face, on a communicator of its own.
#include <vector>

#include "messages.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

class Multiple final : public Model {
 public:
  explicit Multiple(const World& world) : Model(world) {
    comms_.resize(world.threads);
    messages_.reserve(world.threads);
    for (int t = 0; t < world.threads; ++t) {
      MPI_Comm_dup(world.comm, &comms_[t]);
      messages_.emplace_back(world.halo, comms_[t], t, world.threads);
    }
  }
  ~Multiple() override {
    for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  }

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (exchange) {
      Messages& mine = messages_[thread];
      mine.pack(before(phase));
      watch.lap(times.pack);
      mine.start();
      mine.wait();
      watch.lap(times.wait);
      mine.unpack(before(phase));
#pragma omp barrier
      watch.lap(times.unpack);
    }
    update_all(phase, thread);
    watch.lap(times.compute);
  }

 private:
  std::vector<MPI_Comm> comms_;
  std::vector<Messages> messages_;
};

}  // namespace

std::unique_ptr<Model> make_multiple(const World& world) { return std::make_unique<Multiple>(world); }

}  // namespace plait::lbm
