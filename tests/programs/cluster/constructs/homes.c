// Atomic operations beside plain accesses to the same objects and pages: an object is its home's, wherever threads use it plainly.
#include <stdint.h>

#include "check.h"

enum { ROUNDS = 40, MOST = 64 };

// One page: used by atomic operations, by plain ones between barriers, and by neighbours that are only plain.
static struct {
  long sum, mine[MOST];
  int small[MOST], flag, turn;
  double real;
  char bytes[MOST];
} g;

int main(void) {
  const int threads = omp_get_max_threads() < MOST ? omp_get_max_threads() : MOST;
  long on_stack = 0, *const heap = malloc(sizeof(long) * MOST);
  long lost = 0;
  for (int i = 0; i < MOST; ++i) heap[i] = 0;
#pragma omp parallel num_threads(threads) reduction(+ : lost)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < ROUNDS; ++round) {
      // Of a plain write before the barrier by anybody, and read plainly by the same thread at once.
      if (me == round % threads) {
        g.sum = 1000 * round;
        g.real = round;
        on_stack = -round;
        heap[1] = round;
      }
#pragma omp barrier
#pragma omp atomic
      g.mine[me] += 2;
      lost += g.mine[me] != 2 * (round + 1);
      g.small[me] = round;  // plainly, between two atomic ones
#pragma omp atomic
      g.small[me] += 5;
      lost += g.small[me] != round + 5;
      g.bytes[me] = (char)round;
#pragma omp atomic
      g.sum += me;
#pragma omp atomic
      g.real += 1;
#pragma omp atomic
      on_stack -= 1;
#pragma omp atomic
      heap[1] += 10;
      lost += g.bytes[me] != (char)round;
#pragma omp barrier
      lost += g.sum != 1000 * round + threads * (threads - 1) / 2;
      lost += g.real != round + threads;
      lost += on_stack != -round - threads;
      lost += heap[1] != round + 10 * threads;
      for (int i = 0; i < threads; ++i) lost += g.small[i] != round + 5 || g.mine[i] != 2 * (round + 1) || g.bytes[i] != (char)round;
#pragma omp barrier
    }
  }
  CHECK(lost == 0);

  // Memory that another process has allocated and written.
  long* blocks[MOST];
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    blocks[me] = malloc(sizeof(long) * 4);
    for (int i = 0; i < 4; ++i) blocks[me][i] = i;
#pragma omp barrier
    for (int i = 0; i < threads; ++i) {
#pragma omp atomic
      blocks[i][me % 4] += 1;
    }
  }
  for (int i = 0; i < threads; ++i) {
    long sum = 0;
    for (int k = 0; k < 4; ++k) sum += blocks[i][k];
    CHECK(sum == 6 + threads);
    free(blocks[i]);
  }

  // What was written before a flag was set is there for who sees the flag, with flushes as OpenMP asks for, around a ring of threads.
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < 10; ++round) {
      int turn;
      do {
#pragma omp atomic read
        turn = g.turn;
      } while (turn != round * threads + me);
#pragma omp flush
      heap[2] = heap[2] * 3 + me;
      heap[MOST - 1] += on_stack - on_stack + 1;
#pragma omp flush
#pragma omp atomic write
      g.turn = turn + 1;
    }
  }
  long right = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < threads; ++i) right = right * 3 + i;
  }
  CHECK(heap[2] == right);
  CHECK(heap[MOST - 1] == 10 * threads);

  // Exchanges and comparisons, which tell what was there.
  int taken = 0;
  g.flag = -1;
#pragma omp parallel num_threads(threads) reduction(+ : taken)
  {
    int none = -1;
    taken += __atomic_compare_exchange_n(&g.flag, &none, omp_get_thread_num(), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    int same = none;
    // By what is there, nothing changes.
    taken += 100 * (none != -1 && !__atomic_compare_exchange_n(&g.flag, &same, same, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
  CHECK(taken == 1);
  CHECK(g.flag >= 0 && g.flag < threads);
  free(heap);
  return end();
}
