// jobs: MPI programs written for processes, by T threads of each process as ranks, or by the processes with T 0.
#include "jobs/jobs.hpp"

#include <mpi.h>

#include "as_ranks.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  as_ranks(number_in(argc, argv, 4), [](MPI_Comm world) {
    jobs::ring(world);
    jobs::halo(world);
    jobs::sample_sort(world);
    jobs::conjugate_gradient(world);
  });
  MPI_Finalize();
  return 0;
}
