// bench-latency: latency and bandwidth between 2 processes, by message size.
//
// Half the round trip of a ping-pong with MPI_Send and MPI_Recv, and bandwidth by windows of messages with MPI_Isend,
// MPI_Irecv and MPI_Waitall:
//
//   mpi             the MPI without libplait, on MPI_COMM_WORLD
//   plait-ordinary  the same called through libplait, which hands it on, or carries it with PLAIT_COMMUNICATORS=all
//   plait-stream    a stream's communicator
//
// and beside them, where the processes share a node, what the machine can do:
//
//   hand-over       to 64 bytes: one cache line from core to core
//   memcpy          one core copies the message, again and again from and to the same memory of its own
//   memcpy-shared   from 64 KB: the same out of shared memory that the other process has just written
//
// Each message bears its number, which is compared as it arrives; all bytes are compared at the end of each measurement.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common.hpp"
#include "raw.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

constexpr std::size_t kLine = 64, kLarge = std::size_t{64} << 10;
constexpr int kWarmUp = 2;  ///< ping-pongs or windows before the clock starts

struct LatencyOptions : Options {
  int window = 16;
  bool heap = false;
};

/// One of the two sides of a conversation by blocking calls.
template <class Calls>
struct End {
  MPI_Comm comm;
  int peer;
  std::size_t n;

  void send(const std::byte* from) const { Calls::send(from, static_cast<int>(n), MPI_BYTE, peer, 0, comm); }
  void receive(std::byte* to) const { Calls::recv(to, static_cast<int>(n), MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE); }

  /// The process that begins. Seconds for so many ping-pongs; counts the wrong ones.
  double ping(std::int64_t times, std::int64_t& wrong) const {
    Buffer out(n), in(n);
    out.fill(n);
    const auto go = [&](std::uint64_t number) {
      mark(out.data(), n, number);
      send(out.data());
      receive(in.data());
      wrong += marked(in.data(), n, number) ? 0 : 1;
    };
    for (std::uint64_t i = 0; i < kWarmUp; ++i) go(i);
    const double begin = seconds();
    for (std::int64_t i = 0; i < times; ++i) go(static_cast<std::uint64_t>(i) + kWarmUp);
    const double took = seconds() - begin;
    // Once more into wiped memory: now every byte must have come from the other process.
    std::memset(in.data(), 0, n);
    go(0);
    wrong += std::memcmp(in.data(), out.data(), n) == 0 ? 0 : 1;
    return took;
  }

  /// The process that answers, with what it got: every byte makes the whole way.
  void echo(std::int64_t times) const {
    Buffer both(n);
    for (std::int64_t i = 0; i < times + kWarmUp + 1; ++i) {
      receive(both.data());
      send(both.data());
    }
  }
};

template <class Calls>
Side ping_pong(const Job& job, const std::string& name, std::size_t n, MPI_Comm comm) {
  return {name, 2, [name, n, comm, rank = job.rank](std::int64_t times) {
            const End<Calls> end{comm, 1 - rank, n};
            std::int64_t wrong = 0;
            double took = 0;
            if (rank == 0) {
              took = end.ping(times, wrong);
            } else {
              end.echo(times);
            }
            insist(wrong, name);
            return took;
          }};
}

template <class Calls>
Side windows(const Job& job, const std::string& name, std::size_t n, int window, MPI_Comm comm) {
  return {name, window, [name, n, window, comm, rank = job.rank](std::int64_t times) {
            Windows<Calls> traffic(comm, 1 - rank, 0, n, window);
            double took = 0;
            if (rank == 0) {
              traffic.fill();
              traffic.send(kWarmUp);
              const double begin = seconds();
              traffic.send(times);
              took = seconds() - begin;
            } else {
              traffic.receive(kWarmUp + times);
              traffic.check_all();
            }
            insist(traffic.wrong(), name);
            return took;
          }};
}

/// The machine's limits, in memory that both processes share.
class Limits {
 public:
  /// Collective, on one node.
  Limits(const Job& job, std::size_t most)
      : job_(job),
        spin_(raw::Spin::of(job, 1)),
        memory_(job, sizeof(raw::HandOverMemory) + most),
        line_(static_cast<raw::HandOverMemory*>(memory_.data())),
        written_(reinterpret_cast<std::byte*>(line_ + 1)) {}

  Side hand_over() {
    return {"hand-over", 2, [this](std::int64_t times) {
              const double begin = seconds();
              hand(times);
              return seconds() - begin;
            }};
  }

  /// Process 0 copies; the other waits for the end.
  Side copy(std::size_t n) {
    return {"memcpy", 1, [this, n](std::int64_t times) {
              if (job_.rank != 0) return 0.0;
              Buffer from(n), to(n);
              from.fill(n);
              raw::copy(to.data(), from.data(), n, 1);
              return raw::copy(to.data(), from.data(), n, times);
            }};
  }

  /// Process 1 writes, and when it has, process 0 copies. Only the copying counts.
  Side copy_shared(std::size_t n) {
    return {"memcpy-shared", 1, [this, n](std::int64_t times) {
              Buffer to(n);
              double took = 0;
              for (std::int64_t i = 0; i < times; ++i) {
                if (job_.rank != 0) std::memset(written_, static_cast<int>(i & 0x7f), n);
                hand(1);
                if (job_.rank == 0) took += raw::copy(to.data(), written_, n, 1);
                hand(1);
              }
              return took;
            }};
  }

 private:
  void hand(std::int64_t times) { handed_ = raw::hand_over(*line_, job_.rank == 0, handed_, times, spin_); }

