/* Pi by throwing darts, with one generator that all threads share in a critical section:
 *
 *     plait cc --cluster -O2 random.c -o random && plait run -n 4 ./random 2000
 *
 * Which thread throws which dart differs from run to run; the darts are the same. Each entry may cost a message between nodes: threads
 * take a hundred numbers at once.
 */
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 100 };

static unsigned long state = 12345;

static double next_number(void) {
  state = state * 6364136223846793005UL + 1442695040888963407UL;
  return (double)(state >> 11) / 9007199254740992.0;
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 500;
  if (rounds < 1) {
    fprintf(stderr, "random: usage: random [ROUNDS of %d darts, 1 or more]\n", AT_ONCE);
    return 1;
  }
  long hits = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : hits)
  for (long round = 0; round < rounds; ++round) {
    double number[2 * AT_ONCE];
#pragma omp critical
    for (int i = 0; i < 2 * AT_ONCE; ++i) number[i] = next_number();
    for (int i = 0; i < AT_ONCE; ++i) hits += number[2 * i] * number[2 * i] + number[2 * i + 1] * number[2 * i + 1] < 1;
  }
  printf("%ld of %ld hit: pi is about %.6f\n", hits, rounds * AT_ONCE, 4.0 * (double)hits / (double)(rounds * AT_ONCE));
  return 0;
}
