#include "collective/loops.hpp"

#include <algorithm>
#include <functional>
#include <type_traits>

namespace plait::collective {

namespace {

template <class T, class F>
[[gnu::always_inline]] inline void combine(const void* lower, const void* upper, void* result, std::int64_t count) {
  const T* const l = static_cast<const T*>(lower);
  const T* const u = static_cast<const T*>(upper);
  T* const r = static_cast<T*>(result);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) r[i] = F::of(l[i], u[i]);
}

template <class T, class F>
void combine_baseline(const void* lower, const void* upper, void* result, std::int64_t count) {
  combine<T, F>(lower, upper, result, count);
}

#ifdef PLAIT_AVX512
template <class T, class F>
PLAIT_AVX2 void combine_avx2(const void* lower, const void* upper, void* result, std::int64_t count) {
  combine<T, F>(lower, upper, result, count);
}
template <class T, class F>
PLAIT_AVX512 void combine_avx512(const void* lower, const void* upper, void* result, std::int64_t count) {
  combine<T, F>(lower, upper, result, count);
}
#endif

template <class T, class F>
Loop loop([[maybe_unused]] Instructions instructions) {
#ifdef PLAIT_AVX512
  if (instructions == Instructions::avx512) return combine_avx512<T, F>;
  if (instructions == Instructions::avx2) return combine_avx2<T, F>;
#endif
  return combine_baseline<T, F>;
}

// The functions below are inlined into loops for all of these, so they call none of another header, which would be compiled for one of
// them.

struct Sum {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Product {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    if constexpr (sizeof(T) < sizeof(int)) return static_cast<T>(unsigned{a} * unsigned{b});  // else as signed ones, which may overflow
    if constexpr (sizeof(T) >= sizeof(int)) return a * b;
  }
};
struct Least {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct And {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct Or {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>((a | b) != 0);
  }
};
struct Xor {
  template <class T>
  [[gnu::always_inline]] static T of(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
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
Loop find_arithmetic(MPI_Op op, Instructions instructions) {
  // Sums and products of signed integers wrap around, as those of most MPIs do, so they are those of unsigned ones.
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  if (op == MPI_SUM) return loop<Wrapping, Sum>(instructions);
  if (op == MPI_PROD) return loop<Wrapping, Product>(instructions);
  if (op == MPI_MIN) return loop<T, Least>(instructions);
  if (op == MPI_MAX) return loop<T, Greatest>(instructions);
  return nullptr;
}

template <class T>
Loop find_bitwise(MPI_Op op, Instructions instructions) {
  if (op == MPI_BAND) return loop<T, BitAnd>(instructions);
  if (op == MPI_BOR) return loop<T, BitOr>(instructions);
  if (op == MPI_BXOR) return loop<T, BitXor>(instructions);
  return nullptr;
}

template <class T>
Loop find_integer(MPI_Op op, Instructions instructions) {
  using Bits = std::make_unsigned_t<T>;
  if (const Loop found = find_arithmetic<T>(op, instructions)) return found;
  if (const Loop found = find_bitwise<Bits>(op, instructions)) return found;
  if (op == MPI_LAND) return combine_baseline<Bits, And>;
  if (op == MPI_LOR) return combine_baseline<Bits, Or>;
  if (op == MPI_LXOR) return combine_baseline<Bits, Xor>;
  return nullptr;
}

}  // namespace

Loop find_loop(MPI_Datatype t, MPI_Op op, Instructions instructions) {
  if (t == MPI_DOUBLE) return find_arithmetic<double>(op, instructions);
  if (t == MPI_FLOAT) return find_arithmetic<float>(op, instructions);
  if (t == MPI_INT || t == MPI_INT32_T) return find_integer<std::int32_t>(op, instructions);
  if (t == MPI_LONG || t == MPI_LONG_LONG || t == MPI_INT64_T || t == MPI_AINT || t == MPI_COUNT || t == MPI_OFFSET)
    return find_integer<std::int64_t>(op, instructions);
  if (t == MPI_UNSIGNED || t == MPI_UINT32_T) return find_integer<std::uint32_t>(op, instructions);
  if (t == MPI_UNSIGNED_LONG || t == MPI_UNSIGNED_LONG_LONG || t == MPI_UINT64_T) return find_integer<std::uint64_t>(op, instructions);
  if (t == MPI_SHORT || t == MPI_INT16_T) return find_integer<std::int16_t>(op, instructions);
  if (t == MPI_UNSIGNED_SHORT || t == MPI_UINT16_T) return find_integer<std::uint16_t>(op, instructions);
  if (t == MPI_SIGNED_CHAR || t == MPI_INT8_T) return find_integer<std::int8_t>(op, instructions);
  if (t == MPI_UNSIGNED_CHAR || t == MPI_UINT8_T) return find_integer<std::uint8_t>(op, instructions);
  if (t == MPI_BYTE) return find_bitwise<std::uint8_t>(op, instructions);
  if (t == MPI_DOUBLE_INT) return find_place<double>(op);
  if (t == MPI_2INT) return find_place<int>(op);
  if (t == MPI_FLOAT_INT) return find_place<float>(op);
  if (t == MPI_LONG_INT) return find_place<long>(op);
  if (t == MPI_SHORT_INT) return find_place<short>(op);
  if (t == MPI_LONG_DOUBLE_INT) return find_place<long double>(op);
  return nullptr;
}
static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);

}  // namespace plait::collective
