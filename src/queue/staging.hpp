// Host memory in which the data of one call are while they travel, for a buffer in a device's memory. The copies are put on the queue, or
// are the engine's.
#pragma once

#include <vector>

#include "lane/memory.hpp"
#include "queue/queue.hpp"
#include "queue/rows.hpp"

namespace plait::queue {

class Staging {
 public:
  /// Packed; or spread as they lie on the device, for a call that wants its datatype. What is between them is not copied.
  enum class Form : std::uint8_t { packed, spread };

  /// For a buffer in the memory of the queue's device. Throws MPIError, std::bad_alloc.
  Staging(Queue& queue, lane::Memory memory, Form form = Form::packed);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  [[nodiscard]] std::byte* host() const noexcept { return host_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.bytes; }
  /// What stands for an address of the buffer's, where they are spread.
  [[nodiscard]] void* host_of(const void* at) const noexcept;

  /// Are its copies put on the queue?
  [[nodiscard]] bool by_queue() const noexcept { return queue_copies_ != nullptr; }
  /// Puts them there. Throw MPIError.
  void put_to_host() const;
  void put_to_device() const;
  /// Copies the first so many bytes to the device and waits for that. Any thread. Throws MPIError.
  void copy_now(std::uint64_t bytes) const;

  // By the engine, where they are not.
  /// Begin to copy all; or the first so many bytes, which a receive has got. Throw MPIError.
  void to_host();
  void to_device(std::uint64_t bytes);
  /// Throws MPIError where a copy has failed.
  [[nodiscard]] bool is_over();

 private:
  /// Calls copy(address on the device, address on the host, bytes) for each run of bytes.
  template <class Run>
  void for_each_run(std::uint64_t bytes, Run copy) const;
  /// Calls copy(address on the device, address on the host, rows) for all, in as few pieces as may be.
  template <class Copy>
  void for_each_piece(Copy copy) const;

  Device& device_;
  lane::Memory memory_;
  Form form_;
  std::intptr_t low_ = 0;      ///< the lowest address of the data, where they are spread
  QueueCopies* queue_copies_;  ///< null: the engine copies
  EngineCopies* engine_copies_;
  std::vector<Piece> pieces_;  ///< of a layout, for the queue
  std::byte* taken_;
  std::byte* host_;
  std::vector<Copy> copies_;
};

}  // namespace plait::queue
