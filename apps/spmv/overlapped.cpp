// The models in which some threads communicate while rows that need no halo are multiplied; then all multiply the rest. Reserved: by the
// other threads, in equal parts. Balanced: by all, and by those that communicate so much less that all are done together.
#include <optional>
#include <vector>

#include "model.hpp"

namespace plait::spmv {
namespace {

enum class Calls { first_thread, each };  // who of those that communicate calls the MPI
enum class Loop { reserved, balanced };

class Overlapped final : public Model {
 public:
  Overlapped(const World& world, Calls calls, Loop loop) : Model(world), communicating_(world.reserved) {
    if (calls == Calls::each) {
      comms_.resize(communicating_);
      for (int t = 0; t < communicating_; ++t) {
        MPI_Comm_dup(world.matrix.comm(), &comms_[t]);
        messages_.emplace_back(world.matrix.halo(), comms_[t], t, communicating_);
      }
    } else {
      messages_.emplace_back(world.matrix.halo(), world.matrix.comm());
    }
    if (loop == Loop::balanced) balance_.emplace(world.team, 0, world.team.size() - 1);
  }
  ~Overlapped() override {
    for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  }

  void step(double* x, double* y, int thread, PartTimes& times) override {
    const int last = team().size() - 1;
    const long inner = matrix().inner_work();
    const auto multiply = [&](long begin, long end) { matrix().multiply(begin, end, x, y); };
    Stopwatch watch;
    const auto beside = [&] {
      if (thread < communicating_) communicate(x, thread);
      times.communication = watch.lap();
    };
    if (balance_) {
      balance_->run(thread, 0, inner, beside, multiply);
    } else {
      beside();
      team().loop(thread, communicating_, last, 0, inner, multiply);
      team().barrier(thread);
    }
    times.inner = watch.lap();
    team().loop(thread, 0, last, inner, matrix().work().total(), multiply);
    times.outer = watch.lap();
  }

 private:
  void communicate(double* x, int thread) {
    matrix().halo().pack(x, thread, communicating_);
    double* slots = x + matrix().rows();
    if (!comms_.empty()) {
      messages_[thread].exchange(slots);
      return;
    }
    // What several have packed, the first one sends.
    if (communicating_ > 1) team().barrier(thread, 0, communicating_ - 1);
    if (thread == 0) messages_.front().exchange(slots);
  }

  int communicating_;
  std::vector<MPI_Comm> comms_;  // of each thread, where each calls the MPI
  std::vector<Messages> messages_;
  std::optional<Balance> balance_;
};

}  // namespace

std::unique_ptr<Model> make_funneled_reserved(const World& world) {
  return std::make_unique<Overlapped>(world, Calls::first_thread, Loop::reserved);
}
std::unique_ptr<Model> make_multiple_reserved(const World& world) {
  return std::make_unique<Overlapped>(world, Calls::each, Loop::reserved);
}
std::unique_ptr<Model> make_funneled_balanced(const World& world) {
  return std::make_unique<Overlapped>(world, Calls::first_thread, Loop::balanced);
}
std::unique_ptr<Model> make_multiple_balanced(const World& world) {
  return std::make_unique<Overlapped>(world, Calls::each, Loop::balanced);
}

}  // namespace plait::spmv
