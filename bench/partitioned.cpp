// bench-partitioned: threads fill their parts of a message, then the whole moves, there and back between 2 processes.
//
//   masteronly         the threads meet, the first one sends with MPI_Send
//   multiple           each thread sends its part, on a communicator of its own
//   mpi-partitioned    the MPI's own partitioned calls, where it has them: each thread readies its partitions
//   plait-partitioned  plait's
//   fill               what filling takes, without a message: part of all of the above
//
// The MPI alone is called past libplait. Half a round trip is what counts. With --late one of the threads comes so much
// later than the others: then what counts is the time from when it readies its part until the receiver has the whole, beside
// that of a message as large as one part.
#include <mpi.h>
#include <plait/partitioned.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "common.hpp"
#include "native.hpp"
#include "traffic.hpp"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_OWN 1
#else
#define HAS_OWN 0
#endif

namespace plait::bench {

#if HAS_OWN
namespace native {
PLAIT_BENCH_NATIVE(Parrived);
PLAIT_BENCH_NATIVE(Pready);
PLAIT_BENCH_NATIVE(Pready_range);
PLAIT_BENCH_NATIVE(Precv_init);
PLAIT_BENCH_NATIVE(Psend_init);
}  // namespace native
#endif

namespace {

struct PartitionedOptions : Options {
  int threads = 1;
  int partitions = 0;  ///< of the message; 0: one for each thread
  int late = 0;        ///< microseconds
  bool heap = false;   ///< buffers are malloc's

  [[nodiscard]] Buffer::From from() const { return heap ? Buffer::From::heap : Buffer::From::mpi; }
};

/// Threads that do the same, the first of them the caller, and where they meet.
class Workers {
 public:
  explicit Workers(int size) : size_(size), heard_(static_cast<std::size_t>(size)) {}

  /// On all threads.
  void run(const std::function<void(int)>& work) {
    std::vector<std::thread> others;
    for (int t = 1; t < size_; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& t : others) t.join();
  }
  void meet() {
    if (size_ == 1) return;
    const unsigned turn = turn_.load(std::memory_order_relaxed);
    if (here_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      here_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      turn_.notify_all();
      return;
    }
    for (int i = 0; i < 200; ++i) {
      if (turn_.load(std::memory_order_acquire) != turn) return;
      if (i > 100) sched_yield();
    }
    turn_.wait(turn, std::memory_order_acquire);
  }
  /// The first thread lets each of the others, in its own time, go on from `hear`.
  void announce() {
    if (size_ > 1) announced_.fetch_add(1, std::memory_order_release);
  }
  void hear(int t) {
    const std::int64_t turn = ++heard_[static_cast<std::size_t>(t)].turns;
    until([&] { return announced_.load(std::memory_order_acquire) >= turn; });
  }
  [[nodiscard]] int size() const { return size_; }

 private:
  struct alignas(64) Heard {
    std::int64_t turns = 0;
  };

  alignas(64) std::atomic<int> here_{0};
  int size_;
  alignas(64) std::atomic<unsigned> turn_{0};
  alignas(64) std::atomic<std::int64_t> announced_{0};
  std::vector<Heard> heard_;
};

#define PLAIT_CALLS(NAME, MPI, IN_TURN)                                                                 \
  struct NAME {                                                                                         \
    static constexpr bool in_turn = IN_TURN;                                                            \
    static void init_send(const void* at, int parts, MPI_Count n, int to, MPI_Comm c, MPI_Request* r) { \
      MPI(Psend_init)(at, parts, n, MPI_BYTE, to, 1, c, MPI_INFO_NULL, r);                              \
    }                                                                                                   \
    static void init_receive(void* at, int parts, MPI_Count n, int from, MPI_Comm c, MPI_Request* r) {  \
      MPI(Precv_init)(at, parts, n, MPI_BYTE, from, 1, c, MPI_INFO_NULL, r);                            \
    }                                                                                                   \
    static void ready(int low, int high, MPI_Request r) {                                               \
      if (low == high) {                                                                                \
        MPI(Pready)(low, r);                                                                            \
      } else {                                                                                          \
        MPI(Pready_range)(low, high, r);                                                                \
      }                                                                                                 \
    }                                                                                                   \
    static bool arrived(int part, MPI_Request r) {                                                      \
      int flag = 0;                                                                                     \
      MPI(Parrived)(r, part, &flag);                                                                    \
      return flag != 0;                                                                                 \
    }                                                                                                   \
    static void start(MPI_Request* r) { MPI(Start)(r); }                                                \
    static void wait(MPI_Request* r) { MPI(Wait)(r, MPI_STATUS_IGNORE); }                               \
    static void free(MPI_Request* r) { MPI(Request_free)(r); }                                          \
  };
PLAIT_CALLS(Ours, PLAIT_BENCH_BY_NAME, false)
#if HAS_OWN
#ifdef OMPI_MAJOR_VERSION
// Open MPI 5.0.11 hangs where a thread readies a partition, or asks for one, while another waits.
PLAIT_CALLS(Own, PLAIT_BENCH_PAST_PLAIT, true)
#else
PLAIT_CALLS(Own, PLAIT_BENCH_PAST_PLAIT, false)
#endif
#endif

/// The two requests of an exchange.
template <class Calls>
struct Requests {
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;

