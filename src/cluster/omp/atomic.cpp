// The calls of libatomic that gcc makes. A program's own atomics, `omp atomic` and reductions all come here.
//
// Objects of 1, 2, 4 and 8 bytes: the process whose memory it was at the beginning does the operation (src/cluster/atomics.cpp). Others,
// and objects across a border of 8 bytes: a lock of the page is taken around the operation. Both ways an operation is an acquire and a
// release, whatever order the program names: what is written before a store is seen after a load that reads it.
#include "cluster/omp/atomic.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cluster/engine.hpp"
#include "cluster/next.hpp"
#include "cluster/omp/team.hpp"

// The names are the compiler's own, which a definition may not use: the assembler gets them.
#define PLAIT_CALLED(name) __asm__(name) __attribute__((visibility("default")))

namespace plait::cluster {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uintptr_t kBytesOfPage = 4096;
/// Numbers of these locks, apart from those of critical sections and of the program's locks, which are addresses.
constexpr LockId kAtomicLocks = LockId{0xA} << 60;
constexpr LockId kGuardLocks = LockId{0xB} << 60;

/// The process that does the operation, where another may want the object at the same time; else -1.
int home_of(const volatile void* at) noexcept {
  return job().processes == 1 || alone.load(std::memory_order_relaxed) ? -1 : home(at);  // relaxed: set before the region is told of
}
bool carried(const volatile void* at) noexcept { return home_of(at) >= 0; }

/// The lock of an object's page, or of both where it lies across a border: the lower first, so that two threads cannot wait for each other.
class Locked {
 public:
  Locked(const volatile void* at, std::size_t bytes) noexcept
      : first_(reinterpret_cast<std::uintptr_t>(at) / kBytesOfPage),
        last_((reinterpret_cast<std::uintptr_t>(at) + (bytes ? bytes - 1 : 0)) / kBytesOfPage) {
    for (std::uintptr_t page = first_; page <= last_; ++page) lock(kAtomicLocks | page);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    for (std::uintptr_t page = last_ + 1; page-- > first_;) unlock(kAtomicLocks | page);
  }

 private:
  std::uintptr_t first_;
  std::uintptr_t last_;
};

/// Calls `native` on the object, or has `operation` done by the object's home.
///
/// Two relaxed operations need no message; gcc makes both for a reduction. A load may say what was there at the last barrier, as long as
/// the thread's next load sees what is new. And to exchange a value by itself, right after the home has said that it is there, does
/// nothing.
template <class T, class Native>
T at_once(volatile void* at, Operation operation, int order, T value, T expected, Native native) noexcept {
  auto* const object = static_cast<volatile T*>(at);
  const int by = home_of(at);
  if (by < 0) [[likely]]
    return native(object);
  if (reinterpret_cast<std::uintptr_t>(at) % 8 + sizeof(T) > 8) {
    const Locked locked(at, sizeof(T));
    return native(object);
  }
  if (by == job().process) return native(object);
  omp::Member* const m = omp::member();
  using Last = omp::Member::Atomic;
  if (m && order == __ATOMIC_RELAXED) {
    if (std::uint64_t old = 0; operation == Operation::load && m->atomic == Last::none && load_of_last_meeting(at, sizeof(T), old)) {
      m->atomic = Last::other;
      return static_cast<T>(old);
    }
    if (operation == Operation::compare_exchange && value == expected && m->atomic == Last::failed_exchange && m->exchanged == at &&
        m->found == expected) {
      return expected;
    }
  }
  const auto before = static_cast<T>(operate(at, sizeof(T), operation, value, expected));
  if (m) {
    m->atomic = operation == Operation::compare_exchange && before != expected ? Last::failed_exchange : Last::other;
    m->exchanged = at;
    m->found = before;
  }
  return before;
}

}  // namespace

