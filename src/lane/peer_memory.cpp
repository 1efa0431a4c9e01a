#include "lane/peer_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>

namespace plait::lane {
namespace {

/// Read at once where it has to be unpacked: it fits into a cache.
constexpr std::size_t kUnpack = 65536;
constexpr std::size_t kUnpackWithoutMemory = 2048;
/// Parts of one call of the system's.
constexpr std::size_t kParts = 64;

iovec local(std::byte* at, std::size_t bytes) noexcept { return {at, bytes}; }
iovec remote(std::uint64_t at, std::size_t bytes) noexcept {
  return {reinterpret_cast<void*>(at), bytes};  // NOLINT(performance-no-int-to-ptr): of another process
}

/// `move`: process_vm_readv or process_vm_writev.
bool move_all(decltype(process_vm_readv) move, std::int32_t pid, std::uint64_t address, std::byte* at, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec here = local(at, bytes);
    const iovec there = remote(address, bytes);
    const ssize_t moved = move(pid, &here, 1, &there, 1, 0);
    if (moved <= 0) {
      if (moved < 0 && errno == EINTR) continue;
      if (moved == 0) errno = EFAULT;
      return false;
    }
    at += moved;
    address += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

bool read_all(std::int32_t pid, std::uint64_t address, std::byte* to, std::size_t bytes) noexcept {
  return move_all(process_vm_readv, pid, address, to, bytes);
}

/// At most kParts, in one call.
bool read_together(std::int32_t pid, std::uint64_t address, std::byte* to, std::span<const Part> parts) noexcept {
  std::array<iovec, kParts> here;
  std::array<iovec, kParts> there;
  std::size_t n = 0;
  std::uint64_t all = 0;
  for (const Part& p : parts) {
    here[n] = local(to + p.begin, p.bytes);
    there[n++] = remote(address + p.begin, p.bytes);
    all += p.bytes;
  }
  if (all == 0) return true;
  const ssize_t got = process_vm_readv(pid, here.data(), n, there.data(), n, 0);
  if (got >= 0 && static_cast<std::uint64_t>(got) == all) return true;
  // Interrupted, or less than all: one by one.
  return std::ranges::all_of(parts, [&](const Part& p) { return read_all(pid, address + p.begin, to + p.begin, p.bytes); });
}

bool read_unpacking(std::int32_t pid, std::uint64_t address, const Memory& to, std::span<const Part> parts) noexcept {
  std::array<std::byte, kUnpackWithoutMemory> least;
  const std::unique_ptr<std::byte[]> most(new (std::nothrow) std::byte[kUnpack]);
  const std::span<std::byte> buffer = most ? std::span(most.get(), kUnpack) : std::span(least);
  for (const Part& p : parts) {
    for (std::uint64_t at = p.begin; at < p.begin + p.bytes; at += buffer.size()) {
      const std::size_t n = std::min<std::uint64_t>(buffer.size(), p.begin + p.bytes - at);
      if (!read_all(pid, address + at, buffer.data(), n)) return false;
      unpack(buffer.data(), to, at, n);
    }
  }
  return true;
}

}  // namespace

Access access_to(std::int32_t pid, std::uint64_t address) noexcept {
  std::byte probe{};
  if (read_all(pid, address, &probe, 1)) return Access::allowed;
  return errno == ESRCH ? Access::gone : Access::forbidden;
}

bool write_peer(std::int32_t pid, std::uint64_t address, const std::byte* from, Part part) noexcept {
  auto* const at = const_cast<std::byte*>(from) + part.begin;  // only read
  return move_all(process_vm_writev, pid, address + part.begin, at, part.bytes);
}

bool read_peer(std::int32_t pid, std::uint64_t address, const Memory& to, std::span<const Part> parts) noexcept {
  if (to.layout) return read_unpacking(pid, address, to, parts);
  while (!parts.empty()) {
    const std::size_t n = std::min(parts.size(), kParts);
    if (!read_together(pid, address, to.at, parts.first(n))) return false;
    parts = parts.subspan(n);
  }
  return true;
}

}  // namespace plait::lane
