/* A segment is deleted while others write into it: they get an error, and its owner goes on. Ends of processes, by word: killed, where
 * rank 1 ends itself and the others are told. 2 processes or more. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 1 << 20 };

static void deleted(int bound) {
  for (int round = 0; round < 10; ++round) {
    void* const memory = bound ? malloc(kBytes) : NULL;
    if (bound)
      OK(gaspi_segment_use(1, memory, kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, 0));
    else
      OK(gaspi_segment_create(1, kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
    if (rank == 0) {
      expect(0, 0, 1);
      OK(gaspi_segment_delete(1));
      free(memory);
      for (int r = 1; r < size; ++r) OK(gaspi_notify(0, (gaspi_rank_t)r, 1, 1, 0, GASPI_BLOCK));
      OK(gaspi_wait(0, GASPI_BLOCK));
    } else {
      gaspi_return_t code = GASPI_SUCCESS;
      for (long i = 0; code == GASPI_SUCCESS; ++i) {
        code = gaspi_write(0, 4096, 0, 1, 0, i % 2 ? 8 : kBytes, 0, GASPI_BLOCK);
        if (code == GASPI_QUEUE_FULL || (code == GASPI_SUCCESS && i % 100 == 99)) code = gaspi_wait(0, GASPI_BLOCK);
        if (i == 3 && rank == 1) OK(gaspi_notify(0, 0, 0, 1, 1, GASPI_BLOCK));
      }
      CHECK(code == GASPI_ERR_INV_SEG || code == GASPI_ERROR);
      while ((code = gaspi_wait(0, GASPI_BLOCK)) != GASPI_SUCCESS) CHECK(code == GASPI_ERROR);
      OK(gaspi_wait(1, GASPI_BLOCK));
      expect(0, 1, 1);
      if (bound)
        OK(gaspi_segment_delete(1));
      else
        OK(gaspi_segment_delete(1));
      free(memory);
    }
    barrier();
  }
}

static void killed(void) {
  barrier();
  if (rank == 1) kill(getpid(), SIGKILL);
  gaspi_state_vector_t states = calloc(size, sizeof *states);
  do OK(gaspi_state_vec_get(states));
  while (states[1] == GASPI_STATE_HEALTHY);
  IS(gaspi_write(0, 0, 1, 0, 0, 8, 0, GASPI_BLOCK), GASPI_ERROR);
  IS(gaspi_notify(0, 1, 0, 1, 0, GASPI_BLOCK), GASPI_ERROR);
  gaspi_atomic_value_t old = 0;
  IS(gaspi_atomic_fetch_add(0, 0, 1, 1, &old, GASPI_BLOCK), GASPI_ERROR);
  IS(gaspi_passive_send(0, 0, 1, 8, GASPI_BLOCK), GASPI_ERROR);
  IS(gaspi_proc_ping(1, GASPI_BLOCK), GASPI_ERROR);
  IS(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERROR);
  printf("rank %d knows\n", rank);
  fflush(stdout);
  _exit(0);
}

/* What comes faster than it is taken is held back at its source: some MPIs would gather gigabytes of it here. */
static void check_memory(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  CHECK(used.ru_maxrss < 512 * 1024);
}

int main(int argc, char** argv) {
  begin();
  OK(gaspi_segment_create(0, 2 * kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
  if (argc > 1 && !strcmp(argv[1], "killed")) killed();
  deleted(0);
  deleted(1);
  check_memory();
  end("a deleted segment is an error, and no more");
  return 0;
}
