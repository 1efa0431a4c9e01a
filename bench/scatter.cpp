// bench-scatter: `bytes` for each thread of all processes from the first process, whose threads write them together (as a rank: the
// first thread). collective.hpp says what the threads do in each mode.
#include "collective.hpp"

namespace {

using plait::bench::Number;

class Scatter : public plait::bench::Collective {
 public:
  static constexpr bool kHasData = true;
  static std::size_t parts(std::size_t threads, std::size_t ranks) { return ranks + 2 * threads; }
  Scatter(const plait::bench::Team& team, Way way, std::size_t count)
      : Collective(team, way, count), all_(root() ? ranks() * count : 0), mine_(threads() * count), read_(threads() * count) {}

  void write(int t, std::int64_t repeat) override {
    if (!at_root(t)) return;
    for (std::size_t p = 0; p < processes(); ++p) {
      for (std::size_t to = 0; to < threads(); ++to) {
        if (way_ != Way::rank && to != static_cast<std::size_t>(t)) continue;
        plait::bench::fill(all_.at(place(p, to)), count_, seed(p, to, repeat));
      }
    }
  }

  void call(int t, MPI_Comm comm) override {
    const int n = static_cast<int>(way_ == Way::whole ? threads() * count_ : count_);
    MPI_Scatter(all_.at(way_ == Way::share ? place(0, static_cast<std::size_t>(t)) : 0), n, MPI_INT64_T, mine(t), n, MPI_INT64_T, 0, comm);
  }

  void read(int t) override { std::memcpy(seen(t), mine(t), count_ * sizeof(Number)); }

  [[nodiscard]] std::int64_t wrong(int t, std::int64_t repeat) override {
    return plait::bench::differs(seen(t), count_, my_seed(t, repeat));
  }

 private:
  [[nodiscard]] Number* mine(int t) { return mine_.at(static_cast<std::size_t>(t) * count_); }
  [[nodiscard]] Number* seen(int t) { return read_.at(static_cast<std::size_t>(t) * count_); }

  plait::bench::Numbers all_, mine_, read_;
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Scatter>(argc, argv, "scatter", "Scatter to all threads of all processes, in every mode");
}
