// Operations on CUDA streams, by a GPU's driver or the stand-in. `queue_gpu WHAT...`: the names of the functions below that main() lists.
#include <dlfcn.h>
#include <mpi.h>
#include <plait/mpix.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../check.h"
#include "../comm.hpp"
#include "gpu.hpp"

namespace {

int rank_here, size_here;
const char* type_here = "cudaStream_t";

MPIX_Stream stream_of(const void* value, int bytes) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", type_here);
  MPIX_Info_set_hex(info, "value", value, bytes);
  MPIX_Stream stream = MPIX_STREAM_NULL;
  CHECK(MPIX_Stream_create(info, &stream) == MPI_SUCCESS);
  MPI_Info_free(&info);
  return stream;
}

/// A CUDA stream, and a communicator that stands for it.
struct Queue {
  explicit Queue(const gpu::Driver& d) : Queue(d, d.stream()) {}
  Queue(const gpu::Driver& d, gpu::Stream s) : driver(d), stream(s), mpi(stream_of(&s, sizeof s)) {
    MPIX_Stream_comm_create(MPI_COMM_WORLD, mpi, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Queue() {
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&mpi);
    CHECK(mpi == MPIX_STREAM_NULL);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  void synchronize() const { CHECK(driver.synchronize(stream) == 0); }

  const gpu::Driver& driver;
  gpu::Stream stream;
  MPIX_Stream mpi;
  MPI_Comm comm = MPI_COMM_NULL;
};

// ---- messages

enum class Kind { pageable, pinned, device };
constexpr Kind kKinds[] = {Kind::pageable, Kind::pinned, Kind::device};

/// `n` ints, of a kind of memory.
struct Buffer {
  Buffer(const gpu::Driver& d, Kind k, std::size_t count) : driver(d), kind(k), n(count) {
    if (kind == Kind::pageable) host = static_cast<int*>(std::malloc(n * sizeof(int)));
    if (kind == Kind::pinned) host = static_cast<int*>(d.pinned(n * sizeof(int)));
    if (kind == Kind::device) device = d.memory(n * sizeof(int));
  }
  ~Buffer() {
    if (kind == Kind::pageable) std::free(host);
    if (kind == Kind::pinned) driver.call("cuMemFreeHost", static_cast<void*>(host));
    if (kind == Kind::device) driver.call("cuMemFree_v2", device);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] void* at() const { return kind == Kind::device ? reinterpret_cast<void*>(device) : host; }

  /// On a queue that is idle.
  void write(const std::vector<int>& values, const Queue& q) const {
    if (kind != Kind::device) {
      std::memcpy(host, values.data(), n * sizeof(int));
    } else {
      driver.to_device(device, values.data(), n * sizeof(int), q.stream);
      q.synchronize();
    }
  }
  [[nodiscard]] std::vector<int> read(const Queue& q) const {
    std::vector<int> values(n);
    if (kind == Kind::device) driver.to_host(values.data(), device, n * sizeof(int), q.stream);
    q.synchronize();
    if (kind != Kind::device) std::memcpy(values.data(), host, n * sizeof(int));
    return values;
  }

  const gpu::Driver& driver;
  Kind kind;
  std::size_t n;
  int* host = nullptr;
  gpu::Address device = 0;
};

int value_of(int source, int i, int salt) { return source * 1000003 + i * 7 + salt; }

/// Around in a ring, `gap` ints between those that travel, from and to every kind of memory.
void messages(const gpu::Driver& d) {
  Queue q(d);
  const int next = (rank_here + 1) % size_here;
  const int before = (rank_here + size_here - 1) % size_here;
  int salt = 0;
  for (const int count : {2, 1000, 300000, 2000000}) {
    for (const int gap : {0, 1}) {
      if (gap && count > 1000) continue;  // a copy for each
      for (const Kind from : kKinds) {
        for (const Kind to : kKinds) {
          for (const bool blocking : {true, false}) {
            ++salt;
            MPI_Datatype type;
            MPI_Type_vector(count, 1, 1 + gap, MPI_INT, &type);
            MPI_Type_commit(&type);
            const auto n = static_cast<std::size_t>(count) * (1 + gap);
            const Buffer out(d, from, n);
            const Buffer in(d, to, n);
            std::vector<int> values(n), nothing(n, -5);
            for (std::size_t i = 0; i < n; ++i) values[i] = value_of(rank_here, static_cast<int>(i), salt);
            out.write(values, q);
            in.write(nothing, q);
            if (from == Kind::device) d.add(out.device, static_cast<int>(n), 3, q.stream);
            MPI_Status status;
            std::memset(&status, 0, sizeof status);
            const MPI_Datatype t = gap ? type : MPI_INT;
            const int times = gap ? 1 : count;
            if (blocking && rank_here % 2 == 0) {
              CHECK(MPIX_Send_enqueue(out.at(), times, t, next, 5, q.comm) == 0);
              CHECK(MPIX_Recv_enqueue(in.at(), times, t, before, 5, q.comm, &status) == 0);
            } else if (blocking) {
              CHECK(MPI_Recv(in.at(), times, t, before, 5, q.comm, &status) == 0);
              CHECK(MPI_Send(out.at(), times, t, next, 5, q.comm) == 0);
            } else {
              MPI_Request requests[2];
              MPI_Status statuses[2];
              CHECK(MPIX_Irecv_enqueue(in.at(), times, t, MPI_ANY_SOURCE, MPI_ANY_TAG, q.comm, &requests[0]) == 0);
              CHECK(MPIX_Isend_enqueue(out.at(), times, t, next, 5, q.comm, &requests[1]) == 0);
              if (salt % 3 == 0) {
                CHECK(MPI_Waitall(2, requests, statuses) == 0);  // in the program
              } else {
                CHECK(MPIX_Waitall_enqueue(2, requests, statuses) == 0);
              }
              CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
              q.synchronize();
              status = statuses[0];
            }
            if (to == Kind::device) d.add(in.device, static_cast<int>(n), 10, q.stream);
            MPI_Type_free(&type);
            const std::vector<int> got = in.read(q);
            int elements = -1;
            MPI_Get_count(&status, MPI_INT, &elements);
            CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 5 && elements == count);
            for (std::size_t i = 0; i < n; ++i) {
              const bool travels = i % static_cast<std::size_t>(1 + gap) == 0;
              int right = travels ? value_of(before, static_cast<int>(i), salt) + (from == Kind::device ? 3 : 0) : -5;
              if (to == Kind::device) right += 10;
              if (got[i] != right) {
                std::fprintf(stderr, "%d: count %d gap %d from %d to %d blocking %d: [%zu] is %d, not %d\n", rank_here, count, gap,
                             static_cast<int>(from), static_cast<int>(to), blocking, i, got[i], right);
                MPI_Abort(MPI_COMM_WORLD, 1);
              }
            }
          }
        }
      }
    }
  }
}

/// `n` ints that lie there, wherever the buffer is.
MPI_Datatype type_at(const void* place, int n) {
  MPI_Aint address = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Get_address(place, &address);
  MPI_Type_create_hindexed(1, &n, &address, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

/// The datatype says where the data are, and the buffer does not: it is MPI_BOTTOM. What no stream could use is told at once.
void addresses(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kN = 1000;
  const int before = (rank_here + size_here - 1) % size_here;
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      const Buffer out(d, from, kN);
      const Buffer in(d, to, kN);
      out.write(std::vector<int>(kN, rank_here), q);
      MPI_Datatype its_out = type_at(out.at(), kN);
      MPI_Datatype its_in = type_at(in.at(), kN);
      MPI_Request r;
      CHECK(MPIX_Isend_enqueue(MPI_BOTTOM, 1, its_out, (rank_here + 1) % size_here, 0, q.comm, &r) == 0);
      CHECK(MPIX_Recv_enqueue(MPI_BOTTOM, 1, its_in, before, 0, q.comm, MPI_STATUS_IGNORE) == 0);
      CHECK(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE) == 0);
      MPI_Type_free(&its_out);
      MPI_Type_free(&its_in);
      for (const int got : in.read(q)) CHECK(got == before);
    }
  }
  const Buffer here(d, Kind::device, kN);
  const Buffer host(d, Kind::pageable, kN);
  for (const bool host_first : {false, true}) {
    MPI_Datatype parts[] = {type_at(here.at(), 10), type_at(host.at(), 10)};
    if (host_first) std::swap(parts[0], parts[1]);
    const int counts[] = {1, 1};
    const MPI_Aint none[] = {0, 0};
    MPI_Datatype both = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, counts, none, parts, &both);
    MPI_Type_commit(&both);
    GIVES(MPIX_Send_enqueue(MPI_BOTTOM, 1, both, rank_here, 0, q.comm), MPI_ERR_BUFFER);
    GIVES(MPIX_Recv_enqueue(MPI_BOTTOM, 1, both, rank_here, 0, q.comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    for (MPI_Datatype* type : {&parts[0], &parts[1], &both}) MPI_Type_free(type);
  }
  GIVES(MPIX_Send_enqueue(nullptr, 1, MPI_INT, rank_here, 0, q.comm), MPI_ERR_BUFFER);
  // Threads of the host carry partitioned messages.
  MPI_Request none = MPI_REQUEST_NULL;
  GIVES(MPI_Psend_init(here.at(), 2, 10, MPI_INT, rank_here, 0, q.comm, MPI_INFO_NULL, &none), MPI_ERR_BUFFER);
  GIVES(MPI_Precv_init(here.at(), 2, 10, MPI_INT, rank_here, 0, q.comm, MPI_INFO_NULL, &none), MPI_ERR_BUFFER);
  q.synchronize();
}

/// What is before a send on the stream runs before it; what is after a receive, after it.
void order(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kN = 10000;
  const gpu::Address a = d.memory(kN * sizeof(int));
  const Buffer result(d, Kind::pinned, kN);
  for (int round = 0; round < 20; ++round) {
    if (rank_here == 0) {
      d.spin(2'000'000, q.stream);
      d.set(a, static_cast<unsigned>(round), kN, q.stream);
      MPIX_Send_enqueue(reinterpret_cast<void*>(a), kN, MPI_INT, 1, 0, q.comm);
      d.set(a, 77, kN, q.stream);  // after the send has taken it
      MPIX_Recv_enqueue(reinterpret_cast<void*>(a), kN, MPI_INT, 1, 1, q.comm, MPI_STATUS_IGNORE);
      d.add(a, kN, 1, q.stream);
    } else if (rank_here == 1) {
      MPIX_Recv_enqueue(reinterpret_cast<void*>(a), kN, MPI_INT, 0, 0, q.comm, MPI_STATUS_IGNORE);
      d.add(a, kN, 100, q.stream);
      MPIX_Send_enqueue(reinterpret_cast<void*>(a), kN, MPI_INT, 0, 1, q.comm);
    }
    if (rank_here < 2) {
      d.to_host(result.host, a, kN * sizeof(int), q.stream);
      q.synchronize();
      for (int i = 0; i < kN; ++i) CHECK(result.host[i] == round + (rank_here == 0 ? 101 : 100));
    }
  }
  d.call("cuMemFree_v2", a);
}

/// On an idle queue a send from ordinary memory takes its data at once.
void freed(const gpu::Driver& d) {
  Queue q(d);
  std::vector<int> in(1000);
  std::vector<int> out(1000, rank_here);
  MPI_Request request;
  MPIX_Irecv_enqueue(in.data(), 1000, MPI_INT, (rank_here + size_here - 1) % size_here, 0, q.comm, &request);
  q.synchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  Queue other(d);  // on which nothing is
  MPI_Request sent;
  if (rank_here == 0) {
    std::vector<int> away(300000, 42);
    CHECK(MPIX_Isend_enqueue(away.data(), 300000, MPI_INT, 1, 1, other.comm, &sent) == 0);
    std::fill(away.begin(), away.end(), 13);
    away.clear();
    away.shrink_to_fit();
    MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Wait_enqueue(&sent, MPI_STATUS_IGNORE);
    other.synchronize();
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_here == 1) {
      std::vector<int> came(300000);
      MPIX_Recv_enqueue(came.data(), 300000, MPI_INT, 0, 1, other.comm, MPI_STATUS_IGNORE);
      other.synchronize();
      for (const int c : came) CHECK(c == 42);
    }
  }
  MPIX_Send_enqueue(out.data(), 1000, MPI_INT, (rank_here + 1) % size_here, 0, q.comm);
  MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
  q.synchronize();
  for (const int i : in) CHECK(i == (rank_here + size_here - 1) % size_here);
}

