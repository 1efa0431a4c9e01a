// How plait-lbm reports what is wrong: one line, from one process, and every process ends.
#pragma once

#include "deck/job.hpp"

namespace plait::lbm {

using deck::Error;
using deck::Quit;

/// As deck::collectively, in this program's name.
template <class Work>
void collectively(MPI_Comm comm, Work&& work) {
  deck::collectively(comm, "plait-lbm", "not enough memory for this lattice: use more nodes or a smaller lattice.size", work);
}

}  // namespace plait::lbm
