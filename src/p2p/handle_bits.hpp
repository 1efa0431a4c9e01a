// MPI handles as numbers, whether the MPI makes them integers or pointers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace plait::p2p {

template <class Handle>
[[nodiscard]] std::uint64_t to_bits(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

template <class Handle>
[[nodiscard]] Handle from_bits(std::uint64_t bits) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(bits));  // NOLINT(performance-no-int-to-ptr)
  } else {
    return static_cast<Handle>(bits);
  }
}

}  // namespace plait::p2p