#define PLAIT_CALL(result, call, name, arguments)    \
  result call arguments noexcept PLAIT_CALLED(name); \
  result call arguments noexcept

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
// Each returns what was there before.
#define PLAIT_FETCH(T, size, name, operation, expression)                                                            \
  PLAIT_CALL(T, fetch_##name##_##size, "__atomic_fetch_" #name "_" #size, (volatile void* at, T value, int order)) { \
    return at_once<T>(at, Operation::operation, order, value, T{},                                                   \
                      [=](volatile T* object) { return __atomic_fetch_##name(object, value, __ATOMIC_SEQ_CST); });   \
  }                                                                                                                  \
  PLAIT_CALL(T, name##_fetch_##size, "__atomic_" #name "_fetch_" #size, (volatile void* at, T value, int order)) {   \
    const T before = fetch_##name##_##size(at, value, order);                                                        \
    return static_cast<T>(expression);                                                                               \
  }

#define PLAIT_SIZE(T, size)                                                                                                               \
  PLAIT_CALL(T, load_##size, "__atomic_load_" #size, (const volatile void* at, int order)) {                                              \
    return at_once<T>(const_cast<volatile void*>(at), Operation::load, order, T{}, T{},                                                   \
                      [](volatile T* object) { return __atomic_load_n(object, __ATOMIC_SEQ_CST); });                                      \
  }                                                                                                                                       \
  PLAIT_CALL(T, exchange_##size, "__atomic_exchange_" #size, (volatile void* at, T value, int order)) {                                   \
    return at_once<T>(at, Operation::exchange, order, value, T{},                                                                         \
                      [=](volatile T* object) { return __atomic_exchange_n(object, value, __ATOMIC_SEQ_CST); });                          \
  }                                                                                                                                       \
  PLAIT_CALL(void, store_##size, "__atomic_store_" #size, (volatile void* at, T value, int order)) { exchange_##size(at, value, order); } \
  PLAIT_CALL(bool, compare_exchange_##size, "__atomic_compare_exchange_" #size,                                                           \
             (volatile void* at, void* expected, T wanted, int order, int)) {                                                             \
    T assumed;                                                                                                                            \
    std::memcpy(&assumed, expected, sizeof assumed);                                                                                      \
    const T before = at_once<T>(at, Operation::compare_exchange, order, wanted, assumed, [=](volatile T* object) {                        \
      T now = assumed;                                                                                                                    \
      __atomic_compare_exchange_n(object, &now, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                       \
      return now;                                                                                                                         \
    });                                                                                                                                   \
    if (before == assumed) return true;                                                                                                   \
    std::memcpy(expected, &before, sizeof before);                                                                                        \
    return false;                                                                                                                         \
  }                                                                                                                                       \
  PLAIT_CALL(bool, test_and_set_##size, "__atomic_test_and_set_" #size, (volatile void* at, int order)) {                                 \
    return exchange_##size(at, T{1}, order) != 0;                                                                                         \
  }                                                                                                                                       \
  PLAIT_FETCH(T, size, add, add, before + value)                                                                                          \
  PLAIT_FETCH(T, size, sub, sub, before - value)                                                                                          \
  PLAIT_FETCH(T, size, and, bit_and, before& value)                                                                                       \
  PLAIT_FETCH(T, size, or, bit_or, before | value)                                                                                        \
  PLAIT_FETCH(T, size, xor, bit_xor, before ^ value)                                                                                      \
  PLAIT_FETCH(T, size, nand, bit_nand, ~(before & value))

extern "C" {
PLAIT_SIZE(std::uint8_t, 1)
PLAIT_SIZE(std::uint16_t, 2)
PLAIT_SIZE(std::uint32_t, 4)
PLAIT_SIZE(std::uint64_t, 8)
}
// NOLINTEND(bugprone-macro-parentheses)

// --- 16 bytes and other sizes: under the lock a plain copy will do, as all processes' threads take it; elsewhere libatomic knows how.

namespace {

using FetchWide = Next<Wide(volatile void*, Wide, int)>;

template <class Change>
Wide change_wide(volatile void* at, FetchWide& real, Wide value, Change change) noexcept {
  if (!carried(at)) return real(at, value, __ATOMIC_SEQ_CST);
  const Locked locked(at, sizeof(Wide));
  Wide before;
  std::memcpy(&before, const_cast<void*>(at), sizeof before);
  const Wide after = change(before, value);
  std::memcpy(const_cast<void*>(at), &after, sizeof after);
  return before;
}

}  // namespace

#define PLAIT_FETCH_WIDE(operation, expression)                                                                          \
  constinit FetchWide real_fetch_##operation("__atomic_fetch_" #operation "_16");                                        \
  PLAIT_CALL(Wide, fetch_##operation##_16, "__atomic_fetch_" #operation "_16", (volatile void* at, Wide value, int)) {   \
    return change_wide(at, real_fetch_##operation, value, [](Wide a, Wide b) { return static_cast<Wide>(expression); }); \
  }                                                                                                                      \
  PLAIT_CALL(Wide, operation##_fetch_16, "__atomic_" #operation "_fetch_16", (volatile void* at, Wide value, int)) {     \
    const auto change = [](Wide a, Wide b) { return static_cast<Wide>(expression); };                                    \
    return change(change_wide(at, real_fetch_##operation, value, change), value);                                        \
  }

extern "C" {
PLAIT_FETCH_WIDE(add, a + b)
PLAIT_FETCH_WIDE(sub, a - b)
PLAIT_FETCH_WIDE(and, a& b)
PLAIT_FETCH_WIDE(or, a | b)
PLAIT_FETCH_WIDE(xor, a ^ b)
PLAIT_FETCH_WIDE(nand, ~(a& b))

PLAIT_CALL(void, load_any, "__atomic_load", (std::size_t bytes, const volatile void* at, void* to, int order)) {
  static constinit Next<void(std::size_t, const volatile void*, void*, int)> real("__atomic_load");
  if (!carried(at)) return real(bytes, at, to, order);
  const Locked locked(at, bytes);
  std::memcpy(to, const_cast<const void*>(at), bytes);
}

PLAIT_CALL(void, store_any, "__atomic_store", (std::size_t bytes, volatile void* at, const void* from, int order)) {
  static constinit Next<void(std::size_t, volatile void*, const void*, int)> real("__atomic_store");
  if (!carried(at)) return real(bytes, at, from, order);
  const Locked locked(at, bytes);
  std::memcpy(const_cast<void*>(at), from, bytes);
}

PLAIT_CALL(void, exchange_any, "__atomic_exchange", (std::size_t bytes, volatile void* at, const void* from, void* to, int order)) {
  static constinit Next<void(std::size_t, volatile void*, const void*, void*, int)> real("__atomic_exchange");
  if (!carried(at)) return real(bytes, at, from, to, order);
  const Locked locked(at, bytes);
  auto* const object = static_cast<unsigned char*>(const_cast<void*>(at));
  const auto* const wanted = static_cast<const unsigned char*>(from);
  auto* const old = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i) {  // `from` and `to` may be the same
    const unsigned char byte = wanted[i];
    old[i] = object[i];
    object[i] = byte;
  }
}

PLAIT_CALL(bool, compare_exchange_any, "__atomic_compare_exchange",
           (std::size_t bytes, volatile void* at, void* expected, const void* wanted, int success, int failure)) {
  static constinit Next<bool(std::size_t, volatile void*, void*, const void*, int, int)> real("__atomic_compare_exchange");
  if (!carried(at)) return real(bytes, at, expected, wanted, success, failure);
  const Locked locked(at, bytes);
  if (std::memcmp(const_cast<void*>(at), expected, bytes) != 0) {
    std::memcpy(expected, const_cast<void*>(at), bytes);
    return false;
  }
  std::memcpy(const_cast<void*>(at), wanted, bytes);
  return true;
}

// Not by the functions above: libatomic's functions for any size call those for 16 bytes, which are these.
PLAIT_CALL(Wide, load_16, "__atomic_load_16", (const volatile void* at, int order)) {
  static constinit Next<Wide(const volatile void*, int)> real("__atomic_load_16");
  if (!carried(at)) return real(at, order);
  Wide value;
  load_any(sizeof value, at, &value, order);
  return value;
}
PLAIT_CALL(void, store_16, "__atomic_store_16", (volatile void* at, Wide value, int order)) {
  static constinit Next<void(volatile void*, Wide, int)> real("__atomic_store_16");
  if (!carried(at)) return real(at, value, order);
  store_any(sizeof value, at, &value, order);
}
PLAIT_CALL(Wide, exchange_16, "__atomic_exchange_16", (volatile void* at, Wide value, int order)) {
  static constinit Next<Wide(volatile void*, Wide, int)> real("__atomic_exchange_16");
  if (!carried(at)) return real(at, value, order);
  Wide before;
  exchange_any(sizeof value, at, &value, &before, order);
  return before;
}
PLAIT_CALL(bool, compare_exchange_16, "__atomic_compare_exchange_16",
           (volatile void* at, void* expected, Wide wanted, int success, int failure)) {
  static constinit Next<bool(volatile void*, void*, Wide, int, int)> real("__atomic_compare_exchange_16");
  if (!carried(at)) return real(at, expected, wanted, success, failure);
  return compare_exchange_any(sizeof wanted, at, expected, &wanted, success, failure);
}

// --- Static variables of functions in C++, which the first thread of the whole job that comes by constructs. The compiler looks at the
// guard's first byte and calls when that is 0.

PLAIT_CALL(int, guard_acquire, "__cxa_guard_acquire", (std::uint64_t* guard)) {
  if (!carried(guard)) {
    static constinit Next<int(std::uint64_t*)> real("__cxa_guard_acquire");
    return real(guard);
  }
  lock(kGuardLocks | reinterpret_cast<std::uintptr_t>(guard));
  if (!*reinterpret_cast<volatile unsigned char*>(guard)) return 1;
  unlock(kGuardLocks | reinterpret_cast<std::uintptr_t>(guard));
  return 0;
}

PLAIT_CALL(void, guard_release, "__cxa_guard_release", (std::uint64_t* guard)) {
  static constinit Next<void(std::uint64_t*)> real("__cxa_guard_release");
  if (!carried(guard)) return real(guard);
  *reinterpret_cast<volatile unsigned char*>(guard) = 1;
  unlock(kGuardLocks | reinterpret_cast<std::uintptr_t>(guard));
}

PLAIT_CALL(void, guard_abort, "__cxa_guard_abort", (std::uint64_t* guard)) {
  static constinit Next<void(std::uint64_t*)> real("__cxa_guard_abort");
  if (!carried(guard)) return real(guard);
  unlock(kGuardLocks | reinterpret_cast<std::uintptr_t>(guard));
}
}

}  // namespace plait::cluster
