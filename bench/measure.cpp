#include "measure.hpp"

#include <mpi.h>

#include <algorithm>

#include "job.hpp"
#include "native.hpp"
#include "timing.hpp"

namespace plait::bench {

void calibrate(Side& side, double time) {
  time = Job::agreed(std::max(time, 1000 * clock_resolution()));
  double took = 0;
  std::int64_t n = 1;
  for (;; n *= 4) {
    native::Barrier(MPI_COMM_WORLD);
    took = side.run(n);
    took = Job::agreed(std::min(took, side.run(n)));  // one may have met something else
    if (took > time / 4) break;
  }
  side.repeats = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) * time / took));
}

void take_turns(std::vector<Side>& sides, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < sides.size(); ++k) {
      Side& side = sides[(k + static_cast<std::size_t>(round)) % sides.size()];
      native::Barrier(MPI_COMM_WORLD);
      side.samples.push_back(side.run(side.repeats) / static_cast<double>(side.repeats) / side.units);
    }
  }
}

void measure(std::vector<Side>& sides, double time, int rounds) {
  for (Side& side : sides) calibrate(side, time);
  take_turns(sides, rounds);
}

}  // namespace plait::bench
