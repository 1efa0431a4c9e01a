#include "collective/combine.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <type_traits>
#include <unordered_map>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "collective/collective.hpp"
#include "layout/quiet.hpp"
#include "p2p/handle_bits.hpp"

namespace plait::collective {

namespace {

using Loop = void (*)(const void* lower, const void* upper, void* result, std::int64_t count);

// ---- MPI's own operations on C's numbers

/// The result may be where one of the two is.
template <class T, class F>
void loop(const void* lower, const void* upper, void* result, std::int64_t count) {
  const T* const l = static_cast<const T*>(lower);
  const T* const u = static_cast<const T*>(upper);
  T* const r = static_cast<T*>(result);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) r[i] = static_cast<T>(F{}(l[i], u[i]));
}

/// Sums of signed integers wrap around, as those of most MPIs do.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<std::conditional_t<std::is_integral_v<T>, T, int>>,
                                std::type_identity<T>>::type;

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Product {
  template <class T>
  T operator()(T a, T b) const {
    // By 64 bits, since two of 16 bits would be multiplied as signed ones.
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    if constexpr (!std::is_integral_v<T>) return a * b;
  }
};
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
template <class F>
struct Logical {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(F{}(a != 0, b != 0));
  }
};

/// A number and where it was found, as MPI lays them out.
template <class T>
struct Found {
  T value;
  int place;
};
/// Of equal ones the first place. Touches no padding: the last element may end before its own.
template <class T, class Better>
void loop_over_places(const void* lower, const void* upper, void* result, std::int64_t count) {
  const auto* const a = static_cast<const Found<T>*>(lower);
  const auto* const b = static_cast<const Found<T>*>(upper);
  auto* const r = static_cast<Found<T>*>(result);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool same = a[i].value == b[i].value;
    const bool first = Better()(a[i].value, b[i].value);
    const int place = same ? std::min(a[i].place, b[i].place) : first ? a[i].place : b[i].place;
    r[i].value = first ? a[i].value : b[i].value;
    r[i].place = place;
  }
}

template <class T>
Loop find_place(MPI_Op op) {
  if (op == MPI_MINLOC) return loop_over_places<T, std::less<>>;
  if (op == MPI_MAXLOC) return loop_over_places<T, std::greater<>>;
  return nullptr;
}

template <class T>
Loop find_arithmetic(MPI_Op op) {
  if (op == MPI_SUM) return loop<T, Sum>;
  if (op == MPI_PROD) return loop<T, Product>;
  if (op == MPI_MIN) return loop<T, Least>;
  if (op == MPI_MAX) return loop<T, Greatest>;
  return nullptr;
}

template <class T>
Loop find_bitwise(MPI_Op op) {
  if (op == MPI_BAND) return loop<T, std::bit_and<>>;
  if (op == MPI_BOR) return loop<T, std::bit_or<>>;
  if (op == MPI_BXOR) return loop<T, std::bit_xor<>>;
  return nullptr;
}

template <class T>
Loop find_integer(MPI_Op op) {
  if (const Loop found = find_arithmetic<T>(op)) return found;
  if (const Loop found = find_bitwise<T>(op)) return found;
  if (op == MPI_LAND) return loop<T, Logical<std::logical_and<>>>;
  if (op == MPI_LOR) return loop<T, Logical<std::logical_or<>>>;
  if (op == MPI_LXOR) return loop<T, Logical<std::not_equal_to<>>>;
  return nullptr;
}

/// Null where the MPI has to do it, or to say that it cannot.
Loop find_loop(MPI_Datatype t, MPI_Op op) {
  if (t == MPI_DOUBLE) return find_arithmetic<double>(op);
  if (t == MPI_FLOAT) return find_arithmetic<float>(op);
  if (t == MPI_INT || t == MPI_INT32_T) return find_integer<std::int32_t>(op);
  if (t == MPI_LONG || t == MPI_LONG_LONG || t == MPI_INT64_T || t == MPI_AINT || t == MPI_COUNT || t == MPI_OFFSET)
    return find_integer<std::int64_t>(op);
  if (t == MPI_UNSIGNED || t == MPI_UINT32_T) return find_integer<std::uint32_t>(op);
  if (t == MPI_UNSIGNED_LONG || t == MPI_UNSIGNED_LONG_LONG || t == MPI_UINT64_T) return find_integer<std::uint64_t>(op);
  if (t == MPI_SHORT || t == MPI_INT16_T) return find_integer<std::int16_t>(op);
  if (t == MPI_UNSIGNED_SHORT || t == MPI_UINT16_T) return find_integer<std::uint16_t>(op);
  if (t == MPI_SIGNED_CHAR || t == MPI_INT8_T) return find_integer<std::int8_t>(op);
  if (t == MPI_UNSIGNED_CHAR || t == MPI_UINT8_T) return find_integer<std::uint8_t>(op);
  if (t == MPI_BYTE) return find_bitwise<std::uint8_t>(op);
  if (t == MPI_DOUBLE_INT) return find_place<double>(op);
  if (t == MPI_2INT) return find_place<int>(op);
  if (t == MPI_FLOAT_INT) return find_place<float>(op);
  if (t == MPI_LONG_INT) return find_place<long>(op);
  if (t == MPI_SHORT_INT) return find_place<short>(op);
  if (t == MPI_LONG_DOUBLE_INT) return find_place<long double>(op);
  return nullptr;
}
static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);

