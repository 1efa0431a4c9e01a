/* OpenMP only: one program on the threads of all nodes, whose memory plait keeps consistent; no messages.
 *
 *     plait cc --cluster -O2 openmp.c -o openmp && plait run -n 2 -t 2 ./openmp
 */
#include <stdio.h>

enum { kRows = 120, kColumns = 120, kSteps = 50 };
static double plate[2][kRows + 2][kColumns];

int main(void) {
  for (int i = 0; i < kRows + 2; ++i) {
    for (int j = 0; j < kColumns; ++j) plate[0][i][j] = plate[1][i][j] = i % 7 + j % 5;
  }
  for (int s = 0; s < kSteps; ++s) {
    double (*now)[kColumns] = plate[s % 2], (*next)[kColumns] = plate[(s + 1) % 2];
#pragma omp parallel for
    for (int i = 1; i <= kRows; ++i) {
      for (int j = 1; j < kColumns - 1; ++j) next[i][j] = 0.2 * (now[i][j] + now[i][j - 1] + now[i][j + 1] + now[i - 1][j] + now[i + 1][j]);
    }
  }
  double sum = 0;
  for (int i = 1; i <= kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) sum += plate[kSteps % 2][i][j];
  }
  printf("the plate's points after %d steps: %.6f\n", kSteps, sum);
  return 0;
}
