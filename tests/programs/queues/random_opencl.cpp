// A random program of kernels, messages, waits, collective calls and events, on 1 to 4 queues of OpenCL's in each process, against a model
// that runs it one operation after the other. random_opencl SEED OPERATIONS
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <utility>

#include "opencl.hpp"

namespace {

constexpr int kArrays = 4;  // of a process
constexpr size_t kNumbers = 3000;
constexpr size_t kMany = 200000;  // of its last array

int rank, size;
std::mt19937 dice;
unsigned roll(unsigned below) { return static_cast<unsigned>(dice() % below); }

/// What an array is in the model, and which queue has used it last.
struct Model {
  std::vector<cl_uint> values;
  int queue = -1;
  bool reserved = false;  // by a request
};

/// A request of a process, which a wait on its queue ends.
struct Pending {
  int process, queue, array;
  MPI_Request request;
  int source, tag, count;  // what its status has to say, of a receive
  bool receive;
};

struct Expected {
  MPI_Status status{};
  int source, tag, count;
};

class Program {
 public:
  Program() {
    const unsigned queues = 1 + roll(4);
    for (unsigned q = 0; q < queues; ++q) {
      lines_.push_back(std::make_unique<Line>(device_, roll(3) == 0 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0));
    }
    models_.resize(static_cast<size_t>(size));
    for (int p = 0; p < size; ++p) {
      for (int a = 0; a < kArrays; ++a) {
        const Kind kind = kKinds[roll(3)];
        const size_t n = a == kArrays - 1 ? kMany : kNumbers;
        models_[static_cast<size_t>(p)].push_back({std::vector<cl_uint>(n), -1, false});
        if (p == rank) arrays_.push_back(std::make_unique<Array>(device_, kind, n));
      }
    }
    for (int p = 0; p < size; ++p) {
      for (int a = 0; a < kArrays; ++a) fill(p, 0, a, static_cast<cl_uint>(p * kArrays + a));
    }
  }

  void step() {
    const int queue = static_cast<int>(roll(static_cast<unsigned>(lines_.size())));
    const int process = static_cast<int>(roll(static_cast<unsigned>(size)));
    const unsigned what = roll(100);
    if (what < 15) {
      if (const int a = free_array(process); a >= 0) fill(process, queue, a, dice());
    } else if (what < 30) {
      if (const int a = free_array(process); a >= 0) scale(process, queue, a, dice() | 1);
    } else if (what < 40) {
      add(process, queue);
    } else if (what < 80) {
      message(process, queue);
    } else if (what < 90) {
      if (!pending_.empty()) wait(roll(static_cast<unsigned>(pending_.size())));
    } else if (what < 94) {
      allreduce(queue);
    } else if (what < 97) {
      broadcast(queue, process);
    } else if (what < 99) {
      CHECK(MPIX_Barrier_enqueue(line(queue).comm) == MPI_SUCCESS);
    } else {
      good(clFinish(line(queue).queue));
    }
  }

