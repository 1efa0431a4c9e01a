// Control messages inside a node that do not pass the MPI. Where the MPI lets in one thread at a time, a process that is blocked in a call
// of it cannot receive by it; a partitioned message whose two sides have not met would wait for that call to end.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "lane/node.hpp"
#include "partitioned/control_queue.hpp"
#include "partitioned/receiver.hpp"

namespace plait::partitioned {

/// One thread at a time.
class ControlChannel {
 public:
  /// Collective over `comm`, whose ranks are the processes. `node` tells nodes apart; `needed`: this process wants a queue; processes
  /// may differ. Returns false, in all processes, if one of them has no shared memory. Throws MPIError, std::bad_alloc.
  [[nodiscard]] bool open(MPI_Comm comm, std::uint64_t node, bool needed);
  /// Can this one be reached? Always the same answer.
  [[nodiscard]] bool reaches(int process) noexcept;
  /// To one that is reached. False where there is no room now.
  [[nodiscard]] bool put(const ControlMessage& message, int process) noexcept;
  [[nodiscard]] bool take(ControlMessage& message) noexcept;

 private:
  /// Where a process has its queue.
  struct QueuePlace {
    RegionName region;  ///< without a file: it has none
    std::uint64_t offset = 0;
    std::uint64_t node = 0;
  };
  struct Peer {
    bool known = false;
    ControlQueue<ControlMessage>* to = nullptr;
  };

  std::uint64_t node_ = 0;
  std::vector<QueuePlace> places_;
  std::vector<Peer> peers_;
  ControlQueue<ControlMessage>* own_ = nullptr;
  std::uint64_t taken_ = 0;
};

}  // namespace plait::partitioned
