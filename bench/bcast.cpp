// bench-bcast: the threads of the first process write `bytes` together (as a rank: the first thread), and every thread of all
// processes reads them all. collective.hpp says what the threads do in each mode.
#include "collective.hpp"

namespace {

using plait::bench::Number;

class Bcast : public plait::bench::Collective {
 public:
  static constexpr bool kHasData = true;
  static std::size_t parts(std::size_t threads, std::size_t) { return 2 * threads; }
  Bcast(const plait::bench::Team& team, Way way, std::size_t count)
      : Collective(team, way, count), data_(threads() * count), read_(threads() * count) {
    mixes = true;
  }

  void write(int t, std::int64_t repeat) override {
    if (at_root(t)) plait::bench::fill(data(t) + first(t), end(t) - first(t), seed(0, 0, repeat) + static_cast<Number>(first(t)));
  }

  void call(int t, MPI_Comm comm) override {
    const std::size_t begin = way_ == Way::share ? first(t) : 0, stop = way_ == Way::share ? end(t) : count_;
    if (stop > begin) MPI_Bcast(data(t) + begin, static_cast<int>(stop - begin), MPI_INT64_T, 0, comm);
  }

  void read(int t) override { std::memcpy(seen(t), data(t), count_ * sizeof(Number)); }

  [[nodiscard]] std::int64_t wrong(int t, std::int64_t repeat) override {
    return plait::bench::differs(seen(t), count_, seed(0, 0, repeat));
  }

 private:
  [[nodiscard]] Number* data(int t) { return data_.at(way_ == Way::rank ? static_cast<std::size_t>(t) * count_ : 0); }
  [[nodiscard]] Number* seen(int t) { return read_.at(static_cast<std::size_t>(t) * count_); }
  [[nodiscard]] std::size_t first(int t) const { return way_ == Way::rank ? 0 : share(t); }
  [[nodiscard]] std::size_t end(int t) const { return way_ == Way::rank ? count_ : share(t + 1); }

  plait::bench::Numbers data_, read_;
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Bcast>(argc, argv, "bcast", "Broadcast to all threads of all processes, in every mode");
}
