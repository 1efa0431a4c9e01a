// What the run time of OpenMP (src/cluster/omp) asks of the memory engine: messages between the processes of a job, synchronization that
// makes memory consistent, and the memory that all processes share. docs/cluster.md has the protocol.
//
// Any thread may call, if nothing else is said. Nothing here may be called from a handler but Answer::send and tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Seen from outside of the library, for the tests' programs.
#pragma GCC visibility push(default)
namespace plait::cluster {

struct Job {
  int process = 0;
  int processes = 1;
  int threads = 1;  ///< of each process; thread numbers are process * threads + local
};
const Job& job() noexcept;

// --- Messages that mean nothing to memory: counters of dynamic loops, singles, posts of doacross loops, cancellation.

/// The run time numbers its own from 0, below kServices.
enum class Service : std::uint32_t;
inline constexpr std::uint32_t kServices = 64;

/// Where the answer to a question goes. May be kept and sent later, from another handler.
class Answer {
 public:
  Answer() noexcept = default;
  Answer(int process, std::uint64_t question) noexcept : process_(process), question_(question) {}
  void send(std::span<const std::byte> bytes) const;

 private:
  int process_ = -1;
  std::uint64_t question_ = 0;
};

/// Runs in whichever thread of the process looks at the network, one at a time. It must not block, nor ask, nor touch shared memory.
using Handler = void (*)(int from, std::span<const std::byte> question, Answer answer);
/// Before the job starts.
void serve(Service which, Handler handler);
/// Blocks until the answer is there, which has as many bytes as `answer`. To the own process as well.
void ask(int process, Service which, std::span<const std::byte> question, std::span<std::byte> answer);
/// One way; in order between two processes.
void tell(int process, Service which, std::span<const std::byte> message);

// --- Synchronization. One thread of a process at a time calls barrier, fork and await_fork, for all of its threads.

/// Of all processes: what each wrote before it, all see after it.
void barrier();
/// Process 0: what it wrote is seen by the others, whose await_fork returns. The join at a region's end is barrier().
void fork(std::span<const std::byte> region);
/// The others. False: the program has ended.
bool await_fork(std::span<std::byte> region);

using LockId = std::uint64_t;
/// Exclusive among all threads of all processes. Who gets it sees what its former owners wrote before they gave it up. It may be given up
/// by another thread of the same process.
void lock(LockId id);
void unlock(LockId id);
bool try_lock(LockId id);
/// OpenMP's flush without a list.
void flush();

enum class Operation : std::uint32_t { load, store, exchange, compare_exchange, add, sub, bit_and, bit_or, bit_xor, bit_nand };
/// The process that does atomic operations on an object; its own threads do them as they are. -1 where memory is not shared.
int home(const volatile void* object) noexcept;
/// What an object was at the last barrier or fork; false if that is not known here any more.
bool load_of_last_meeting(const volatile void* object, unsigned bytes, std::uint64_t& value) noexcept;
/// Has an atomic operation done by another process. The object has 1, 2, 4 or 8 bytes and lies within 8 aligned ones. Returns what was
/// there before. Who reads what another has written so sees what that one had written before.
std::uint64_t operate(volatile void* object, unsigned bytes, Operation operation, std::uint64_t value, std::uint64_t expected);

// --- Memory

/// Lies in memory that all processes share: the heap, global variables, the stack of main.
bool shared(const void* address) noexcept;
void* allocate(std::size_t bytes, std::size_t alignment);
void deallocate(void* pointer);
/// Makes memory present, and writable where `write`, before a system call uses it. Does nothing for memory that is not shared.
void touch(const void* start, std::size_t bytes, bool write);

/// What has happened to the pages of this process so far.
enum class Event : std::uint8_t { read_fault, write_fault, twin, notice, ask, diff, apply, push, repossess, operate, kinds };
std::uint64_t count_of(Event event) noexcept;
/// For tests: is called for each, under the engine's lock. `other`: a process, or -1; `from`, `to`: intervals.
using Trace = void (*)(Event event, std::uint32_t page, int other, std::uint32_t from, std::uint32_t to);
void trace_events(Trace trace);
/// For tests: whether changes go along with barriers. They do at the beginning.
void allow_pushes(bool allowed);

// --- What the engine calls; the run time defines them.

/// Undoes that libgomp has bound this thread to one core: threads that it starts, and a program that it becomes, would be bound there, too.
void leave_places() noexcept;
/// Before the job's first message: sets its handlers and the number of threads.
void prepare(Job& job);
/// Processes other than 0: serves regions until await_fork says false.
int run_worker();
/// Process 0's main thread, outside of regions of all processes: the others run nothing of the program.
bool in_serial_part() noexcept;

}  // namespace plait::cluster
#pragma GCC visibility pop