  Requests(const void* out, void* in, int partitions, std::size_t bytes, int other, MPI_Comm comm) {
    const auto each = static_cast<MPI_Count>(bytes / static_cast<std::size_t>(partitions));
    Calls::init_send(out, partitions, each, other, comm, &send);
    Calls::init_receive(in, partitions, each, other, comm, &receive);
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() {
    Calls::free(&send);
    Calls::free(&receive);
  }
};

/// A message of so many bytes there and back, and the threads' parts of it.
class PingPong {
 public:
  PingPong(const Job& job, int threads, int partitions, std::size_t bytes, Buffer::From from)
      : workers_(threads),
        job_(job),
        bytes_(bytes),
        partitions_(partitions),
        count_(bytes / sizeof(Number)),
        out_(count_, from),
        in_(count_, from),
        comms_(static_cast<std::size_t>(threads)) {
    // A partition holds whole numbers.
    while (partitions_ > 1 && bytes % (sizeof(Number) * static_cast<std::size_t>(partitions_)) != 0) --partitions_;
    for (MPI_Comm& c : comms_) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  }
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;
  ~PingPong() {
    for (MPI_Comm& c : comms_) MPI_Comm_free(&c);
  }

  [[nodiscard]] int partitions() const { return partitions_; }

  // ---- there and back

  Side masteronly() {
    return both_ways("masteronly", [this](int t, std::int64_t trip) {
      if (job_.rank == 1) {
        if (t == 0) receive();
        workers_.meet();
      }
      fill(t, trip);
      workers_.meet();
      if (t == 0) send();
      if (job_.rank == 0) {
        if (t == 0) receive();
        workers_.meet();
      }
    });
  }

  Side multiple() {
    return both_ways("multiple", [this](int t, std::int64_t trip) {
      const auto [begin, end] = part(t);
      const int n = static_cast<int>((end - begin) * sizeof(Number));
      const MPI_Comm comm = comms_[static_cast<std::size_t>(t)];
      const auto take = [&] { native::Recv(in_.at(begin), n, MPI_BYTE, other(), 0, comm, MPI_STATUS_IGNORE); };
      if (job_.rank == 1) take();
      fill(t, trip);
      native::Send(out_.at(begin), n, MPI_BYTE, other(), 0, comm);
      if (job_.rank == 0) take();
    });
  }

  template <class Calls>
  Side partitioned(const std::string& name) {
    auto r = std::make_shared<Requests<Calls>>(out_.at(0), in_.at(0), partitions_, bytes_, other(), comms_[0]);
    return both_ways(name, [this, r](int t, std::int64_t trip) {
      if constexpr (Calls::in_turn) {
        exchange_in_turn(*r, t, trip);
      } else {
        exchange_by_parts(*r, t, trip);
      }
    });
  }

  Side fill_alone() {
    Side s = both_ways("fill", [this](int t, std::int64_t trip) {
      fill(t, trip);
      workers_.meet();
    });
    s.units = 1;
    return s;
  }

  // ---- there, with the last thread late: what counts is how long after it the receiver has all

  Side late_masteronly(double late) {
    return one_way("masteronly", [this, late](int t) {
      if (job_.rank == 0) {
        fill_late(t, late);
        workers_.meet();
        if (t == 0) send();
      } else if (t == 0) {
        receive();
      }
    });
  }

