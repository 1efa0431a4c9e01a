/* GASPI and MPI in one program, by word: which of them begins (mpi, gaspi, both: MPI_Init after gaspi_proc_init) and ends. Ranks agree,
 * both are called by several threads at once, segments are of MPI_Alloc_mem and of a shared window. 2 processes or more. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kThreads = 2, kRounds = 100, kWords = 4096 };

static long* mine;

/* Thread 0 passes numbers around a ring by MPI, thread 1 by GASPI. */
static void* by_mpi(void* unused) {
  (void)unused;
  const int next = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < kRounds; ++i) {
    int out = rank * 1000 + i, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, next, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == left * 1000 + i);
  }
  return NULL;
}
static void* by_gaspi(void* unused) {
  (void)unused;
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  const int left = (rank + size - 1) % size;
  for (int i = 0; i < kRounds; ++i) {
    mine[0] = rank * 1000 + i;
    OK(gaspi_write_notify(0, 0, next, 0, 8, 8, 0, (gaspi_notification_t)i + 1, 1, GASPI_BLOCK));
    expect(0, 0, (gaspi_notification_t)i + 1);
    CHECK(mine[1] == left * 1000 + i);
    OK(gaspi_wait(1, GASPI_BLOCK));
    /* the left one may write again */
    OK(gaspi_notify(0, (gaspi_rank_t)left, 1, 1, 1, GASPI_BLOCK));
    expect(0, 1, 1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "mpi";
  int provided = 0, world = 0, world_size = 0, flag = 0;
  if (!strcmp(how, "mpi")) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  begin();
  MPI_Initialized(&flag);
  CHECK(flag);
  if (!strcmp(how, "both")) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Query_thread(&provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK(world == rank && world_size == size);

  MPI_Alloc_mem(kWords * sizeof(long), MPI_INFO_NULL, &mine);
  memset(mine, 0, kWords * sizeof(long));
  OK(gaspi_segment_use(0, mine, kWords * sizeof(long), GASPI_GROUP_ALL, GASPI_BLOCK, 0));
  pthread_t threads[kThreads];
  pthread_create(&threads[0], NULL, by_mpi, NULL);
  pthread_create(&threads[1], NULL, by_gaspi, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  gaspi_atomic_value_t old = 0;
  barrier();
  mine[5] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 50; ++i) OK(gaspi_atomic_fetch_add(0, 40, (gaspi_rank_t)(i % size), 1, &old, GASPI_BLOCK));
  barrier();
  long sum = 0;
  MPI_Allreduce(&mine[5], &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == 50L * size);
  barrier();
  OK(gaspi_segment_delete(0));
  MPI_Free_mem(mine);

  MPI_Comm node;
  MPI_Win window;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(kWords * sizeof(long), 1, MPI_INFO_NULL, node, &mine, &window);
  memset(mine, 0, kWords * sizeof(long));
  OK(gaspi_segment_use(1, mine, kWords * sizeof(long), GASPI_GROUP_ALL, GASPI_BLOCK, 0));
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 1000; ++k) mine[k] = rank + 7 * k + i;
    OK(gaspi_write_notify(1, 0, next, 1, 16000, 8000, 5, 1, 0, GASPI_BLOCK));
    expect(1, 5, 1);
    for (int k = 0; k < 1000; ++k) CHECK(mine[2000 + k] == (rank + size - 1) % size + 7 * k + i);
    OK(gaspi_wait(0, GASPI_BLOCK));
    barrier();
  }
  OK(gaspi_segment_delete(1));
  barrier();
  MPI_Win_free(&window);
  MPI_Comm_free(&node);

  if (!strcmp(how, "finalize")) {  // the program ends the MPI, and GASPI with it
    barrier();
    MPI_Init(NULL, NULL);
    MPI_Finalize();
    OK(gaspi_proc_term(GASPI_BLOCK));  // as GPI-2, which knows nothing of the MPI
    IS(gaspi_proc_term(GASPI_BLOCK), GASPI_ERR_NOINIT);
    if (rank == 0) printf("%s\n", how);
    return 0;
  }
  end(how);
  MPI_Finalized(&flag);
  CHECK(flag == !strcmp(how, "gaspi"));
  if (!flag) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
  }
  return 0;
}
