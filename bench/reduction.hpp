// What reduce and allreduce share: each thread brings `count` numbers, and their sums over all threads of all processes are wanted,
// at the root or by all.
#pragma once

#include "collective.hpp"

namespace plait::bench {

class Reduction : public Collective {
 public:
  static constexpr bool kHasData = true;
  static std::size_t parts(std::size_t threads, std::size_t) { return 3 * threads + 2; }
  Reduction(const Team& team, Way way, std::size_t count)
      : Collective(team, way, count), brought_(threads() * count), sums_(count), result_(threads() * count), read_(threads() * count) {
    combines = way != Way::rank;
  }

  void write(int t, std::int64_t repeat) override { fill(brought(t), count_, my_seed(t, repeat)); }

  void combine(int t) override {
    for (std::size_t i = share(t); i < share(t + 1); ++i) {
      Number sum = 0;
      for (int other = 0; other < team_.threads; ++other) sum += brought(other)[i];
      *sums_.at(i) = sum;
    }
  }

 protected:
  [[nodiscard]] Number* brought(int t) { return brought_.at(static_cast<std::size_t>(t) * count_); }
  /// Where thread t receives sums: as a rank into memory of its own.
  [[nodiscard]] Number* result(int t) { return result_.at(way_ == Way::rank ? static_cast<std::size_t>(t) * count_ : 0); }
  [[nodiscard]] Number* seen(int t) { return read_.at(static_cast<std::size_t>(t) * count_); }

  /// Calls reduce(from, to, first, count) with what thread t has to have reduced.
  template <class Reduce>
  void reduce(int t, Reduce reduce) {
    if (way_ == Way::rank) return reduce(brought(t), result(t), count_);
    const std::size_t first = way_ == Way::share ? share(t) : 0, end = way_ == Way::share ? share(t + 1) : count_;
    if (end > first) reduce(sums_.at(first), result(t) + first, end - first);
  }

  [[nodiscard]] std::int64_t wrong_between(int t, std::size_t first, std::size_t end, std::int64_t repeat) {
    const auto n = static_cast<Number>(ranks());
    // The seeds are an arithmetic series over all ranks.
    const Number sum = n * seed(0, 0, repeat) + 101 * n * (n - 1) / 2;
    return differs(seen(t) + first, end - first, sum + n * static_cast<Number>(first), n);
  }

 private:
  Numbers brought_, sums_, result_, read_;
};

}  // namespace plait::bench
