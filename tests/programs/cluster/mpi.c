// MPI calls of an OpenMP program over several processes, on memory that all share: much of it on the same few pages, which the others take
// away all the time. With a word: what is refused.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 8, kRows = 16, kLong = 300000, kRounds = 30 };

static int mistakes = 0;
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      _Pragma("omp atomic")++ mistakes;                               \
    }                                                                 \
  } while (0)

static int ranks, threads; /* processes, and threads of each */
static int from_left[kMost], sums[kMost], counts[kMost], places[kMost], parts[kMost * (kMost + 1) / 2], turned[kMost][kMost];
static double matrix[kMost][kRows][4]; /* each rank receives the second column of its own */
static MPI_Request requests[kMost][4];
static MPI_Status statuses[kMost][4];
static int got[kMost][4], flags[kMost];
static long neighbours_work[kMost * 2];

static void calls(int rank, long* big, int round) {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  const int mine = 100 * round + rank;
  MPI_Sendrecv(&mine, 1, MPI_INT, right, 1, &from_left[rank], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &statuses[rank][0]);
  CHECK(from_left[rank] == 100 * round + left && statuses[rank][0].MPI_SOURCE == left);

  sums[rank] = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &sums[rank], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums[rank] == ranks * (ranks + 1) / 2);

  /* Into a column: what lies between is written by another thread of this process or by nobody, and stays. */
  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, 4, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  double values[kRows];
  for (int i = 0; i < kRows; ++i) values[i] = round + i / 16.0;
  MPI_Request sent;
  MPI_Isend(values, kRows, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &sent);
  MPI_Recv(&matrix[rank][0][1], 1, column, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
  for (int i = 0; i < kRows; ++i) CHECK(matrix[rank][i][1] == round + i / 16.0 && matrix[rank][i][0] == -1 && matrix[rank][i][2] == -2);

  /* Nonblocking, with all that they need in shared memory, and the pages taken away meanwhile. */
  for (int k = 0; k < 3; ++k) MPI_Irecv(&got[rank][k], 1, MPI_INT, left, 10 + k, MPI_COMM_WORLD, &requests[rank][k]);
  MPI_Iallreduce(&mine, &got[rank][3], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[rank][3]);
  for (int k = 0; k < 20; ++k) {
#pragma omp critical
    for (int n = 0; n < kMost * 2; ++n) ++neighbours_work[n];
  }
  for (int k = 3; k-- > 0;) MPI_Send(&mine, 1, MPI_INT, right, 10 + k, MPI_COMM_WORLD);
  int index = -1;
  MPI_Waitany(2, requests[rank], &index, &statuses[rank][0]);
  CHECK(index == 0 || index == 1);
  CHECK(requests[rank][index] == MPI_REQUEST_NULL && got[rank][index] == 100 * round + left);
  for (flags[rank] = 0; !flags[rank];) MPI_Testall(4, requests[rank], &flags[rank], statuses[rank]);
  CHECK(got[rank][0] == got[rank][1] && got[rank][2] == 100 * round + left && got[rank][3] == 100 * round + ranks - 1);

  MPI_Gatherv(&mine, 1, MPI_INT, parts, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int n = 0; n < ranks; ++n) CHECK(parts[places[n]] == 100 * round + n);
  }
  int row[kMost];
  for (int n = 0; n < ranks; ++n) row[n] = 10 * rank + n;
  MPI_Alltoall(row, 1, MPI_INT, turned[rank], 1, MPI_INT, MPI_COMM_WORLD);
  for (int n = 0; n < ranks; ++n) CHECK(turned[rank][n] == 10 * n + rank);

  /* Longer than what an MPI sends at once: written by process 0, read and received elsewhere. */
  if (round % 10 == 0) {
    long* const to = big + kLong * (1 + (long)rank);
    MPI_Sendrecv(big, kLong, MPI_LONG, right, 3, to, kLong, MPI_LONG, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kLong; ++i) {
      if (to[i] != i + round) {
        CHECK(!"what was sent");
        break;
      }
    }
  }
}

int main(int argc, char** argv) {
  int level = -1, rank = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(level >= MPI_THREAD_SERIALIZED && rank == 0 && ranks <= kMost);
  threads = omp_get_max_threads() / ranks;
  if (argc > 1 && !strcmp(argv[1], "alone")) MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && !strcmp(argv[1], "window")) {
    MPI_Win window;
    MPI_Win_create(sums, sizeof sums, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  }
  if (argc > 1 && !strcmp(argv[1], "scatter")) {  // out of shared memory, into other
    int one = 1, *result = NULL;
    MPI_Alloc_mem(sizeof *result, MPI_INFO_NULL, &result);
    MPI_Reduce_scatter(sums, result, &one, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  }
  int own = 7, sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  CHECK(sum == 7);

  long* const big = malloc(sizeof(long) * kLong * (kMost + 1));
  for (int n = 0; n < ranks; ++n) counts[n] = 1, places[n] = n * (n + 1) / 2;
  for (int n = 0; n < kMost; ++n) {
    for (int i = 0; i < kRows; ++i) matrix[n][i][0] = -1, matrix[n][i][2] = -2;
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLong && round % 10 == 0; ++i) big[i] = i + round;
#pragma omp parallel
    if (omp_get_thread_num() % threads == 0) calls(omp_get_thread_num() / threads, big, round);
    for (int n = 0; n < ranks; ++n) CHECK(from_left[n] == 100 * round + (n + ranks - 1) % ranks && matrix[n][3][1] == round + 3 / 16.0);
  }
  for (int n = 0; n < kMost * 2; ++n) CHECK(neighbours_work[n] == 20L * kRounds * ranks);
  if (!mistakes) puts("right");
  MPI_Finalize();
  return mistakes != 0;
}
