// Ordered loops.
#include "check.h"

enum { N = 150 };
static int log_of[N];
static int logged;

#define ORDERED(text)                              \
  logged = 0;                                      \
  _Pragma(text) for (int i = 0; i < N; ++i) {      \
    if (i % 5 != 3) {                              \
      _Pragma("omp ordered") log_of[logged++] = i; \
    }                                              \
  }                                                \
  CHECK(logged == N - N / 5);                      \
  for (int i = 1; i < logged; ++i) CHECK(log_of[i] > log_of[i - 1])

int main(void) {
  ORDERED("omp parallel for ordered");
  ORDERED("omp parallel for ordered schedule(static, 1)");
  ORDERED("omp parallel for ordered schedule(static, 4)");
  ORDERED("omp parallel for ordered schedule(dynamic)");
  ORDERED("omp parallel for ordered schedule(dynamic, 6)");
  ORDERED("omp parallel for ordered schedule(guided)");
  ORDERED("omp parallel for ordered schedule(runtime)");
  return end();
}
