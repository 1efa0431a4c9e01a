// The calls that clang makes for parallel regions.
#include <cstdarg>
#include <optional>
#include <vector>

#include "lend/omp/region.hpp"

namespace plait::lend::omp {
namespace {

struct Location;  // in the source: clang's own
using Body = void (*)(int* thread, int* number, ...);
using Fork = void (*)(Location*, int count, Body, ...);
using Push = void (*)(Location*, int thread, int threads);
/// Writes where the body's frame ends, for tools; older ones do not.
using Invoke = int (*)(Body, int thread, int number, int count, void** arguments, void** frame);

/// The next region of this thread says how many threads it wants.
thread_local bool is_told = false;

/// What each thread of a region runs.
struct Task {
  Body body;
  std::vector<void*> arguments;
  const Region* region;  ///< null: a nested one
};

void run_task(const int* thread, const int* number, Task* task) {
  static const auto invoke = reinterpret_cast<Invoke>(next("__kmp_invoke_microtask"));
  if (task->region) task->region->enter(*number);
  void* frame = nullptr;
  invoke(task->body, *thread, *number, static_cast<int>(task->arguments.size()), task->arguments.data(), &frame);
}

}  // namespace
}  // namespace plait::lend::omp

using namespace plait::lend::omp;  // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(bugprone-reserved-identifier): clang has named them
#pragma GCC visibility push(default)

extern "C" void __kmpc_push_num_threads(Location* location, int thread, int threads) {
  static const auto real = reinterpret_cast<Push>(next("__kmpc_push_num_threads"));
  is_told = true;
  real(location, thread, threads);
}

// Of clang 20 and later.
extern "C" void __kmpc_push_num_threads_strict(Location* location, int thread, int threads, int severity, const char* message) {
  static const auto real = next_of(__kmpc_push_num_threads_strict, "__kmpc_push_num_threads_strict");
  is_told = true;
  real(location, thread, threads, severity, message);
}

extern "C" void __kmpc_serialized_parallel(Location* location, int thread) {
  static const auto real = reinterpret_cast<void (*)(Location*, int)>(next("__kmpc_serialized_parallel"));
  is_told = false;
  real(location, thread);
}

extern "C" void __kmpc_fork_call(Location* location, int count, Body body, ...) {
  static const auto real = reinterpret_cast<Fork>(next("__kmpc_fork_call"));
  static const auto push = reinterpret_cast<Push>(next("__kmpc_push_num_threads"));
  static const auto number_of = reinterpret_cast<int (*)(Location*)>(next("__kmpc_global_thread_num"));
  std::optional<Region> region;
  if (!is_nested()) region.emplace(!is_told);
  is_told = false;
  Task task{body, {}, region ? &*region : nullptr};
  va_list list;
  va_start(list, body);
  for (int i = 0; i < count; ++i) task.arguments.push_back(va_arg(list, void*));
  va_end(list);
  if (region && region->threads() > 0) push(location, number_of(location), static_cast<int>(region->threads()));
  real(location, 1, reinterpret_cast<Body>(run_task), &task);
}

#pragma GCC visibility pop
// NOLINTEND(bugprone-reserved-identifier)
