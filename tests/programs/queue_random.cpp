// queue_random SEED STEPS: a random program of functions, messages, collective calls, waits and events on 1 to 4 queues of each process,
// against the same program done one step after the other. All processes make the same program of the seed, and each puts its part on its
// queues; which queue waits for which is nowhere said but by messages and events. At the end each compares its buffers with the model's.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "queue.h"

namespace {

using Word = std::uint64_t;
constexpr int kBuffers = 4;  // of each queue

Word mix(Word a, Word b) {
  Word x = a * 0x9E3779B97F4A7C15U + (b ^ a >> 29);
  x ^= x >> 32;
  return x * 0xD6E8FEB86659FD93U + b;
}

/// One thread, which runs what it is given.
class Executor {
 public:
  Executor() : thread_([this] { work(); }) {}
  ~Executor() {
    {
      const std::lock_guard guard(lock_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  static void execute(void (*run)(void*), void* argument, void* self) {
    auto& e = *static_cast<Executor*>(self);
    {
      const std::lock_guard guard(e.lock_);
      e.given_.push_back({run, argument});
    }
    e.changed_.notify_all();
  }

 private:
  struct Given {
    void (*run)(void*);
    void* argument;
  };
  void work() {
    std::unique_lock guard(lock_);
    for (;;) {
      changed_.wait(guard, [this] { return over_ || !given_.empty(); });
      if (given_.empty()) return;
      const Given next = given_.front();
      given_.pop_front();
      guard.unlock();
      next.run(next.argument);
      guard.lock();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Given> given_;
  bool over_ = false;
  std::thread thread_;
};

using Buffer = std::vector<Word>;

/// What a function on a queue does: `to` from both.
struct Change {
  Buffer* to;
  const Buffer* from;
  Word salt;
  int microseconds;
};
void change(const Change& c) {
  for (std::size_t i = 0; i < c.to->size(); ++i) (*c.to)[i] = mix((*c.to)[i] + c.salt, (*c.from)[i % c.from->size()]);
}
int run_change(void* p) {
  const std::unique_ptr<Change> c(static_cast<Change*>(p));
  if (c->microseconds) std::this_thread::sleep_for(std::chrono::microseconds(c->microseconds));
  change(*c);
  return 0;
}

struct Pending {
  MPI_Request request;
  int process, queue, buffer;
};

class Program {
 public:
  Program(Word seed, int rank, int size) : random_(seed), rank_(rank), size_(size), queues_(static_cast<int>(below(4)) + 1) {
    const std::size_t most = below(3) == 0 ? 200000 : 2000;
    model_.resize(static_cast<std::size_t>(size * queues_ * kBuffers));
    for (Buffer& b : model_) {
      b.resize(1 + below(below(2) ? 6 : most));
      for (Word& w : b) w = next();
    }
    mine_ = model_;
    locked_.resize(model_.size());
    made_.resize(static_cast<std::size_t>(queues_));
    for (int q = 0; q < queues_; ++q) {
      Made& m = made_[static_cast<std::size_t>(q)];
      if (below(3) == 0) {
        m.executor = std::make_unique<Executor>();
        CHECK(!plait_queue_create_on(Executor::execute, m.executor.get(), &m.queue));
      } else {
        CHECK(!plait_queue_create(&m.queue));
      }
      CHECK(!plait_event_create(&m.event));
      m.comm = communicator_of(m.queue, MPI_COMM_WORLD, &m.stream);
    }
  }
  ~Program() {
    for (Made& m : made_) {
      MPI_Comm_free(&m.comm);
      MPIX_Stream_free(&m.stream);
      plait_event_free(&m.event);
      plait_queue_free(&m.queue);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return function();
      case 3:
      case 4:
      case 5:
      case 6:
        return message();
      case 7:
        return collective();
      case 8:
        return wait();
      case 9:
        return event();
      case 10:
        if (below(4) == 0) CHECK(!plait_queue_synchronize(queue(static_cast<int>(below(queues_)))));
        return;
      default:
        return host_wait();
    }
  }

  /// How many words differ.
  long end() {
    while (!pending_.empty()) wait();
    for (Made& m : made_) CHECK(!plait_queue_synchronize(m.queue));
    long wrong = 0;
    for (int q = 0; q < queues_; ++q) {
      for (int b = 0; b < kBuffers; ++b) {
        const Buffer &is = mine_[at(rank_, q, b)], &should = model_[at(rank_, q, b)];
        for (std::size_t i = 0; i < is.size(); ++i) wrong += is[i] != should[i];
      }
    }
    return wrong;
  }

 private:
  struct Made {
    plait_queue queue = PLAIT_QUEUE_NULL;
    plait_event event = PLAIT_EVENT_NULL;
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    std::unique_ptr<Executor> executor;
  };

  Word next() { return random_(); }
  Word below(Word n) { return random_() % n; }
  int below(int n) { return static_cast<int>(random_() % static_cast<Word>(n)); }
  [[nodiscard]] std::size_t at(int process, int q, int b) const { return static_cast<std::size_t>((process * queues_ + q) * kBuffers + b); }
  [[nodiscard]] plait_queue queue(int q) const { return made_[static_cast<std::size_t>(q)].queue; }
  [[nodiscard]] MPI_Comm comm(int q) const { return made_[static_cast<std::size_t>(q)].comm; }
  /// A buffer that no request has, or -1. All processes choose the same.
  int free_buffer(int process, int q, int but = -1) {
    const int first = below(kBuffers);
    for (int i = 0; i < kBuffers; ++i) {
      const int b = (first + i) % kBuffers;
      if (b != but && !locked_[at(process, q, b)]) return b;
    }
    return -1;
  }

  void function() {
    const int process = below(size_), q = below(queues_);
    const int to = free_buffer(process, q), from = free_buffer(process, q);
    const Word salt = next();
    const int nap = below(8) == 0 ? below(500) : 0;
    if (to < 0 || from < 0) return;
    change({&model_[at(process, q, to)], &model_[at(process, q, from)], salt, 0});
    if (process == rank_) {
      CHECK(!plait_queue_enqueue(queue(q), run_change, new Change{&mine_[at(rank_, q, to)], &mine_[at(rank_, q, from)], salt, nap}));
    }
  }

  void message() {
    const int q = below(queues_), source = below(size_), dest = below(size_);
    const int from = free_buffer(source, q), to = free_buffer(dest, q, source == dest ? from : -1);
    const bool isend = below(2) || source == dest, ireceive = below(2), any = below(4) == 0;
    const int tag = static_cast<int>(tags_++ % 30000);
    if (from < 0 || to < 0) return;
    const std::size_t n = std::min(model_[at(source, q, from)].size(), model_[at(dest, q, to)].size());
    std::copy_n(model_[at(source, q, from)].begin(), n, model_[at(dest, q, to)].begin());
    const int count = static_cast<int>(n);
    if (source == rank_) {
      Word* const data = mine_[at(source, q, from)].data();
      if (isend) {
        MPI_Request r;
        CHECK(!MPIX_Isend_enqueue(data, count, MPI_UINT64_T, dest, tag, comm(q), &r));
        requests_[pending_.size() + (ireceive ? 1 : 0)] = r;
      } else {
        CHECK(!MPIX_Send_enqueue(data, count, MPI_UINT64_T, dest, tag, comm(q)));
      }
    }
    if (dest == rank_) {
      Word* const data = mine_[at(dest, q, to)].data();
      const int who = any ? MPI_ANY_SOURCE : source;
      if (ireceive) {
        MPI_Request r;
        CHECK(!MPIX_Irecv_enqueue(data, count, MPI_UINT64_T, who, tag, comm(q), &r));
        requests_[pending_.size()] = r;
      } else {
        CHECK(!MPIX_Recv_enqueue(data, count, MPI_UINT64_T, who, tag, comm(q), MPI_STATUS_IGNORE));
      }
    }
    if (ireceive) pend(dest, q, to);
    if (isend) pend(source, q, from);
  }

  /// What is put into the list stands in that of all processes; only its own has a request for it.
  void pend(int process, int q, int b) {
    const MPI_Request r = process == rank_ ? requests_[pending_.size()] : MPI_REQUEST_NULL;
    pending_.push_back({r, process, q, b});
    locked_[at(process, q, b)] = 1;
  }

  Pending take() {
    const std::size_t i = below(pending_.size());
    const Pending p = pending_[i];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    locked_[at(p.process, p.queue, p.buffer)] = 0;
    return p;
  }

  void wait() {
    if (pending_.empty()) return;
    Pending p = take();
    if (p.process == rank_) CHECK(!MPIX_Wait_enqueue(&p.request, MPI_STATUS_IGNORE) && p.request == MPI_REQUEST_NULL);
  }

  void host_wait() {
    if (pending_.empty() || below(3) != 0) return;
    Pending p = take();
    if (p.process == rank_) CHECK(!MPI_Wait(&p.request, MPI_STATUS_IGNORE));
  }

  void collective() {
    const int q = below(queues_), what = below(3), root = below(size_);
    std::vector<int> b(static_cast<std::size_t>(size_));
    std::size_t n = SIZE_MAX;
    bool good = true;
    for (int p = 0; p < size_; ++p) {
      const int chosen = b[static_cast<std::size_t>(p)] = free_buffer(p, q);
      good &= chosen >= 0;
      if (chosen >= 0) n = std::min(n, model_[at(p, q, chosen)].size());
    }
    if (!good) return;
    const int count = static_cast<int>(n);
    Word* const data = mine_[at(rank_, q, b[static_cast<std::size_t>(rank_)])].data();
    if (what == 0) {
      CHECK(!MPIX_Barrier_enqueue(comm(q)));
      return;
    }
    const auto of = [&](int p) -> Buffer& { return model_[at(p, q, b[static_cast<std::size_t>(p)])]; };
    Buffer result(of(root).begin(), of(root).begin() + static_cast<std::ptrdiff_t>(n));
    if (what == 1) {
      CHECK(!MPIX_Bcast_enqueue(data, count, MPI_UINT64_T, root, comm(q)));
    } else {
      CHECK(!MPIX_Allreduce_enqueue(MPI_IN_PLACE, data, count, MPI_UINT64_T, MPI_BXOR, comm(q)));
      for (std::size_t i = 0; i < n; ++i) {
        result[i] = 0;
        for (int p = 0; p < size_; ++p) result[i] ^= of(p)[i];
      }
    }
    for (int p = 0; p < size_; ++p) std::copy(result.begin(), result.end(), of(p).begin());
  }

  /// A function on one queue uses a buffer of another, which waits for its end.
  void event() {
    const int process = below(size_), one = below(queues_), two = below(queues_);
    const int from = free_buffer(process, one), to = free_buffer(process, two);
    const Word salt = next();
    if (one == two || from < 0 || to < 0) return;
    change({&model_[at(process, two, to)], &model_[at(process, one, from)], salt, 0});
    if (process != rank_) return;
    Made &a = made_[static_cast<std::size_t>(one)], &b = made_[static_cast<std::size_t>(two)];
    CHECK(!plait_queue_record(a.queue, a.event));
    CHECK(!plait_queue_wait_event(b.queue, a.event));
    CHECK(!plait_queue_enqueue(b.queue, run_change, new Change{&mine_[at(rank_, two, to)], &mine_[at(rank_, one, from)], salt, 0}));
    CHECK(!plait_queue_record(b.queue, b.event));
    CHECK(!plait_queue_wait_event(a.queue, b.event));
  }

  std::mt19937_64 random_;
  int rank_, size_, queues_;
  std::vector<Buffer> model_, mine_;
  std::vector<char> locked_;
  std::vector<Made> made_;
  std::vector<Pending> pending_;
  std::map<std::size_t, MPI_Request> requests_;
  Word tags_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: queue_random SEED STEPS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Word seed = std::strtoull(argv[1], nullptr, 10);
  const long steps = std::strtol(argv[2], nullptr, 10);
  long wrong = 0;
  {
    Program program(seed, rank, size);
    for (long i = 0; i < steps; ++i) program.step();
    wrong = program.end();
  }
  long all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("seed %llu, %ld steps: %ld words are not as the model says\n", static_cast<unsigned long long>(seed), steps, all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
