// delayed: round trips, a broadcast and an alltoall between processes; tells the shortest round trip, and whether all data came right.
// delayed hang: says so and waits for a message that never comes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTrips = 5, kLarge = 1 << 20, kWords = 1000 };

static int wrong;

static void check(const int* data, int count, int first) {
  for (int i = 0; i < count; ++i) wrong |= data[i] != first + i;
}

static void fill(int* data, int count, int first) {
  for (int i = 0; i < count; ++i) data[i] = first + i;
}

// The other one's data must have come before it can come back.
static double trip(int rank, int* data, int count, int round) {
  const double begin = MPI_Wtime();
  if (rank == 0) {
    fill(data, count, round);
    MPI_Send(data, count, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  if (rank < 2) {
    MPI_Recv(data, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(data, count, rank == 0 ? round + 1 : round);
  }
  if (rank == 1) {
    fill(data, count, round + 1);
    MPI_Send(data, count, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

static void collective(int rank, int size, int* data) {
  if (rank == 0) fill(data, kWords, 5);
  MPI_Bcast(data, kWords, MPI_INT, 0, MPI_COMM_WORLD);
  check(data, kWords, 5);
  int* const out = malloc(sizeof(int) * kWords * size);
  int* const in = malloc(sizeof(int) * kWords * size);
  for (int to = 0; to < size; ++to) fill(out + kWords * to, kWords, 100 * rank + to);
  MPI_Alltoall(out, kWords, MPI_INT, in, kWords, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) check(in + kWords * from, kWords, 100 * from + rank);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  int rank, size, any = 0;
  double shortest = 1e9;
  int* const data = malloc(sizeof(int) * kLarge);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int k = 0; k < kTrips; ++k) {
    const double seconds = trip(rank, data, 1, k);
    if (seconds < shortest) shortest = seconds;
  }
  if (argc > 1) {
    if (rank == 0) printf("hanging\n");
    fflush(stdout);
    MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  trip(rank, data, kLarge, 7);
  collective(rank, size, data);
  MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_LOR, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d us, %s\n", (int)(1e6 * shortest), any ? "wrong" : "right");
  MPI_Finalize();
  free(data);
}
