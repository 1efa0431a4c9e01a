/* What all models share. */
#include <stdio.h>
#include <stdlib.h>

#include "models.h"

enum { kRows = 120, kColumns = 120 };

void update(const Plate* p, int i) {
  const double *above = row(p, i - 1), *here = row(p, i), *below = row(p, i + 1);
  double* next = p->next + (long)i * p->columns;
  next[0] = here[0];
  for (int j = 1; j < p->columns - 1; ++j) next[j] = 0.2 * (here[j] + here[j - 1] + here[j + 1] + above[j] + below[j]);
  next[p->columns - 1] = here[p->columns - 1];
}

void exchange(const Plate* p, MPI_Comm comm, int column, int count) {
  MPI_Sendrecv(row(p, 1) + column, count, MPI_DOUBLE, p->up, 0, row(p, p->rows + 1) + column, count, MPI_DOUBLE, p->down, 0, comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(row(p, p->rows) + column, count, MPI_DOUBLE, p->down, 1, row(p, 0) + column, count, MPI_DOUBLE, p->up, 1, comm,
               MPI_STATUS_IGNORE);
}

void simulate(MPI_Comm comm, int steps) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int first = kRows * rank / size;
  Plate p = {kRows * (rank + 1) / size - first,
             kColumns,
             rank > 0 ? rank - 1 : MPI_PROC_NULL,
             rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
             comm,
             NULL,
             NULL};
  const long points = (long)(p.rows + 2) * p.columns;
  p.now = malloc(points * sizeof(double));
  p.next = malloc(points * sizeof(double));
  if (!p.now || !p.next) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < p.rows + 2; ++i) {
    for (int j = 0; j < p.columns; ++j) row(&p, i)[j] = p.next[(long)i * p.columns + j] = (first + i) % 7 + j % 5;
  }
  begin(&p);
  for (int s = 0; s < steps; ++s) {
    step(&p);
    double* const was = p.now;
    p.now = p.next;
    p.next = was;
  }
  end();
  double sum = 0, all = 0;
  for (int i = 1; i <= p.rows; ++i) {
    for (int j = 0; j < p.columns; ++j) sum += row(&p, i)[j];
  }
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
  if (rank == 0) printf("the plate's points after %d steps: %.6f\n", steps, all);
  free(p.now);
  free(p.next);
}
