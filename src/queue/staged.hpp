// The buffers of a collective call, of which some lie in a device's memory: host memory takes their place while the call runs. Made and
// destroyed by any thread, else used by the engine's.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "queue/queue.hpp"
#include "queue/staging.hpp"

namespace plait::queue {

class Staged {
 public:
  explicit Staged(QueuePointer queue) noexcept : queue_(std::move(queue)) {}

  enum class Use : std::uint8_t { read, written, both };
  struct Buffer {
    void* at;
    MPI_Count count;
    MPI_Datatype type;
  };

  /// What the call is to be given for a buffer. In packed form, as bytes: for calls that only move them. Throws MPIError, std::bad_alloc.
  [[nodiscard]] Buffer moved(const void* at, MPI_Count count, MPI_Datatype type, Use use);
  /// The same of `blocks` times `count` elements, where the call is told of `count`.
  [[nodiscard]] Buffer moved(int blocks, const void* at, MPI_Count count, MPI_Datatype type, Use use);
  /// With its datatype, for calls that compute.
  [[nodiscard]] void* computed(const void* at, MPI_Count count, MPI_Datatype type, Use use);

  /// Puts copies on the queue: of what the call reads, and of what it has written. Throw MPIError.
  void put_before() const;
  void put_behind() const;
  [[nodiscard]] bool puts_behind() const noexcept;
  /// Begins to copy what the call reads, and the queue does not. Throws MPIError.
  void to_host();
  /// Begins to copy what it has written. Throws MPIError.
  void to_device();
  /// Throws MPIError where a copy has failed.
  [[nodiscard]] bool is_over();

 private:
  /// Null where the host can use it.
  [[nodiscard]] Staging* stage(lane::Memory memory, Use use);

  struct Part {
    std::unique_ptr<Staging> staging;
    Use use;
  };
  QueuePointer queue_;
  std::vector<Part> parts_;
};

}  // namespace plait::queue