  template <class Calls>
  Side late_partitioned(const std::string& name, double late) {
    auto r = std::make_shared<Requests<Calls>>(out_.at(0), in_.at(0), partitions_, bytes_, other(), comms_[0]);
    return one_way(name, [this, r, late](int t) {
      if (job_.rank == 1) {
        if (t > 0) return;
        Calls::start(&r->receive);
        Calls::wait(&r->receive);
        return;
      }
      if (t == 0) Calls::start(&r->send);
      workers_.meet();
      fill_late(t, late);
      ready<Calls>(t, r->send);
      if (t == 0) Calls::wait(&r->send);
    });
  }

  /// 1 if the last message is not as the other side has filled it in, else 0.
  [[nodiscard]] std::int64_t wrong() const { return differs(in_.at(0), count_, seed(last_)); }

 private:
  [[nodiscard]] int other() const { return 1 - job_.rank; }
  void send() const { native::Send(out_.at(0), static_cast<int>(bytes_), MPI_BYTE, other(), 0, comms_[0]); }
  void receive() { native::Recv(in_.at(0), static_cast<int>(bytes_), MPI_BYTE, other(), 0, comms_[0], MPI_STATUS_IGNORE); }

  /// Partitions of a thread, and the numbers in them.
  [[nodiscard]] std::pair<int, int> mine(int t) const {
    return {partitions_ * t / workers_.size(), partitions_ * (t + 1) / workers_.size()};
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> part(int t) const {
    const auto [low, high] = mine(t);
    const std::size_t each = count_ / static_cast<std::size_t>(partitions_);
    return {each * static_cast<std::size_t>(low), each * static_cast<std::size_t>(high)};
  }
  template <class Calls>
  void ready(int t, MPI_Request r) const {
    const auto [low, high] = mine(t);
    if (low < high) Calls::ready(low, high - 1, r);
  }

  /// Each thread answers as soon as its own partitions have come.
  template <class Calls>
  void exchange_by_parts(Requests<Calls>& r, int t, std::int64_t trip) {
    if (t == 0) {
      Calls::start(&r.receive);
      Calls::start(&r.send);
      workers_.announce();
    } else {
      workers_.hear(t);
    }
    const auto [low, high] = mine(t);
    for (int p = low; p < high && job_.rank == 1; ++p) {
      until([&] { return Calls::arrived(p, r.receive); });
    }
    fill(t, trip);
    ready<Calls>(t, r.send);
    if (t > 0) return;
    Calls::wait(&r.send);
    Calls::wait(&r.receive);
  }

  /// No other thread is in a call while the first one waits.
  template <class Calls>
  void exchange_in_turn(Requests<Calls>& r, int t, std::int64_t trip) {
    if (t == 0) {
      Calls::start(&r.receive);
      if (job_.rank == 1) Calls::wait(&r.receive);
      Calls::start(&r.send);
    }
    workers_.meet();
    fill(t, trip);
    ready<Calls>(t, r.send);
    workers_.meet();
    if (t > 0) return;
    Calls::wait(&r.send);
    if (job_.rank == 0) Calls::wait(&r.receive);
  }

  [[nodiscard]] static Number seed(std::int64_t trip) { return trip * 1'000'003; }
  void fill(int t, std::int64_t trip) {
    const auto [begin, end] = part(t);
    bench::fill(out_.at(begin), end - begin, seed(trip) + static_cast<Number>(begin));
  }
  /// The last number of the last thread's part says when that was ready.
  void fill_late(int t, double late) {
    if (t == workers_.size() - 1 && late > 0) std::this_thread::sleep_for(std::chrono::duration<double>(late));
    fill(t, 0);
    if (t == workers_.size() - 1) *out_.at(count_ - 1) = std::bit_cast<Number>(seconds());
  }

  /// `trip(thread, number)` is what a thread does for one message there and one back.
  template <class Trip>
  Side both_ways(const std::string& name, Trip trip) {
    return {name, 2, [this, trip](std::int64_t repeats) {
              double took = 0;
              workers_.run([&](int t) {
                workers_.meet();
                if (t == 0) native::Barrier(MPI_COMM_WORLD);
                workers_.meet();
                const double begin = seconds();
                for (std::int64_t i = 0; i < repeats; ++i) trip(t, i);
                workers_.meet();
                if (t == 0) took = seconds() - begin;
              });
              last_ = repeats - 1;
              return took;
            }};
  }

  /// `trip(thread)` for one message there. The process that receives knows how long it took.
  template <class Trip>
  Side one_way(const std::string& name, Trip trip) {
    return {name, 1, [this, trip](std::int64_t repeats) {
              double took = 0;
              workers_.run([&](int t) {
                for (std::int64_t i = 0; i < repeats; ++i) {
                  workers_.meet();
                  if (t == 0) native::Barrier(MPI_COMM_WORLD);
                  workers_.meet();
                  trip(t);
                  if (t == 0 && job_.rank == 1) took += seconds() - std::bit_cast<double>(*in_.at(count_ - 1));
                }
              });
              native::Bcast(&took, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
              return took;
            }};
  }

  Workers workers_;
  const Job& job_;
  std::size_t bytes_;
  int partitions_;
  std::size_t count_;  ///< numbers
  Numbers out_, in_;
  std::vector<MPI_Comm> comms_;
  std::int64_t last_ = 0;
};

void benchmark(const Job& job, const PartitionedOptions& o) {
  const auto any = {"masteronly", "multiple", "mpi-partitioned", "plait-partitioned", "fill"};
  o.check_sizes();
  if (std::none_of(any.begin(), any.end(), [&](const char* name) { return o.wants(name); })) throw Error("--only: no side has such a name");
  Report report("partitioned", job, o, o.threads);
  report.set("late_us", o.late);
  report.set("memory", o.heap ? "malloc" : "MPI_Alloc_mem");
  if (!HAS_OWN && o.wants("mpi-partitioned")) report.skip("mpi-partitioned", "this MPI has no partitioned communication");
  if (o.late > 0 && !job.one_machine) throw Error("--late: the processes have no common clock");
  for (const std::size_t bytes : o.sizes) {
    PingPong whole(job, o.threads, o.partitions ? o.partitions : o.threads, bytes, o.from());
    std::vector<Side> sides;
    const auto side = [&](const char* name, auto make) {
      if (o.wants(name)) sides.push_back(make());
    };
    const double late = o.late * 1e-6;
    const std::size_t one = bytes / static_cast<std::size_t>(whole.partitions());
    std::unique_ptr<PingPong> part;
    if (late > 0) {
      part = std::make_unique<PingPong>(job, 1, 1, one, o.from());
      side("masteronly", [&] { return whole.late_masteronly(late); });
#if HAS_OWN
      side("mpi-partitioned", [&] { return whole.late_partitioned<Own>("mpi-partitioned", late); });
#endif
      side("plait-partitioned", [&] { return whole.late_partitioned<Ours>("plait-partitioned", late); });
      side("plait-partitioned", [&] { return part->late_partitioned<Ours>("one-part", 0); });
    } else {
      side("masteronly", [&] { return whole.masteronly(); });
      if (o.threads > 1) side("multiple", [&] { return whole.multiple(); });
#if HAS_OWN
      side("mpi-partitioned", [&] { return whole.partitioned<Own>("mpi-partitioned"); });
#endif
      side("plait-partitioned", [&] { return whole.partitioned<Ours>("plait-partitioned"); });
      side("fill", [&] { return whole.fill_alone(); });
    }
    for (Side& s : sides) {
      if (late > 0 || s.name == "fill") continue;
      s.run = [run = s.run, &whole, name = s.name](std::int64_t repeats) {
        const double took = run(repeats);
        insist(whole.wrong(), name);
        return took;
      };
    }
    // Of a late trip only the end is measured, which is little of the time that it takes.
    measure(sides, late > 0 ? o.time / 50 : o.time, o.rounds);
    report.add(o.late > 0 ? "after_the_last" : "half_round_trip", {{"bytes", bytes}, {"partitions", whole.partitions()}}, sides);
    sides.clear();
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::PartitionedOptions o;
  o.time = 0.02;
  for (std::size_t n = 1024; n <= std::size_t{16} << 20; n *= 4) o.sizes.push_back(n);
  plait::bench::CommandLine line("Partitioned messages between 2 processes: masteronly, multiple, the MPI's own and plait's",
                                 "bench-partitioned");
  line.number("-t,--threads", o.threads, "Threads that fill, in each process", 1, 1024);
  line.optional_number("--partitions", o.partitions, "Of a message; usually one for each thread", 1, 1 << 20);
  line.optional_number("--late", o.late, "The last thread comes so many microseconds later", 1, 1 << 30);
  line.flag("--heap", o.heap, "Buffers from malloc, not from MPI_Alloc_mem");
  o.describe_sizes(line, "Bytes of a message, multiples of 8");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
