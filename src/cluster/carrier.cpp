#include "cluster/carrier.hpp"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <deque>
#include <memory>

#include "base/fatal.hpp"
#include "base/no_signals.hpp"
#include "base/relax.hpp"
#include "base/spinlock.hpp"
#include "cluster/exit.hpp"
#include "cluster/job.hpp"
#include "cluster/signals.hpp"

namespace plait::cluster {

std::atomic<int> waiting_threads{0};
std::uint64_t lamport = 0;
std::atomic<bool> ended{false};
thread_local bool ended_here = false;

namespace {

constexpr int kTag = 17;
/// How often the carrier's thread looks: after traffic, and at the least.
constexpr long kShortSleep = 20'000;    // ns
constexpr long kLongSleep = 1'000'000;  // ns
/// A waiting thread looks again at once so often, then gives up its core each time, then sleeps.
constexpr unsigned kSpins = 8;
constexpr unsigned kYields = 4000;

Spinlock engine_lock;
thread_local int depth = 0;

MPI_Comm comm = MPI_COMM_NULL;
std::array<void (*)(Received), static_cast<std::size_t>(Kind::kinds)> handlers{};

struct Sent {
  MPI_Request request;
  std::unique_ptr<std::vector<std::byte>> bytes;
};
// All of it under the engine's lock. Never destroyed: threads may be at it when the process ends.
std::vector<Sent>& under_way = *new std::vector<Sent>;
std::deque<std::vector<std::byte>>& to_self = *new std::deque<std::vector<std::byte>>;
/// Something was asked of this process since the carrier's thread looked last.
bool asked_lately = false;
/// This process sends nothing any more, and so many others do not.
bool silent = false;
int silent_others = 0;
pthread_t thread;

void must_work(int error) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  PMPI_Error_string(error, text, &length);
  fatal("OpenMP over several nodes: a message of the MPI's fails: %s", text);
}

void handle(int from, std::vector<std::byte> bytes) {
  Received message(from, std::move(bytes));
  const Head head = message.head();
  if (head.stamp > lamport) lamport = head.stamp;
  if (head.kind != Kind::barrier && head.kind != Kind::fork) asked_lately = true;
  auto* const handler = handlers[static_cast<std::size_t>(head.kind)];
  if (!handler) fatal("OpenMP over several nodes: a message of kind %u that nobody handles", static_cast<unsigned>(head.kind));
  handler(std::move(message));
}

void retire_sent() {
  for (std::size_t i = 0; i < under_way.size();) {
    int done = 0;
    must_work(PMPI_Test(&under_way[i].request, &done, MPI_STATUS_IGNORE));
    if (!done) {
      ++i;
      continue;
    }
    if (i + 1 < under_way.size()) std::swap(under_way[i], under_way.back());
    under_way.pop_back();
  }
}

void sleep_for(long nanoseconds) {
  const timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

void* look_at_the_network(void*) {
  prctl(PR_SET_TIMERSLACK, 1);
  prctl(PR_SET_NAME, "plait-cluster");
  ended_here = true;  // it is waited for
  for (long sleep = kShortSleep;;) {
    // relaxed: if threads wait, one of them looks; those in a region that exit() has left wait for ever.
    if (waiting_threads.load(std::memory_order_relaxed) == 0 || ended.load(std::memory_order_relaxed)) {
      const Guard guard;
      if (ended) return nullptr;
      while (poll()) {
      }
      sleep = asked_lately ? kShortSleep : sleep;
      asked_lately = false;
    }
    sleep_for(sleep);
    sleep = std::min(sleep + sleep / 8, kLongSleep);
  }
}

void lock_engine() noexcept {
  engine_lock.lock();
  // relaxed: it is set under the lock.
  if (!ended.load(std::memory_order_relaxed) || ended_here) [[likely]]
    return;
  engine_lock.unlock();
  wait_for_the_end();
}

}  // namespace

Guard::Guard() noexcept {
  begin_holding();
  if (depth++ == 0) lock_engine();
}
Guard::~Guard() {
  if (--depth == 0) engine_lock.unlock();
  end_holding();
}
bool inside() noexcept { return depth > 0; }

Message::Message(Kind kind, std::uint32_t small, std::uint64_t token, std::uint64_t more) {
  bytes_.reserve(256);
  put(Head{kind, small, 0, token, more});
}

void on(Kind kind, void (*handler)(Received)) { handlers[static_cast<std::size_t>(kind)] = handler; }

void send(int process, Message message) {
  if (silent) return;  // the last words of destructors, and of threads that still run: nobody hears them
  message.set(offsetof(Head, stamp), lamport);
  if (process == the_job.process) {
    to_self.push_back(std::move(message.bytes_));
    return;
  }
  if (message.size() > INT_MAX) fatal("OpenMP over several nodes: a message of %zu bytes", message.size());
  auto bytes = std::make_unique<std::vector<std::byte>>(std::move(message.bytes_));
  MPI_Request request = MPI_REQUEST_NULL;
  must_work(PMPI_Isend(bytes->data(), static_cast<int>(bytes->size()), MPI_BYTE, process, kTag, comm, &request));
  int done = 0;
  must_work(PMPI_Test(&request, &done, MPI_STATUS_IGNORE));
  if (!done) under_way.push_back({request, std::move(bytes)});
}

bool poll() {
  bool any = false;
  while (!to_self.empty()) {
    std::vector<std::byte> bytes = std::move(to_self.front());
    to_self.pop_front();
    handle(the_job.process, std::move(bytes));
    any = true;
  }
  if (comm == MPI_COMM_NULL) return any;
  if (!under_way.empty()) retire_sent();
  int there = 0;
  MPI_Status status;
  must_work(PMPI_Iprobe(MPI_ANY_SOURCE, kTag, comm, &there, &status));
  if (!there) return any;
  int count = 0;
  must_work(PMPI_Get_count(&status, MPI_BYTE, &count));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  must_work(PMPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, kTag, comm, MPI_STATUS_IGNORE));
  handle(status.MPI_SOURCE, std::move(bytes));
  return true;
}