/// More operations than a stream takes at a time.
void many(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kTimes = 3000;
  const gpu::Address a = d.memory(sizeof(int));
  d.set(a, 0, 1, q.stream);
  for (int i = 0; i < kTimes; ++i) {
    if (rank_here == 0) {
      MPIX_Send_enqueue(reinterpret_cast<void*>(a), 1, MPI_INT, 1, 0, q.comm);
      MPIX_Recv_enqueue(reinterpret_cast<void*>(a), 1, MPI_INT, 1, 0, q.comm, MPI_STATUS_IGNORE);
    } else if (rank_here == 1) {
      MPIX_Recv_enqueue(reinterpret_cast<void*>(a), 1, MPI_INT, 0, 0, q.comm, MPI_STATUS_IGNORE);
      d.add(a, 1, 1, q.stream);
      MPIX_Send_enqueue(reinterpret_cast<void*>(a), 1, MPI_INT, 0, 0, q.comm);
    }
  }
  int last = 0;
  d.to_host(&last, a, sizeof last, q.stream);
  q.synchronize();
  CHECK(rank_here > 1 || last == kTimes);
  d.call("cuMemFree_v2", a);
}

/// Far more kernels behind a receive than a stream takes at a time: the program waits in the driver then, and plait goes on.
void deep(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kKernels = 5000;
  const gpu::Address a = d.memory(sizeof(int));
  int last = 0;
  if (rank_here == 1) {
    MPIX_Recv_enqueue(reinterpret_cast<void*>(a), 1, MPI_INT, 0, 0, q.comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < kKernels; ++i) d.add(a, 1, 1, q.stream);
    d.to_host(&last, a, sizeof last, q.stream);
    q.synchronize();
    CHECK(last == 42 + kKernels);
  } else if (rank_here == 0) {
    usleep(300000);
    last = 42;
    MPIX_Send_enqueue(&last, 1, MPI_INT, 1, 0, q.comm);
    q.synchronize();
  }
  d.call("cuMemFree_v2", a);
}

