#include "cluster/ends.hpp"

#include <vector>

#include "base/spinlock.hpp"
#include "cluster/heap.hpp"
#include "cluster/next.hpp"
#include "cluster/signals.hpp"
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

void keep(End end) {
  const UndisturbedLock guard(lock);
  ends().push_back(end);
}

}  // namespace

void run_ends_of_program() {
  for (;;) {
    End next{};
    {
      const UndisturbedLock guard(lock);
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
  static constinit Next<int(void (*)(void*), void*, void*)> real("__cxa_atexit");
  if (allocation != Allocation::shared || !belongs_to_program(library)) return real(function, argument, library);
  keep({function, argument});
  return 0;
}
