// Threads with stacks of the size that OMP_STACKSIZE wants, as libgomp makes them.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace plait::cluster::omp {

/// OMP_STACKSIZE, or GOMP_STACKSIZE; 0 where neither is set. What is wrong libgomp has complained of.
std::size_t stack_wanted() noexcept;
/// With the system's usual stack where nothing is wanted. Ends the job where there is no thread to be had.
pthread_t start_thread(void* (*function)(void*), void* argument);

}  // namespace plait::cluster::omp