void collectives(const gpu::Driver& d) {
  Queue q(d);
  for (const int n : {1, 1000, 200000}) {
    const auto all = static_cast<std::size_t>(n) * static_cast<std::size_t>(size_here);
    const Buffer a(d, Kind::device, all);
    const Buffer b(d, Kind::device, all);
    d.set(a.device, static_cast<unsigned>(rank_here + 1), all, q.stream);
    d.set(b.device, 0, all, q.stream);
    const int sum = size_here * (size_here + 1) / 2;
    CHECK(MPIX_Allreduce_enqueue(a.at(), b.at(), n, MPI_INT, MPI_SUM, q.comm) == 0);
    std::vector<int> got = b.read(q);
    for (int i = 0; i < n; ++i) CHECK(got[static_cast<std::size_t>(i)] == sum);
    CHECK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, a.at(), n, MPI_INT, MPI_MAX, q.comm) == 0);
    d.add(a.device, n, rank_here == 1 ? 5 : 6, q.stream);
    CHECK(MPIX_Bcast_enqueue(a.at(), n, MPI_INT, 1, q.comm) == 0);
    CHECK(MPIX_Barrier_enqueue(q.comm) == 0);
    got = a.read(q);
    for (int i = 0; i < n; ++i) CHECK(got[static_cast<std::size_t>(i)] == size_here + 5);
    d.set(a.device, static_cast<unsigned>(rank_here), all, q.stream);
    CHECK(MPIX_Alltoall_enqueue(a.at(), n, MPI_INT, b.at(), n, MPI_INT, q.comm) == 0);
    got = b.read(q);
    for (std::size_t i = 0; i < all; ++i) CHECK(got[i] == static_cast<int>(i) / n);
  }
  // Every second element, and what is between them stays.
  MPI_Datatype second;
  MPI_Type_vector(100, 1, 2, MPI_INT, &second);
  MPI_Type_commit(&second);
  const Buffer c(d, Kind::device, 200);
  d.set(c.device, static_cast<unsigned>(rank_here + 9), 200, q.stream);
  CHECK(MPIX_Bcast_enqueue(c.at(), 1, second, 0, q.comm) == 0);
  const std::vector<int> got = c.read(q);
  for (std::size_t i = 0; i < 200; ++i) CHECK(got[i] == (i % 2 == 0 ? 9 : rank_here + 9));
  MPI_Type_free(&second);
}

/// Of the stand-in: what plait has put on a stream; empty of a driver.
std::string trace_of(const gpu::Driver& d, const Queue& q) {
  return d.is_stand_in ? reinterpret_cast<const char* (*)(void*)>(d.symbol("stand_in_trace"))(q.stream) : "";
}
std::size_t copies_of(const gpu::Driver& d, const Queue& q) {
  const std::string text = trace_of(d, q);
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find("copy", at)) != std::string::npos; ++at) ++n;
  return n;
}

