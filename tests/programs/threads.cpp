// threads: every rank tells, one line each, its node, its OpenMP threads, on how many CPUs these may run in all, a
// variable, and whether it can read from standard input. Compiled with -fopenmp.
#include <mpi.h>
#include <omp.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  int rank = 0, level = 0, length = 0, threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char node[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(node, &length);
  cpu_set_t all;
  CPU_ZERO(&all);
#pragma omp parallel
  {
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
#pragma omp critical
    {
      ++threads;
      CPU_OR(&all, &all, &mine);
    }
  }
  const char* word = std::getenv("PLAIT_TEST_WORD");
  const char* input = std::getchar() == EOF ? "empty" : "filled";
  std::printf("rank %d node %s threads %d cpus %d word %s stdin %s\n", rank, node, threads, CPU_COUNT(&all), word ? word : "-", input);
  MPI_Finalize();
}
