// What the program asks and tells OpenMP of numbers of threads. Programs ask that have no OpenMP, or not yet: "is there any?".
#include <plait/lend.h>

#include <array>
#include <atomic>

#include "base/settings.hpp"
#include "lend/omp/region.hpp"

namespace plait::lend::omp {
namespace {

/// OpenMP's function of that name, looked for until it is there.
template <class Function>
class Query {
 public:
  constexpr explicit Query(const char* name) noexcept : name_(name) {}

  [[nodiscard]] Function* get() noexcept {
    Function* found = function_.load(std::memory_order_relaxed);
    if (!found) function_.store(found = reinterpret_cast<Function*>(find(name_)), std::memory_order_relaxed);
    return found;
  }

 private:
  const char* name_;
  std::atomic<Function*> function_{nullptr};  // relaxed: a library's function, or nothing
};

constinit Query<int()> max_threads("omp_get_max_threads"), level("omp_get_level"), proc_bind("omp_get_proc_bind");
constinit Query<void(int)> set_num_threads("omp_set_num_threads"), set_dynamic("omp_set_dynamic");

/// What omp_get_max_threads() has told: before MPI_Init, which may be more, and last. relaxed: a thread knows what it was told.
constinit std::array<std::atomic<int>, 2> told{};

// A thread's own outside of regions, as in OpenMP; what is said in a region is of nested ones.
thread_local bool has_number = false;
thread_local bool has_said_dynamic = false;
thread_local int own_before = 0;  ///< it had a number

bool was_told(int threads) noexcept {
  return threads > 0 && (threads == told[0].load(std::memory_order_relaxed) || threads == told[1].load(std::memory_order_relaxed));
}

/// False: all regions shall have that number. True: OpenMP never gives more than this process has CPUs.
bool environment_says_dynamic() noexcept {
  static const bool says = !settings::text(settings::Id::openmp_dynamic).empty();
  return says;
}

/// OpenMP would spread the extra threads over the places of the own ones.
bool has_places() noexcept {
  const auto ask = proc_bind.get();
  return ask && ask() != 0;
}

/// Whatever number it has.
bool is_closed() noexcept { return has_said_dynamic || environment_says_dynamic() || has_places(); }

}  // namespace

bool is_fixed() noexcept { return has_number || is_closed(); }

bool is_nested() noexcept {
  const auto ask = level.get();
  return ask && ask() > 0;
}

int own_threads() noexcept {
  const auto ask = max_threads.get();
  return ask ? ask() : 1;
}

}  // namespace plait::lend::omp

#pragma GCC visibility push(default)

// An upper bound, as OpenMP says: arrays with an element for each thread are made by it.
extern "C" int omp_get_max_threads() {
  using namespace plait::lend::omp;  // NOLINT(google-build-using-namespace)
  const int own = own_threads();
  const int most = max_threads.get() && !is_fixed() ? plait_lend_most() : 0;
  if (most > 0 && !is_nested()) {
    int none = 0;
    told[0].compare_exchange_strong(none, own + most, std::memory_order_relaxed);
    told[1].store(own + most, std::memory_order_relaxed);
  }
  return own + most;
}
extern "C" int omp_get_max_threads_() { return omp_get_max_threads(); }

extern "C" void omp_set_num_threads(int threads) {
  using namespace plait::lend::omp;  // NOLINT(google-build-using-namespace)
  const auto real = set_num_threads.get();
  if (!real) return;
  if (is_nested()) return real(threads);
  if (was_told(threads) && !is_closed()) {
    if (has_number) real(own_before);
    has_number = false;
    return;
  }
  if (!has_number) own_before = own_threads();
  has_number = true;
  real(threads);
}
extern "C" void omp_set_num_threads_(const int* threads) { omp_set_num_threads(*threads); }
extern "C" void omp_set_num_threads_8_(const long* threads) { omp_set_num_threads(static_cast<int>(*threads)); }

extern "C" void omp_set_dynamic(int dynamic) {
  using namespace plait::lend::omp;  // NOLINT(google-build-using-namespace)
  const auto real = set_dynamic.get();
  if (!real) return;
  if (!is_nested()) has_said_dynamic = true;
  real(dynamic);
}
extern "C" void omp_set_dynamic_(const int* dynamic) { omp_set_dynamic(*dynamic); }
extern "C" void omp_set_dynamic_8_(const long* dynamic) { omp_set_dynamic(*dynamic != 0 ? 1 : 0); }

#pragma GCC visibility pop
