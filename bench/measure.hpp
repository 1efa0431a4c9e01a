// Figures taken in turn.
//
//   side     one of the things compared, like "mpi" or "raw-ring"
//   repeat   one unit of a side's work, like a window of messages or a ping-pong
//   round    one measurement of every side; the order rotates from round to round
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plait::bench {

/// One of the things compared.
struct Side {
  std::string name;
  int units = 1;  ///< messages, trips or copies in a repeat
  /// Makes so many repeats and gives the seconds they took, of which process 0's count. Collective.
  std::function<double(std::int64_t repeats)> run;
  std::int64_t repeats = 1;
  std::vector<double> samples{};  // NOLINT(readability-redundant-member-init): gcc misses it; seconds a unit, one a round
};

/// Finds how many repeats of a side take `time` seconds, which also warms it up. No measurement is so short that the clock's resolution
/// would show. Collective.
void calibrate(Side& side, double time);

/// Takes a sample of every side in each round. Collective.
void take_turns(std::vector<Side>& sides, int rounds);

/// Calibrates every side, and takes turns. Collective.
void measure(std::vector<Side>& sides, double time, int rounds);

}  // namespace plait::bench
