// Anonymous files in memory by which processes of a node share it. They live as long as somebody has them open: however processes
// end, nothing is left behind. Any thread.
#pragma once

#include <cstdint>

namespace plait {

/// What another process needs to open such a file.
struct RegionName {
  std::int32_t pid = 0;
  std::int32_t file = -1;   ///< descriptor in that process; -1: it has no region
  std::uint64_t nonce = 0;  ///< tells it from whatever else has that number, in another namespace say

  /// Tells regions of a node apart: pids do not, where there are several namespaces. Not negative.
  [[nodiscard]] std::int32_t id() const noexcept { return static_cast<std::int32_t>(nonce & 0x7FFFFFFF); }
};

namespace shared_file {

/// One of this process's own, with its nonce at offset 0. Throws std::system_error where the machine has no such memory.
[[nodiscard]] RegionName make();
/// Another process's. Throws std::system_error where it cannot be opened or is not the one named.
[[nodiscard]] int open(const RegionName& name);
/// False where there is no room, or the process may not have files so large.
[[nodiscard]] bool set_size(int file, std::uint64_t bytes) noexcept;
/// How large files of this process may be. To go beyond would end it by a signal.
[[nodiscard]] std::uint64_t largest() noexcept;

}  // namespace shared_file
}  // namespace plait
