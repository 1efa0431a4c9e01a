#include "lend/omp/region.hpp"

#include <dlfcn.h>
#include <plait/lend.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>

namespace plait::lend::omp {
namespace {

constexpr int kNowhere = -1;

/// This thread's: where it is bound, and where it might run before.
thread_local int bound = kNowhere;
thread_local cpu_set_t before;

/// Where the system does not let it, the thread runs where it is: slower, but right.
void bind(int cpu) noexcept {
  if (cpu == bound) return;
  if (bound == kNowhere && sched_getaffinity(0, sizeof before, &before) != 0) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (cpu != kNowhere) CPU_SET(cpu, &mask);
  if (sched_setaffinity(0, sizeof mask, cpu == kNowhere ? &before : &mask) == 0) bound = cpu;
}

}  // namespace

void* find(const char* name) noexcept {
  if (void* const found = dlsym(RTLD_NEXT, name)) return found;
  // A library that was loaded late is behind nobody.
  for (const char* library : {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"}) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (void* const found = handle ? dlsym(handle, name) : nullptr) return found;
  }
  return nullptr;
}

void* next(const char* name) noexcept {
  if (void* const found = find(name)) return found;
  std::fprintf(stderr, "plait: %s is called, and no OpenMP library that has it is loaded behind libplait_lend.so\n", name);
  std::abort();
}

// The array is large, and only what is borrowed is read.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
Region::Region(bool open) noexcept : own_(own_threads()), borrowed_(plait_lend_begin(open && !is_fixed() ? kMost : 0, cpus_.data())) {}

Region::~Region() { plait_lend_end(borrowed_, cpus_.data()); }

void Region::enter(int thread) const noexcept {
  const bool extra = borrowed_ > 0 && thread >= own_;
  bind(extra ? cpus_[static_cast<std::size_t>(thread - own_)] : kNowhere);
}

}  // namespace plait::lend::omp
