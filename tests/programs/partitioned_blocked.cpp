// partitioned_blocked: a partitioned message completes while its other side is blocked in an ordinary call, also if the two have
// not found each other before.
#include <mpi.h>
#include <plait/partitioned.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kCount = 1 << 20;  // more than is on its way at a time
constexpr int kParts = 8;

/// One side waits for its partitioned message and then sends the ordinary one for which the other is blocked.
void meet(bool sends, bool blocked, int other) {
  // The blocked one comes first; it is as right if it does not.
  if (!blocked) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::vector<int> data(kCount, sends ? 7 : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  if (sends) {
    MPI_Psend_init(data.data(), kParts, kCount / kParts, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  } else {
    MPI_Precv_init(data.data(), kParts, kCount / kParts, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  }
  MPI_Start(&request);
  if (sends) MPI_Pready_range(0, kParts - 1, request);
  int word = 0;
  if (blocked) {
    MPI_Recv(&word, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(word == 5);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    word = 5;
    MPI_Send(&word, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
  }
  CHECK(std::vector<int>(kCount, 7) == data);
  MPI_Request_free(&request);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = rank ^ 1;
  for (const bool first_sends : {true, false}) {
    for (const bool first_blocks : {true, false}) meet((rank % 2 == 0) == first_sends, (rank % 2 == 0) == first_blocks, other);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("messages of those that are blocked: right\n");
  MPI_Finalize();
  return 0;
}
