// Pauses where threads meet, which make rare orders of events common: for scripts/soak. Other builds have none.
#pragma once

namespace plait {

#ifdef PLAIT_DELAYS
/// Usually returns at once. Sometimes spins for some cycles; seldom yields the core, or sleeps up to 50 us. Any thread.
void delay() noexcept;
#else
inline void delay() noexcept {}
#endif

}  // namespace plait
