// bench-queue: operations that are put on a queue of plait's own, between 2 processes.
//
//   half_round_trip  enqueued: sends and receives put on the queues of both processes, many ahead. nonblocking: the same by isend, irecv
//                    and wait. each: as the first, and each process waits for its queue after every message. plait: MPI_Send and MPI_Recv
//                    on a stream's communicator, no queue. queue: an empty function put on the queue, and the wait for it: the queue's own
//                    hand-over there and back
//   waiting          the part of one core that a process uses while a function of one second runs, and a receive waits behind it
#include <plait/mpix.h>
#include <plait/queue.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "common.hpp"
#include "traffic.hpp"

namespace plait::bench {
namespace {

struct QueueOptions : Options {
  std::vector<std::string> measured;

  [[nodiscard]] bool measures(const char* what) const {
    return measured.empty() || std::find(measured.begin(), measured.end(), what) != measured.end();
  }
};

void must(int code) {
  if (code != MPI_SUCCESS) throw Error("a call on the queue has failed");
}

/// A stream, and its communicator. With a queue the stream stands for that.
class Stream {
 public:
  explicit Stream(plait_queue queue) {
    MPI_Info info = MPI_INFO_NULL;
    if (queue != PLAIT_QUEUE_NULL) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "type", "plait_queue");
      MPIX_Info_set_hex(info, "value", static_cast<const void*>(&queue), sizeof(plait_queue));
    }
    must(MPIX_Stream_create(info, &stream_));
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    must(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream_, &comm_));
  }
  ~Stream() {
    MPI_Comm_free(&comm_);
    MPIX_Stream_free(&stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  MPIX_Stream stream_ = MPIX_STREAM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class Queue {
 public:
  Queue() { must(plait_queue_create(&queue_)); }
  ~Queue() { plait_queue_free(&queue_); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  [[nodiscard]] plait_queue get() const { return queue_; }
  void wait() const { must(plait_queue_synchronize(queue_)); }

 private:
  plait_queue queue_ = PLAIT_QUEUE_NULL;
};

/// One round trip, by calls of the same form; on a communicator of a queue they put the messages there.
void there_and_back(const Job& job, MPI_Comm comm, std::byte* out, std::byte* in, int n) {
  const int other = 1 - job.rank;
  if (job.rank == 0) MPI_Send(out, n, MPI_BYTE, other, 0, comm);
  MPI_Recv(in, n, MPI_BYTE, other, 0, comm, MPI_STATUS_IGNORE);
  if (job.rank == 1) MPI_Send(out, n, MPI_BYTE, other, 0, comm);
}

/// The same by MPIX_Isend_enqueue, MPIX_Irecv_enqueue and MPIX_Wait_enqueue.
void there_and_back_nonblocking(const Job& job, MPI_Comm comm, std::byte* out, std::byte* in, int n) {
  const int other = 1 - job.rank;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto send = [&] {
    MPIX_Isend_enqueue(out, n, MPI_BYTE, other, 0, comm, &request);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
  };
  if (job.rank == 0) send();
  MPIX_Irecv_enqueue(in, n, MPI_BYTE, other, 0, comm, &request);
  MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
  if (job.rank == 1) send();
}

void trips(const Job& job, const QueueOptions& o, Report& report) {
  const Queue queue;
  const Stream queued(queue.get());
  const Stream plain(PLAIT_QUEUE_NULL);
  for (const std::size_t n : o.sizes) {
    Buffer out(n), in(n);
    const int bytes = static_cast<int>(n);
    const auto check = [&] {
      out.fill(n);
      std::memset(in.data(), 0, n);
      there_and_back(job, queued.comm(), out.data(), in.data(), bytes);
      queue.wait();
      insist(std::memcmp(in.data(), out.data(), n) == 0 ? 0 : 1, "enqueued");
    };
    std::vector<Side> sides;
    sides.push_back({"enqueued", 2, [&](std::int64_t times) {
                       const double begin = seconds();
                       for (std::int64_t i = 0; i < times; ++i) there_and_back(job, queued.comm(), out.data(), in.data(), bytes);
                       queue.wait();
                       const double took = seconds() - begin;
                       check();
                       return took;
                     }});
    sides.push_back({"nonblocking", 2, [&](std::int64_t times) {
                       const double begin = seconds();
                       for (std::int64_t i = 0; i < times; ++i)
                         there_and_back_nonblocking(job, queued.comm(), out.data(), in.data(), bytes);
                       queue.wait();
                       const double took = seconds() - begin;
                       check();
                       return took;
                     }});
    sides.push_back({"each", 2, [&](std::int64_t times) {
                       const double begin = seconds();
                       for (std::int64_t i = 0; i < times; ++i) {
                         there_and_back(job, queued.comm(), out.data(), in.data(), bytes);
                         queue.wait();
                       }
                       const double took = seconds() - begin;
                       check();
                       return took;
                     }});
    sides.push_back({"plait", 2, [&](std::int64_t times) {
                       const double begin = seconds();
                       for (std::int64_t i = 0; i < times; ++i) there_and_back(job, plain.comm(), out.data(), in.data(), bytes);
                       return seconds() - begin;
                     }});
    sides.push_back({"queue", 2, [&](std::int64_t times) {
                       const auto nothing = [](void*) { return 0; };
                       const double begin = seconds();
                       for (std::int64_t i = 0; i < times; ++i) {
                         must(plait_queue_enqueue(queue.get(), nothing, nullptr));
                         queue.wait();
                       }
                       return seconds() - begin;
                     }});
    measure(sides, o.time, o.rounds);
    report.add("half_round_trip", {{"bytes", n}}, sides);
  }
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return of(used.ru_utime) + of(used.ru_stime);
}

/// While a function runs that takes a second and no core, and behind it a receive waits.
void waiting(const Job& job, Report& report) {
  const Queue queue;
  const Stream queued(queue.get());
  const auto second = [](void*) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return 0;
  };
  int in = -1;
  int out = job.rank;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds();
  const double cpu = cpu_seconds();
  must(plait_queue_enqueue(queue.get(), second, nullptr));
  if (job.rank == 0) {
    MPI_Send(&out, 1, MPI_INT, 1, 0, queued.comm());
  } else {
    MPI_Recv(&in, 1, MPI_INT, 0, 0, queued.comm(), MPI_STATUS_IGNORE);
  }
  queue.wait();
  const double used = cpu_seconds() - cpu;
  insist(job.rank == 1 && in != 0 ? 1 : 0, "waiting");
  std::vector<Side> sides{{"cpu", 1, nullptr}, {"time", 1, nullptr}};
  sides[0].samples = {used};
  sides[1].samples = {seconds() - begin};
  report.add("waiting", {}, sides);
}

void benchmark(const Job& job, const QueueOptions& o) {
  Report report("queue", job, o, 1);
  if (o.measures("half_round_trip")) trips(job, o, report);
  if (o.measures("waiting")) waiting(job, report);
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::QueueOptions o;
  o.time = 0.05;
  o.sizes = {8, 1024, 65536, 1048576};
  plait::bench::CommandLine line("Operations on queues between 2 processes: plait's own queue on the host", "bench-queue");
  o.describe_sizes(line, "Bytes in a message, like 8,1024");
  line.texts("--measure", o.measured, "Only half_round_trip or waiting; may be repeated");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
