// bench-halo: all processes stand in a ring, and each exchanges messages with both neighbours at the same time. exchange.hpp says
// what the threads do in each mode.
#include "exchange.hpp"

using plait::bench::Plan;

int main(int argc, char** argv) {
  return plait::bench::run_exchange(argc, argv, "halo", "Halo exchange of processes in a ring, in every mode", {2, plait::bench::kAny},
                                    [](int rank, int processes) -> Plan {
                                      const int left = (rank + processes - 1) % processes, right = (rank + 1) % processes;
                                      return {{{right, left}, {left, right}}};
                                    });
}
