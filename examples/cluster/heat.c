/* Heat in a square plate, two of whose sides are kept hot, by OpenMP. The same source runs on one process and over several nodes:
 *
 *     plait cc --cluster -O2 heat.c -o heat -lm && plait run -n 4 ./heat 1000 500
 *
 * Each thread updates rows of its own, the same in every step: over several nodes only the rows beside another thread's travel.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 250, most = argc > 2 ? atoi(argv[2]) : 300;
  if (n < 3 || most < 1) {
    fprintf(stderr, "heat: usage: heat [SIDE, 3 or more] [STEPS, 1 or more]\n");
    return 1;
  }
  double (*now)[n] = malloc(sizeof(double[n][n])), (*next)[n] = malloc(sizeof(double[n][n]));
  if (!now || !next) {
    fprintf(stderr, "heat: no memory for a plate of %d x %d\n", n, n);
    return 1;
  }
  /* By those threads that will work on it: so it lies with them from the start. */
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) now[i][j] = next[i][j] = i == 0 || j == 0 ? 1 : 0;

  double change = 1;
  int step = 0;
  for (; step < most && change > 1e-6; ++step) {
    change = 0;
#pragma omp parallel for schedule(static) reduction(max : change)
    for (int i = 1; i < n - 1; ++i)
      for (int j = 1; j < n - 1; ++j) {
        const double by = 0.2 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1] - 4 * now[i][j]);
        next[i][j] = now[i][j] + by;
        if (fabs(by) > change) change = fabs(by);
      }
    double (*const old)[n] = now;
    now = next;
    next = old;
  }
  double heat = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) heat += now[i][j];
  printf("%d steps, last change %.6e, heat %.9f\n", step, change, heat);
  free(now);
  free(next);
  return 0;
}
