// bench-reduce: sums over all threads of all processes, at the first process, whose threads read them together (as a rank: the
// first thread). collective.hpp says what the threads do in each mode.
#include "reduction.hpp"

namespace {

class Reduce : public plait::bench::Reduction {
 public:
  using Reduction::Reduction;

  void call(int t, MPI_Comm comm) override {
    reduce(t, [comm](auto* from, auto* to, std::size_t n) { MPI_Reduce(from, to, static_cast<int>(n), MPI_INT64_T, MPI_SUM, 0, comm); });
  }

  void read(int t) override {
    if (at_root(t)) std::memcpy(seen(t) + first(t), result(t) + first(t), (end(t) - first(t)) * sizeof(plait::bench::Number));
  }

  [[nodiscard]] std::int64_t wrong(int t, std::int64_t repeat) override {
    return at_root(t) ? wrong_between(t, first(t), end(t), repeat) : 0;
  }

 private:
  [[nodiscard]] std::size_t first(int t) const { return way_ == Way::rank ? 0 : share(t); }
  [[nodiscard]] std::size_t end(int t) const { return way_ == Way::rank ? count_ : share(t + 1); }
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Reduce>(argc, argv, "reduce", "Reduce over all threads of all processes, in every mode");
}
