// Pauses where threads meet, which make rare orders of events common: for scripts/soak. Other builds have none.
#pragma once

namespace plait {

#ifdef PLAIT_DELAYS
/// Often none, at times a few cycles, seldom the core or some microseconds. Any thread.
void delay() noexcept;
#else
inline void delay() noexcept {}
#endif

}  // namespace plait
