#include "base/delay.hpp"

#ifdef PLAIT_DELAYS
#include <sched.h>
#include <time.h>

#include <cstdint>

#include "base/clock.hpp"
#include "base/relax.hpp"

namespace plait {
namespace {

std::uint32_t draw() noexcept {
  thread_local std::uint64_t state = 0;
  if (state == 0) state = now() ^ reinterpret_cast<std::uintptr_t>(&state) ^ 0x9E3779B97F4A7C15U;
  // xorshift64
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<std::uint32_t>(state >> 32);
}

}  // namespace

void delay() noexcept {
  const std::uint32_t drawn = draw();
  if (drawn % 16 != 0) return;
  const std::uint32_t kind = drawn / 16 % 64;
  if (kind > 3) {
    for (std::uint32_t i = drawn / 1024 % 200; i > 0; --i) relax();
  } else if (kind > 0) {
    sched_yield();
  } else {
    const timespec some{0, static_cast<long>(drawn / 1024 % 50'000)};
    nanosleep(&some, nullptr);
  }
}

}  // namespace plait
#endif
