// bench-pingping: two processes send to each other at the same time. exchange.hpp says what the threads do in each mode.
#include "exchange.hpp"

using plait::bench::Plan;

int main(int argc, char** argv) {
  return plait::bench::run_exchange(argc, argv, "pingping", "Two processes' threads send to each other at once, in every mode", {2, 2},
                                    [](int rank, int) -> Plan { return {{{1 - rank}, {1 - rank}}}; });
}
