// The limits of GASPI in this process: GPI-2's defaults, and what gaspi_config_set has changed before the start. They do not change
// afterwards; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/GASPI.h"

namespace plait::gaspi {

inline constexpr std::uint32_t kNotifications = 65536;
inline constexpr std::uint32_t kSegments = 256;  ///< numbers that there are; a configuration allows fewer
inline constexpr std::uint32_t kGroups = 256;
inline constexpr std::uint32_t kQueues = 16;
inline constexpr std::uint32_t kQueueSize = 4096;
inline constexpr std::size_t kPassive = 65535;
inline constexpr std::size_t kTransfer = std::size_t{1} << 30;
inline constexpr std::size_t kReduction = 15360;  ///< bytes of a reduction that travel at a time, in one packet

[[nodiscard]] gaspi_config_t& config() noexcept;
/// Can it be?
[[nodiscard]] bool is_right(const gaspi_config_t& config) noexcept;

}  // namespace plait::gaspi
