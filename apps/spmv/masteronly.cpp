// masteronly: the first thread packs and communicates, while the others wait; then all multiply.
#include "model.hpp"

namespace plait::spmv {
namespace {

class Masteronly final : public Model {
 public:
  explicit Masteronly(const World& world) : Model(world), messages_(world.matrix.halo(), world.matrix.comm()) {}

  void step(double* x, double* y, int thread, PartTimes& times) override {
    Stopwatch watch;
    if (thread == 0) {
      matrix().halo().pack(x, 0, 1);
      messages_.exchange(x + matrix().rows());
    }
    team().barrier(thread);
    times.communication = watch.lap();
    multiply(0, matrix().inner_work(), x, y, thread);
    times.inner = watch.lap();
    multiply(matrix().inner_work(), matrix().work().total(), x, y, thread);
    team().barrier(thread);
    times.outer = watch.lap();
  }

 private:
  /// Without a barrier between the inner and the outer rows: nothing has to wait there.
  void multiply(long low, long high, const double* x, double* y, int thread) {
    const auto [begin, end] = part_of(low, high, thread, team().size());
    matrix().multiply(begin, end, x, y);
  }

  Messages messages_;
};

}  // namespace

std::unique_ptr<Model> make_masteronly(const World& world) { return std::make_unique<Masteronly>(world); }

}  // namespace plait::spmv
