// A partitioned message between nodes: chunks, each a message of the MPI's on a communicator of plait's, sent as soon as all
// of its bytes are ready and received straight into the buffer. Small partitions share a chunk, large ones are several.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lane/memory.hpp"

namespace plait::partitioned {

/// How a message is cut; both sides agree on it when they meet.
struct Cut {
  std::uint64_t units = 1;  ///< of the message
  std::uint64_t chunk = 1;  ///< of each chunk but the last

  /// Chunks of so many bytes, unless that gives too many of them.
  static Cut of(std::uint64_t bytes, std::uint64_t chunk) noexcept;
  [[nodiscard]] std::uint32_t chunks() const noexcept { return static_cast<std::uint32_t>((units + chunk - 1) / chunk); }
  [[nodiscard]] std::uint64_t begin(std::uint32_t k) const noexcept { return k * chunk; }
  [[nodiscard]] std::uint64_t end(std::uint32_t k) const noexcept { return k + 1 == chunks() ? units : (k + 1) * chunk; }
};

/// At the other process; chunk k has the tag `tag + k`.
struct Route {
  MPI_Comm comm = MPI_COMM_NULL;
  int process = 0;
  int tag = 0;
};

/// The sending end. Any number of threads may call `ready` at once, while one other is in `step`.
class NetSender {
 public:
  NetSender(const lane::Memory& memory, const Cut& cut, const Route& route);

  /// A new round.
  void begin() noexcept;
  /// Units [begin, end) may be sent; each is said once a round. The last of these calls may end the round, and another thread then
  /// this object while the call returns.
  void ready(std::uint64_t begin, std::uint64_t end) noexcept;
  /// Sends what could not be sent at once, and asks the MPI what has been; true if something moved.
  bool step() noexcept;
  [[nodiscard]] bool done() const noexcept { return sent_.load(std::memory_order_acquire) == cut_.chunks(); }

 private:
  enum State : std::uint8_t { kFilling, kReady, kUnderWay, kSent };
  struct Chunk {
    std::atomic<std::uint64_t> left{0};  ///< units that are not ready
    std::atomic<State> state{kSent};
    MPI_Request request = MPI_REQUEST_NULL;
    std::unique_ptr<std::byte[]> packed;  ///< where the buffer is not contiguous
  };

  void start(std::uint32_t k) noexcept;
  [[nodiscard]] bool start_late(std::uint32_t k) noexcept;

  const lane::Memory& memory_;
  Cut cut_;
  Route route_;
  std::vector<Chunk> chunks_;
  std::atomic<std::uint32_t> sent_{0};
};

/// The receiving end. One thread at a time.
class NetReceiver {
 public:
  NetReceiver(const lane::Memory& memory, std::uint64_t bytes, const Cut& cut, const Route& route);
  ~NetReceiver();
  NetReceiver(const NetReceiver&) = delete;
  NetReceiver& operator=(const NetReceiver&) = delete;

  /// A new round: receives for all chunks are posted, as soon as the MPI lets us in.
  void begin();
  /// The next chunk that has arrived; none where `units` is 0.
  struct Piece {
    std::uint64_t begin, units;
  };
  [[nodiscard]] Piece step() noexcept;
  [[nodiscard]] const Route& route() const noexcept { return route_; }
  [[nodiscard]] const Cut& cut() const noexcept { return cut_; }

 private:
  [[nodiscard]] bool post() noexcept;
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t k) const noexcept;

  const lane::Memory& memory_;
  std::uint64_t bytes_;  ///< that the sender has
  Cut cut_;
  Route route_;
  std::vector<MPI_Request> requests_;
  std::vector<std::uint32_t> waiting_;  ///< chunks that have not arrived
  std::size_t next_ = 0;                ///< of those, to be asked for
  bool posted_ = false;                 ///< the receives of this round
  std::unique_ptr<std::byte[]> staging_;
};

}  // namespace plait::partitioned
