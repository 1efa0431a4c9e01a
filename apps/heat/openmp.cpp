// The plate by OpenMP: a program that knows of one memory. plait-heat has it, and plait-heat-cluster, where the threads are those of
// several processes.
#include <utility>

#include "plate.hpp"

namespace plait::heat {
namespace {

double step_and_look(const Plate& now, Plate& next, long n) {
  double change = 0;
#pragma omp parallel for schedule(runtime) reduction(max : change)
  for (long i = 1; i < n - 1; ++i) {
    const double of_row = update_row(now.row(i - 1), now.row(i), now.row(i + 1), next.row(i), n);
    change = of_row > change ? of_row : change;
  }
  return change;
}

void step_only(const Plate& now, Plate& next, long n) {
#pragma omp parallel for schedule(runtime)
  for (long i = 1; i < n - 1; ++i) update_row(now.row(i - 1), now.row(i), now.row(i + 1), next.row(i), n);
}

void look_at_end(const Plate& plate, long n, Outcome& outcome) {
  double distance = 0;
  std::uint64_t low = 0, high = 0;
#pragma omp parallel for schedule(runtime) reduction(max : distance) reduction(+ : low, high)
  for (long i = 0; i < n; ++i) {
    const double of_row = distance_of_row(plate.row(i), i, n);
    const Digest digest = digest_of_row(plate.row(i), i, n);
    distance = of_row > distance ? of_row : distance;
    low += digest.low;
    high += digest.high;
  }
  outcome.distance = distance;
  outcome.digest = {low, high};
}

}  // namespace

Outcome run_by_openmp(const Deck& deck) {
  const long n = deck.size;
  Plate now(0, n, n), next(0, n, n);
  omp_set_schedule(deck.schedule.kind, deck.schedule.chunk);
  // By those threads that will update it: its memory lies with them from the start.
#pragma omp parallel for schedule(runtime)
  for (long i = 1; i < n - 1; ++i) {
    fill_row(now.row(i), i, n);
    fill_row(next.row(i), i, n);
  }
  for (const long i : {0L, n - 1}) {
    fill_row(now.row(i), i, n);
    fill_row(next.row(i), i, n);
  }
  Outcome outcome;
  Stopwatch watch;
  bool last = false;
  while (!last) {
    const long step = outcome.steps() + 1;
    if (looks(deck, step)) {
      outcome.change = step_and_look(now, next, n);
    } else {
      step_only(now, next, n);
    }
    std::swap(now, next);
    outcome.times.push_back(watch.lap());
    last = ends(deck, step, outcome.change);
  }
  look_at_end(now, n, outcome);
  return outcome;
}

}  // namespace plait::heat
