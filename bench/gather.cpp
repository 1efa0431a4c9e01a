// bench-gather: `bytes` from each thread of all processes to the first process, whose threads read them together (as a rank: the
// first thread). collective.hpp says what the threads do in each mode.
#include "collective.hpp"

namespace {

using plait::bench::Number;

class Gather : public plait::bench::Collective {
 public:
  static constexpr bool kHasData = true;
  static std::size_t parts(std::size_t threads, std::size_t ranks) { return 2 * ranks + threads; }
  Gather(const plait::bench::Team& team, Way way, std::size_t count)
      : Collective(team, way, count), mine_(threads() * count), all_(root() ? ranks() * count : 0), read_(root() ? ranks() * count : 0) {}

  void write(int t, std::int64_t repeat) override { plait::bench::fill(mine(t), count_, my_seed(t, repeat)); }

  void call(int t, MPI_Comm comm) override {
    const int n = static_cast<int>(way_ == Way::whole ? threads() * count_ : count_);
    MPI_Gather(mine(t), n, MPI_INT64_T, all_.at(way_ == Way::share ? place(0, static_cast<std::size_t>(t)) : 0), n, MPI_INT64_T, 0, comm);
  }

  void read(int t) override {
    each(t, [this](std::size_t p, std::size_t from) {
      std::memcpy(read_.at(place(p, from)), all_.at(place(p, from)), count_ * sizeof(Number));
    });
  }

  [[nodiscard]] std::int64_t wrong(int t, std::int64_t repeat) override {
    std::int64_t found = 0;
    each(t,
         [&](std::size_t p, std::size_t from) { found += plait::bench::differs(read_.at(place(p, from)), count_, seed(p, from, repeat)); });
    return found;
  }

 private:
  [[nodiscard]] Number* mine(int t) { return mine_.at(static_cast<std::size_t>(t) * count_); }

  /// What thread t reads: at the root, alone everything, else what its counterparts sent.
  template <class Visit>
  void each(int t, Visit visit) {
    if (!at_root(t)) return;
    for (std::size_t p = 0; p < processes(); ++p) {
      for (std::size_t from = 0; from < threads(); ++from) {
        if (way_ == Way::rank || from == static_cast<std::size_t>(t)) visit(p, from);
      }
    }
  }

  plait::bench::Numbers mine_, all_, read_;
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Gather>(argc, argv, "gather", "Gather from all threads of all processes, in every mode");
}