/// Datatypes with thousands of pieces: what is put on the stream are a few copies of rows where they lie evenly, and else no more at a time
/// than a stream takes. What arrives is what arrives in the host's memory.
void rows(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kBlocks = 1500;
  struct Shape {
    MPI_Datatype type;
    int count;
    std::size_t copies;  ///< of one buffer, at most
  };
  std::vector<Shape> kinds;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3000, 2, 16, MPI_INT, &type);
  kinds.push_back({type, 1, 1});
  const int sizes[] = {30, 20, 10};
  const int parts[] = {28, 18, 3};
  const int starts[] = {1, 1, 4};
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
  kinds.push_back({type, 2, 2 * 18});
  const int lengths[] = {1, 2, 1};
  const MPI_Aint places[] = {0, 8, 20};
  MPI_Datatype one = MPI_DATATYPE_NULL;
  const MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT};
  MPI_Type_create_struct(3, lengths, places, ints, &one);
  MPI_Type_create_resized(one, 0, 32, &type);
  MPI_Type_free(&one);
  kinds.push_back({type, 2000, 3});
  std::vector<int> displacements;
  for (int i = 0; i < kBlocks; ++i) displacements.push_back(i * i % 17 + 20 * i);
  MPI_Type_create_indexed_block(kBlocks, 3, displacements.data(), MPI_INT, &type);
  kinds.push_back({type, 1, kBlocks});
  for (Shape& k : kinds) {
    MPI_Type_commit(&k.type);
    constexpr std::size_t kN = 50000;
    const Buffer from(d, Kind::device, kN);
    const Buffer to(d, Kind::device, kN);
    std::vector<int> sent(kN), there(kN, -5);
    for (std::size_t i = 0; i < kN; ++i) sent[i] = static_cast<int>(i);
    from.write(sent, q);
    to.write(there, q);
    MPI_Sendrecv(sent.data(), k.count, k.type, 0, 0, there.data(), k.count, k.type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (const bool on_host : {false, true}) {
      const std::size_t before = copies_of(d, q);
      if (!on_host) d.spin(20'000'000, q.stream);
      MPI_Request r[2];
      CHECK(MPIX_Irecv_enqueue(to.at(), k.count, k.type, rank_here, 0, q.comm, &r[0]) == 0);
      CHECK(MPIX_Isend_enqueue(from.at(), k.count, k.type, rank_here, 0, q.comm, &r[1]) == 0);
      if (on_host) {
        CHECK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE) == 0);
      } else {
        CHECK(MPIX_Waitall_enqueue(2, r, MPI_STATUSES_IGNORE) == 0);
        CHECK(copies_of(d, q) - before <= 3 * k.copies);
      }
      CHECK(to.read(q) == there);
      to.write(std::vector<int>(kN, -5), q);
    }
    MPI_Type_free(&k.type);
  }
  if (d.is_stand_in) CHECK(d.call("stand_in_most", q.stream) < 1000);
}

struct Pair {
  double value;
  int place;
};

/// The largest and its place, in every second element.
void most(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) {
    const Pair& a = static_cast<Pair*>(in)[2 * i];
    Pair& b = static_cast<Pair*>(inout)[2 * i];
    if (a.value > b.value) b = a;
  }
}

/// Calls that compute with datatypes that have gaps: MPI's own pairs, and one of the program's, between whose elements all stays.
void gaps(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kN = 100;
  constexpr std::size_t kInts = kN * sizeof(Pair) / sizeof(int);
  const Buffer a(d, Kind::device, kInts);
  const Buffer b(d, Kind::device, kInts);
  const auto pairs = [](double value, int place) {
    std::vector<int> ints(kInts);
    for (int i = 0; i < kN; ++i) {
      const Pair p{value + i, place};
      std::memcpy(ints.data() + static_cast<std::size_t>(i) * sizeof p / sizeof(int), &p, sizeof p);
    }
    return ints;
  };
  const auto pair_of = [](const std::vector<int>& ints, int i) {
    Pair p{};
    std::memcpy(&p, ints.data() + static_cast<std::size_t>(i) * sizeof p / sizeof(int), sizeof p);
    return p;
  };
  a.write(pairs(100 * rank_here, rank_here), q);
  b.write(pairs(-1, -1), q);
  CHECK(MPIX_Allreduce_enqueue(a.at(), b.at(), kN, MPI_DOUBLE_INT, MPI_MAXLOC, q.comm) == 0);
  CHECK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, a.at(), kN, MPI_DOUBLE_INT, MPI_MINLOC, q.comm) == 0);
  std::vector<int> got = b.read(q);
  for (int i = 0; i < kN; ++i) CHECK(pair_of(got, i).value == 100 * (size_here - 1) + i && pair_of(got, i).place == size_here - 1);
  got = a.read(q);
  for (int i = 0; i < kN; ++i) CHECK(pair_of(got, i).value == i && pair_of(got, i).place == 0);
  // Every second pair, by a function of the program's.
  MPI_Datatype second = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Type_create_resized(MPI_DOUBLE_INT, 0, 2 * sizeof(Pair), &second);
  MPI_Type_commit(&second);
  MPI_Op_create(most, 1, &op);
  a.write(pairs(100 * rank_here, rank_here), q);
  b.write(pairs(-1, -1), q);
  CHECK(MPIX_Allreduce_enqueue(a.at(), b.at(), kN / 2, second, op, q.comm) == 0);
  got = b.read(q);
  for (int i = 0; i < kN; ++i) {
    const Pair right = i % 2 == 0 ? Pair{100.0 * (size_here - 1) + i, size_here - 1} : Pair{-1.0 + i, -1};
    CHECK(pair_of(got, i).value == right.value && pair_of(got, i).place == right.place);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&second);
}

