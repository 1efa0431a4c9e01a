// Loops whose iterations wait for earlier ones: each iteration's value needs those that it has waited for.
#include "check.h"

enum { ROWS = 40, COLUMNS = 30 };
static long table[ROWS][COLUMNS];
static long line[300];

#define WAVE(text)                                                                         \
  do {                                                                                     \
    memset(table, 0, sizeof table);                                                        \
    _Pragma(text) for (int i = 1; i < ROWS; ++i) for (int j = 1; j < COLUMNS; ++j) {       \
      _Pragma("omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)") table[i][j] = \
          (table[i - 1][j] + table[i][j - 1] + i * j) % 1000003;                           \
      _Pragma("omp ordered depend(source)")                                                \
    }                                                                                      \
    CHECK(is_wave());                                                                      \
  } while (0)

static int is_wave(void) {
  static long right[ROWS][COLUMNS];
  for (int i = 1; i < ROWS; ++i)
    for (int j = 1; j < COLUMNS; ++j) right[i][j] = (right[i - 1][j] + right[i][j - 1] + i * j) % 1000003;
  return memcmp(table, right, sizeof table) == 0;
}

#define CHAIN(text)                                                            \
  do {                                                                         \
    memset(line, 0, sizeof line);                                              \
    _Pragma(text) for (int i = 3; i < 300; ++i) {                              \
      const long own = 7L * i;                                                 \
      _Pragma("omp ordered depend(sink : i - 3)") line[i] = line[i - 3] + own; \
      _Pragma("omp ordered depend(source)")                                    \
    }                                                                          \
    CHECK(is_chain());                                                         \
  } while (0)

static int is_chain(void) {
  long right[300] = {0};
  for (int i = 3; i < 300; ++i) right[i] = right[i - 3] + 7L * i;
  return memcmp(line, right, sizeof line) == 0;
}

/// Steps other than one, downwards, an unsigned type, three dimensions, and two loops of a region.
static void others(void) {
  memset(line, 0, sizeof line);
  static long last[300];
#pragma omp parallel
  {
#pragma omp for ordered(1) schedule(static, 3) nowait
    for (int i = 297; i > 0; i -= 4) {
#pragma omp ordered depend(sink : i + 4)
      line[i] = (i + 4 < 300 ? line[i + 4] : 0) + i;
#pragma omp ordered depend(source)
    }
#pragma omp for ordered(1) schedule(dynamic, 2)
    for (unsigned long long i = 10; i < 290; i += 7) {
#pragma omp ordered depend(sink : i - 7)
      last[i] = (i >= 17 ? last[i - 7] : 0) + 1;
#pragma omp ordered depend(source)
    }
  }
  long sum = 0;
  for (int i = 297; i > 0; i -= 4) CHECK(line[i] == (sum += i));
  long count = 0;
  for (int i = 10; i < 290; i += 7) CHECK(last[i] == ++count);

  static long cube[9][8][7];
#pragma omp parallel for ordered(3) schedule(static, 1)
  for (int i = 1; i < 9; ++i)
    for (int j = 1; j < 8; ++j)
      for (int k = 1; k < 7; ++k) {
#pragma omp ordered depend(sink : i - 1, j, k) depend(sink : i, j - 1, k) depend(sink : i, j, k - 1)
        cube[i][j][k] = 1 + cube[i - 1][j][k] + cube[i][j - 1][k] + cube[i][j][k - 1];
#pragma omp ordered depend(source)
      }
  static long right[9][8][7];
  for (int i = 1; i < 9; ++i)
    for (int j = 1; j < 8; ++j)
      for (int k = 1; k < 7; ++k) right[i][j][k] = 1 + right[i - 1][j][k] + right[i][j - 1][k] + right[i][j][k - 1];
  CHECK(memcmp(cube, right, sizeof cube) == 0);

  // Two loops collapsed around those that wait.
  static long flat[6][5][20];
#pragma omp parallel for collapse(2) ordered(3)
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 1; k < 20; ++k) {
#pragma omp ordered depend(sink : i, j, k - 1) depend(sink : i - 1, j, k)
        flat[i][j][k] = flat[i][j][k - 1] + (i > 0 ? flat[i - 1][j][k] : 1);
#pragma omp ordered depend(source)
      }
  long wrong = 0;
  for (int j = 0; j < 5; ++j)
    for (int k = 1; k < 20; ++k) {
      wrong += flat[0][j][k] != k;
      for (int i = 1; i < 6; ++i) wrong += flat[i][j][k] != flat[i][j][k - 1] + flat[i - 1][j][k];
    }
  CHECK(wrong == 0);
}

int main(void) {
  WAVE("omp parallel for ordered(2)");
  WAVE("omp parallel for ordered(2) schedule(static, 1)");
  WAVE("omp parallel for ordered(2) schedule(dynamic)");
  WAVE("omp parallel for ordered(2) schedule(runtime)");
  CHAIN("omp parallel for ordered(1)");
  CHAIN("omp parallel for ordered(1) schedule(static, 2)");
  CHAIN("omp parallel for ordered(1) schedule(dynamic, 3)");
  CHAIN("omp parallel for ordered(1) schedule(guided)");
  others();
  return end();
}
