// Loops for the processor that runs them: libplait is compiled for any x86-64 of the last fifteen years (x86-64-v2), and has its loops over
// long arrays for newer ones, too. Any thread.
#pragma once

namespace plait {

/// Sets of a processor's instructions; each has those before it.
enum class Instructions { baseline, avx2, avx512 };

#if defined(__x86_64__)
#define PLAIT_AVX2 [[gnu::target("avx2")]]
// With vectors of 256 bits, as gcc has it for most processors: those of 512 are a tenth to a quarter slower on Zen 4, in each cache.
#ifdef __clang__
#define PLAIT_AVX512 [[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl")]]
#else
#define PLAIT_AVX512 [[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=256")]]
#endif
#endif

/// What the processor has and the system keeps.
[[nodiscard]] inline Instructions best_instructions() noexcept {
#if defined(__x86_64__)
  static const Instructions best = [] {
    if (!__builtin_cpu_supports("avx2")) return Instructions::baseline;
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512vl");
    return has_avx512 ? Instructions::avx512 : Instructions::avx2;
  }();
  return best;
#else
  return Instructions::baseline;
#endif
}

}  // namespace plait
