// bench-allreduce: sums over all threads of all processes, read by every thread. collective.hpp says what the threads do in each
// mode.
#include "reduction.hpp"

namespace {

class Allreduce : public plait::bench::Reduction {
 public:
  Allreduce(const plait::bench::Team& team, Way way, std::size_t count) : Reduction(team, way, count) { mixes = true; }

  void call(int t, MPI_Comm comm) override {
    reduce(t, [comm](auto* from, auto* to, std::size_t n) { MPI_Allreduce(from, to, static_cast<int>(n), MPI_INT64_T, MPI_SUM, comm); });
  }

  void read(int t) override { std::memcpy(seen(t), result(t), count_ * sizeof(plait::bench::Number)); }

  [[nodiscard]] std::int64_t wrong(int t, std::int64_t repeat) override { return wrong_between(t, 0, count_, repeat); }
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Allreduce>(argc, argv, "allreduce", "Allreduce over all threads of all processes, in every mode");
}
