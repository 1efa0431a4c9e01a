// Ordered loops and loops with dependences between iterations.
#include "check.h"

enum { N = 150 };
static int log_of[N];
static int logged;
static long table[40][60];

#define ORDERED(text)                              \
  logged = 0;                                      \
  _Pragma(text) for (int i = 0; i < N; ++i) {      \
    if (i % 5 != 3) {                              \
      _Pragma("omp ordered") log_of[logged++] = i; \
    }                                              \
  }                                                \
  CHECK(logged == N - N / 5);                      \
  for (int i = 1; i < logged; ++i) CHECK(log_of[i] > log_of[i - 1])

static void wavefront(void) {
  memset(table, 0, sizeof table);
#pragma omp parallel for ordered(2)
  for (int i = 1; i < 40; ++i)
    for (int j = 1; j < 60; ++j) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
      table[i][j] = (table[i - 1][j] + table[i][j - 1] + i * j) % 1000003;
#pragma omp ordered depend(source)
    }
  static long right[40][60];
  for (int i = 1; i < 40; ++i)
    for (int j = 1; j < 60; ++j) right[i][j] = (right[i - 1][j] + right[i][j - 1] + i * j) % 1000003;
  CHECK(memcmp(table, right, sizeof table) == 0);
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    wavefront();
    return end();
  }
  ORDERED("omp parallel for ordered");
  ORDERED("omp parallel for ordered schedule(static, 1)");
  ORDERED("omp parallel for ordered schedule(static, 4)");
  ORDERED("omp parallel for ordered schedule(dynamic)");
  ORDERED("omp parallel for ordered schedule(dynamic, 6)");
  ORDERED("omp parallel for ordered schedule(guided)");
  ORDERED("omp parallel for ordered schedule(runtime)");
  return end();
}
