// What an MPI call of the program gets in place of memory that all processes share: private copies. A page may be taken from this process
// at any time. Were that found out inside of the MPI, which has its own lock then, the fault would wait for the engine's, and who has that
// may wait for the MPI's. So the MPI never sees shared memory. What a call has written is found by comparing, and the bytes that differ are
// put into the program's memory: gaps of a datatype stay as they are there, and no call's results need to be described.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cluster/engine.hpp"

namespace plait::cluster {

/// The private copies of one call.
class Call {
 public:
  /// A copy of `bytes` at `start`, or `start` itself where nothing is shared.
  void* copy(void* start, std::size_t bytes, bool results);

  /// Arrays and single values.
  template <class T>
  const T* in(const T* values, int count) {
    return static_cast<const T*>(copy(const_cast<T*>(values), sizeof(T) * static_cast<std::size_t>(count), false));
  }
  template <class T>
  T* out(T* values, int count = 1) {
    return static_cast<T*>(copy(values, sizeof(T) * static_cast<std::size_t>(count), true));
  }

  /// Buffers that are described as MPI does.
  const void* sent(const void* buffer, MPI_Count count, MPI_Datatype type) { return buffer_of(buffer, count, type, false); }
  void* received(void* buffer, MPI_Count count, MPI_Datatype type) { return buffer_of(buffer, count, type, true); }
  /// With a count and a place for each process of the communicator; places in elements.
  void* parts(const void* buffer, const int* counts, const int* places, MPI_Datatype type, int processes, bool results);
  /// Places in bytes, and a type for each.
  void* parts(const void* buffer, const int* counts, const int* places, const MPI_Datatype* types, int processes, bool results);

  /// Writes results back; the call is over. Gives its return value.
  int end(int error);
  /// A nonblocking call has begun: the copies live until its request is completed.
  int begun(int error, MPI_Request request, MPI_Request* to);
  [[nodiscard]] bool has_results() const noexcept {
    return std::any_of(copies_.begin(), copies_.end(), [](const Copy& copy) { return copy.before != nullptr; });
  }

 private:
  struct Copy {
    std::byte* start;
    std::size_t bytes;
    std::unique_ptr<std::byte[]> now;
    std::unique_ptr<std::byte[]> before;  ///< null where there are no results
  };
  struct Span {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    void add(const void* buffer, MPI_Count count, MPI_Datatype type);
  };
  void* buffer_of(const void* buffer, MPI_Count count, MPI_Datatype type, bool results);
  void* moved(const void* buffer, const Span& span, bool results);
  std::vector<Copy> copies_;
};

/// The requests that a completion call is given: those that it has completed get their results.
class Requests {
 public:
  Requests(int count, MPI_Request* requests);
  [[nodiscard]] MPI_Request* data() noexcept { return now_.empty() ? user_ : now_.data(); }
  int end(int error);

 private:
  MPI_Request* user_;
  std::vector<MPI_Request> now_;
  std::vector<MPI_Request> before_;
  std::vector<std::unique_ptr<Call>> calls_;  ///< of those that have copies
};

/// The copies of a request that is freed before its end stay for good; false if it would have had results.
bool forget(MPI_Request request);

}  // namespace plait::cluster
