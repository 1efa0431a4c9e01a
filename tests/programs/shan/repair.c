// shan_repair: a receive whose layout does not fit says so, and the next one, repaired, gets the message. 2 processes.
#include <SHAN_comm.h>
#include <mpi.h>

#include "../check.h"

int main(int argc, char** argv) {
  int rank, local, most = 2;
  long bytes = 64;
  shan_segment_t segment;
  shan_neighborhood_t hood;
  MPI_Comm node;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  CHECK(shan_alloc_shared(&segment, 0, SHAN_DATA, 4096, node) == SHAN_SUCCESS);
  void* at;
  CHECK(shan_get_shared_ptr(&segment, local, &at) == SHAN_SUCCESS);
  long* const memory = at;
  int other = 1 - rank;
  CHECK(shan_comm_init_comm(&hood, 0, &other, 1, &bytes, &bytes, &most, &most, 1, node, MPI_COMM_WORLD) == SHAN_SUCCESS);
  int *send_count, *receive_count, *send_length, *receive_length;
  long *send_at, *receive_at;
  shan_comm_type_offset(&hood, 0, &send_count, &receive_count, &send_length, &receive_length, &send_at, &receive_at);
  send_count[0] = receive_count[0] = 2;
  send_length[0] = receive_length[0] = 8;
  send_at[0] = 0, send_at[1] = 8, receive_at[0] = 16, receive_at[1] = 24;
  for (long round = 0; round < 10; ++round) {
    if (rank == 0) {
      memory[0] = 42 + round, memory[1] = 43 + round;
      CHECK(shan_comm_notify_or_write(&hood, &segment, 0, 0) == SHAN_SUCCESS);
      CHECK(shan_comm_wait4Send(&hood, 0, 0) == SHAN_SUCCESS);
    } else {
      receive_at[1] = 5000;  // outside
      CHECK(shan_comm_wait4Recv(&hood, &segment, 0, 0) == SHAN_ERROR);
      receive_at[1] = 24;
      receive_count[0] = 1;  // too few
      CHECK(shan_comm_wait4Recv(&hood, &segment, 0, 0) == SHAN_ERROR);
      receive_count[0] = 2;
      CHECK(shan_comm_wait4Recv(&hood, &segment, 0, 0) == SHAN_SUCCESS);
      CHECK(memory[2] == 42 + round && memory[3] == 43 + round);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("receives are repaired");
  shan_comm_free_comm(&hood);
  shan_free_shared(&segment);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return 0;
}
