// Critical sections, atomic sections without an instruction, and OpenMP's locks: all are the engine's, also those of inner teams, for they
// exclude threads of all processes.
#include <algorithm>
#include <vector>

#include "cluster/omp/team.hpp"

using namespace plait::cluster;
using namespace plait::cluster::omp;
using plait::fatal;

namespace {

/// A lock in private memory, on a thread's stack say, is its process's: the same address is another lock elsewhere.
LockId of(const void* object) noexcept {
  const LockId address = reinterpret_cast<std::uintptr_t>(object);
  return shared(object) ? address : address | static_cast<LockId>(job().process + 1) << 48;
}

/// Nested locks that this thread holds, and how often.
struct Held {
  const void* lock;
  int times;
};
thread_local std::vector<Held> held;

Held* holds(const void* lock) noexcept {
  const auto found = std::find_if(held.begin(), held.end(), [lock](const Held& h) { return h.lock == lock; });
  return found == held.end() ? nullptr : &*found;
}

void set_nested(const void* object) {
  if (Held* const mine = holds(object)) {
    ++mine->times;
    return;
  }
  lock(of(object));
  held.push_back({object, 1});
}
void unset_nested(const void* object) {
  Held* const mine = holds(object);
  if (!mine) fatal("omp_unset_nest_lock: this thread does not hold the lock");
  if (--mine->times > 0) return;
  held.erase(held.begin() + (mine - held.data()));
  unlock(of(object));
}
int test_nested(const void* object) {
  if (Held* const mine = holds(object)) return ++mine->times;
  if (!try_lock(of(object))) return 0;
  held.push_back({object, 1});
  return 1;
}

}  // namespace

#define PLAIT_EXCLUSION(start, end, id) \
  PLAIT_OMP void start() {              \
    if (is_job()) {                     \
      lock(id);                         \
    } else {                            \
      PLAIT_LIBGOMP(start)();           \
    }                                   \
  }                                     \
  PLAIT_OMP void end() {                \
    if (is_job()) {                     \
      unlock(id);                       \
    } else {                            \
      PLAIT_LIBGOMP(end)();             \
    }                                   \
  }
PLAIT_EXCLUSION(GOMP_critical_start, GOMP_critical_end, kCriticalLock)
PLAIT_EXCLUSION(GOMP_atomic_start, GOMP_atomic_end, kAtomicLock)

#define PLAIT_ON_LOCK(name, call)     \
  PLAIT_OMP void name(void* object) { \
    if (is_job()) {                   \
      call;                           \
    } else {                          \
      PLAIT_LIBGOMP(name)(object);    \
    }                                 \
  }

PLAIT_ON_LOCK(GOMP_critical_name_start, lock(of(object)))
PLAIT_ON_LOCK(GOMP_critical_name_end, unlock(of(object)))

// In C and in Fortran, where the lock lies behind a pointer as well. With several processes the object is a name only.
#define PLAIT_BOTH(name, call) \
  PLAIT_ON_LOCK(name, call)    \
  PLAIT_ON_LOCK(name##_, call)
PLAIT_BOTH(omp_init_lock, (void)object)
PLAIT_BOTH(omp_destroy_lock, (void)object)
PLAIT_BOTH(omp_set_lock, lock(of(object)))
PLAIT_BOTH(omp_unset_lock, unlock(of(object)))
PLAIT_BOTH(omp_init_nest_lock, (void)object)
PLAIT_BOTH(omp_destroy_nest_lock, (void)object)
PLAIT_BOTH(omp_set_nest_lock, set_nested(object))
PLAIT_BOTH(omp_unset_nest_lock, unset_nested(object))

#define PLAIT_TEST(name, call)                                                                 \
  PLAIT_OMP int name(void* object) { return is_job() ? (call) : PLAIT_LIBGOMP(name)(object); } \
  PLAIT_OMP int name##_(void* object) { return is_job() ? (call) : PLAIT_LIBGOMP(name##_)(object); }
PLAIT_TEST(omp_test_lock, try_lock(of(object)))
PLAIT_TEST(omp_test_nest_lock, test_nested(object))

PLAIT_OMP void omp_init_lock_with_hint(void* object, int hint) {
  if (!is_job()) PLAIT_LIBGOMP(omp_init_lock_with_hint)(object, hint);
}
PLAIT_OMP void omp_init_nest_lock_with_hint(void* object, int hint) {
  if (!is_job()) PLAIT_LIBGOMP(omp_init_nest_lock_with_hint)(object, hint);
}
PLAIT_OMP void omp_init_lock_with_hint_(void* object, const int* hint) {
  if (!is_job()) PLAIT_LIBGOMP(omp_init_lock_with_hint_)(object, hint);
}
PLAIT_OMP void omp_init_nest_lock_with_hint_(void* object, const int* hint) {
  if (!is_job()) PLAIT_LIBGOMP(omp_init_nest_lock_with_hint_)(object, hint);
}