  const Job& job_;
  raw::Spin spin_;
  raw::SharedMemory memory_;
  raw::HandOverMemory* line_;
  std::byte* written_;
  std::uint64_t handed_ = 0;
};

/// A table with a line a size, and its part of the report.
class Table {
 public:
  /// `gigabytes`: prints bandwidths instead of microseconds.
  Table(Report& report, const char* key, const char* title, std::vector<std::string> columns, bool gigabytes)
      : report_(report), key_(key), columns_(std::move(columns)), gigabytes_(gigabytes) {
    if (!report_.prints()) return;
    fmt::print("\n{}: median [least most]\n{:>9}", title, "bytes");
    for (const auto& column : columns_) fmt::print("  {:>28}", column);
    fmt::print("\n");
  }

  void add(std::size_t n, const std::vector<Side>& sides) {
    std::map<std::string, std::string> cells;
    for (const Side& side : sides) {
      report_.add(key_, "s", {{"bytes", n}}, side, side.samples);
      const Summary s(side.samples);
      const double gigabyte = 1e-9 * static_cast<double>(n);
      cells[side.name] = gigabytes_ ? fmt::format("{:.4g} [{:.4g} {:.4g}]", gigabyte / s.median, gigabyte / s.most, gigabyte / s.least)
                                    : fmt::format("{:.4g} [{:.4g} {:.4g}]", 1e6 * s.median, 1e6 * s.least, 1e6 * s.most);
    }
    if (!report_.prints()) return;
    fmt::print("{:>9}", n);
    for (const auto& column : columns_) fmt::print("  {:>28}", cells.contains(column) ? cells[column] : "-");
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  Report& report_;
  std::string key_;
  std::vector<std::string> columns_;
  bool gigabytes_;
};

void benchmark(const Job& job, const LatencyOptions& o) {
  std::vector<std::string> ways, raw;
  for (const char* name : {"mpi", "plait-ordinary", "plait-stream"}) {
    if (o.wants(name)) ways.emplace_back(name);
  }
  for (const char* name : {"hand-over", "memcpy", "memcpy-shared"}) {
    if (o.wants(name)) raw.emplace_back(name);
  }
  if (ways.empty() && raw.empty()) throw Error("--only: no side has such a name");
  Report report("latency", job, o, 1);
  report.set("window", o.window);
  report.set("memory", o.heap ? "malloc" : "MPI_Alloc_mem");
  if (o.heap) Buffer::usual = Buffer::From::heap;
  std::unique_ptr<Limits> limits;
  if (job.one_node) limits = std::make_unique<Limits>(job, *std::max_element(o.sizes.begin(), o.sizes.end()));
  if (!job.one_node) {
    for (const auto& name : raw) report.skip(name, "the processes share no memory");
    raw.clear();
  }
  std::unique_ptr<Communicators> stream;
  if (o.wants("plait-stream")) stream = std::make_unique<Communicators>(Communicators::Kind::stream, 1);

  auto columns = ways;
  columns.insert(columns.end(), raw.begin(), raw.end());
  Table trips(report, "half_round_trip", "half a round trip, or one copy, us", columns, false);
  for (const std::size_t n : o.sizes) {
    std::vector<Side> sides;
    if (o.wants("mpi")) sides.push_back(ping_pong<Native>(job, "mpi", n, MPI_COMM_WORLD));
    if (o.wants("plait-ordinary")) sides.push_back(ping_pong<Interposed>(job, "plait-ordinary", n, MPI_COMM_WORLD));
    if (stream) sides.push_back(ping_pong<Interposed>(job, "plait-stream", n, stream->comms[0]));
    if (limits && n <= kLine && o.wants("hand-over")) sides.push_back(limits->hand_over());
    if (limits && n > 0 && o.wants("memcpy")) sides.push_back(limits->copy(n));
    if (limits && n >= kLarge && o.wants("memcpy-shared")) sides.push_back(limits->copy_shared(n));
    measure(sides, o.time, o.rounds);
    trips.add(n, sides);
  }

  if (std::none_of(o.sizes.begin(), o.sizes.end(), [](auto n) { return n >= kLarge; }) || ways.empty()) return report.write();
  Table bandwidths(report, "windows", fmt::format("windows of {} messages (32 MB at most), GB/s", o.window).c_str(), ways, true);
  for (const std::size_t n : o.sizes) {
    if (n < kLarge) continue;
    // More at once would only measure memory that no cache holds.
    const int window = std::clamp(static_cast<int>((std::size_t{32} << 20) / n), 1, o.window);
    std::vector<Side> sides;
    if (o.wants("mpi")) sides.push_back(windows<Native>(job, "mpi", n, window, MPI_COMM_WORLD));
    if (o.wants("plait-ordinary")) sides.push_back(windows<Interposed>(job, "plait-ordinary", n, window, MPI_COMM_WORLD));
    if (stream) sides.push_back(windows<Interposed>(job, "plait-stream", n, window, stream->comms[0]));
    measure(sides, o.time, o.rounds);
    bandwidths.add(n, sides);
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::LatencyOptions o;
  o.time = 0.02;
  o.sizes = {0};
  for (std::size_t n = 8; n <= std::size_t{4} << 20; n *= 2) o.sizes.push_back(n);
  plait::bench::CommandLine line("Latency and bandwidth between 2 processes: the MPI, plait and the machine", "bench-latency");
  o.describe_sizes(line, "Bytes in a message, like 8,1024");
  line.number("--window", o.window, "Messages in a window, for bandwidth", 1, 1 << 16);
  line.flag("--heap", o.heap, "Buffers from malloc, not from MPI_Alloc_mem");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
