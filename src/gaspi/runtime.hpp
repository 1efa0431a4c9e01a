// The machine and the error texts, as GASPI and GPI-2 ask for them. Any thread.
#pragma once

#include <cstdint>

#include "plait/GASPI.h"

namespace plait::gaspi::runtime {

/// In plain words; it stays.
[[nodiscard]] const char* text_of(gaspi_return_t code) noexcept;
[[nodiscard]] std::uint64_t ticks() noexcept;
/// In MHz; 0 where it is not known.
[[nodiscard]] float cpu_frequency() noexcept;
/// Negative where it is not known.
[[nodiscard]] int numa_node() noexcept;
/// False where there is no such node, or the system refuses.
[[nodiscard]] bool bind_to_numa_node(unsigned node);
/// The cores that this thread may use, to standard output.
void print_cores() noexcept;

}  // namespace plait::gaspi::runtime
