// The machine's raw limits, without any MPI on the way: what two processes that share memory can do at best.
//
//   Ring       8-byte messages through a single-producer single-consumer ring of 64-byte cells with a flag in each
//   hand_over  a cache line that goes back and forth
//   copy       memcpy by one core, again and again from and to the same memory
//
// Memory comes from SharedMemory, zeroed.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "common.hpp"
#include "native.hpp"

namespace plait::bench::raw {

/// Memory that both processes map, zeroed. Made collectively, on one node. Not an MPI window: some MPIs cannot make one
/// without a complaint.
class SharedMemory {
 public:
  SharedMemory(const Job& job, std::size_t bytes) : bytes_(bytes) {
    int creator = getpid();
    native::Bcast(&creator, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::string name = fmt::format("/plait-bench-{}", creator);
    if (job.rank == 0) map(name, O_CREAT | O_EXCL);
    native::Barrier(MPI_COMM_WORLD);
    if (job.rank != 0) map(name, 0);
    native::Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) shm_unlink(name.c_str());  // the mappings stay
    if (Job::sum(data_ == MAP_FAILED ? 1 : 0) != 0) throw Error(fmt::format("shared memory {}: {}", name, std::strerror(error_)));
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(data_, bytes_); }

  [[nodiscard]] void* data() const { return data_; }

 private:
  void map(const std::string& name, int how) {
    const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC | how, S_IRUSR | S_IWUSR);
    if (file >= 0 && (how == 0 || ftruncate(file, static_cast<off_t>(bytes_)) == 0)) {
      data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    error_ = errno;
    if (file >= 0) close(file);
  }

  std::size_t bytes_;
  void* data_ = MAP_FAILED;
  int error_ = 0;
};

/// Waits by polling: so many rounds at full speed, then one yield a round. 0 where spinners outnumber the cores, for
/// then the one that is waited for has no core.
struct Spin {
  /// Some 10 us: on a shared machine the other side may still lose its core.
  static constexpr int kRounds = 1 << 14;

  int rounds = 0;

  /// By polling alone where each of so many threads in each process has a core.
  static Spin of(const Job& job, int threads) { return {job.room_for(threads) ? kRounds : 0}; }

  template <class Ready>
  void until(Ready ready) const {
    for (int i = 0; !ready(); ++i) {
      if (i >= rounds) {
        sched_yield();
        i = rounds;
      }
    }
  }
};

/// What a ring's two ends share.
struct RingMemory {
  static constexpr std::uint64_t kCells = 256;
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> flag;  ///< number of the message that it holds, from 1; so no reader has to clear it
    std::uint64_t message;
  };
  Cell cells[kCells];
  alignas(64) std::atomic<std::uint64_t> taken;  ///< messages received, told once every quarter of the ring
};

/// One end that sends; one thread.
class RingSender {
 public:
  RingSender(RingMemory& memory, Spin spin) : memory_(&memory), spin_(spin) {}

  void send(std::uint64_t message) {
    if (sent_ == room_) wait_for_room();
    auto& cell = memory_->cells[sent_ % RingMemory::kCells];
    cell.message = message;
    cell.flag.store(++sent_, std::memory_order_release);  // the message is written before it is announced
  }

 private:
  void wait_for_room() {
    // acquire: the cells were read before they were given back
    spin_.until([&] { return (room_ = memory_->taken.load(std::memory_order_acquire) + RingMemory::kCells) != sent_; });
  }

  RingMemory* memory_;
  Spin spin_;
  std::uint64_t sent_ = 0, room_ = RingMemory::kCells;
};

/// The other end; one thread.
class RingReceiver {
 public:
  RingReceiver(RingMemory& memory, Spin spin) : memory_(&memory), spin_(spin) {}

  std::uint64_t receive() {
    auto& cell = memory_->cells[received_++ % RingMemory::kCells];
    spin_.until([&] { return cell.flag.load(std::memory_order_acquire) == received_; });  // then its message is there
    const std::uint64_t message = cell.message;
    if (received_ % (RingMemory::kCells / 4) == 0) memory_->taken.store(received_, std::memory_order_release);
    return message;
  }

 private:
  RingMemory* memory_;
  Spin spin_;
  std::uint64_t received_ = 0;
};

/// A cache line with nothing beside it that a prefetcher could fetch along with it.
struct HandOverMemory {
  alignas(256) std::atomic<std::uint64_t> number;
};

/// One side of a number going back and forth so many times; `first` begins. Gives the number it ends with, where both
/// sides begin the next time (at first 0).
inline std::uint64_t hand_over(HandOverMemory& m, bool first, std::uint64_t begin, std::int64_t times, Spin spin) {
  // Nothing but the number itself goes over, but a lane would publish by release and acquire, so this does too.
  const std::uint64_t end = begin + 2 * static_cast<std::uint64_t>(times);
  for (std::uint64_t n = begin; n < end; n += 2) {
    if (first) m.number.store(n + 1, std::memory_order_release);
    const std::uint64_t awaited = first ? n + 2 : n + 1;
    spin.until([&] { return m.number.load(std::memory_order_acquire) == awaited; });
    if (!first) m.number.store(n + 2, std::memory_order_release);
  }
  return end;
}

/// Seconds that so many copies of so many bytes take.
inline double copy(std::byte* to, const std::byte* from, std::size_t bytes, std::int64_t times) {
  const double begin = seconds();
  for (std::int64_t i = 0; i < times; ++i) {
    std::memcpy(to, from, bytes);
    asm volatile("" : : "r"(to), "r"(from) : "memory");  // each copy counts
  }
  return seconds() - begin;
}

}  // namespace plait::bench::raw
