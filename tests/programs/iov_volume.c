// iov_volume: where a 100^3 box inside 1000^3 cells of two doubles lies: how many segments, the first and the last of
// them, and which one holds the byte in the middle. Nothing is listed but what is asked for.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>

static void print(MPI_Datatype t, MPI_Count k) {
  MPIX_Iov iov;
  MPI_Count n = 0;
  MPIX_Type_iov(t, k, &iov, 1, &n);
  printf("segment %lld: %lld bytes at %lld\n", (long long)k, (long long)iov.iov_len, (long long)(MPI_Aint)iov.iov_base);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int full[3] = {1000, 1000, 1000}, sub[3] = {100, 100, 100}, start[3] = {300, 300, 300};
  MPI_Datatype cell, volume;
  MPI_Type_contiguous(2, MPI_DOUBLE, &cell);
  MPI_Type_create_subarray(3, full, sub, start, MPI_ORDER_C, cell, &volume);
  MPI_Type_commit(&volume);

  MPI_Count segments = 0, bytes = 0, before = 0;
  MPIX_Type_iov_len(volume, -1, &segments, &bytes);
  printf("%lld segments, %lld bytes\n", (long long)segments, (long long)bytes);
  for (MPI_Count k = 0; k < 4; ++k) print(volume, k);
  print(volume, segments - 1);
  const MPI_Count middle = bytes / 2;
  MPIX_Type_iov_len(volume, middle, &before, &bytes);
  printf("byte %lld is in segment %lld\n", (long long)middle, (long long)before);

  MPI_Type_free(&volume);
  MPI_Type_free(&cell);
  MPI_Finalize();
  return 0;
}
