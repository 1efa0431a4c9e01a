// Atomic operations and reductions of every kind.
#include <complex.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"

enum { N = 60 };
static unsigned char c = 0;
static short s = 0;
static int i4 = 0, product = 1, bits_or = 0, bits_and = -1, bits_xor = 0;
static long l8 = 0, highest = LONG_MIN;
static float f = 0;
static double d = 0;
static long double ld = 0;
static _Atomic int standard = 0;
static int old_style = 0, spin = 0, guarded = 0;
static __int128 sixteen = 0;
typedef struct {
  long count, twice;
} Pair;
static _Atomic Pair pair = {0, 0};

/// On 16 bytes each operation is a function of its own.
static int count_in_pair(void) {
  Pair before = atomic_load(&pair);
  while (!atomic_compare_exchange_weak(&pair, &before, ((Pair){before.count + 1, before.twice + 2}))) {
  }
  return before.twice == 2 * before.count;
}

struct Vector {
  double x, y;
};
#pragma omp declare reduction(join : struct Vector : omp_out.x += omp_in.x, omp_out.y += omp_in.y) \
    initializer(omp_priv = (struct Vector){0, 0})

int main(void) {
  const int threads = omp_get_max_threads();
  const long all = (long)N * threads;
  int captured[4096] = {0};
  int torn = !count_in_pair();
  atomic_store(&pair, ((Pair){4, 8}));
  const Pair old = atomic_exchange(&pair, ((Pair){0, 0}));
  CHECK(old.count == 4 && old.twice == 8);
#pragma omp parallel reduction(+ : torn)
  for (int i = 0; i < N; ++i) {
#pragma omp atomic
    c += 1;
#pragma omp atomic
    s += 2;
#pragma omp atomic
    bits_or |= 1 << i % 20;
#pragma omp atomic
    bits_and &= ~(1 << i % 20);
#pragma omp atomic
    bits_xor ^= 5;
#pragma omp atomic
    l8 -= 3;
#pragma omp atomic
    f += 0.5f;
#pragma omp atomic
    d += 0.25;
#pragma omp atomic
    ld += 1;
    int before;
#pragma omp atomic capture seq_cst
    before = i4++;
    if (before < 4096) captured[before] += 1;
#pragma omp atomic
    sixteen += 1;
    torn += !count_in_pair();
    ++standard;
    __sync_fetch_and_add(&old_style, 1);
    while (__sync_lock_test_and_set(&spin, 1)) {
    }
    ++guarded;
    __sync_lock_release(&spin);
  }
  CHECK(c == (unsigned char)all);
  CHECK(s == (short)(2 * all));
  CHECK(bits_or == (1 << 20) - 1);
  CHECK(bits_and == ~((1 << 20) - 1));
  CHECK(bits_xor == (all % 2 ? 5 : 0));
  CHECK(l8 == -3 * all);
  CHECK(f == 0.5f * (float)all);
  CHECK(d == 0.25 * (double)all);
  CHECK(ld == (long double)all);
  CHECK(i4 == all);
  for (int i = 0; i < all && i < 4096; ++i) CHECK(captured[i] == 1);
  CHECK(sixteen == all);
  const Pair counted = atomic_load(&pair);
  CHECK(counted.count == all && counted.twice == 2 * all && torn == 0);
  CHECK(standard == all);
  CHECK(old_style == all);
  CHECK(guarded == all);

  // One thread waits for another's flag, and sees what was written before.
  if (threads > 1) {
    int data = 0, flag = 0, seen = 0;
#pragma omp parallel num_threads(threads)
    {
      if (omp_get_thread_num() == threads - 1) {
        data = 42;
#pragma omp atomic write seq_cst
        flag = 1;
      } else if (omp_get_thread_num() == 0) {
        int now = 0;
        while (!now) {
#pragma omp atomic read seq_cst
          now = flag;
        }
        seen = data;
      }
    }
    CHECK(seen == 42);
  }

  long sum = 5, low = LONG_MAX, and_bits = -1, or_bits = 0, xor_bits = 0;
  int both = 1, any = 0;
  double times = 1, dsum = 0;
  float least = 1e30f;
  double complex z = 0;
  long double longest = 0;
  int array[10] = {0};
  struct Vector v = {1, 1};
#pragma omp parallel for reduction(+ : sum, dsum, z, longest, array) reduction(min : low, least) reduction(max : highest) \
    reduction(& : and_bits) reduction(| : or_bits) reduction(^ : xor_bits) reduction(&& : both) reduction(|| : any)       \
    reduction(* : times, product) reduction(join : v)
  for (int i = 0; i < 1000; ++i) {
    sum += i;
    dsum += i;
    z += i + 2 * i * I;
    longest += i;
    array[i % 10] += i;
    low = i - 7 < low ? i - 7 : low;
    least = (float)(i - 3) < least ? (float)(i - 3) : least;
    highest = 2 * i > highest ? 2 * i : highest;
    and_bits &= ~(1L << i % 30);
    or_bits |= 1L << i % 40;
    xor_bits ^= i;
    both = both && i < 1000;
    any = any || i == 777;
    times *= i % 100 == 0 ? 2 : 1;
    product *= i % 100 == 0 ? 2 : 1;
    v.x += i;
    v.y -= i;
  }
  CHECK(sum == 5 + 499500);
  CHECK(dsum == 499500);
  CHECK(creal(z) == 499500 && cimag(z) == 999000);
  CHECK(longest == 499500);
  for (int i = 0; i < 10; ++i) CHECK(array[i] == 49500 + 100 * i);
  CHECK(low == -7);
  CHECK(least == -3);
  CHECK(highest == 1998);
  CHECK(and_bits == ~((1L << 30) - 1));
  CHECK(or_bits == (1L << 40) - 1);
  CHECK(xor_bits == 0);
  CHECK(both == 1 && any == 1);
  CHECK(times == 1024 && product == 1024);
  CHECK(v.x == 499501 && v.y == -499499);
  return end();
}
