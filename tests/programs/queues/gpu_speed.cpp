// How long messages between the streams of two processes take, with a kernel before each send: put on the streams, in a graph, and in the
// usual way, which waits for the stream in the program. And the processor time of waiting while a kernel runs. By a GPU's driver or the
// stand-in.
#include <mpi.h>
#include <plait/mpix.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../comm.hpp"
#include "gpu.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

double processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return of(used.ru_utime) + of(used.ru_stime);
}

struct Place {
  const gpu::Driver& driver;
  gpu::Stream stream;
  MPI_Comm comm;
  int rank;
  gpu::Address memory;
  void* pinned;
};

/// One exchange: a kernel and a send on one side, a receive on the other, and back.
void enqueue(const Place& p, int n) {
  void* const at = reinterpret_cast<void*>(p.memory);
  if (p.rank == 0) {
    p.driver.add(p.memory, n, 1, p.stream);
    MPIX_Send_enqueue(at, n, MPI_INT, 1, 0, p.comm);
    MPIX_Recv_enqueue(at, n, MPI_INT, 1, 0, p.comm, MPI_STATUS_IGNORE);
  } else {
    MPIX_Recv_enqueue(at, n, MPI_INT, 0, 0, p.comm, MPI_STATUS_IGNORE);
    p.driver.add(p.memory, n, 1, p.stream);
    MPIX_Send_enqueue(at, n, MPI_INT, 0, 0, p.comm);
  }
}

void usual_send(const Place& p, int n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(int);
  p.driver.add(p.memory, n, 1, p.stream);
  p.driver.to_host(p.pinned, p.memory, bytes, p.stream);
  p.driver.synchronize(p.stream);
  MPI_Send(p.pinned, n, MPI_INT, 1 - p.rank, 0, MPI_COMM_WORLD);
}
void usual_receive(const Place& p, int n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(int);
  MPI_Recv(p.pinned, n, MPI_INT, 1 - p.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  p.driver.to_device(p.memory, p.pinned, bytes, p.stream);
}

/// Microseconds of an exchange, the median of several runs.
template <class Run>
double time_of(const Place& p, int exchanges, Run run) {
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const Clock::time_point began = Clock::now();
    run();
    p.driver.synchronize(p.stream);
    times.push_back(seconds_since(began));
  }
  std::sort(times.begin(), times.end());
  return 1e6 * times[times.size() / 2] / exchanges;
}

void check(const Place& p, int n, int right, const char* what) {
  std::vector<int> got(static_cast<std::size_t>(n));
  p.driver.to_host(got.data(), p.memory, got.size() * sizeof(int), p.stream);
  p.driver.synchronize(p.stream);
  for (const int g : got) {
    if (g == right) continue;
    std::fprintf(stderr, "gpu_speed: %s: %d, not %d\n", what, g, right);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void exchanges(const Place& p, int n, int times) {
  const auto reset = [&] {
    p.driver.set(p.memory, 0, static_cast<std::size_t>(n), p.stream);
    p.driver.synchronize(p.stream);
  };
  reset();
  const double usual = time_of(p, times, [&] {
    for (int i = 0; i < times; ++i) {
      if (p.rank == 0) usual_send(p, n);
      usual_receive(p, n);
      if (p.rank == 1) usual_send(p, n);
    }
  });
  check(p, n, 7 * 2 * times, "the usual way");
  reset();
  const double enqueued = time_of(p, times, [&] {
    for (int i = 0; i < times; ++i) enqueue(p, n);
  });
  check(p, n, 7 * 2 * times, "enqueued");
  reset();
  p.driver.begin_capture(p.stream);
  for (int i = 0; i < times; ++i) enqueue(p, n);
  const gpu::Graph graph = p.driver.end_capture(p.stream);
  const double in_graph = time_of(p, times, [&] { p.driver.launch(graph, p.stream); });
  check(p, n, 7 * 2 * times, "in a graph");
  p.driver.call("cuGraphExecDestroy", graph);
  if (p.rank == 0) {
    std::printf("%8zu B: usual way %8.1f us, enqueued %8.1f us (%.2f of it), graph of %d exchanges %8.1f us (%.2f), each there and back\n",
                static_cast<std::size_t>(n) * sizeof(int), usual, enqueued, enqueued / usual, times, in_graph, in_graph / usual);
    std::fflush(stdout);
  }
}

/// While a kernel runs before a send.
void waiting(const Place& p, unsigned long long ns) {
  const double span = 1e-9 * static_cast<double>(ns);
  const auto run = [&](bool enqueued) {
    MPI_Barrier(MPI_COMM_WORLD);
    const Clock::time_point began = Clock::now();
    const double before = processor_time();
    double used = 0;
    if (enqueued) {
      if (p.rank == 0) {
        p.driver.spin(ns, p.stream);
        MPIX_Send_enqueue(reinterpret_cast<void*>(p.memory), 2, MPI_INT, 1, 0, p.comm);
      } else {
        MPIX_Recv_enqueue(reinterpret_cast<void*>(p.memory), 2, MPI_INT, 0, 0, p.comm, MPI_STATUS_IGNORE);
      }
      usleep(static_cast<useconds_t>(9e5 * span));
      used = processor_time() - before;
      const double seen = seconds_since(began);
      p.driver.synchronize(p.stream);
      return used / seen;
    }
    if (p.rank == 0) {
      p.driver.spin(ns, p.stream);
      usual_send(p, 2);
    } else {
      usual_receive(p, 2);
    }
    p.driver.synchronize(p.stream);
    return (processor_time() - before) / seconds_since(began);
  };
  double shares[2][2];
  for (const bool enqueued : {false, true}) {
    const double mine = run(enqueued);
    MPI_Gather(&mine, 1, MPI_DOUBLE, shares[enqueued ? 1 : 0], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  if (p.rank == 0) {
    std::printf(
        "a kernel of %.1f s before a send: of a core, the sender uses %.1f %% in the usual way and %.2f %% enqueued, the receiver %.1f %% "
        "and "
        "%.2f %%\n",
        span, 100 * shares[0][0], 100 * shares[1][0], 100 * shares[0][1], 100 * shares[1][1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const gpu::Driver driver;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int rank = rank_of(MPI_COMM_WORLD);
  if (size_of(MPI_COMM_WORLD) != 2) {
    std::fprintf(stderr, "gpu_speed: for 2 processes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  constexpr std::size_t kMost = std::size_t{1} << 20;
  gpu::Stream stream = driver.stream();
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
  MPIX_Stream mpi;
  MPIX_Stream_create(info, &mpi);
  MPI_Info_free(&info);
  MPI_Comm comm;
  MPIX_Stream_comm_create(MPI_COMM_WORLD, mpi, &comm);
  const Place place{driver, stream, comm, rank, driver.memory(kMost), driver.pinned(kMost)};
  const double span = argc > 1 ? std::atof(argv[1]) : 1;
  const int times = argc > 2 ? std::atoi(argv[2]) : 100;
  for (const int n : {2, 1024, 16384, 262144}) exchanges(place, n, times);
  waiting(place, static_cast<unsigned long long>(1e9 * span));
  MPI_Comm_free(&comm);
  MPIX_Stream_free(&mpi);
  MPI_Finalize();
}
