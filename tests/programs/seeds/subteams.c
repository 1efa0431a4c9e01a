/* The lecture's proposal for OpenMP, single and for `onthreads`: thread 0 exchanges the halo while the others work on what needs none, with
 * a barrier that only these take; then all work on the rest. A ring of processes, several steps. */
#include <mpi.h>
#include <omp.h>
#include <plait/subteam.h>
#include <stdio.h>

enum { kRows = 1000, kSteps = 50 };

static long row[kRows], next[kRows];

static int wrong_at(int rank, int size, int step) {
  int wrong = 0;
  for (int i = 0; i < kRows; ++i) {
    /* Each step adds to a row its left neighbour's value, of which the halo is the last of the process before. */
    const long global = (long)rank * kRows + i;
    wrong += row[i] != (global + (long)size * kRows * step - step) % ((long)size * kRows);
  }
  return wrong;
}

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 0, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (level < MPI_THREAD_FUNNELED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < kRows; ++i) row[i] = (long)rank * kRows + i;

  plait_team team = plait_team_create(omp_get_max_threads());
  long halo = 0;
  int threads = 0;
  for (int step = 1; step <= kSteps; ++step) {
#pragma omp parallel
    {
      const int me = omp_get_thread_num(), num_threads = omp_get_num_threads();
      PLAIT_SINGLE_ONTHREADS(team, me, 0, 0) {
        threads = num_threads;
        MPI_Sendrecv(&row[kRows - 1], 1, MPI_LONG, (rank + 1) % size, 0, &halo, 1, MPI_LONG, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
      }
      PLAIT_FOR_ONTHREADS(team, me, 1, num_threads - 1, i, 1, kRows) { /* work without halo information */ next[i] = row[i - 1]; }
#pragma omp barrier
#pragma omp for
      for (int i = 0; i < kRows; ++i) { /* work based on halo information */
        row[i] = i == 0 ? halo : next[i];
      }
    }
    wrong += wrong_at(rank, size, step);
  }
  plait_team_free(&team);

  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d steps of %d threads in each of %d processes: %s\n", kSteps, threads, size, all == 0 ? "right" : "wrong");
  MPI_Finalize();
  return all != 0;
}
