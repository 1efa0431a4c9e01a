// A token goes round; each rank adds to it. Then all shift at once, in messages of growing size.
#include <cstdio>
#include <vector>

#include "jobs.hpp"

void jobs::ring(MPI_Comm world) {
  const int rank = rank_of(world);
  const int size = size_of(world);
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  long token = 1;
  for (int round = 0; round < 20; ++round) {
    if (rank > 0) MPI_Recv(&token, 1, MPI_LONG, before, round, world, MPI_STATUS_IGNORE);
    token = (token * 31 + rank) % 1000003;
    MPI_Send(&token, 1, MPI_LONG, next, round, world);
    if (rank == 0) MPI_Recv(&token, 1, MPI_LONG, before, round, world, MPI_STATUS_IGNORE);
  }
  unsigned sum = 0;
  for (std::size_t n = 1; n <= 100000; n *= 10) {
    std::vector<unsigned> out(n);
    std::vector<unsigned> in(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<unsigned>(static_cast<std::size_t>(rank) * n + i);
    for (int shift = 0; shift < size; ++shift) {
      MPI_Sendrecv(out.data(), static_cast<int>(n), MPI_UNSIGNED, next, 7, in.data(), static_cast<int>(n), MPI_UNSIGNED, MPI_ANY_SOURCE, 7,
                   world, MPI_STATUS_IGNORE);
      out.swap(in);
    }
    for (std::size_t i = 0; i < n; ++i) sum += out[i] == static_cast<std::size_t>(rank) * n + i ? 1 : 1000000;
  }
  unsigned all = 0;
  MPI_Reduce(&sum, &all, 1, MPI_UNSIGNED, MPI_SUM, 0, world);
  if (rank == 0) std::printf("ring of %d: token %ld, sum %u\n", size, token, all);
}
