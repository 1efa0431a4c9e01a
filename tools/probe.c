// plait-probe: tries what MPI and the kernel allow between two processes of a node; `plait info` runs it with two.
// Rank 0 prints one "name<TAB>value" a line; a thing that works has the value "yes", else the reason why not.
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WORD = 0x91a17 };

// The other process's memory, read by this one: rank 1 reads what rank 0 tells it of.
static const char* try_vm_readv(int rank) {
  long word = WORD, found = 0;
  int64_t where[2] = {(int64_t)getpid(), (int64_t)(intptr_t)&word};
  MPI_Bcast(where, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
  int failure = 0;
  if (rank == 1) {
    struct iovec local = {&found, sizeof found}, remote = {(void*)(intptr_t)where[1], sizeof word};
    ssize_t got = process_vm_readv((pid_t)where[0], &local, 1, &remote, 1, 0);
    failure = got < 0 ? errno : found == WORD ? 0 : EIO;
  }
  MPI_Bcast(&failure, 1, MPI_INT, 1, MPI_COMM_WORLD);
  return failure ? strerror(failure) : "yes";
}

// A window that both map: rank 0 stores, rank 1 loads.
static const char* try_shared_window(int rank) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int size = 0;
  MPI_Comm_size(node, &size);
  if (size < 2) return "MPI sees the two processes on different nodes";
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  long *mine = NULL, *first = NULL;
  MPI_Win window;
  if (MPI_Win_allocate_shared(sizeof(long), sizeof(long), MPI_INFO_NULL, node, &mine, &window) != MPI_SUCCESS)
    return "MPI_Win_allocate_shared fails";
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &bytes, &unit, &first);
  MPI_Win_fence(0, window);
  if (rank == 0) *first = WORD;
  MPI_Win_fence(0, window);
  int wrong = *first != WORD;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, node);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  return wrong ? "what one process stores the other does not see" : "yes";
}

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 0, version = 0, subversion = 0, length = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (rank == 0) fprintf(stderr, "plait-probe: wants 2 processes, not %d\n", size);
    MPI_Finalize();
    return 2;
  }
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(library, &length);
  library[strcspn(library, "\n")] = '\0';
  MPI_Get_version(&version, &subversion);
  const char* readv = try_vm_readv(rank);
  const char* window = try_shared_window(rank);
  if (rank == 0) {
    const char* levels[] = {"single", "funneled", "serialized", "multiple"};
    int known = level == MPI_THREAD_SINGLE ? 0 : level == MPI_THREAD_FUNNELED ? 1 : level == MPI_THREAD_SERIALIZED ? 2 : 3;
    printf("library\t%s\nstandard\t%d.%d\nthread_level\t%s\n", library, version, subversion, levels[known]);
    printf("process_vm_readv\t%s\nshared_windows\t%s\n", readv, window);
  }
  MPI_Finalize();
  return 0;
}
