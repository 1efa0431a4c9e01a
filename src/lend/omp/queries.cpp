// What the program asks and tells OpenMP of numbers of threads.
#include <plait/lend.h>

#include <atomic>

#include "lend/omp/region.hpp"

namespace plait::lend::omp {
namespace {

constinit std::atomic<bool> fixed{false};  // relaxed: of the program's own thread, before its regions

}  // namespace

bool is_fixed() noexcept { return fixed.load(std::memory_order_relaxed); }

int own_threads() noexcept {
  static const auto ask = reinterpret_cast<int (*)()>(next("omp_get_max_threads"));
  return ask();
}

}  // namespace plait::lend::omp

using plait::lend::omp::fixed;
using plait::lend::omp::next_of;

#pragma GCC visibility push(default)

// An upper bound, as OpenMP says: arrays with an element for each thread are made by it.
extern "C" int omp_get_max_threads() {
  const int own = plait::lend::omp::own_threads();
  return plait::lend::omp::is_fixed() ? own : own + plait_lend_most();
}
extern "C" int omp_get_max_threads_() { return omp_get_max_threads(); }

extern "C" void omp_set_num_threads(int threads) {
  static const auto real = next_of(omp_set_num_threads, "omp_set_num_threads");
  fixed.store(true, std::memory_order_relaxed);
  real(threads);
}
extern "C" void omp_set_num_threads_(const int* threads) { omp_set_num_threads(*threads); }
extern "C" void omp_set_num_threads_8_(const long* threads) { omp_set_num_threads(static_cast<int>(*threads)); }

extern "C" void omp_set_dynamic(int dynamic) {
  static const auto real = next_of(omp_set_dynamic, "omp_set_dynamic");
  fixed.store(dynamic == 0, std::memory_order_relaxed);
  real(dynamic);
}
extern "C" void omp_set_dynamic_(const int* dynamic) { omp_set_dynamic(*dynamic); }
extern "C" void omp_set_dynamic_8_(const long* dynamic) { omp_set_dynamic(*dynamic != 0 ? 1 : 0); }

#pragma GCC visibility pop
