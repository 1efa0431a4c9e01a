/* Memory of MPI_Alloc_mem is memory like any other: of all sizes, aligned as asked for, in messages and windows; given back, it
 * comes again; what is not there is refused. By word: under limits of the process, without shared memory, with children. 2 processes
 * or more. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kLarge = 3 << 20, kMega = 1 << 20 };

static int no_files;

/* In the place of the C library's, for all that this process has loaded. Not preloaded, as no_memfd.c is: this program runs under
 * sanitizers too, whose runtime has to come first. */
int memfd_create(const char* name, unsigned flags) {
  if (!no_files) return (int)syscall(SYS_memfd_create, name, flags);
  errno = ENOSYS;
  return -1;
}

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
  const char* const wanted[] = {"1", "64", "4096", "65536", "4194304"};
  const MPI_Aint sizes[] = {1, 100, 5000, kLarge};
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) {
      void* at = NULL;
      MPI_Info_set(info, "mpi_minimum_memory_alignment", wanted[i]);
      CHECK(MPI_Alloc_mem(sizes[k], info, &at) == MPI_SUCCESS);
      memset(at, 1, (size_t)sizes[k]);
      CHECK((uintptr_t)at % (uintptr_t)atoi(wanted[i]) == 0);
      CHECK(MPI_Free_mem(at) == MPI_SUCCESS);
    }
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

/* `bytes` in blocks of that size: each is there, or refused as it should be; those that are there keep their bytes. */
static int many(int n, size_t bytes) {
  unsigned char** const at = malloc((size_t)n * sizeof *at);
  int there = 0;
  for (int i = 0; i < n; ++i) {
    at[i] = NULL;
    const int error = MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &at[i]);
    CHECK(class_of(error) == (at[i] ? MPI_SUCCESS : MPI_ERR_NO_MEM));
    if (!at[i]) continue;
    ++there;
    memset(at[i], i, 100);
    memset(at[i] + bytes - 100, i + 1, 100);
  }
  for (int i = 0; i < n; ++i) {
    if (!at[i]) continue;
    CHECK(at[i][0] == (unsigned char)i && at[i][99] == (unsigned char)i);
    CHECK(at[i][bytes - 100] == (unsigned char)(i + 1) && at[i][bytes - 1] == (unsigned char)(i + 1));
    CHECK(MPI_Free_mem(at[i]) == MPI_SUCCESS);
  }
  free(at);
  return there;
}

static void mistakes(void) {
  char* at = NULL;
  CHECK(class_of(MPI_Alloc_mem((MPI_Aint)1 << 44, MPI_INFO_NULL, &at)) == MPI_ERR_NO_MEM);
  CHECK(at == NULL);
  CHECK(MPI_Alloc_mem(kLarge, MPI_INFO_NULL, &at) == MPI_SUCCESS);
  CHECK(class_of(MPI_Free_mem(at + 4096)) == MPI_ERR_BASE);
  CHECK(class_of(MPI_Free_mem(at + 1)) == MPI_ERR_BASE);
  CHECK(MPI_Free_mem(at) == MPI_SUCCESS);
  CHECK(class_of(MPI_Free_mem(at)) == MPI_ERR_BASE);
}

static void set_limit(__rlimit_resource_t what, rlim_t bytes) {
  struct rlimit limit;
  getrlimit(what, &limit);
  limit.rlim_cur = bytes;
  CHECK(setrlimit(what, &limit) == 0);
}

/* Address space is short: less is there than asked for, and what is given back is there again, for all. */
static void in_little_space(void) {
  size_t pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%zu", &pages) == 1);
  fclose(file);
  set_limit(RLIMIT_AS, pages * 4096 + 300 * (rlim_t)kMega);
  for (int round = 0; round < 3; ++round) {
    const int there = many(30, 20 * kMega);
    CHECK(there >= 5 && there < 20);
    CHECK(many(1, 200 * kMega) == 1);
    void* const other = mmap(NULL, 200 * kMega, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(other != MAP_FAILED);
    munmap(other, 200 * kMega);
  }
  set_limit(RLIMIT_AS, RLIM_INFINITY);
}

/* What a child writes and gives back is its own. */
static void with_children(void) {
  unsigned char *at, *other;
  CHECK(MPI_Alloc_mem(kLarge, MPI_INFO_NULL, &at) == MPI_SUCCESS);
  fill(at, kLarge, (unsigned)rank, 1);
  for (int i = 0; i < 5; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      const int whole = is_filled(at, kLarge, (unsigned)rank, 1);
      memset(at, 0, kLarge);
      _exit(whole && MPI_Free_mem(at) == MPI_SUCCESS ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(is_filled(at, kLarge, (unsigned)rank, 1));
    CHECK(MPI_Alloc_mem(kLarge, MPI_INFO_NULL, &other) == MPI_SUCCESS);
    memset(other, 0, kLarge);
    CHECK(is_filled(at, kLarge, (unsigned)rank, 1));
    CHECK(MPI_Free_mem(other) == MPI_SUCCESS);
  }
  CHECK(MPI_Free_mem(at) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  const char* const word = argc > 1 ? argv[1] : "";
  no_files = strcmp(word, "nofiles") == 0;
  const int little_files = strcmp(word, "file") == 0;
#ifndef I_MPI_VERSION /* which needs larger ones for itself: its MPI_Init ends by SIGXFSZ */
  if (little_files) set_limit(RLIMIT_FSIZE, 64 * (rlim_t)kMega);
#endif
  MPI_Init(&argc, &argv);
  if (little_files) set_limit(RLIMIT_FSIZE, 64 * (rlim_t)kMega);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sizes();
  alignment();
  CHECK(many(70000, 4096) == 70000);
  CHECK(many(3, 100 * kMega) == 3);
  if (!no_files) mistakes();
  if (strcmp(word, "space") == 0) in_little_space();
  if (strcmp(word, "fork") == 0) with_children();
  moves();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("memory of MPI_Alloc_mem: right");
  MPI_Finalize();
  return 0;
}
