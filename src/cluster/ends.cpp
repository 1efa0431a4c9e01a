#include "cluster/ends.hpp"

#include <dlfcn.h>

#include <mutex>
#include <vector>

#include "base/spinlock.hpp"
#include "cluster/heap.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {
namespace {

struct End {
  void (*function)(void*);
  void* argument;
};
Spinlock lock;
std::vector<End>& ends() {
  static auto* const list = new std::vector<End>;
  return *list;
}

bool keep(End end) {
  const std::lock_guard guard(lock);
  ends().push_back(end);
  return true;
}

}  // namespace

void run_ends_of_program() {
  for (;;) {
    End next{};
    {
      const std::lock_guard guard(lock);
      if (ends().empty()) return;
      next = ends().back();
      ends().pop_back();
    }
    next.function(next.argument);
  }
}

}  // namespace plait::cluster

// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::visibility("default")]] int __cxa_atexit(void (*function)(void*), void* argument, void* library) {
  using namespace plait::cluster;
  static auto* const real = reinterpret_cast<int (*)(void (*)(void*), void*, void*)>(dlsym(RTLD_NEXT, "__cxa_atexit"));
  if (allocation == Allocation::shared && belongs_to_program(library)) return keep({function, argument}) ? 0 : -1;
  return real(function, argument, library);
}
