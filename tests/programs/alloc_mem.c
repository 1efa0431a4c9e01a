/* Memory of MPI_Alloc_mem is memory like any other: of all sizes, aligned as asked for, in messages and windows;
 * given back, it comes again. 2 processes or more. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kLarge = 3 << 20 };

static int rank, size;

static void sizes(void) {
  const MPI_Aint all[] = {0, 1, 64, 4095, 4096, 4097, 100000, kLarge};
  for (int round = 0; round < 50; ++round) {
    unsigned char* at[8];
    for (int i = 0; i < 8; ++i) {
      CHECK(MPI_Alloc_mem(all[i], MPI_INFO_NULL, &at[i]) == MPI_SUCCESS);
      fill(at[i], (int)all[i], (unsigned)i, (unsigned)round);
    }
    for (int k = 0; k < 8; ++k) {
      const int i = (k * 3 + round) % 8;
      CHECK(is_filled(at[i], (int)all[i], (unsigned)i, (unsigned)round));
      CHECK(MPI_Free_mem(at[i]) == MPI_SUCCESS);
    }
  }
}

static void alignment(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  const char* const wanted[] = {"64", "4096", "65536"};
  for (int i = 0; i < 3; ++i) {
    void* at = NULL;
    MPI_Info_set(info, "mpi_minimum_memory_alignment", wanted[i]);
    CHECK(MPI_Alloc_mem(kLarge, info, &at) == MPI_SUCCESS);
    memset(at, 1, kLarge);
    /* Beyond a page it is the MPI's matter, and those of before MPI-4 do not know the key. */
    CHECK((uintptr_t)at % (uintptr_t)(atoi(wanted[i]) > 4096 ? 8 : atoi(wanted[i])) == 0);
    CHECK(MPI_Free_mem(at) == MPI_SUCCESS);
  }
  MPI_Info_free(&info);
}

static void moves(void) {
  unsigned char *from, *to;
  CHECK(MPI_Alloc_mem(kLarge, MPI_INFO_NULL, &from) == MPI_SUCCESS);
  CHECK(MPI_Alloc_mem(kLarge, MPI_INFO_NULL, &to) == MPI_SUCCESS);
  const int next = (rank + 1) % size;
  const int last = (rank + size - 1) % size;
  fill(from, kLarge, (unsigned)rank, 1);
  CHECK(MPI_Sendrecv(from, kLarge, MPI_BYTE, next, 0, to, kLarge, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(is_filled(to, kLarge, (unsigned)last, 1));
  MPI_Win window;
  CHECK(MPI_Win_create(to, kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
  fill(from, kLarge, (unsigned)rank, 2);
  MPI_Win_fence(0, window);
  CHECK(MPI_Put(from, kLarge, MPI_BYTE, next, 0, kLarge, MPI_BYTE, window) == MPI_SUCCESS);
  MPI_Win_fence(0, window);
  CHECK(is_filled(to, kLarge, (unsigned)last, 2));
  MPI_Win_free(&window);
  MPI_Free_mem(from);
  MPI_Free_mem(to);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sizes();
  alignment();
  moves();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("memory of MPI_Alloc_mem: right");
  MPI_Finalize();
  return 0;
}
