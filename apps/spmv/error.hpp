// How plait-spmv reports what is wrong: one line, from one process, and every process ends.
#pragma once

#include "deck/job.hpp"

namespace plait::spmv {

using deck::Error;
using deck::Quit;

/// As deck::collectively, in this program's name.
template <class Work>
void collectively(MPI_Comm comm, Work&& work) {
  deck::collectively(comm, "plait-spmv", "not enough memory for this matrix: use more nodes or a smaller matrix", work);
}

}  // namespace plait::spmv