/// An exchange in a graph, which is launched again and again.
void graph(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kN = 5000;
  constexpr int kTimes = 100;
  const int next = (rank_here + 1) % size_here;
  const int before = (rank_here + size_here - 1) % size_here;
  const Buffer a(d, Kind::device, kN);
  const Buffer b(d, Kind::device, kN);
  d.set(a.device, static_cast<unsigned>(100000 * rank_here), kN, q.stream);
  q.synchronize();
  d.begin_capture(q.stream);
  MPI_Request requests[2];
  CHECK(MPIX_Irecv_enqueue(b.at(), kN, MPI_INT, before, 0, q.comm, &requests[0]) == 0);
  d.add(a.device, kN, 1, q.stream);
  CHECK(MPIX_Isend_enqueue(a.at(), kN, MPI_INT, next, 0, q.comm, &requests[1]) == 0);
  CHECK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE) == 0);
  d.add(b.device, kN, 7, q.stream);
  if (rank_here == 0) {
    MPIX_Send_enqueue(b.at(), kN, MPI_INT, next, 1, q.comm);
    MPIX_Recv_enqueue(b.at(), kN, MPI_INT, before, 1, q.comm, MPI_STATUS_IGNORE);
  } else {
    MPIX_Recv_enqueue(a.at(), kN, MPI_INT, before, 1, q.comm, MPI_STATUS_IGNORE);
    MPIX_Send_enqueue(b.at(), kN, MPI_INT, next, 1, q.comm);
    d.call("cuMemcpyDtoDAsync_v2", b.device, a.device, kN * sizeof(int), q.stream);
  }
  d.add(b.device, kN, -7, q.stream);
  const gpu::Graph g = d.end_capture(q.stream);
  // After a pass each has in b what its neighbor's neighbor sent, and in a, but for rank 0, that plus 7.
  std::vector<int> model_a(static_cast<std::size_t>(size_here)), model_b(model_a.size());
  for (int r = 0; r < size_here; ++r) model_a[static_cast<std::size_t>(r)] = 100000 * r;
  const auto left = [](int r) { return static_cast<std::size_t>((r + size_here - 1) % size_here); };
  for (int i = 0; i < kTimes; ++i) {
    d.launch(g, q.stream);
    for (int& v : model_a) ++v;
    for (int r = 0; r < size_here; ++r) model_b[static_cast<std::size_t>(r)] = model_a[left(r)] + 7;
    const std::vector<int> sent = model_b;
    for (int r = 0; r < size_here; ++r) {
      const auto at = static_cast<std::size_t>(r);
      if (r > 0) model_a[at] = sent[left(r)];
      model_b[at] = (r > 0 ? model_a[at] : sent[left(r)]) - 7;
    }
    if (i % 10 == 9) {
      if (i % 20 == 19) usleep(10000);
      const std::vector<int> got_a = a.read(q);
      const std::vector<int> got_b = b.read(q);
      for (int k = 0; k < kN; ++k) {
        CHECK(got_a[static_cast<std::size_t>(k)] == model_a[static_cast<std::size_t>(rank_here)]);
        CHECK(got_b[static_cast<std::size_t>(k)] == model_b[static_cast<std::size_t>(rank_here)]);
      }
    }
  }
  q.synchronize();
  d.call("cuGraphExecDestroy", g);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A graph is captured anew each time: what it has held is given back with it, and with what was made of it, not before.
void recapture(const gpu::Driver& d) {
  Queue q(d);
  constexpr int kN = 2'200'000;  // two of these are 32 MB of pinned memory
  constexpr int kTimes = 12;
  const Buffer a(d, Kind::device, kN);
  const Buffer b(d, Kind::device, kN);
  const int next = (rank_here + 1) % size_here;
  const int before = (rank_here + size_here - 1) % size_here;
  const auto pinned = [&] { return d.is_stand_in ? reinterpret_cast<std::size_t (*)()>(d.symbol("stand_in_pinned"))() : std::size_t{0}; };
  // The engine gives it back when it comes to it, and the next captures take it: that may be one or two of them late, not half of all.
  constexpr std::size_t kHalf = kTimes / 2 * (std::size_t{32} << 20);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Request requests[2];
    void* graph = nullptr;
    void* exec = nullptr;
    d.set(a.device, static_cast<unsigned>(10 * i + rank_here), kN, q.stream);
    d.begin_capture(q.stream);
    CHECK(MPIX_Irecv_enqueue(b.at(), kN, MPI_INT, before, 0, q.comm, &requests[0]) == 0);
    CHECK(MPIX_Isend_enqueue(a.at(), kN, MPI_INT, next, 0, q.comm, &requests[1]) == 0);
    CHECK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE) == 0);
    CHECK(d.call("cuStreamEndCapture", q.stream, &graph) == 0);
    CHECK(d.call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL) == 0);
    CHECK(d.call("cuGraphDestroy", graph) == 0);
    d.launch(exec, q.stream);
    d.launch(exec, q.stream);
    CHECK(d.call("cuGraphExecDestroy", exec) == 0);  // it is launched still
    const std::vector<int> got = b.read(q);
    CHECK(got.front() == 10 * i + before && got.back() == 10 * i + before);
  }
  CHECK(pinned() < kHalf);
  // Of a capture that has failed as well.
  for (int i = 0; i < kTimes && d.is_stand_in; ++i) {
    MPI_Request r;
    void* none = nullptr;
    d.begin_capture(q.stream);
    CHECK(MPIX_Irecv_enqueue(b.at(), kN, MPI_INT, before, 0, q.comm, &r) == 0);
    CHECK(d.synchronize(q.stream) != 0);
    GIVES(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    CHECK(d.call("cuStreamEndCapture", q.stream, &none) != 0);
    // The engine comes to it here.
    int in = -1;
    CHECK(MPIX_Irecv_enqueue(&in, 1, MPI_INT, rank_here, 1, q.comm, &r) == 0);
    CHECK(MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 1, q.comm) == 0);
    CHECK(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE) == 0);
    q.synchronize();
  }
  CHECK(pinned() < kHalf);
}

