// plait-heat-cluster: the plate by OpenMP alone, compiled for several nodes: `plait run -n 4` gives the threads of four processes. On one
// process it is an OpenMP program like any other. Nothing here knows which of the two it is.
#include <fmt/format.h>
#include <omp.h>

#include <new>

#include "deck/error.hpp"
#include "deck/files.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  using namespace plait::heat;
  const Program program("plait-heat-cluster", "heat in a plate, by OpenMP over all processes",
                        {{"cluster", "the threads of all processes"}});
  Options options;
  std::string line;
  if (const std::optional<int> status = program.parse(argc, argv, options, line)) {
    if (*status == 0) fmt::print("{}", line);
    if (*status != 0) program.complain(line);
    return *status;
  }
  try {
    const Deck deck = Program::read(options, read_deck(options.deck), plait::deck::memory_of_machine());
    const int threads = omp_get_max_threads();
    if (threads > deck.size - 2) {
      throw plait::deck::Error(fmt::format("{} threads are too many for the {} rows inside of a plate of {} x {} points: take at most {}",
                                           threads, deck.size - 2, deck.size, deck.size, deck.size - 2));
    }
    if (options.check) return 0;
    plait::deck::require_writable(options.json);
    Program::tell(options, deck, run_by_openmp(deck), threads);
  } catch (const plait::deck::Error& e) {
    program.complain(e.what());
    return 1;
  } catch (const std::bad_alloc&) {
    program.complain("not enough memory for this plate: take a smaller plate.size");
    return 1;
  }
  return 0;
}
