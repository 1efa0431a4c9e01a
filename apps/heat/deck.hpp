// What plait-heat computes, and how loops are shared out among threads; read from a TOML file. docs/heat.md describes each key.
#pragma once

#include <omp.h>

#include <string>
#include <vector>

namespace plait::heat {

/// Points along a side: three rows at least, of which one is inside.
inline constexpr long kLeastSize = 3, kMostSize = 100000;
/// The time of each step is kept.
inline constexpr long kMostSteps = 100000000;

/// OpenMP's, as in OMP_SCHEDULE: "static", "static,10", "dynamic".
struct Schedule {
  std::string text = "static";
  omp_sched_t kind = omp_sched_static;
  int chunk = 0;  ///< 0: OpenMP's choice
};

struct Deck {
  std::string name;  ///< the file's, without folder and ending
  std::string title;
  long size = 0;
  long steps = 0;        ///< at most
  double tolerance = 0;  ///< stop when no point has changed by more; 0: make all steps, and look at the change after the last alone
  bool stops = true;     ///< false: look, and make all steps all the same
  Schedule schedule;
};

/// Reads a deck from TOML text. `path` is named in messages; `settings` are "key=value" lines that replace the deck's. Throws deck::Error.
[[nodiscard]] Deck parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& settings = {});

}  // namespace plait::heat