/// Handles of MPI's own operations and datatypes always mean the same: what was found last is kept.
Loop loop_of(MPI_Datatype type, MPI_Op op) {
  thread_local MPI_Datatype last_type = MPI_DATATYPE_NULL;
  thread_local MPI_Op last_op = MPI_OP_NULL;
  thread_local Loop last = nullptr;
  if (type == last_type && op == last_op) return last;
  const Loop found = find_loop(type, op);
  if (found) {
    last_type = type;
    last_op = op;
    last = found;
  }
  return found;
}

// ---- the program's operations

struct Functions {
  std::shared_mutex lock;
  std::unordered_map<std::uint64_t, UserFunction> all;
};

Functions& functions() {
  static Functions& functions = *new Functions;  // never destroyed: exit handlers may still free operations
  return functions;
}

void remember(MPI_Op op, UserFunction function) noexcept try {
  Functions& f = functions();
  const std::unique_lock guard(f.lock);
  f.all[p2p::to_bits(op)] = function;
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the MPI knows it
}

UserFunction function_of(MPI_Op op) {
  Functions& f = functions();
  const std::shared_lock guard(f.lock);
  const auto found = f.all.find(p2p::to_bits(op));
  return found == f.all.end() ? UserFunction{} : found->second;
}

}  // namespace

void remember_operation(MPI_Op op, MPI_User_function* function) noexcept {
  UserFunction f;
  f.small = function;
  remember(op, f);
}

#if MPI_VERSION >= 4
void remember_operation(MPI_Op op, MPI_User_function_c* function) noexcept {
  UserFunction f;
  f.large = function;
  remember(op, f);
}
#endif

void forget_operation(MPI_Op op) noexcept {
  Functions& f = functions();
  const std::unique_lock guard(f.lock);
  f.all.erase(p2p::to_bits(op));
}

void require_fit(MPI_Datatype type, MPI_Op op) {
  thread_local MPI_Datatype last_type = MPI_DATATYPE_NULL;
  thread_local MPI_Op last_op = MPI_OP_NULL;
  if (type == last_type && op == last_op) return;
  const MpiLock gate;
  const std::lock_guard guard(layout::quiet_calls);
  const int code = PMPI_Reduce(nullptr, nullptr, 0, type, op, 0, layout::quiet());
  require(code == MPI_SUCCESS, code);
  last_type = type;
  last_op = op;
}

Combination::Combination(const p2p::Type& type, MPI_Op op)
    : loop_(loop_of(type.handle, op)), type_(type.handle), op_(op), extent_(type.extent()) {
  if (!loop_) function_ = function_of(op);
}

void Combination::operator()(const void* lower, void* upper, MPI_Count count) const {
  if (loop_) {
    loop_(lower, upper, upper, count);
    return;
  }
  MPI_Datatype type = type_;
#if MPI_VERSION >= 4
  if (function_.large) {
    function_.large(const_cast<void*>(lower), upper, &count, &type);  // it only reads it
    return;
  }
#endif
  constexpr MPI_Count kMost = std::numeric_limits<int>::max();
  for (MPI_Count done = 0; done < count; done += kMost) {
    auto n = static_cast<int>(std::min(kMost, count - done));
    const auto at = static_cast<MPI_Aint>(done) * extent_;
    if (function_.small) {
      function_.small(offset_by(lower, at), offset_by(upper, at), &n, &type);
    } else {
      const MpiLock gate;
      check(PMPI_Reduce_local(offset_by(lower, at), offset_by(upper, at), n, type, op_));
    }
  }
}

void Combination::operator()(const void* lower, const void* upper, void* result, MPI_Count count) const {
  if (loop_) {
    loop_(lower, upper, result, count);
    return;
  }
  std::memcpy(result, upper, static_cast<std::size_t>(count * extent_));
  (*this)(lower, result, count);
}

void* combine_tree(std::span<void*> blocks, MPI_Count count, const Combination& combine) {
  for (std::size_t distance = 1; distance < blocks.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < blocks.size(); i += 2 * distance) {
      combine(blocks[i], blocks[i + distance], count);
      blocks[i] = blocks[i + distance];
    }
  }
  return blocks[0];
}

}  // namespace plait::collective
