// bench-pingpong: process 0 sends to process 1, which has its threads read that and write the answer. The time is that of a round
// trip. exchange.hpp says what the threads do in each mode.
#include "exchange.hpp"

namespace {

plait::bench::Plan plan(int rank, int) {
  if (rank == 0) return {{{1}, {}}, {{}, {1}}};
  return {{{}, {0}}, {{0}, {}}};
}

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_exchange(argc, argv, "pingpong", "Ping-pong of two processes' threads, in every mode", {2, 2}, plan);
}