/// Streams that the driver knows by numbers, and several at once.
void streams(const gpu::Driver& d) {
  for (const std::uintptr_t number : {0, 1, 2}) {
    Queue q(d, reinterpret_cast<gpu::Stream>(number));
    int in = -1;
    MPI_Request r;
    MPIX_Irecv_enqueue(&in, 1, MPI_INT, (rank_here + size_here - 1) % size_here, 0, q.comm, &r);
    MPIX_Send_enqueue(&rank_here, 1, MPI_INT, (rank_here + 1) % size_here, 0, q.comm);
    MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE);
    q.synchronize();
    CHECK(in == (rank_here + size_here - 1) % size_here);
  }
  // Two streams of a process, one of which waits for the other by an event: the first pair's messages go only then.
  Queue a(d);
  Queue b(d);
  const int partner = rank_here ^ 1;
  int in = -1;
  int there = -1;
  if (rank_here % 2 == 0) {
    MPIX_Recv_enqueue(&in, 1, MPI_INT, partner, 3, a.comm, MPI_STATUS_IGNORE);
    MPIX_Send_enqueue(&rank_here, 1, MPI_INT, partner, 4, b.comm);
    MPIX_Recv_enqueue(&there, 1, MPI_INT, partner, 5, b.comm, MPI_STATUS_IGNORE);
  } else {
    void* event = nullptr;
    CHECK(d.call("cuEventCreate", &event, 2U) == 0);
    MPIX_Recv_enqueue(&there, 1, MPI_INT, partner, 4, b.comm, MPI_STATUS_IGNORE);
    CHECK(d.call("cuEventRecord", event, b.stream) == 0);
    MPIX_Send_enqueue(&rank_here, 1, MPI_INT, partner, 5, b.comm);
    CHECK(d.call("cuStreamWaitEvent", a.stream, event, 0U) == 0);
    MPIX_Send_enqueue(&rank_here, 1, MPI_INT, partner, 3, a.comm);
    in = partner;
  }
  a.synchronize();
  b.synchronize();
  CHECK(in == partner && there == partner);
  // The request of one cannot be waited for on the other.
  int x = -1;
  int y = -1;
  MPI_Request mixed[2];
  MPIX_Irecv_enqueue(&x, 1, MPI_INT, rank_here, 9, a.comm, &mixed[0]);
  MPIX_Irecv_enqueue(&y, 1, MPI_INT, rank_here, 9, b.comm, &mixed[1]);
  GIVES(MPIX_Waitall_enqueue(2, mixed, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
  MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 9, a.comm);
  MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 9, b.comm);
  CHECK(MPI_Waitall(2, mixed, MPI_STATUSES_IGNORE) == 0 && x == rank_here && y == rank_here);
  // Two of the MPI's streams that stand for one of CUDA's: it is one queue.
  const Buffer device(d, Kind::device, 2);
  MPI_Request both[4];
  {
    Queue again(d, a.stream);
    for (const Queue* q : {&a, &again}) {
      const int i = q == &a ? 0 : 1;
      CHECK(MPIX_Irecv_enqueue(static_cast<int*>(device.at()) + i, 1, MPI_INT, rank_here, 9, q->comm, &both[i]) == 0);
      CHECK(MPIX_Isend_enqueue(&size_here, 1, MPI_INT, rank_here, 9, q->comm, &both[2 + i]) == 0);
    }
    CHECK(MPIX_Waitall_enqueue(4, both, MPI_STATUSES_IGNORE) == 0);
    d.add(device.device, 2, 1, a.stream);
    for (const int i : device.read(a)) CHECK(i == size_here + 1);
  }
}

/// Of the stand-in: a driver that pins memory only when a stream is idle, which waits for a message. The engine brings that meanwhile.
void pinning(const gpu::Driver& d) {
  if (!d.is_stand_in) {
    std::printf("a GPU's driver is not told when to wait\n");
    return;
  }
  Queue q(d);
  constexpr std::size_t kSmall = 256;
  const std::size_t large = (std::size_t{12} << 20) / sizeof(int);  // more than anything before, so that it is not there yet
  const int count = static_cast<int>(large);
  std::vector<int> buffer(large);
  if (rank_here == 0) {
    const Buffer first(d, Kind::device, kSmall);
    const Buffer answer(d, Kind::device, kSmall);
    const Buffer second(d, Kind::device, large);
    MPI_Request r;
    d.spin(20'000'000, q.stream);
    CHECK(MPIX_Send_enqueue(first.at(), kSmall, MPI_INT, 1, 1, q.comm) == 0);
    CHECK(MPIX_Recv_enqueue(answer.at(), kSmall, MPI_INT, 1, 2, q.comm, MPI_STATUS_IGNORE) == 0);
    d.call("stand_in_pin_behind", q.stream);
    CHECK(MPIX_Isend_enqueue(second.at(), count, MPI_INT, 1, 3, q.comm, &r) == 0);
    d.call("stand_in_pin_behind", gpu::Stream{nullptr});
    CHECK(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE) == 0);
    q.synchronize();
  } else if (rank_here == 1) {
    CHECK(MPIX_Recv_enqueue(buffer.data(), kSmall, MPI_INT, 0, 1, q.comm, MPI_STATUS_IGNORE) == 0);
    CHECK(MPIX_Send_enqueue(buffer.data(), kSmall, MPI_INT, 0, 2, q.comm) == 0);
    CHECK(MPIX_Recv_enqueue(buffer.data(), count, MPI_INT, 0, 3, q.comm, MPI_STATUS_IGNORE) == 0);
    q.synchronize();
  }
}

/// A context is ended and made anew, with the same handle: nothing that plait had of the first is used for the second.
void reset(const gpu::Driver& d) {
  for (int i = 0; i < 3; ++i) {
    {
      Queue q(d);
      const Buffer b(d, Kind::device, 1000);
      MPI_Request r;
      CHECK(MPIX_Irecv_enqueue(b.at(), 1000, MPI_INT, rank_here, 0, q.comm, &r) == 0);
      const std::vector<int> sent(1000, 10 * i + rank_here);
      CHECK(MPIX_Send_enqueue(sent.data(), 1000, MPI_INT, rank_here, 0, q.comm) == 0);
      CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == 0);  // copied by a stream of plait's own
      CHECK(b.read(q) == sent);
      CHECK(d.call("cuStreamDestroy_v2", q.stream) == 0);
    }
    CHECK(d.call("cuDevicePrimaryCtxReset_v2", 0) == 0);
    void* context = nullptr;
    CHECK(d.call("cuDevicePrimaryCtxRetain", &context, 0) == 0 && d.call("cuCtxSetCurrent", context) == 0);
  }
}

/// Of HIP: what plait asks leaves the program's last error as it is.
void last_error(const gpu::Driver& d) {
  CHECK(d.is_stand_in);
  Queue q(d);
  void* const library = dlopen("libamdhip64.so", RTLD_NOW | RTLD_NOLOAD);
  CHECK(library != nullptr);
  const auto peek = reinterpret_cast<int (*)()>(dlsym(library, "hipPeekAtLastError"));
  const auto query = reinterpret_cast<int (*)(void*)>(dlsym(library, "hipStreamQuery"));
  CHECK(peek() == 0);
  d.spin(20'000'000, q.stream);
  int in = -1;
  MPI_Request r;
  CHECK(MPIX_Irecv_enqueue(&in, 1, MPI_INT, rank_here, 0, q.comm, &r) == 0);
  CHECK(MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 0, q.comm) == 0);
  CHECK(peek() == 0);
  CHECK(query(q.stream) != 0 && peek() != 0);
  CHECK(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE) == 0);
  CHECK(peek() != 0);
  q.synchronize();
  CHECK(in == rank_here);
}

