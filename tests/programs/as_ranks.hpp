// Runs a function on every rank of a thread communicator; or, with no threads, of a duplicate of MPI_COMM_WORLD.
#pragma once

#include <mpi.h>
#include <plait/mpix.h>

#include <cstdlib>
#include <thread>
#include <vector>

template <class Body>
void as_ranks(int threads, Body body) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (threads == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    body(comm);
    MPI_Comm_free(&comm);
    return;
  }
  MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      MPIX_Threadcomm_start(comm);
      body(comm);
      MPIX_Threadcomm_finish(comm);
    });
  }
  for (std::thread& t : team) t.join();
  MPIX_Threadcomm_free(&comm);
}

/// The number after the program's name.
inline int number_in(int argc, char** argv, int otherwise) { return argc > 1 ? std::atoi(argv[1]) : otherwise; }