void pause(unsigned& rounds) {
  if (depth != 1) fatal("OpenMP over several nodes: a wait inside of another");
  depth = 0;
  engine_lock.unlock();
  if (rounds < kSpins) {
    relax();
  } else if (rounds < kYields) {
    sched_yield();
  } else {
    sleep_for(rounds < 2 * kYields ? 20'000 : 100'000);
  }
  ++rounds;
  lock_engine();
  depth = 1;
}

void start_carrier(int* argc, char*** argv) {
  const Guard guard;
  int there = 0;
  PMPI_Initialized(&there);
  if (!there) {
    int level = MPI_THREAD_SINGLE;
    PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);  // the program may call it as well
    if (level < MPI_THREAD_SERIALIZED) fatal("OpenMP over several nodes needs an MPI that several threads may call in turn");
  }
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  // An MPI that ends the process itself calls exit(), which is the library's and would wait for process 0.
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(comm, &the_job.process);
  PMPI_Comm_size(comm, &the_job.processes);
  set_fatal_end([]() noexcept { end_job(1); });
  if (the_job.processes == 1) return;
  on(Kind::last, [](Received) { ++silent_others; });  // NOLINT(performance-unnecessary-value-param)
  const NoSignals blocked;                            // as the thread inherits it
  if (pthread_create(&thread, nullptr, look_at_the_network, nullptr) != 0) fatal("the system gives no thread for messages between nodes");
}

void wait_for_the_end() noexcept {
  for (;;) sleep(1000);
}

void end_carrier() {
  ended_here = true;
  {
    const Guard guard;
    // What others send has to be taken until they have all stopped, or they wait for that: threads of theirs may still want pages.
    for (int n = 0; n < the_job.processes; ++n) {
      if (n != the_job.process) send(n, Message(Kind::last));
    }
    silent = true;
    wait_until([] { return under_way.empty() && silent_others == the_job.processes - 1; });
    ended = true;
  }
  if (the_job.processes > 1) pthread_join(thread, nullptr);
  const Guard guard;
  PMPI_Comm_free(&comm);
  PMPI_Finalize();
}

void end_as_child() noexcept {
  comm = MPI_COMM_NULL;
  silent = true;
  the_job.process = 0;
  the_job.processes = 1;
}

void end_job(int status) noexcept {
  // MPICH 4.0.2 writes its last words from main's stack while it has its own lock: nobody may want that and have the engine's.
  const Guard guard;
  end_without_exit();
  if (comm != MPI_COMM_NULL) PMPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

}  // namespace plait::cluster
