// MPI programs as they are written for processes: nothing in them knows of threads.
#pragma once

#include <mpi.h>

namespace jobs {

void ring(MPI_Comm world);
void halo(MPI_Comm world);
void sample_sort(MPI_Comm world);
void conjugate_gradient(MPI_Comm world);

inline int rank_in(MPI_Comm c) {
  int rank = 0;
  MPI_Comm_rank(c, &rank);
  return rank;
}
inline int size_of(MPI_Comm c) {
  int size = 0;
  MPI_Comm_size(c, &size);
  return size;
}

}  // namespace jobs
