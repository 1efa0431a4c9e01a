// funneled: the first thread does the whole exchange while the others update the interior; then all update the
// boundary. The first thread gets so much less of the interior that all finish together.
#include <algorithm>

#include "messages.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

/// The first thread's share of the interior, learnt from the steps so far. With an exchange of c seconds and
/// threads that update r units of work a second, all T finish W units together if the first one does
/// (W - (T - 1) c r) / T of them.
class Share {
 public:
  explicit Share(double first) : share_(first) {}

  [[nodiscard]] double value() const { return share_; }

  void learn(double exchange, double rate, double work, int threads) {
    constexpr double kNew = 0.2;  // weight of the newest step: follows a change in some ten steps, not one hiccup
    if (!(rate > 0) || !(work > 0)) return;
    exchange_ = exchange_ > 0 ? exchange_ + kNew * (exchange - exchange_) : exchange;
    rate_ = rate_ > 0 ? rate_ + kNew * (rate - rate_) : rate;
    share_ = std::clamp((work - (threads - 1) * exchange_ * rate_) / (threads * work), 0.0, 1.0);
  }

 private:
  double share_, exchange_ = 0, rate_ = 0;
};

class Funneled final : public Model {
 public:
  explicit Funneled(const World& world)
      : Model(world), messages_(world.halo, world.comm), share_{Share(1.0 / world.threads), Share(1.0 / world.threads)} {}

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    if (!exchange) {
      Stopwatch watch;
      update_all(phase, thread);
      watch.lap(times.compute);
      return;
    }
    const Spans& interior = world_.lattice.interior();
    const double share = share_[static_cast<int>(phase)].value();
    double exchanged = 0, updated = 0;
    Stopwatch watch;
    if (thread == 0) exchanged = exchange_all(phase, times, watch);
    const auto [begin, end] = thread == 0 ? interior.part(0.0, share) : part_of_others(interior, share, thread);
    update(world_.lattice, world_.fluid, phase, begin, end);
    updated = watch.lap(times.compute);
    if (thread == world_.threads - 1 && updated > 0) rate_ = work_of_others(interior, share) / updated;
#pragma omp barrier
    if (thread == 0) {
      share_[static_cast<int>(phase)].learn(exchanged, rate_, static_cast<double>(interior.work()), world_.threads);
    }
    const auto [first, last] = world_.lattice.boundary().part(thread, world_.threads);
    update(world_.lattice, world_.fluid, phase, first, last);
#pragma omp barrier
    watch.lap(times.compute);
  }

 private:
  double exchange_all(Phase phase, StepTimes& times, Stopwatch& watch) {
    messages_.pack(before(phase));
    double seconds = watch.lap(times.pack);
    messages_.start();
    messages_.wait();
    seconds += watch.lap(times.wait);
    messages_.unpack(before(phase));
    return seconds + watch.lap(times.unpack);
  }

  [[nodiscard]] std::pair<const Span*, const Span*> part_of_others(const Spans& spans, double share, int thread) const {
    const double each = (1 - share) / (world_.threads - 1);
    const bool last = thread == world_.threads - 1;
    return spans.part(share + each * (thread - 1), last ? 1.0 : share + each * thread);
  }

  /// Work units that each of the other threads does; with one thread, what that does.
  [[nodiscard]] double work_of_others(const Spans& spans, double share) const {
    const auto work = static_cast<double>(spans.work());
    return world_.threads == 1 ? work : work * (1 - share) / (world_.threads - 1);
  }

  Messages messages_;
  Share share_[2];   // by phase; written by the first thread between the two barriers of a step
  double rate_ = 0;  // written by the last thread before the first barrier, read by the first after it
};

}  // namespace

std::unique_ptr<Model> make_funneled(const World& world) { return std::make_unique<Funneled>(world); }

}  // namespace plait::lbm
