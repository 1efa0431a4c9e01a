// The file that aio_read and uring_read read, a process's own, and what they make of what they got.
#ifndef BLOCKS_H
#define BLOCKS_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 8, BYTES = 1 << 16 };

static inline char content(int rank, long i) { return (char)(rank * 31 + i * 7 + i / BYTES); }

static inline int make_file(const char* name, int rank) {
  char* bytes = malloc(BLOCKS * BYTES);
  for (long i = 0; i < BLOCKS * BYTES; ++i) bytes[i] = content(rank, i);
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int good = file >= 0 && pwrite(file, bytes, BLOCKS * BYTES, 0) == BLOCKS * BYTES;
  free(bytes);
  return good ? file : -1;
}

// Whether `received` and the blocks are as they should be on all processes; told by process 0.
static inline int check_blocks(const char* bytes, const MPI_Status* statuses, int received, int rank, int size) {
  int good = received == (rank + size - 1) % size;
  for (int b = 0, n = 0; b < BLOCKS; ++b) {
    MPI_Get_count(&statuses[b], MPI_BYTE, &n);
    good = good && n == BYTES;
  }
  for (long i = 0; i < BLOCKS * BYTES; ++i) good = good && bytes[i] == content(rank, i);
  int all = 0;
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) printf("%d blocks of %d bytes and a message each for %d processes: %s\n", BLOCKS, BYTES, size, all ? "right" : "WRONG");
  return all;
}

#endif
