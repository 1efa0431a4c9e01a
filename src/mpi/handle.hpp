// MPI_Request values that stand for plait's requests. They can never be one of the MPI's own: MPICH and its kin have int
// handles whose top two bits tell the kind, 00 only for the null handles (0x2c000000 for requests); where handles are
// pointers, no address has the top bit set.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lane/request.hpp"

namespace plait::mpi {

template <class Handle>
struct HandleBits {
  static_assert(std::is_pointer_v<Handle> || sizeof(Handle) == 4);
  static constexpr std::uint32_t kKind = 0x30000000, kKindMask = 0xF0000000;
  static constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

  static bool ours(Handle h) noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<std::uint64_t>(h) >> 63;
    } else {
      return (static_cast<std::uint32_t>(h) & kKindMask) == kKind;
    }
  }
  static Request& request(Handle h) noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return *reinterpret_cast<Request*>(reinterpret_cast<std::uint64_t>(h) & ~kTop);  // NOLINT(performance-no-int-to-ptr)
    } else {
      return request::in_slot(static_cast<std::uint32_t>(h) & ~kKindMask);
    }
  }
  static Handle handle(const Request& r) noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(reinterpret_cast<std::uint64_t>(&r) | kTop);  // NOLINT(performance-no-int-to-ptr)
    } else {
      return static_cast<Handle>(r.slot | kKind);
    }
  }

  // The numbers that Fortran has for handles: where these are pointers, the MPI counts its own from 0.
  static int number(Handle h) noexcept { return static_cast<int>(request(h).slot | kKind); }
  static bool is_number(int number) noexcept { return (static_cast<std::uint32_t>(number) & kKindMask) == kKind; }
  /// 0 where no handle was ever made of it.
  static Handle of_number(int number) noexcept {
    const std::uint32_t slot = static_cast<std::uint32_t>(number) & ~kKindMask;
    return request::is_made(slot) ? handle(request::in_slot(slot)) : Handle{};
  }
};

using RequestBits = HandleBits<MPI_Request>;

inline bool is_our_group(MPI_Group h) noexcept { return any_requests() && HandleBits<MPI_Group>::ours(h); }

inline MPI_Request handle_of(const Request& r) noexcept { return RequestBits::handle(r); }

/// Plait's request behind a handle, or null where it is the MPI's. One that was ended already has no kind.
inline Request* ours(MPI_Request h) noexcept { return RequestBits::ours(h) ? &RequestBits::request(h) : nullptr; }

}  // namespace plait::mpi
