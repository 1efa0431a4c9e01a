// bench-alltoall: `bytes` from each thread to each thread of all processes. collective.hpp says what the threads do in each mode.
#include "collective.hpp"

namespace {

using plait::bench::Number;

/// Data lies by process, then by the sending thread (sent: by the receiving), then by the receiving (sending) one, where one thread
/// communicates for all; else by the communicating thread, then by process, then by thread.
class Alltoall : public plait::bench::Collective {
 public:
  static constexpr bool kHasData = true;
  static std::size_t parts(std::size_t threads, std::size_t ranks) { return 3 * threads * ranks; }
  Alltoall(const plait::bench::Team& team, Way way, std::size_t count)
      : Collective(team, way, count),
        out_(threads() * ranks() * count),
        in_(threads() * ranks() * count),
        read_(threads() * ranks() * count) {
    mixes = true;
  }

  void write(int t, std::int64_t repeat) override {
    const auto from = static_cast<std::size_t>(t);
    for_each([&](std::size_t p, std::size_t to) {
      const auto me = static_cast<std::size_t>(team_.rank);
      plait::bench::fill(out_.at(spot(from, p, to)), count_, pair_seed(me, from, p, to, repeat));
    });
  }

  void call(int t, MPI_Comm comm) override {
    const auto thread = static_cast<std::size_t>(t);
    const std::size_t first = way_ == Way::whole ? 0 : thread * ranks() * count_;
    const std::size_t each = way_ == Way::whole ? threads() * threads() : way_ == Way::share ? threads() : 1;
    const int n = static_cast<int>(each * count_);
    MPI_Alltoall(out_.at(first), n, MPI_INT64_T, in_.at(first), n, MPI_INT64_T, comm);
  }

  void read(int t) override {
    const auto to = static_cast<std::size_t>(t);
    for_each([&](std::size_t p, std::size_t from) {
      std::memcpy(read_.at(mine(to, p, from)), in_.at(arrival(from, p, to)), count_ * sizeof(Number));
    });
  }

  [[nodiscard]] std::int64_t wrong(int t, std::int64_t repeat) override {
    const auto to = static_cast<std::size_t>(t), me = static_cast<std::size_t>(team_.rank);
    std::int64_t found = 0;
    for_each([&](std::size_t p, std::size_t from) {
      found += plait::bench::differs(read_.at(mine(to, p, from)), count_, pair_seed(p, from, me, to, repeat));
    });
    return found;
  }

 private:
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t p = 0; p < processes(); ++p) {
      for (std::size_t t = 0; t < threads(); ++t) visit(p, t);
    }
  }

  [[nodiscard]] Number pair_seed(std::size_t p, std::size_t from, std::size_t q, std::size_t to, std::int64_t repeat) const {
    return seed(p, from, repeat) + 7919 * static_cast<Number>(q * threads() + to);
  }
  [[nodiscard]] std::size_t mine(std::size_t thread, std::size_t p, std::size_t other) const {
    return (thread * ranks() + p * threads() + other) * count_;
  }
  /// Where thread `from` puts what is for thread `to` of process p.
  [[nodiscard]] std::size_t spot(std::size_t from, std::size_t p, std::size_t to) const {
    return way_ == Way::whole ? (p * threads() * threads() + from * threads() + to) * count_ : mine(from, p, to);
  }
  /// Where what thread `from` of process p sent lies for thread `to`.
  [[nodiscard]] std::size_t arrival(std::size_t from, std::size_t p, std::size_t to) const {
    return way_ == Way::rank ? mine(to, p, from) : spot(from, p, to);
  }

  plait::bench::Numbers out_, in_, read_;
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Alltoall>(argc, argv, "alltoall", "All threads of all processes to all, in every mode");
}
