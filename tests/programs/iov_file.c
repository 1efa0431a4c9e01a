// iov_file FILE: a box out of the middle of an array goes into a file by pwritev, straight from where it lies: the
// datatype says where. Then the file is read back and compared.
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NX = 60, NY = 50, NZ = 40, BATCH = 512 };

static MPI_Datatype box(void) {
  const int sizes[3] = {NZ, NY, NX}, sub[3] = {20, 30, 17}, start[3] = {10, 7, 31};
  MPI_Datatype t;
  MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  return t;
}

// Segments in batches, each one system call. An MPIX_Iov is a struct iovec whose base counts from the buffer.
static MPI_Count write_segments(int file, char* buffer, MPI_Datatype t) {
  MPIX_Iov iov[BATCH];
  MPI_Count first = 0, filled = 0, written = 0;
  for (;; first += filled) {
    MPIX_Type_iov(t, first, iov, BATCH, &filled);
    if (filled == 0) return written;
    for (int i = 0; i < filled; ++i) iov[i].iov_base = buffer + (MPI_Aint)iov[i].iov_base;
    const ssize_t n = pwritev(file, (const struct iovec*)iov, (int)filled, written);
    if (n <= 0) return -1;
    written += n;  // a regular file takes all of it
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* array = malloc(sizeof(double) * NX * NY * NZ);
  for (int i = 0; i < NX * NY * NZ; ++i) array[i] = i + 0.5;

  MPI_Datatype t = box();
  MPI_Count segments = 0, bytes = 0;
  MPIX_Type_iov_len(t, -1, &segments, &bytes);

  const int file = open(argc > 1 ? argv[1] : "iov_file.out", O_RDWR | O_CREAT | O_TRUNC, 0600);
  const MPI_Count written = write_segments(file, (char*)array, t);

  char *expected = malloc((size_t)bytes), *read = calloc(1, (size_t)bytes);
  int position = 0;
  MPI_Pack(array, 1, t, expected, (int)bytes, &position, MPI_COMM_SELF);
  const int same = written == bytes && pread(file, read, (size_t)bytes, 0) == bytes && memcmp(read, expected, (size_t)bytes) == 0;
  printf("%lld segments, %lld bytes, %s\n", (long long)segments, (long long)bytes, same ? "read back the same" : "read back WRONG");

  close(file);
  free(array);
  free(expected);
  free(read);
  MPI_Type_free(&t);
  MPI_Finalize();
  return !same;
}