/// The per-thread stream is another one in each thread: a step on one thread's does not say that another thread's has come so far.
void per_thread(const gpu::Driver& d) {
  auto* const value = reinterpret_cast<gpu::Stream>(std::uintptr_t{2});
  Queue q(d, value);
  constexpr int kThreads = 3;
  constexpr int kN = 1000;
  int got[kThreads] = {};
  if (rank_here == 0) {
    std::atomic<int> turn{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        d.call("cuCtxSetCurrent", d.context);
        const Buffer a(d, Kind::device, kN);
        d.set(a.device, 7, kN, value);
        q.synchronize();
        // The first one's stream has not come to its send when the others' steps are over.
        while (turn.load() != t) usleep(100);
        if (t == 0) d.spin(50'000'000, value);
        d.add(a.device, kN, 1000 * t + 1, value);
        MPI_Request r;
        CHECK(MPIX_Isend_enqueue(a.at(), kN, MPI_INT, 1, t, q.comm, &r) == 0);
        CHECK(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE) == 0);
        ++turn;
        q.synchronize();
      });
    }
    for (std::thread& t : threads) t.join();
    // Threads that have ended leave nothing behind.
    const auto send = [&](int t) {
      d.call("cuCtxSetCurrent", d.context);
      CHECK(MPIX_Send_enqueue(&t, 1, MPI_INT, 1, 9, q.comm) == 0);
      q.synchronize();
    };
    for (int t = 0; t < kThreads; ++t) std::thread(send, t).join();
  } else if (rank_here == 1) {
    std::vector<int> in(kN);
    for (int t = kThreads - 1; t >= 0; --t) {
      CHECK(MPIX_Recv_enqueue(in.data(), kN, MPI_INT, 0, t, q.comm, MPI_STATUS_IGNORE) == 0);
      q.synchronize();
      for (const int i : in) CHECK(i == 1000 * t + 8);
    }
    for (int& g : got) CHECK(MPIX_Recv_enqueue(&g, 1, MPI_INT, 0, 9, q.comm, MPI_STATUS_IGNORE) == 0);
    q.synchronize();
    for (int t = 0; t < kThreads; ++t) CHECK(got[t] == t);
  }
}

// ---- what goes wrong

