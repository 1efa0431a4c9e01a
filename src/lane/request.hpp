// A request: one pending operation of plait's, of whatever kind, behind an MPI_Request that the completion calls take.
//
// The kinds (generalized requests, and whatever else features add) derive from Request and say by a table of functions
// how their requests move and end. Memory comes in slots that are reused and never returned, so that a slot's number can
// stand for it in a handle. No MPI here.
//
// Any thread may make and end requests. One request is waited for by one thread at a time, as MPI wants it; progress may
// be called by several.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/chunked_array.hpp"
#include "progress/wait.hpp"

namespace plait {

struct Request;

/// One round of a call over its requests: what several of them share is moved once.
class Round {
 public:
  /// Is this met for the first time in the round?
  [[nodiscard]] bool first(const void* shared) noexcept {
    if (shared == last_) return false;
    last_ = shared;
    const auto end = met_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (std::find(met_.begin(), end, shared) != end) return false;
    if (count_ < met_.size()) met_[count_++] = shared;
    return true;
  }

  bool driven = false;  ///< the network has been

 private:
  const void* last_ = nullptr;
  std::array<const void*, 8> met_;  // NOLINT(cppcoreguidelines-pro-type-member-init): read up to count_
  std::size_t count_ = 0;
};

/// What a kind of request can do. Errors are MPI error classes or codes; 0 is success. `status` is an MPI_Status*, or null
/// where the program wants none; its MPI_ERROR is left to the caller.
struct RequestKind {
  /// One round of work that may complete the request; true if something moved.
  bool (*progress)(Request&, Round& round);
  /// May it be retired? After a true answer it stays so.
  bool (*done)(const Request&);
  /// Ends a request that is done: writes its status and gives back its memory. Returns its error.
  int (*retire)(Request&, void* status);
  /// Writes the status of one that is done and stays.
  int (*peek)(Request&, void* status);
  /// The program has no more use for it, done or not.
  int (*free)(Request&);
  int (*cancel)(Request&);
  /// Blocks in a way of the program's for some time until one of these, all that a call waits for, may be done; false where they
  /// have no way to do so together. Null: the kind never has.
  bool (*block)(std::span<Request*>, double seconds) = nullptr;
  /// Where a thread waits for one. Null: nothing notifies it.
  progress::Waiter* (*waiter)(Request&) = nullptr;
  const progress::Patience* patience;
  /// A thread waits for it and makes its rounds, or has ended to. Null: nobody has to know.
  void (*set_polled)(Request&, bool here) = nullptr;
  /// Starts a persistent one again. Null: the kind has none.
  int (*start)(Request&) = nullptr;
  /// A wait or test sees an inactive request. A kind whose requests are started by being waited for (finepoints' receives) starts it
  /// here. Null: the kind has none.
  void (*arm)(Request&) = nullptr;
  /// The communicator whose error handler is told, as a number; 0: that of calls without one.
  std::uint64_t (*communicator)(const Request&);
  /// What it waits for, for a person to read.
  void (*describe)(const Request&, std::string& text);
};

struct Request {
  const RequestKind* kind = nullptr;
  std::uint32_t slot = 0;   ///< of the memory it lies in; never changes
  bool persistent = false;  ///< retiring makes it inactive and keeps it
  bool active = true;
  Request* next_free = nullptr;  ///< while it is unused
};

/// Is there, or was there ever, a request of plait's? What every completion call asks first; a program that has none pays
/// this load. relaxed: whoever holds a handle was given it after the word was set.
extern std::atomic<bool> requests_used;
[[nodiscard]] inline bool any_requests() noexcept { return requests_used.load(std::memory_order_relaxed); }

namespace request {

inline constexpr std::size_t kSlotBytes = 256;
inline constexpr std::uint32_t kMaxSlots = std::uint32_t{1} << 28;
inline constexpr std::uint32_t kChunkSlots = 1024;

struct alignas(64) Slot {
  std::byte bytes[kSlotBytes];
};
extern ChunkedArray<Slot, kChunkSlots, kMaxSlots / kChunkSlots> slots;

/// A free slot, null when there is no memory. What it held before is undefined but for Request::slot.
[[nodiscard]] Request* take_slot() noexcept;
void give_slot(Request& r) noexcept;
/// Has there ever been a request in the slot?
[[nodiscard]] inline bool is_made(std::uint32_t slot) noexcept { return slots.find(slot) != nullptr; }
/// The request in a slot that is in use.
[[nodiscard]] inline Request& in_slot(std::uint32_t slot) noexcept { return *reinterpret_cast<Request*>(&slots[slot]); }

/// A new object of a kind of request; null when there is no memory.
template <class T, class... Arguments>
[[nodiscard]] T* make(Arguments&&... arguments) noexcept {
  static_assert(std::is_base_of_v<Request, T> && sizeof(T) <= kSlotBytes && alignof(T) <= 64);
  Request* const raw = take_slot();
  if (!raw) return nullptr;
  const std::uint32_t slot = raw->slot;
  T* made = nullptr;
  if constexpr (sizeof...(Arguments) == 0) {
    made = new (static_cast<void*>(raw)) T;  // without parentheses, which would write zeroes first
  } else {
    made = new (static_cast<void*>(raw)) T(std::forward<Arguments>(arguments)...);
  }
  made->slot = slot;
  return made;
}

template <class T>
void destroy(T& request) noexcept {
  const std::uint32_t slot = request.slot;
  request.~T();
  Request* const raw = new (static_cast<void*>(&request)) Request;
  raw->slot = slot;
  give_slot(*raw);
}

}  // namespace request
}  // namespace plait
