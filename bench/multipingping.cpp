// bench-multipingping: several pairs of processes, one of each half (between nodes: of each node), send to each other at the same
// time. exchange.hpp says what the threads do in each mode.
#include "exchange.hpp"

using plait::bench::Plan;

int main(int argc, char** argv) {
  return plait::bench::run_exchange(argc, argv, "multipingping", "Several pairs of processes send to each other at once, in every mode",
                                    {2, plait::bench::kAny, true}, [](int rank, int processes) -> Plan {
                                      const int peer = (rank + processes / 2) % processes;
                                      return {{{peer}, {peer}}};
                                    });
}
