// bench-gaspi: GASPI between 2 processes, beside the MPI under it and the machine's limits.
//
//   half_round_trip  gaspi: write_notify, waitsome and reset, there and back. mpi: MPI_Send and MPI_Recv of the MPI without libplait.
//                    hand-over, memcpy: the machine's, on one node
//   copy             gaspi: writes of 64 KB and more, again and again to the same place. memcpy: the same by one core, on one node
//   rate             gaspi: write_notify of 8 bytes by each thread to a queue of its own, answered every 512. mpi: windows of 64 messages
//   of
//                    MPI_Isend by each thread on MPI_COMM_WORLD
//   collective       barrier, allreduce of 8 bytes. gaspi; mpi: the MPI without libplait; plait: called through libplait, which carries
//   them
//                    with PLAIT_COMMUNICATORS=all
//   busy             gaspi: from a write to its arrival at a process that computes for so many microseconds, which looks at the clock alone
#include <GASPI.h>
#include <fmt/core.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <thread>

#include "common.hpp"
#include "native.hpp"
#include "raw.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

struct GaspiOptions : Options {
  std::vector<std::string> measured;
  int threads = 1;

  [[nodiscard]] bool measures(const char* what) const {
    return measured.empty() || std::find(measured.begin(), measured.end(), what) != measured.end();
  }
};

void must(gaspi_return_t code) {
  if (code != GASPI_SUCCESS) throw Error(fmt::format("GASPI: {}", static_cast<int>(code)));
}

constexpr std::size_t kHalf = std::size_t{16} << 20;
constexpr std::size_t kLine = 64, kLarge = std::size_t{64} << 10;

