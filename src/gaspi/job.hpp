// What this process knows between gaspi_proc_init and gaspi_proc_term: itself, the other ranks, its queues and groups. Any thread.
//
//   near   of a rank: it is a process of this node, and its memory can be mapped
//   far    all others: they are reached by messages (gaspi/far.hpp), and so is a near one's memory where that cannot be had
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/spinlock.hpp"
#include "gaspi/control.hpp"
#include "gaspi/deadline.hpp"
#include "gaspi/in_use.hpp"
#include "gaspi/queue.hpp"

namespace plait::gaspi {

struct View;
class Groups;
class Passive;

/// Another rank, or this one.
struct Peer {
  Peer() = default;
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::uint16_t rank = 0;
  std::int32_t local = -1;     ///< its number among the processes of this node; -1: on another
  Control* control = nullptr;  ///< null: far
  std::int32_t pid = 0;        ///< of one that is near
  std::int32_t region = 0;     ///< likewise: where its memory lies

  using Views = std::array<std::atomic<View*>, kSegments>;
  std::atomic<Views*> views{nullptr};  ///< of its segments; made at first use
  /// Of a far one: the size of each segment that it has registered here, and one more; 0: none.
  using Sizes = std::array<std::atomic<std::uint64_t>, kSegments>;
  std::atomic<Sizes*> sizes{nullptr};

  std::atomic<bool> dead{false};         ///< relaxed: it says all
  std::atomic<bool> by_messages{false};  ///< near, but some of its memory cannot be had: all goes in one order
  std::atomic<int> pidfd{-1};
};

struct Job {
  Job();
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Pins pins;
  std::uint16_t rank = 0;
  std::uint32_t size = 1;
  std::int32_t local = 0;  ///< this process among those of the node
  std::uint32_t locals = 1;
  bool spans_nodes = false;
  Control* control = nullptr;  ///< this process's
  std::unique_ptr<Peer[]> peers;

  std::mutex segments_lock;  ///< over which segments there are
  std::uint32_t segments = 0;
  std::array<std::atomic<std::uint8_t>, kSegments> creating{};  ///< gaspi_segment_create that has timed out: has got so far

  std::mutex queues_lock;  ///< over which queues there are
  std::array<Queue, kQueues> queues;
  std::unique_ptr<Groups> groups;
  std::unique_ptr<Passive> passive;

  std::atomic<std::uint64_t> next_death_check{0};
  std::atomic<std::uint32_t> deaths{0};  ///< of near ranks, as far as is known

  [[nodiscard]] Peer& self() noexcept { return peers[rank]; }
};

/// Null before gaspi_proc_init and after gaspi_proc_term.
[[nodiscard]] Job* current() noexcept;

/// Starts; collective over MPI_COMM_WORLD, which exists. Throws MPIError, std::bad_alloc, std::system_error.
void start();
/// Ends. No other thread is in a call.
void stop() noexcept;

/// Has it died? Asks the system, for near ones.
[[nodiscard]] bool has_died(Peer& peer) noexcept;
/// Looks after all near ones, now and then: a call of a system call's cost at most every 10 ms.
void look_for_deaths(Job& job) noexcept;

/// Text to a rank's standard output.
void print(Job& job, Peer& peer, const char* text) noexcept;

/// Waits until `done`, or the time is over; false then. Drives what is far.
template <class Done>
bool wait_for(Job& job, const Deadline& deadline, const progress::Patience& patience, EventCount& event, Done done);

}  // namespace plait::gaspi

#include "gaspi/far.hpp"

namespace plait::gaspi {

template <class Done>
bool wait_for(Job& job, const Deadline& deadline, const progress::Patience& patience, EventCount& event, Done done) {
  if (done()) return true;
  if (deadline.is_test()) {
    far::drive();
    static_cast<void>(progress::drive_sometimes());
    return done();
  }
  progress::count_thread();
  bool found = false;
  unsigned rounds = 0;
  Waiting waiting(&event, deadline);
  const auto over = [&] {
    found = done();
    return found || deadline.is_over();
  };
  progress::wait_until(
      waiting, patience, [&] { return far::in_use() && ++rounds % far::kRounds == 0 && far::drive(); }, over,
      [&] { look_for_deaths(job); });
  return found;
}

}  // namespace plait::gaspi
