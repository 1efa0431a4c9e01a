/* A ring of halos with GASPI beside MPI: each process has a row of cells, and gives its last ones to the next process and its first ones to
 * the one before, by writes with a notification; the sum of all is made by MPI. Ranks are those of MPI_COMM_WORLD.
 *
 *     plait cc -O2 ring_gaspi.c -o ring_gaspi && plait run -n 4 ./ring_gaspi [rounds] */
#include <GASPI.h>
#include <GASPI_Ext.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kHalo = 4, kInner = 1000, kCells = kInner + 2 * kHalo };
enum { kFromBefore, kFromNext, kTaken = 2 }; /* notifications: a halo is here; with kTaken added: the one sent there has been used */

static void must(gaspi_return_t result, const char* call) {
  if (result == GASPI_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", call, gaspi_error_str(result));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(CALL) must(CALL, #CALL)

static void take(gaspi_notification_id_t id) {
  gaspi_notification_id_t first;
  gaspi_notification_t value;
  MUST(gaspi_notify_waitsome(0, id, 1, &first, GASPI_BLOCK));
  MUST(gaspi_notify_reset(0, first, &value));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MUST(gaspi_proc_init(GASPI_BLOCK)); /* after MPI_Init: the ranks are the same */
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  gaspi_rank_t rank, size;
  MUST(gaspi_proc_rank(&rank));
  MUST(gaspi_proc_num(&size));
  const gaspi_rank_t before = (gaspi_rank_t)((rank + size - 1) % size), next = (gaspi_rank_t)((rank + 1) % size);

  MUST(gaspi_segment_create(0, kCells * sizeof(double), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  gaspi_pointer_t memory;
  MUST(gaspi_segment_ptr(0, &memory));
  double* cells = memory;
  for (int i = 0; i < kInner; ++i) cells[kHalo + i] = rank + 0.001 * i;

  double scratch[kInner];
  for (int r = 0; r < rounds; ++r) {
    const gaspi_size_t bytes = kHalo * sizeof(double);
    MUST(gaspi_write_notify(0, kInner * sizeof(double), next, 0, 0, bytes, kFromBefore, 1, 0, GASPI_BLOCK));
    MUST(gaspi_write_notify(0, kHalo * sizeof(double), before, 0, (kInner + kHalo) * sizeof(double), bytes, kFromNext, 1, 0, GASPI_BLOCK));
    MUST(gaspi_wait(0, GASPI_BLOCK)); /* the cells may be written again */
    take(kFromBefore);
    take(kFromNext);
    for (int i = 0; i < kInner; ++i) {
      double sum = 0;
      for (int k = -kHalo; k <= kHalo; ++k) sum += cells[kHalo + i + k];
      scratch[i] = sum / (2 * kHalo + 1);
    }
    for (int i = 0; i < kInner; ++i) cells[kHalo + i] = scratch[i];
    /* The neighbours may write into the halos again. */
    MUST(gaspi_notify(0, before, kFromNext + kTaken, 1, 0, GASPI_BLOCK));
    MUST(gaspi_notify(0, next, kFromBefore + kTaken, 1, 0, GASPI_BLOCK));
    take(kFromBefore + kTaken);
    take(kFromNext + kTaken);
  }

  double mine = 0, all = 0;
  for (int i = 0; i < kInner; ++i) mine += cells[kHalo + i];
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d cells after %d rounds: mean %.6f\n", kInner * size, rounds, all / kInner / size);
  MUST(gaspi_segment_delete(0));
  MUST(gaspi_proc_term(GASPI_BLOCK));
  MPI_Finalize();
  return 0;
}
