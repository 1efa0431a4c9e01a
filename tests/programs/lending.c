/* A process that waits lends its cores to the regions of the other. Two processes; the first has a region of more threads than it has of
 * its own while the second waits in each of the calls below, and of its own again when that has come back. With the word "nothing":
 * in none of them, as nothing is lent; with "told" neither, as OpenMP has been told not to; with "begins" it only begins and ends.
 * No timing: each waits until it sees what has to come. */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <plait/lend.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { GO = 1, BACK, SEEN };
static int rank, own;
static MPI_Comm comm = MPI_COMM_WORLD;

/* A thread stays where it is, whatever regions it begins. */
static void nest(void) {
  cpu_set_t before, after;
  int inner = 0;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
#pragma omp parallel reduction(+ : inner)
  ++inner;
  CHECK(inner == 1);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
}

/* How many threads a region has that says nothing. Each iteration is done once, each thread has its element. */
static int threads_of_region(void) {
  const int most = omp_get_max_threads();
  long* const sums = calloc((size_t)most, sizeof *sums);
  int threads = 0, members = 0, tasks = 0, i;
  long sum = 0;
#pragma omp parallel for schedule(static)
  for (i = 0; i < 1000; ++i) sums[omp_get_thread_num()] += i;
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : sum)
  for (i = 0; i < 1000; ++i) sum += i;
#pragma omp parallel
  {
    nest();
#pragma omp single
    threads = omp_get_num_threads();
  }
#pragma omp parallel reduction(+ : members) reduction(task, + : tasks)
  {
    ++members;
#pragma omp task in_reduction(+ : tasks)
    ++tasks;
  }
  CHECK(members >= own && tasks == members);
  for (i = 0; i < most; ++i) sum += sums[i];
  CHECK(sum == 2 * 499500);
  CHECK(threads >= own && threads <= most);
  free(sums);
  return threads;
}

static int threads_told(int wanted) {
  int threads = 0;
#pragma omp parallel num_threads(wanted)
  {
#pragma omp single
    threads = omp_get_num_threads();
  }
  return threads;
}

/* What the second process waits in. */
static void receive(int how) {
  int number[2] = {0, 0}, index[2], n = 0;
  MPI_Request requests[2];
  if (how < 2) {
    MPI_Recv(number, 1, MPI_INT, 0, GO, comm, MPI_STATUS_IGNORE);
    number[1] = number[0];
  } else {
    for (n = 0; n < 2; ++n) MPI_Irecv(&number[n], 1, MPI_INT, 0, GO, comm, &requests[n]);
  }
  if (how == 2) {
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  } else if (how == 3) {
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (how == 4) {
    MPI_Waitany(2, requests, &n, MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, &n, MPI_STATUS_IGNORE);
  } else if (how == 5) {
    int done = 0;
    for (; done < 2; done += n) MPI_Waitsome(2, requests, &n, index, MPI_STATUSES_IGNORE);
  }
  CHECK(number[0] == 17 && number[1] == 17);
}

static const char* const kCalls[] = {"MPI_Recv",    "MPI_Probe", "MPI_Wait",      "MPI_Waitall",  "MPI_Waitany", "MPI_Waitsome",
                                     "MPI_Barrier", "MPI_Bcast", "MPI_Allreduce", "MPI_Sendrecv", "MPI_Ssend"};
enum { CALLS = sizeof kCalls / sizeof *kCalls };

static void call(int how) {
  int number = rank == 0 ? 17 : 0, sum = 0;
  MPI_Status status;
  if (how < 6 && rank == 1) {
    if (how == 1) MPI_Probe(0, GO, comm, &status);
    receive(how);
  } else if (how < 6) {
    MPI_Send(&number, 1, MPI_INT, 1, GO, comm);
    if (how > 1) MPI_Send(&number, 1, MPI_INT, 1, GO, comm);
  } else if (how == 6) {
    MPI_Barrier(comm);
  } else if (how == 7) {
    MPI_Bcast(&number, 1, MPI_INT, 0, comm);
    CHECK(number == 17);
  } else if (how == 8) {
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == 17);
  } else if (how == 9) {
    MPI_Sendrecv(&number, 1, MPI_INT, 1 - rank, GO, &sum, 1, MPI_INT, 1 - rank, GO, comm, MPI_STATUS_IGNORE);
    CHECK(sum == 17 * rank);
  } else if (rank == 1) {
    MPI_Ssend(&number, 1, MPI_INT, 0, GO, comm);
  } else {
    MPI_Recv(&number, 1, MPI_INT, 1, GO, comm, MPI_STATUS_IGNORE);
  }
}

/* The upper bound that OpenMP tells is no number that a program has chosen. */
static void tell_what_was_told(void) {
  const int most = omp_get_max_threads();
  CHECK(most == own + plait_lend_most());
  CHECK(threads_told(most) == most);
  omp_set_num_threads(most);
  CHECK(omp_get_max_threads() == most && threads_of_region() == own);
  omp_set_num_threads(1);
  CHECK(omp_get_max_threads() == 1);
  omp_set_num_threads(most);
  CHECK(omp_get_max_threads() == most && threads_of_region() == own);
}

/* Computes; a call that asks lends nothing. */
static void compute_until(int tag) {
  int seen = 0;
  while (!seen) MPI_Iprobe(0, tag, comm, &seen, MPI_STATUS_IGNORE);
  MPI_Recv(NULL, 0, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
}

static void wait_until(int borrowed) {
  while ((threads_of_region() > own) != borrowed) continue;
}

int main(int argc, char** argv) {
  const int lends = argc < 2;
  int how;
  CHECK(plait_lend_threads() >= 1);
  omp_set_num_threads(omp_get_max_threads()); /* says nothing, though more may be lent now than after MPI_Init */
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "begins") == 0) return MPI_Finalize();
  MPI_Comm_rank(comm, &rank);
  own = atoi(getenv("OMP_NUM_THREADS"));
  CHECK((plait_lend_most() > 0) == (lends || strcmp(argv[1], "told") == 0));
  for (how = 0; how < CALLS; ++how) {
    if (rank == 0) {
      if (lends) {
        wait_until(1);
        CHECK(threads_told(own) == own);
        while (plait_lend_threads() < 2) continue; /* it may be between two waits of one call */
        plait_lend_disable();
        CHECK(threads_of_region() == own);
        tell_what_was_told();
        plait_lend_enable();
      } else {
        CHECK(omp_get_max_threads() == own && threads_of_region() == own);
      }
    }
    call(how);
    if (rank == 1) {
      compute_until(BACK);
    } else {
      wait_until(0);
      MPI_Send(NULL, 0, MPI_INT, 1, BACK, comm);
    }
    if (rank == 0) printf("%s\n", kCalls[how]);
  }
  omp_set_num_threads(own);
  CHECK(omp_get_max_threads() == own && threads_of_region() == own);
  omp_set_dynamic(1);
  CHECK(omp_get_max_threads() == own);
  omp_set_num_threads(own + plait_lend_most());
  CHECK(omp_get_max_threads() == own + plait_lend_most());
  MPI_Finalize();
  return 0;
}
