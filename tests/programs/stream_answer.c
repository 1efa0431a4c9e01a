// stream_answer FOLDER: two processes of different nodes. What a call was to tell the other side has left when the call returns: no other
// call of MPI follows until the other side has gone on, which it tells by a file.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "check.h"

static int rank;
static const char* folder;

static void path_of(char* path, size_t size, const char* what, int round) { snprintf(path, size, "%s/%s-%d", folder, what, round); }

static void say(const char* what, int round) {
  char path[4096];
  path_of(path, sizeof path, what, round);
  FILE* const file = fopen(path, "w");
  CHECK(file && fclose(file) == 0);
}

/// Without a call of MPI. 0 after 10 s.
static int hear(const char* what, int round) {
  char path[4096];
  struct stat about;
  path_of(path, sizeof path, what, round);
  for (int i = 0; i < 1000; ++i) {
    if (stat(path, &about) == 0) return 1;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  return 0;
}

/// A synchronous send ends by what the receiver tells it; here the receive is complete at once.
static void synchronous(MPI_Comm comm, int round, int how) {
  int in = -1;
  if (rank == 0) {
    MPI_Ssend(&round, 1, MPI_INT, 1, 3, comm);
    say("sent", round);
    return;
  }
  MPI_Request r;
  MPI_Status status;
  MPI_Probe(0, 3, comm, &status);
  if (how == 0) {
    MPI_Recv(&in, 1, MPI_INT, 0, 3, comm, &status);
  } else {
    int flag = 0;
    MPI_Irecv(&in, 1, MPI_INT, 0, 3, comm, &r);
    if (how == 1) MPI_Wait(&r, &status);
    if (how == 2) MPI_Waitall(1, &r, &status);
    while (how == 3 && !flag) MPI_Test(&r, &flag, &status);
  }
  CHECK(in == round && hear("sent", round));
}

/// A small message of a persistent send is complete at once.
static void persistent(MPI_Comm comm, int round) {
  if (rank == 0) {
    MPI_Request r;
    MPI_Send_init(&round, 1, MPI_INT, 1, 4, comm, &r);
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      CHECK(hear("received", round + i));
    }
    MPI_Request_free(&r);
    return;
  }
  for (int i = 0; i < 3; ++i) {
    int in = -1;
    MPI_Recv(&in, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE);
    CHECK(in == round);
    say("received", round + i);
  }
}

int main(int argc, char** argv) {
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  CHECK(argc == 2);
  folder = argv[1];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Stream stream;
  MPI_Comm comm;
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  for (int i = 0; i < 8; ++i) synchronous(comm, i, i % 4);
  persistent(comm, 0);
  MPI_Comm_free(&comm);
  MPIX_Stream_free(&stream);
  if (rank == 0) printf("nothing is held back\n");
  MPI_Finalize();
}
