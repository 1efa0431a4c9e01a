/* Heat in a square plate by MPI: rows are shared out, and each process exchanges one row with the neighbours above and below before each
 * step. examples/heat_shared.c is the same program after its exchange has moved to shared notifications.
 *
 *     plait cc -O2 heat_mpi.c -o heat_mpi && plait run -n 4 ./heat_mpi [rows and columns] [steps] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 256, steps = argc > 2 ? atoi(argv[2]) : 500;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int first = (int)((long)n * rank / size), rows = (int)((long)n * (rank + 1) / size) - first;
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  const size_t row = (size_t)n + 2, plane = row * (size_t)(rows + 2); /* with a border */

  double* u = calloc(2 * plane, sizeof *u);
  for (size_t j = 0; j < row; ++j) {
    if (rank == 0) u[j] = u[plane + j] = 1; /* the upper edge is hot */
  }
  for (int s = 0; s < steps; ++s) {
    double *now = u + (s % 2 ? plane : 0), *next = u + (s % 2 ? 0 : plane);
    MPI_Sendrecv(now + row, n + 2, MPI_DOUBLE, above, 0, now + row * (size_t)(rows + 1), n + 2, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(now + row * (size_t)rows, n + 2, MPI_DOUBLE, below, 1, now, n + 2, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (size_t i = 1; i <= (size_t)rows; ++i) {
      for (size_t j = 1; j <= (size_t)n; ++j) {
        const double* c = now + i * row + j;
        next[i * row + j] = 0.25 * (c[-(long)row] + c[-1] + c[1] + c[row]);
      }
    }
  }
  double mine = 0, all = 0;
  for (size_t i = 1; i <= (size_t)rows; ++i) {
    for (size_t j = 1; j <= (size_t)n; ++j) mine += u[(steps % 2 ? plane : 0) + i * row + j];
  }
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("heat in the plate after %d steps: %.9f\n", steps, all);
  free(u);
  MPI_Finalize();
  return 0;
}
