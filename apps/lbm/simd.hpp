// A vector of doubles as wide as the processor's registers, with masked loads and stores.
// Every operation works lane by lane and is never contracted or reordered (-ffp-contract=off), so a
// site gets the same bits whatever the vector's width and whichever lane it falls into.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace plait::lbm::simd {

#if defined(__AVX512F__)
inline constexpr int kWidth = 8;
#elif defined(__AVX2__)
inline constexpr int kWidth = 4;
#else
inline constexpr int kWidth = 2;
#endif

typedef double Vec __attribute__((vector_size(kWidth * sizeof(double))));
using Mask = std::uint32_t;  // one bit per lane, lane 0 lowest
inline constexpr Mask kAll = (1U << kWidth) - 1;

[[nodiscard]] inline Vec load(const double* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store(double* p, Vec v) { std::memcpy(p, &v, sizeof v); }

#if defined(__AVX2__) && !defined(__AVX512F__)
[[nodiscard]] inline __m256i lanes(Mask m) {
  return _mm256_set_epi64x(-static_cast<long long>((m >> 3) & 1U), -static_cast<long long>((m >> 2) & 1U),
                           -static_cast<long long>((m >> 1) & 1U), -static_cast<long long>(m & 1U));
}
#endif

/// Lanes in m come from p, the others from `otherwise`; memory of the others is not touched.
[[nodiscard]] inline Vec load_masked(Vec otherwise, Mask m, const double* p) {
#if defined(__AVX512F__)
  return (Vec)_mm512_mask_loadu_pd((__m512d)otherwise, static_cast<__mmask8>(m), p);
#elif defined(__AVX2__)
  const __m256i l = lanes(m);
  return (Vec)_mm256_blendv_pd((__m256d)otherwise, _mm256_maskload_pd(p, l), _mm256_castsi256_pd(l));
#else
  for (int k = 0; k < kWidth; ++k) {
    if ((m >> k) & 1U) otherwise[k] = p[k];
  }
  return otherwise;
#endif
}

/// Writes the lanes in m only. The other lanes may belong to another thread: they are not touched.
inline void store_masked(double* p, Mask m, Vec v) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>(m), (__m512d)v);
#elif defined(__AVX2__)
  _mm256_maskstore_pd(p, lanes(m), (__m256d)v);
#else
  for (int k = 0; k < kWidth; ++k) {
    if ((m >> k) & 1U) p[k] = v[k];
  }
#endif
}

}  // namespace plait::lbm::simd
