// The private memory of another process of the node: read from there and written to (process_vm_readv, process_vm_writev). Containers and
// hardened kernels may forbid it.
#pragma once

#include <cstdint>
#include <span>

#include "lane/memory.hpp"

namespace plait::lane {

enum class Access : std::uint8_t { unknown, allowed, forbidden, gone };

/// May the memory of that process be read and written? `address`: of some of it.
[[nodiscard]] Access access_to(std::int32_t pid, std::uint64_t address) noexcept;

/// Reads parts of a message whose contiguous buffer begins at `address` there, into the same places of `to`. False where not all could
/// be read: it is forbidden, or such memory cannot be read from outside, or (errno is ESRCH) the process has ended.
[[nodiscard]] bool read_peer(std::int32_t pid, std::uint64_t address, const Memory& to, std::span<const Part> parts) noexcept;

/// Writes a part of a message, all of which begins at `from` here, into the buffer that begins at `address` there. False where not all
/// could be written.
[[nodiscard]] bool write_peer(std::int32_t pid, std::uint64_t address, const std::byte* from, Part part) noexcept;

}  // namespace plait::lane
