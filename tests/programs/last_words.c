// MPI_Finalize first deletes the attributes of MPI_COMM_SELF: their callbacks still communicate.
// Each process hands a number around there. 2 processes and more.
#include <mpi.h>
#include <plait/mpix.h>

#include "check.h"

static MPI_Comm ring;
static MPIX_Stream stream;
static int rank, size;

// Of a datatype that is new: plait asks the MPI about it.
static void send_spread(int right, int left) {
  int mine[4] = {rank, -1, rank, -1}, theirs[4] = {0};
  MPI_Datatype spread;
  MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  MPI_Sendrecv(mine, 1, spread, right, 3, theirs, 1, spread, left, 3, ring, MPI_STATUS_IGNORE);
  CHECK(theirs[0] == left && theirs[1] == 0 && theirs[2] == left);
  MPI_Type_free(&spread);
}

static int say(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  enum { kInts = 20000 };
  static int mine[kInts], theirs[kInts];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int counts[] = {1, kInts};
  for (int i = 0; i < 2; ++i) {
    mine[counts[i] - 1] = 100 + rank;
    MPI_Sendrecv(mine, counts[i], MPI_INT, right, 1, theirs, counts[i], MPI_INT, left, 1, ring, MPI_STATUS_IGNORE);
    CHECK(theirs[counts[i] - 1] == 100 + left);
  }
  send_spread(right, left);
  // Nobody waits for this one: it is complete at once, and has to arrive.
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, size - 1, 2, ring);
  if (rank == size - 1) MPI_Recv(theirs, 1, MPI_INT, 0, 2, ring, MPI_STATUS_IGNORE);
  MPI_Comm_free(&ring);
  MPIX_Stream_free(&stream);
  if (rank == size - 1) puts("the last words were heard");
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &ring);
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free_keyval(&key);
  send_spread((rank + 1) % size, (rank + size - 1) % size);
  MPI_Finalize();
  return 0;
}
