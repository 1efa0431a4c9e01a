// MPI programs as they are written for processes: nothing in them knows of threads.
#pragma once

#include <mpi.h>

#include "../comm.hpp"

namespace jobs {

void ring(MPI_Comm world);
void halo(MPI_Comm world);
void sample_sort(MPI_Comm world);
void conjugate_gradient(MPI_Comm world);

}  // namespace jobs