  void check() {
    while (!pending_.empty()) wait(0);
    for (const auto& l : lines_) good(clFinish(l->queue));
    for (int a = 0; a < kArrays; ++a) {
      const std::vector<cl_uint> values = array(a).get(line(0).queue);
      const std::vector<cl_uint>& expected = model(rank, a).values;
      const auto differ = std::mismatch(values.begin(), values.end(), expected.begin());
      if (differ.first != values.end()) {
        std::fprintf(stderr, "process %d, array %d, kind %d: element %ld is %u, and %u in the model\n", rank, a,
                     static_cast<int>(array(a).kind), static_cast<long>(differ.first - values.begin()), *differ.first, *differ.second);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    for (const Expected& e : statuses_) {
      int count = -1;
      MPI_Get_count(&e.status, MPI_UNSIGNED, &count);
      CHECK(e.status.MPI_SOURCE == e.source && e.status.MPI_TAG == e.tag && count == e.count);
    }
    for (const Waited& w : waited_) {
      for (size_t i = 0; i < w.requests.size(); ++i) {
        const Pending& p = w.requests[i];
        if (!p.receive) continue;
        int count = -1;
        MPI_Get_count(&w.statuses[i], MPI_UNSIGNED, &count);
        CHECK(w.statuses[i].MPI_SOURCE == p.source && w.statuses[i].MPI_TAG == p.tag && count == p.count);
      }
    }
  }
  [[nodiscard]] size_t queues() const { return lines_.size(); }

 private:
  Line& line(int queue) { return *lines_[static_cast<size_t>(queue)]; }
  Array& array(int a) { return *arrays_[static_cast<size_t>(a)]; }
  Model& model(int process, int a) { return models_[static_cast<size_t>(process)][static_cast<size_t>(a)]; }
  int free_array(int process) {
    const int first = static_cast<int>(roll(kArrays));
    for (int i = 0; i < kArrays; ++i) {
      const int a = (first + i) % kArrays;
      if (!model(process, a).reserved) return a;
    }
    return -1;
  }

  /// One of each process.
  std::vector<int> free_arrays() {
    std::vector<int> which(static_cast<size_t>(size));
    for (int p = 0; p < size; ++p) which[static_cast<size_t>(p)] = free_array(p);
    return which;
  }

  /// Behind what has used it before, by an event where that was on another queue, and by a barrier on one that has no order of its own.
  void use(int process, int queue, int a) {
    Model& m = model(process, a);
    const int before = std::exchange(m.queue, queue);
    if (process != rank) return;
    // The list has what is on this queue, too: in PoCL 3.1 a barrier with a list takes the place of one before it.
    cl_event wanted[2];
    cl_uint n = 0;
    good(clEnqueueMarkerWithWaitList(line(queue).queue, 0, nullptr, &wanted[n++]));
    if (before >= 0 && before != queue) {
      good(clEnqueueMarkerWithWaitList(line(before).queue, 0, nullptr, &wanted[n++]));
      good(clFlush(line(before).queue));
    }
    good(clEnqueueBarrierWithWaitList(line(queue).queue, n, wanted, nullptr));
    for (cl_uint i = 0; i < n; ++i) clReleaseEvent(wanted[i]);
  }

  void fill(int process, int queue, int a, cl_uint seed) {
    use(process, queue, a);
    Model& m = model(process, a);
    for (size_t i = 0; i < m.values.size(); ++i) m.values[i] = filled(seed, i);
    if (process == rank) array(a).fill(line(queue).queue, seed);
  }
  void scale(int process, int queue, int a, cl_uint by) {
    use(process, queue, a);
    Model& m = model(process, a);
    for (size_t i = 0; i < m.values.size(); ++i) m.values[i] = scaled(m.values[i], by, i);
    if (process == rank) array(a).scale(line(queue).queue, by);
  }
  void add(int process, int queue) {
    const int a = free_array(process);
    const int b = free_array(process);
    if (a < 0 || b < 0 || a == b) return;
    use(process, queue, a);
    use(process, queue, b);
    Model& to = model(process, a);
    const Model& from = model(process, b);
    const size_t n = std::min(to.values.size(), from.values.size());
    for (size_t i = 0; i < n; ++i) to.values[i] += from.values[i];
    if (process == rank) array(a).add(line(queue).queue, array(b), n);
  }

  void message(int from, int queue) {
    const int to = static_cast<int>(roll(static_cast<unsigned>(size)));
    const int a = free_array(from);
    const int b = free_array(to);
    if (a < 0 || b < 0 || (from == to && a == b)) return;
    const size_t most = std::min(model(from, a).values.size(), model(to, b).values.size());
    const size_t count = roll(2) == 0 ? 1 + roll(4) : 1 + roll(static_cast<unsigned>(most));
    const size_t first = roll(static_cast<unsigned>(model(from, a).values.size() - count + 1));
    const size_t second = roll(static_cast<unsigned>(model(to, b).values.size() - count + 1));
    const int tag = static_cast<int>(roll(3));
    // To itself, one of the two must not hold up the queue.
    const bool send_waits = from != to && roll(2) == 0;
    const bool receive_waits = roll(2) == 0;
    const bool any_tag = roll(4) == 0;
    const bool named = roll(2) == 0;
    const int n = static_cast<int>(count);
    use(from, queue, a);
    use(to, queue, b);
    std::copy_n(model(from, a).values.begin() + static_cast<long>(first), count, model(to, b).values.begin() + static_cast<long>(second));
    MPI_Comm comm = line(queue).comm;
    if (send_waits) {
      if (from == rank) {
        const void* const at = array(a).at(first);
        CHECK((named ? MPIX_Send_enqueue(at, n, MPI_UNSIGNED, to, tag, comm) : MPI_Send(at, n, MPI_UNSIGNED, to, tag, comm)) ==
              MPI_SUCCESS);
      }
    } else {
      Pending p{from, queue, a, MPI_REQUEST_NULL, 0, 0, 0, false};
      if (from == rank) CHECK(MPIX_Isend_enqueue(array(a).at(first), n, MPI_UNSIGNED, to, tag, comm, &p.request) == MPI_SUCCESS);
      model(from, a).reserved = true;
      pending_.push_back(p);
    }
    // No other tag can come: messages of a queue are received in their order.
    const int wanted = any_tag ? MPI_ANY_TAG : tag;
    if (receive_waits) {
      if (to == rank) {
        Expected& e = statuses_.emplace_back(Expected{{}, from, tag, n});
        void* const at = array(b).at(second);
        CHECK((named ? MPIX_Recv_enqueue(at, n, MPI_UNSIGNED, from, wanted, comm, &e.status)
                     : MPI_Recv(at, n, MPI_UNSIGNED, from, wanted, comm, &e.status)) == MPI_SUCCESS);
      }
    } else {
      Pending p{to, queue, b, MPI_REQUEST_NULL, from, tag, n, true};
      if (to == rank) CHECK(MPIX_Irecv_enqueue(array(b).at(second), n, MPI_UNSIGNED, from, wanted, comm, &p.request) == MPI_SUCCESS);
      model(to, b).reserved = true;
      pending_.push_back(p);
    }
  }

  /// Ends a request by a wait on its queue, alone or with others of the same process and queue; or, now and then, by the host.
  void wait(size_t which) {
    const Pending first = pending_[which];
    const bool several = roll(2) == 0;
    const bool by_host = roll(8) == 0;
    std::vector<Pending> ended;
    std::erase_if(pending_, [&](const Pending& p) {
      const bool same = p.process == first.process && p.queue == first.queue;
      const bool taken = same && (several || (p.array == first.array && p.receive == first.receive));
      if (taken) ended.push_back(p);
      return taken;
    });
    for (const Pending& p : ended) model(p.process, p.array).reserved = false;
    if (first.process != rank) return;
    std::vector<MPI_Request> requests;
    requests.reserve(ended.size());
    for (const Pending& p : ended) requests.push_back(p.request);
    auto& all = arrays_of_statuses_.emplace_back(ended.size());
    if (by_host) {
      good(clFlush(line(first.queue).queue));
      CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), all.data()) == MPI_SUCCESS);
    } else if (several) {
      CHECK(MPIX_Waitall_enqueue(static_cast<int>(requests.size()), requests.data(), all.data()) == MPI_SUCCESS);
    } else {
      CHECK(MPIX_Wait_enqueue(requests.data(), all.data()) == MPI_SUCCESS);
    }
    for (MPI_Request r : requests) CHECK(r == MPI_REQUEST_NULL);
    waited_.push_back({ended, all.data()});
  }