/// A kernel that fails before a send: nothing is sent, and the program is told. Only rank 0's GPU is lost.
void failing(const gpu::Driver& d) {
  Queue q(d);
  const Buffer a(d, Kind::device, 1000);
  d.set(a.device, 1, 1000, q.stream);
  int sent = 17;
  if (rank_here == 0) {
    CHECK(MPIX_Send_enqueue(&sent, 1, MPI_INT, 1, 0, q.comm) == 0);
    q.synchronize();
    MPI_Request waited;
    d.spin(1'000'000, q.stream);
    d.fault(q.stream);
    // Each of these is put on the stream before or after the error shows; none is sent.
    const int codes[] = {MPIX_Send_enqueue(a.at(), 1000, MPI_INT, 1, 0, q.comm),
                         MPIX_Isend_enqueue(&sent, 1, MPI_INT, 1, 0, q.comm, &waited)};
    if (codes[1] == 0) CHECK(class_of(MPI_Wait(&waited, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    CHECK(d.synchronize(q.stream) != 0);
    GIVES(MPIX_Send_enqueue(&sent, 1, MPI_INT, 1, 0, q.comm), MPI_ERR_OTHER);
    GIVES(MPIX_Recv_enqueue(a.at(), 1000, MPI_INT, 1, 0, q.comm, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    CHECK(codes[0] == 0 || class_of(codes[0]) == MPI_ERR_OTHER);
    MPI_Barrier(MPI_COMM_WORLD);  // the MPI works on
  } else {
    MPI_Request r;
    int in = -1;
    if (rank_here == 1) {
      MPIX_Recv_enqueue(&in, 1, MPI_INT, 0, 0, q.comm, MPI_STATUS_IGNORE);
      q.synchronize();
      CHECK(in == 17);
      MPI_Irecv(&in, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_here == 1) {
      int came = 0;
      MPI_Test(&r, &came, MPI_STATUS_IGNORE);
      CHECK(!came);
      MPI_Cancel(&r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  }
}

/// Values that are no streams, of unknown types, of other sizes.
void values(const gpu::Driver& d) {
  const auto refused = [](const char* type, const void* value, int bytes) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", type);
    if (value) MPIX_Info_set_hex(info, "value", value, bytes);
    MPIX_Stream stream = MPIX_STREAM_NULL;
    GIVES(MPIX_Stream_create(info, &stream), MPI_ERR_INFO_VALUE);
    MPI_Info_free(&info);
  };
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  gpu::Stream s = d.stream();
  const std::uintptr_t wrong = 0x123456789000;  // no memory is there
  refused(type_here, &wrong, sizeof wrong);
  refused(type_here, &s, 4);
  refused(type_here, nullptr, 0);
  refused("cudaStream", &s, sizeof s);
  if (d.is_stand_in) {  // CUDA says of a stream that was destroyed: undefined behavior
    CHECK(d.call("cuStreamDestroy_v2", s) == 0);
    refused(type_here, &s, sizeof s);
    Queue q(d);
    CHECK(d.call("cuStreamDestroy_v2", q.stream) == 0);
    GIVES(MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 0, q.comm), MPI_ERR_OTHER);
  }
  {
    Queue q(d);
    int in = -1;
    MPI_Request r;
    GIVES(MPIX_Send_enqueue(&in, 1, MPI_INT, rank_here, 0, MPI_COMM_WORLD), MPI_ERR_COMM);
    GIVES(MPIX_Recv_enqueue(&in, 1, MPI_INT, size_here, 0, q.comm, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    GIVES(MPIX_Send_enqueue(&in, -1, MPI_INT, rank_here, 0, q.comm), MPI_ERR_COUNT);
    MPI_Irecv(&in, 1, MPI_INT, rank_here, 0, MPI_COMM_WORLD, &r);
    GIVES(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Send(&rank_here, 1, MPI_INT, rank_here, 0, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    // Too long for the receive: the next call says so.
    int two[2] = {1, 2};
    MPI_Request out;
    MPIX_Isend_enqueue(two, 2, MPI_INT, rank_here, 1, q.comm, &out);
    MPIX_Recv_enqueue(&in, 1, MPI_INT, rank_here, 1, q.comm, MPI_STATUS_IGNORE);
    q.synchronize();
    CHECK(MPI_Wait(&out, MPI_STATUS_IGNORE) == 0);
    GIVES(MPIX_Send_enqueue(&in, 1, MPI_INT, rank_here, 1, q.comm), MPI_ERR_TRUNCATE);
    // What is cancelled ends; the message is the next one's.
    const Buffer device(d, Kind::device, 1);
    for (const bool begun : {true, false}) {
      MPI_Status status;
      int flag = 0;
      if (!begun) d.spin(5'000'000, q.stream);
      CHECK(MPIX_Irecv_enqueue(device.at(), 1, MPI_INT, rank_here, 4, q.comm, &r) == 0);
      if (begun) q.synchronize();
      CHECK(MPI_Cancel(&r) == 0 && MPI_Wait(&r, &status) == 0 && MPI_Test_cancelled(&status, &flag) == 0 && flag);
      CHECK(MPIX_Irecv_enqueue(device.at(), 1, MPI_INT, rank_here, 4, q.comm, &r) == 0);
      CHECK(MPIX_Isend_enqueue(&rank_here, 1, MPI_INT, rank_here, 4, q.comm, &out) == 0);
      CHECK(MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE) == 0 && MPIX_Wait_enqueue(&out, MPI_STATUS_IGNORE) == 0);
      CHECK(device.read(q)[0] == rank_here);
    }
    // Memory of another device.
    int devices = 0;
    d.call("cuDeviceGetCount", &devices);
    if (devices > 1) {
      void* second = nullptr;
      void* popped = nullptr;
      d.call("cuDevicePrimaryCtxRetain", &second, 1);
      d.call("cuCtxPushCurrent_v2", second);
      const gpu::Address there = d.memory(64);
      d.call("cuCtxPopCurrent_v2", &popped);
      GIVES(MPIX_Send_enqueue(reinterpret_cast<void*>(there), 1, MPI_INT, rank_here, 1, q.comm), MPI_ERR_BUFFER);
      GIVES(MPIX_Allreduce_enqueue(MPI_IN_PLACE, reinterpret_cast<void*>(there), 1, MPI_INT, MPI_SUM, q.comm), MPI_ERR_BUFFER);
    } else {
      std::printf("one device only: memory of another was not tried\n");
    }
    // A capture that the program has made invalid.
    d.begin_capture(q.stream);
    CHECK(d.synchronize(q.stream) != 0);
    GIVES(MPIX_Send_enqueue(&in, 1, MPI_INT, rank_here, 1, q.comm), MPI_ERR_OTHER);
    void* none = nullptr;
    CHECK(d.call("cuStreamEndCapture", q.stream, &none) != 0);
    // It is of use again.
    MPI_Request back;
    MPIX_Irecv_enqueue(&in, 1, MPI_INT, rank_here, 2, q.comm, &back);
    MPIX_Send_enqueue(&size_here, 1, MPI_INT, rank_here, 2, q.comm);
    MPIX_Wait_enqueue(&back, MPI_STATUS_IGNORE);
    q.synchronize();
    CHECK(in == size_here);
  }
}

/// Of the stand-in: what plait has put on a stream.
void trace(const gpu::Driver& d) {
  if (!d.is_stand_in) {
    std::printf("a GPU's driver writes no trace\n");
    return;
  }
  const auto of = [&](const Queue& q) { return trace_of(d, q); };
  Queue q(d);
  int in = -1;
  MPI_Request r;
  MPIX_Irecv_enqueue(&in, 1, MPI_INT, rank_here, 0, q.comm, &r);
  CHECK(of(q) == "write");
  MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 0, q.comm);
  CHECK(of(q) == "write write wait");
  MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE);
  CHECK(of(q) == "write write wait write wait");
  q.synchronize();
  Queue g(d);
  d.begin_capture(g.stream);
  MPIX_Irecv_enqueue(&in, 1, MPI_INT, rank_here, 0, g.comm, &r);
  MPIX_Send_enqueue(&rank_here, 1, MPI_INT, rank_here, 0, g.comm);
  MPIX_Wait_enqueue(&r, MPI_STATUS_IGNORE);
  d.call("cuGraphExecDestroy", d.end_capture(g.stream));
  CHECK(of(g) == "write write wait write write wait write");
}

}  // namespace

int main(int argc, char** argv) {
  const gpu::Driver driver;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  rank_here = rank_of(MPI_COMM_WORLD);
  size_here = size_of(MPI_COMM_WORLD);
  const std::map<std::string, std::function<void(const gpu::Driver&)>> known{{"messages", messages},
                                                                             {"order", order},
                                                                             {"freed", freed},
                                                                             {"many", many},
                                                                             {"collectives", collectives},
                                                                             {"deep", deep},
                                                                             {"graph", graph},
                                                                             {"streams", streams},
                                                                             {"failing", failing},
                                                                             {"values", values},
                                                                             {"trace", trace},
                                                                             {"pinning", pinning},
                                                                             {"recapture", recapture},
                                                                             {"last_error", last_error},
                                                                             {"reset", reset},
                                                                             {"addresses", addresses},
                                                                             {"per_thread", per_thread},
                                                                             {"rows", rows},
                                                                             {"gaps", gaps}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--without-memory-operations" || word == "--without-captured-memory-operations") {
      CHECK(driver.is_stand_in);
      driver.call("stand_in_without_memory_operations", word == "--without-memory-operations" ? 0 : 1);
      continue;
    }
    if (word == "--hip") {  // the stand-ins' streams are the same
      CHECK(driver.is_stand_in);
      type_here = "hipStream_t";
      continue;
    }
    const auto found = known.find(word);
    if (found == known.end()) {
      std::fprintf(stderr, "queue_gpu: no test is called %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    found->second(driver);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_here == 0) std::printf("%s: right\n", argv[i]);
  }
  MPI_Finalize();
}
