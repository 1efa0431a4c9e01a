// The stream that CUDA and HIP call per-thread: one handle, which means another stream in each thread. So each has a queue of its own, as
// one thread's stream may come to a step long before another's does.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "queue/gpu.hpp"

namespace plait::queue {

class PerThreadQueue final : public Queue, public QueueCopies {
 public:
  PerThreadQueue(GpuDevice& device, StreamHandle stream) noexcept : device_(device), stream_(stream) {}

  // Of the calling thread's stream.
  void put(StepPointer step) override { here().put(std::move(step)); }
  [[nodiscard]] bool idle() noexcept override;
  void put_to_host(std::byte* to, const void* from, const Rows& rows) override { here().put_to_host(to, from, rows); }
  void put_to_device(void* to, const std::byte* from, const Rows& rows) override { here().put_to_device(to, from, rows); }

  [[nodiscard]] Device* device() noexcept override { return &device_; }
  [[nodiscard]] QueueCopies* queue_copies() noexcept override { return this; }
  void copy_now(void* to, const std::byte* from, const Rows& rows) override { device_.copy_now(to, from, rows); }

  // Of all of them.
  [[nodiscard]] Identity identity() const noexcept override { return {&device_, stream_}; }
  void forget() noexcept override;
  [[nodiscard]] int take_error() override;
  [[nodiscard]] int outstanding() const noexcept override;

 private:
  /// What tells a thread from all others, also from those before it that had its number.
  using Self = std::shared_ptr<const int>;
  struct Line {
    std::weak_ptr<const int> thread;
    std::shared_ptr<GpuQueue> queue;
  };
  static const Self& self();
  /// The calling thread's. Throws MPIError, std::bad_alloc.
  GpuQueue& here();
  /// Lets go of those whose threads have ended, and that are used no more. With the lock.
  void drop_ended() noexcept;

  GpuDevice& device_;
  const StreamHandle stream_;
  mutable std::mutex lock_;  // over the next
  std::vector<Line> lines_;
};

}  // namespace plait::queue
