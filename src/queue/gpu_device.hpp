// The memory of a GPU: where addresses lie, copies to and from it by a stream of plait's own, host memory for them, and the words by which
// streams and the engine tell each other.
#pragma once

#include <array>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "queue/device.hpp"
#include "queue/driver.hpp"

namespace plait::queue {

/// The stream writes the first when it comes to a step, and waits for the second where the step holds it up.
struct Words {
  Word* arrived = nullptr;
  Word* released = nullptr;
};

/// One for each context; it stays until the process ends, as streams may look at its words long after the program has freed them.
class GpuDevice final : public Device {
 public:
  /// Throws MPIError, std::bad_alloc.
  static GpuDevice& of(Driver& driver, GpuContext context);

  [[nodiscard]] Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] GpuContext context() const noexcept { return context_; }
  [[nodiscard]] bool has_memory_operations() const noexcept { return memory_operations_; }
  [[nodiscard]] bool can_capture_memory_operations() const noexcept { return captured_memory_operations_; }
  /// Nothing runs in the context any more. Asks the driver now and then.
  [[nodiscard]] bool has_failed() noexcept;

  /// Words whose values are those that they had when they were given back, at first 0. Those of graphs are 0 whenever a graph is over.
  enum class Of : std::uint8_t { queue, graph };
  [[nodiscard]] Words take_words(Of of);
  void give_words(Of of, Words words) noexcept;

  [[nodiscard]] Place place(const void* at) noexcept override;
  [[nodiscard]] bool is_pageable(const void* at) noexcept override;
  [[nodiscard]] Copy copy_to_host(std::byte* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] Copy copy_to_device(void* to, const std::byte* from, std::size_t bytes) override;
  [[nodiscard]] bool is_over(Copy copy) override;
  [[nodiscard]] std::byte* take(std::size_t bytes) override;
  void give(std::byte* at) noexcept override;

 private:
  struct Recorded {
    void* event;
    std::uint64_t number;  ///< of the last copy before it
  };

  GpuDevice(Driver& driver, GpuContext context);
  [[nodiscard]] std::byte* take_with_lock(unsigned size_class);
  [[nodiscard]] Copy begin(void* to, const void* from, std::size_t bytes, bool to_device);

  Driver& driver_;
  const GpuContext context_;
  const int number_;
  const StreamHandle own_;
  bool memory_operations_ = false, captured_memory_operations_ = false;
  std::atomic<bool> failed_{false};
  std::atomic<std::int64_t> asked_{0};  ///< when the driver was asked, in ns

  // The engine's thread's: copies end in the order in which they were begun.
  std::uint64_t begun_ = 0, recorded_up_to_ = 0, over_ = 0;
  std::deque<Recorded> recorded_;
  std::vector<void*> events_;

  std::mutex lock_;  // over what follows
  std::vector<std::vector<std::byte*>> free_;
  std::unordered_map<std::byte*, unsigned> class_of_;
  std::byte* slab_ = nullptr;  ///< what is left of it
  std::size_t left_ = 0;
  std::array<std::vector<Words>, 2> words_;
};

}  // namespace plait::queue
