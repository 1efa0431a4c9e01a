// hybrid masteronly|overlap [THREADS]: the two ways in which the lecture on hybrid programming joins MPI and OpenMP, on a relaxation
// of a ring of cells whose outermost ones are halo. masteronly: MPI outside of the parallel regions, and inside, by the master between
// barriers. overlap: thread 0 communicates while the others compute what needs no halo. Both have to find what one process finds.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

enum { CELLS = 1000, ITERATIONS = 50 };  // of a process

static int rank, size;
static double data[2][CELLS + 2];

static void relax(const double* from, double* to, int low, int high) {
  for (int i = low; i < high; i++) to[i] = (from[i - 1] + 2 * from[i] + from[i + 1]) / 4;
}

static void exchange(double* a) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Send(&a[CELLS], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD);
  MPI_Recv(&a[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&a[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD);
  MPI_Recv(&a[CELLS + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void masteronly(int threads) {
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    const double* from = data[iteration % 2];
    double* to = data[(iteration + 1) % 2];
    exchange(data[iteration % 2]);
#pragma omp parallel for num_threads(threads)
    for (int i = 1; i <= CELLS; i++) relax(from, to, i, i + 1);
  }
}

static void overlap(int threads) {
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    double* from = data[iteration % 2];
    double* to = data[(iteration + 1) % 2];
#pragma omp parallel num_threads(threads)
    {
      const int my_thread_rank = omp_get_thread_num(), num_threads = omp_get_num_threads();
      const int low = 2, high = CELLS;  // cells that need no halo
      if (my_thread_rank < 1) {
        exchange(from);
      } else {
        const int my_range = (high - low - 1) / (num_threads - 1) + 1;
        const int my_low = low + (my_thread_rank - 1) * my_range;
        int my_high = low + my_thread_rank * my_range;
        if (my_high > high) my_high = high;
        relax(from, to, my_low, my_high);
      }
#pragma omp barrier
#pragma omp for
      for (int i = 0; i < 2; i++) relax(from, to, i ? CELLS : 1, i ? CELLS + 1 : 2);
    }
  }
}

// A receive by the master in a parallel region, between the threads' uses of its buffer.
static void receive_by_master(int threads) {
  enum { N = 1000 };
  int buf[N], a[N], c[N];
  for (int i = 0; i < N; i++) buf[i] = -rank - 1;
  MPI_Request sent;
  int out[N];
  for (int i = 0; i < N; i++) out[i] = rank * N + i;
  MPI_Isend(out, N, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &sent);
  const int left = (rank + size - 1) % size;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for nowait
    for (int i = 0; i < N; i++) a[i] = buf[i];

#pragma omp barrier
#pragma omp master
    MPI_Recv(buf, N, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp barrier

#pragma omp for nowait
    for (int i = 0; i < N; i++) c[i] = buf[i];
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  for (int i = 0; i < N; i++) CHECK(a[i] == -rank - 1 && c[i] == left * N + i);
}

static double first(int cell) { return cell * 37 % 101; }

int main(int argc, char** argv) {
  const int overlaps = argc > 1 && strcmp(argv[1], "overlap") == 0, threads = argc > 2 ? atoi(argv[2]) : 3;
  int provided, asked, is_main;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Query_thread(&asked);
  MPI_Is_thread_main(&is_main);
  CHECK(provided >= MPI_THREAD_FUNNELED && asked == provided && is_main && threads > 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i <= CELLS; i++) data[0][i] = first(rank * CELLS + i - 1);
  if (overlaps) {
    overlap(threads);
  } else {
    masteronly(threads);
    receive_by_master(threads);
  }
  // The same of all cells by one thread.
  const int all = size * CELLS;
  double *one = calloc((size_t)all + 2, sizeof *one), *next = calloc((size_t)all + 2, sizeof *next);
  for (int i = 0; i < all; i++) one[i + 1] = first(i);
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    one[0] = one[all];
    one[all + 1] = one[1];
    relax(one, next, 1, all + 1);
    double* const other = one;
    one = next;
    next = other;
  }
  CHECK(memcmp(&data[ITERATIONS % 2][1], &one[rank * CELLS + 1], CELLS * sizeof(double)) == 0);
  free(one);
  free(next);
  if (rank == 0) printf("%s with %d threads in each of %d processes: right\n", overlaps ? "overlap" : "masteronly", threads, size);
  MPI_Finalize();
  return 0;
}