  void allreduce(int queue) {
    const std::vector<int> which = free_arrays();
    if (std::ranges::find(which, -1) != which.end()) return;
    const size_t count = 1 + roll(kNumbers);
    std::vector<cl_uint> sum(count);
    for (int p = 0; p < size; ++p) {
      const int a = which[static_cast<size_t>(p)];
      use(p, queue, a);
      for (size_t i = 0; i < count; ++i) sum[i] += model(p, a).values[i];
    }
    for (int p = 0; p < size; ++p) std::ranges::copy(sum, model(p, which[static_cast<size_t>(p)]).values.begin());
    Array& mine = array(which[static_cast<size_t>(rank)]);
    CHECK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, mine.address, static_cast<int>(count), MPI_UNSIGNED, MPI_SUM, line(queue).comm) ==
          MPI_SUCCESS);
  }

  void broadcast(int queue, int root) {
    const std::vector<int> which = free_arrays();
    if (std::ranges::find(which, -1) != which.end()) return;
    const size_t count = 1 + roll(kNumbers);
    for (int p = 0; p < size; ++p) use(p, queue, which[static_cast<size_t>(p)]);
    const std::vector<cl_uint>& from = model(root, which[static_cast<size_t>(root)]).values;
    for (int p = 0; p < size; ++p) {
      if (p != root) std::copy_n(from.begin(), count, model(p, which[static_cast<size_t>(p)]).values.begin());
    }
    Array& mine = array(which[static_cast<size_t>(rank)]);
    CHECK(MPIX_Bcast_enqueue(mine.address, static_cast<int>(count), MPI_UNSIGNED, root, line(queue).comm) == MPI_SUCCESS);
  }

  struct Waited {
    std::vector<Pending> requests;
    const MPI_Status* statuses;
  };

  Device device_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::unique_ptr<Array>> arrays_;
  std::vector<std::vector<Model>> models_;
  std::vector<Pending> pending_;
  std::deque<Expected> statuses_;
  std::deque<std::vector<MPI_Status>> arrays_of_statuses_;
  std::vector<Waited> waited_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const unsigned seed = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  const int operations = std::atoi(argv[2]);
  dice.seed(seed);
  {
    Program program;
    for (int i = 0; i < operations; ++i) program.step();
    program.check();
    if (rank == 0) std::printf("seed %u, %d operations, %zu queues, all as the model says\n", seed, operations, program.queues());
  }
  MPI_Finalize();
  return 0;
}
