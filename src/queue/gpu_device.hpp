// The memory of a GPU: where addresses lie, copies to and from it by a stream of plait's own, host memory for them, and the words by which
// streams and the engine tell each other.
#pragma once

#include <array>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/event_count.hpp"
#include "queue/device.hpp"
#include "queue/driver.hpp"

namespace plait::queue {

/// The stream writes the first when it comes to a step, and waits for the second where the step holds it up.
struct Words {
  Word* arrived = nullptr;
  Word* released = nullptr;
};

/// One for each context; it stays until the process ends, as streams may look at its words long after the program has freed them. One whose
/// context was ended is not used again.
class GpuDevice final : public Device {
 public:
  /// Throws MPIError, std::bad_alloc.
  static GpuDevice& of(Driver& driver, GpuContext context);

  [[nodiscard]] Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] GpuContext context() const noexcept { return context_; }
  [[nodiscard]] bool has_memory_operations() const noexcept { return memory_operations_; }
  [[nodiscard]] bool can_capture_memory_operations() const noexcept { return captured_memory_operations_; }
  /// Nothing runs in the context any more. Has the driver asked now and then, by a thread of its own: a call of the driver's may wait for
  /// one of the program's, which holds the driver's locks until a message has come that the caller is to bring.
  [[nodiscard]] bool has_failed() noexcept;

  /// Words whose values are those that they had when they were given back, at first 0. Those of graphs are 0 whenever a graph is over.
  enum class Of : std::uint8_t { queue, graph };
  [[nodiscard]] Words take_words(Of of);
  void give_words(Of of, Words words) noexcept;

  [[nodiscard]] Place place(const void* at, std::size_t bytes) noexcept override;
  [[nodiscard]] bool is_shared(const void* at) noexcept override;
  [[nodiscard]] bool is_pageable(const void* at) noexcept override;
  /// Copies to the device and waits for that. Any thread. Throws MPIError.
  void copy_now(void* to, const std::byte* from, const Rows& rows);
  [[nodiscard]] std::byte* take(std::size_t bytes) override;
  void give(std::byte* at) noexcept override;

 private:
  GpuDevice(Driver& driver, GpuContext context);
  void start_asking();
  void ask() noexcept;
  /// Null where there is none that has been taken from the driver before.
  [[nodiscard]] std::byte* take_kept(unsigned size_class);
  [[nodiscard]] std::byte* cut(std::span<std::byte>& slab, unsigned size_class);

  Driver& driver_;
  const GpuContext context_;
  const int number_;
  const StreamHandle own_;
  bool memory_operations_ = false, captured_memory_operations_ = false;
  std::atomic<bool> failed_{false};
  std::atomic<std::int64_t> asked_{0};  ///< when somebody wanted to know, in ns
  std::atomic<bool> wanted_{false};
  EventCount want_;

  // Over what follows, and never held over a call of the driver's: that may wait for a stream, which waits for the engine, which gives back
  // what a step has held.
  std::mutex lock_;
  std::vector<std::vector<std::byte*>> free_;
  std::unordered_map<std::byte*, unsigned> class_of_;
  std::vector<std::span<std::byte>> slabs_;  ///< what is left of them
  std::array<std::vector<Words>, 2> words_;
  std::vector<void*> events_;  ///< of `copy_now`
};

}  // namespace plait::queue
