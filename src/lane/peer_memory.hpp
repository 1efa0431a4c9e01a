// The private memory of another process of the node, read from there (process_vm_readv). Containers and hardened kernels may forbid it.
#pragma once

#include <cstdint>
#include <span>

#include "lane/memory.hpp"

namespace plait::lane {

enum class Access { allowed, forbidden, gone };

/// May the memory of that process be read? `address`: of some of it.
[[nodiscard]] Access access_to(std::int32_t pid, std::uint64_t address) noexcept;

/// Bytes [begin, begin + bytes) of a message.
struct Part {
  std::uint64_t begin, bytes;
};

/// Reads parts of a message whose contiguous buffer begins at `address` there, into the same places of `to`. False where not all could
/// be read: it is forbidden, or the process has ended.
[[nodiscard]] bool read_peer(std::int32_t pid, std::uint64_t address, const Memory& to, std::span<const Part> parts) noexcept;

}  // namespace plait::lane