/// A segment of two halves: what goes out, and what comes in.
class Segment {
 public:
  explicit Segment(const Job& job) : other_(static_cast<gaspi_rank_t>(1 - job.rank)) {
    must(gaspi_segment_create(0, 2 * kHalf, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    gaspi_pointer_t at = nullptr;
    must(gaspi_segment_ptr(0, &at));
    out_ = static_cast<std::byte*>(at);
    std::memset(at, 1, 2 * kHalf);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() {
    gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
    gaspi_segment_delete(0);
  }

  [[nodiscard]] std::byte* out() const { return out_; }
  [[nodiscard]] std::byte* in() const { return out_ + kHalf; }
  void send(std::size_t n, gaspi_notification_id_t id, gaspi_queue_id_t queue, std::size_t at = 0) const {
    while (true) {
      const gaspi_return_t code = gaspi_write_notify(0, at, other_, 0, kHalf + at, n, id, 1, queue, GASPI_BLOCK);
      if (code != GASPI_QUEUE_FULL) return must(code);
      must(gaspi_wait(queue, GASPI_BLOCK));
    }
  }
  void write(std::size_t n) const {
    while (gaspi_write(0, 0, other_, 0, kHalf, n, 0, GASPI_BLOCK) == GASPI_QUEUE_FULL) must(gaspi_wait(0, GASPI_BLOCK));
  }
  static void receive(gaspi_notification_id_t id) {
    gaspi_notification_id_t first = 0;
    gaspi_notification_t value = 0;
    must(gaspi_notify_waitsome(0, id, 1, &first, GASPI_BLOCK));
    must(gaspi_notify_reset(0, id, &value));
  }

 private:
  gaspi_rank_t other_;
  std::byte* out_ = nullptr;
};

Side gaspi_trip(const Job& job, const Segment& s, std::size_t n) {
  return {"gaspi", 2, [&job, &s, n](std::int64_t times) {
            std::int64_t wrong = 0;
            const double begin = seconds();
            for (std::int64_t i = 0; i < times; ++i) {
              const auto number = static_cast<std::uint64_t>(i);
              if (job.rank == 0) {
                mark(s.out(), n, number);
                s.send(n, 0, 0);
                Segment::receive(0);
                wrong += marked(s.in(), n, number) ? 0 : 1;
              } else {
                Segment::receive(0);
                wrong += marked(s.in(), n, number) ? 0 : 1;
                mark(s.out(), n, number);
                s.send(n, 0, 0);
              }
            }
            const double took = seconds() - begin;
            must(gaspi_wait(0, GASPI_BLOCK));
            insist(wrong, "gaspi");
            return took;
          }};
}

Side mpi_trip(const Job& job, const Segment& s, std::size_t n) {
  return {"mpi", 2, [&job, &s, n](std::int64_t times) {
            const int bytes = static_cast<int>(n);
            const int other = 1 - job.rank;
            const double begin = seconds();
            for (std::int64_t i = 0; i < times; ++i) {
              if (job.rank == 0) native::Send(s.out(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
              native::Recv(s.in(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              if (job.rank == 1) native::Send(s.out(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            }
            return seconds() - begin;
          }};
}

void trips(const Job& job, const GaspiOptions& o, const Segment& s, Report& report) {
  std::unique_ptr<raw::SharedMemory> memory;
  if (job.one_node) memory = std::make_unique<raw::SharedMemory>(job, sizeof(raw::HandOverMemory));
  std::uint64_t handed = 0;
  for (const std::size_t n : o.sizes) {
    std::vector<Side> sides{gaspi_trip(job, s, n), mpi_trip(job, s, n)};
    if (memory && n <= kLine)
      sides.push_back({"hand-over", 2, [&](std::int64_t times) {
                         const double begin = seconds();
                         auto& line = *static_cast<raw::HandOverMemory*>(memory->data());
                         handed = raw::hand_over(line, job.rank == 0, handed, times, raw::Spin::of(job, 1));
                         return seconds() - begin;
                       }});
    measure(sides, o.time, o.rounds);
    report.add("half_round_trip", {{"bytes", n}}, sides);
  }
}

void copies(const Job& job, const GaspiOptions& o, const Segment& s, Report& report) {
  for (const std::size_t n : o.sizes) {
    if (n < kLarge) continue;
    std::vector<Side> sides{{"gaspi", 1,
                             [&job, &s, n](std::int64_t times) {
                               if (job.rank != 0) {
                                 Segment::receive(1);
                                 s.send(0, 3, 0);
                                 return 0.0;
                               }
                               const double begin = seconds();
                               for (std::int64_t i = 0; i < times; ++i) s.write(n);
                               const double took = seconds() - begin;
                               s.send(0, 1, 0);
                               Segment::receive(3);  // or the next would come before this one is seen
                               return took;
                             }},
                            {"memcpy", 1, [&job, &s, n](std::int64_t times) {
                               if (job.rank != 0) return 0.0;
                               Buffer to(n);
                               raw::copy(to.data(), s.out(), n, 1);
                               return raw::copy(to.data(), s.out(), n, times);
                             }}};
    measure(sides, o.time, o.rounds);
    report.add("copy", {{"bytes", n}}, sides);
  }
}

/// Seconds from the first thread's start to the last one's end.
template <class Work>
double on_threads(int threads, Work work) {
  std::barrier<> together(threads);
  double begin = 0;
  double end = 0;
  const auto one = [&](int t) {
    together.arrive_and_wait();
    if (t == 0) begin = seconds();
    work(t);
    together.arrive_and_wait();
    if (t == 0) end = seconds();
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(one, t);
  one(0);
  return end - begin;
}

void rate(const Job& job, const GaspiOptions& o, const Segment& s, Report& report) {
  constexpr int kWindow = 512;
  constexpr int kMpiWindow = 64;
  const int threads = o.threads;
  const auto gaspi = [&](std::int64_t windows) {
    return on_threads(threads, [&](int t) {
      const auto q = static_cast<gaspi_queue_id_t>(t);
      const auto first = static_cast<gaspi_notification_id_t>(1000 * (t + 1));
      for (std::int64_t w = 0; w < windows; ++w) {
        if (job.rank == 0) {
          for (int i = 0; i < kWindow; ++i) s.send(8, first + static_cast<unsigned>(i), q, 8 * static_cast<std::size_t>(kWindow * t + i));
          must(gaspi_wait(q, GASPI_BLOCK));
          Segment::receive(first);
        } else {
          for (int i = 0; i < kWindow; ++i) Segment::receive(first + static_cast<unsigned>(i));
          s.send(0, first, q);
          must(gaspi_wait(q, GASPI_BLOCK));
        }
      }
    });
  };
  const auto mpi = [&](std::int64_t windows) {
    std::vector<std::unique_ptr<Windows<Native>>> traffic;
    traffic.reserve(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t)
      traffic.push_back(std::make_unique<Windows<Native>>(MPI_COMM_WORLD, 1 - job.rank, 2 * t, 8, kMpiWindow));
    const double took = on_threads(threads, [&](int t) {
      auto& mine = *traffic[static_cast<std::size_t>(t)];
      if (job.rank == 0) {
        mine.fill();
        mine.send(windows);
      } else {
        mine.receive(windows);
      }
    });
    return took;
  };
  std::vector<Side> sides{{"gaspi", kWindow * threads, gaspi}, {"mpi", kMpiWindow * threads, mpi}};
  measure(sides, o.time, o.rounds);
  report.add("rate", {{"bytes", 8}}, sides);
}

void collective(const GaspiOptions& o, Report& report) {
  const auto timed = [](auto call) {
    return [call](std::int64_t times) {
      native::Barrier(MPI_COMM_WORLD);
      const double begin = seconds();
      for (std::int64_t i = 0; i < times; ++i) call();
      return seconds() - begin;
    };
  };
  std::vector<Side> barriers{{"gaspi", 1, timed([] { must(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK)); })},
                             {"mpi", 1, timed([] { native::Barrier(MPI_COMM_WORLD); })},
                             {"plait", 1, timed([] { MPI_Barrier(MPI_COMM_WORLD); })}};
  measure(barriers, o.time, o.rounds);
  report.add("barrier", {}, barriers);
  long one = 1;
  long sum = 0;
  std::vector<Side> reductions{
      {"gaspi", 1, timed([&] { must(gaspi_allreduce(&one, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK)); })},
      {"mpi", 1, timed([&] { native::Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); })},
      {"plait", 1, timed([&] { MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); })}};
  measure(reductions, o.time, o.rounds);
  report.add("allreduce", {{"bytes", 8}}, reductions);
}

/// Rank 1 computes until a word of its memory has changed, or for so long; rank 0 writes it after half of that.
void busy(const Job& job, const GaspiOptions& o, const Segment& s, Report& report) {
  constexpr double kComputes = 0.1;
  std::uint64_t number = 0;
  std::vector<Side> sides{{"gaspi", 1, [&](std::int64_t times) {
                             double took = 0;
                             for (std::int64_t i = 0; i < times; ++i) {
                               ++number;
                               must(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
                               const double begin = seconds();
                               if (job.rank == 0) {
                                 while (seconds() < begin + kComputes / 2) compute(1);
                                 std::memcpy(s.out(), &number, sizeof number);
                                 const double posted = seconds();
                                 s.send(8, 2, 0);
                                 must(gaspi_wait(0, GASPI_BLOCK));
                                 double arrived = 0;  // one clock for both: they share a machine
                                 native::Recv(&arrived, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                                 took += arrived - posted;
                               } else {
                                 const auto* const word = reinterpret_cast<volatile std::uint64_t*>(s.in());
                                 while (*word != number) compute(1);
                                 const double arrived = seconds();
                                 Segment::receive(2);
                                 native::Send(&arrived, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
                               }
                             }
                             return took;
                           }}};
  measure(sides, o.time, o.rounds);
  report.add("busy", {}, sides);
}

void benchmark(const Job& job, const GaspiOptions& o) {
  must(gaspi_proc_init(GASPI_BLOCK));
  {
    Report report("gaspi", job, o, o.threads);
    const Segment segment(job);
    if (o.measures("half_round_trip")) trips(job, o, segment, report);
    if (o.measures("copy") && job.one_node) copies(job, o, segment, report);
    if (o.measures("rate")) rate(job, o, segment, report);
    if (o.measures("collective")) collective(o, report);
    if (o.measures("busy") && !job.one_node) busy(job, o, segment, report);
    report.write();
  }
  must(gaspi_proc_term(GASPI_BLOCK));
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::GaspiOptions o;
  o.time = 0.05;
  o.sizes = {8, 1024, 65536, 1048576};
  plait::bench::CommandLine line("GASPI between 2 processes: plait's, the MPI and the machine", "bench-gaspi");
  o.describe_sizes(line, "Bytes in a message, like 8,1024");
  line.texts("--measure", o.measured, "Only half_round_trip, copy, rate, collective or busy; may be repeated");
  line.number("-t,--threads", o.threads, "Threads in each process that measures rates, each with a queue", 1, 8);
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
