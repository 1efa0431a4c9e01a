// bench-multipingpong: ping-pongs of several pairs of processes at the same time, one of each half (between nodes: of each node).
// The time is that of a round trip of the first pair. exchange.hpp says what the threads do in each mode.
#include "exchange.hpp"

namespace {

plait::bench::Plan plan(int rank, int processes) {
  const int half = processes / 2, peer = (rank + half) % processes;
  if (rank < half) return {{{peer}, {}}, {{}, {peer}}};
  return {{{}, {peer}}, {{peer}, {}}};
}

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_exchange(argc, argv, "multipingpong", "Ping-pongs of several pairs of processes at once, in every mode",
                                    {2, plait::bench::kAny, true}, plan);
}
