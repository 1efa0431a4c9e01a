/* Conjugate gradients on a sparse matrix (CRS) whose rows reach to far-away unknowns, by OpenMP:
 *
 *     plait cc --cluster -O2 cg.c -o cg -lm && plait run -n 4 ./cg 20000
 *
 * The sums of all threads are taken in the order of the rows' blocks, so that the result does not depend on how many threads there are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 64, EACH = 5 };

static double sums[BLOCKS];

static double dot(int n, const double* a, const double* b) {
#pragma omp parallel for schedule(static)
  for (int k = 0; k < BLOCKS; ++k) {
    double sum = 0;
    for (int i = (int)((long)n * k / BLOCKS); i < (int)((long)n * (k + 1) / BLOCKS); ++i) sum += a[i] * b[i];
    sums[k] = sum;
  }
  double all = 0;
  for (int k = 0; k < BLOCKS; ++k) all += sums[k];
  return all;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5000;
  if (n < BLOCKS) {
    fprintf(stderr, "cg: usage: cg [UNKNOWNS, %d or more]\n", BLOCKS);
    return 1;
  }
  int* column = malloc(sizeof(int) * EACH * (size_t)n);
  double *value = malloc(sizeof(double) * EACH * (size_t)n), *x = calloc((size_t)n, sizeof *x), *r = malloc(sizeof *r * (size_t)n),
         *p = malloc(sizeof *p * (size_t)n), *q = malloc(sizeof *q * (size_t)n);
  /* Symmetric: each is tied to the ones beside it and to those a third of the way around. */
  const int far = n / 3;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; ++i) {
    const int to[EACH] = {i, (i + 1) % n, (i + n - 1) % n, (i + far) % n, (i + n - far) % n};
    for (int k = 0; k < EACH; ++k) {
      column[EACH * i + k] = to[k];
      value[EACH * i + k] = k == 0 ? 4.5 : -1;
    }
    r[i] = p[i] = 1 + i % 7;
  }
  double rr = dot(n, r, r);
  const double begin = rr;
  int steps = 0;
  for (; steps < 200 && rr > 1e-20 * begin; ++steps) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = EACH * i; k < EACH * (i + 1); ++k) sum += value[k] * p[column[k]];
      q[i] = sum;
    }
    const double a = rr / dot(n, p, q);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i) {
      x[i] += a * p[i];
      r[i] -= a * q[i];
    }
    const double before = rr;
    rr = dot(n, r, r);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i) p[i] = r[i] + rr / before * p[i];
  }
  printf("%d steps, |r| %.6e of %.6e, |x| %.12f\n", steps, sqrt(rr), sqrt(begin), sqrt(dot(n, x, x)));
  return 0;
}
