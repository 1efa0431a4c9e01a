// OpenCL's memory: addresses that stand for buffers, and how a queue's device copies what lies there.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "queue/device.hpp"
#include "queue/opencl_api.hpp"

namespace plait::queue::opencl {

// What plait/opencl.h says. Any thread. Throw MPIError, std::bad_alloc.
[[nodiscard]] void* address_of(BufferHandle buffer);
void add_shared(ContextHandle context, void* address, std::size_t bytes);
void release_address(void* address);

/// The device of a queue, and the memory of its context. Copies are made on a queue of plait's own: the program's is held up meanwhile.
class OpenClDevice final : public Device, public EngineCopies {
 public:
  /// Throws MPIError.
  OpenClDevice(ContextHandle context, DeviceHandle device);
  ~OpenClDevice() override;

  [[nodiscard]] Place place(const void* at, std::size_t bytes) noexcept override;
  [[nodiscard]] Copy copy_to_host(std::byte* to, const void* from, std::size_t bytes) override;
  [[nodiscard]] Copy copy_to_device(void* to, const std::byte* from, std::size_t bytes) override;
  [[nodiscard]] bool is_over(Copy copy) override;
  [[nodiscard]] std::byte* take(std::size_t bytes) override;
  void give(std::byte* at) noexcept override;

 private:
  /// Waits for the copies that have begun, whose memory would be given back, then throws.
  [[noreturn]] void fail(int error);
  template <class Enqueue>
  [[nodiscard]] Copy copy(const void* on_device, std::size_t bytes, Enqueue enqueue);

  struct Room {
    std::byte* at;
    std::size_t bytes;
    bool used;
  };

  ContextHandle context_;
  QueueHandle queue_ = nullptr;
  bool flushed_ = true;  ///< the engine's thread's, as all copies
  std::mutex lock_;      // over what follows
  std::vector<Room> rooms_;
};

}  // namespace plait::queue::opencl
