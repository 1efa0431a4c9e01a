// The exported calls that put operations on the queue behind a stream. Those that are MPI's own, as MPI_Send, come here from p2p.cpp.
#include "mpi/queue.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mpi/collective.hpp"
#include "mpi/handle.hpp"
#include "mpi/naming.hpp"
#include "mpi/native.hpp"
#include "partitioned/request.hpp"
#include "plait/mpix.h"
#include "queue/request.hpp"
#include "queue/staged.hpp"
#include "transport/packets.hpp"

namespace plait::mpi {
namespace {

using collective::Collective;
using queue::Awaited;
using queue::StepPointer;

MPI_Status* wanted(MPI_Status* status) noexcept { return p2p::wants(status) ? status : nullptr; }

queue::Communicator& with_queue(MPI_Comm comm) {
  queue::Communicator* const c = queue::find(p2p::find_communicator(comm));
  require(c, MPI_ERR_COMM);
  return *c;
}

/// The program is told now what has failed on the queue before; this call is not put there then.
void tell(queue::Queue& queue) {
  const int error = queue.take_error();
  require(error == MPI_SUCCESS, error);
}

void put(queue::Communicator& c, StepPointer step) {
  tell(*c.queue);
  c.queue->put(std::move(step));
}

void put_with_request(queue::Communicator& c, StepPointer step, MPI_Request* request) {
  require(request, MPI_ERR_ARG);
  Request& made = queue::make_request(c, step);
  try {
    put(c, std::move(step));
  } catch (...) {
    made.kind->free(made);
    throw;
  }
  *request = handle_of(made);
}

// ---- waiting

/// The communicator of a partitioned request, where it has a queue.
queue::Communicator& of_partitioned(const Request& r) {
  require(r.kind && partitioned::is_partitioned(r), MPI_ERR_REQUEST);
  queue::Communicator* const c = queue::find(p2p::find_communicator(comm_of(r.kind->communicator(r))));
  require(c, MPI_ERR_REQUEST);
  return *c;
}

/// The queue that a wait for the request is put on. Throws MPIError where there is none.
queue::QueuePointer queue_of(const Request& r) {
  require(r.kind, MPI_ERR_REQUEST);
  queue::QueuePointer its = queue::queue_of(r);
  return its ? its : of_partitioned(r).queue;
}

/// The handler of the first request's communicator is told.
MPI_Comm comm_of_first(int count, const MPI_Request* requests) noexcept {
  for (int i = 0; requests && i < count; ++i) {
    const Request* const r = requests[i] == MPI_REQUEST_NULL ? nullptr : ours(requests[i]);
    if (r && r->kind) return comm_of(r->kind->communicator(*r));
  }
  return MPI_COMM_NULL;
}

/// Throws MPIError where one request is there twice: its first wait would end it.
void check_different(int count, const MPI_Request* requests) {
  if (count < 2) return;
  std::vector<const Request*> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL) all.push_back(ours(requests[i]));
  }
  std::ranges::sort(all, std::less{});
  require(std::ranges::adjacent_find(all) == all.end(), MPI_ERR_REQUEST);
}

/// A wait for those of the requests that were made on this object of the queue's.
void put_wait_on(const queue::QueuePointer& queue, std::uint64_t comm, int count, MPI_Request* requests, MPI_Status* status,
                 MPI_Status* statuses, const char* call) {
  std::vector<Awaited> awaited;
  awaited.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    Request& r = *ours(requests[i]);
    if (queue_of(r) != queue) continue;
    MPI_Status* const its = statuses ? &statuses[i] : status;
    if (partitioned::is_partitioned(r)) {
      awaited.push_back({nullptr, &r, its});
      continue;
    }
    awaited.push_back({queue::take(r), nullptr, its});
    requests[i] = MPI_REQUEST_NULL;
  }
  queue->put(std::make_shared<queue::WaitStep>(comm, call, std::move(awaited), statuses != nullptr));
}

/// All of one queue's. Null handles are left out, and get empty statuses.
void put_wait(int count, MPI_Request* requests, MPI_Status* status, MPI_Status* statuses, const char* call) {
  // Where several streams stand for it there is an object for each, and a wait on each.
  std::vector<queue::QueuePointer> of;
  const std::uint64_t comm = p2p::to_bits(comm_of_first(count, requests));
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const Request* const r = ours(requests[i]);
    require(r, MPI_ERR_REQUEST);
    queue::QueuePointer its = queue_of(*r);
    require(of.empty() || of.front()->identity() == its->identity(), MPI_ERR_REQUEST);
    if (std::ranges::find(of, its) == of.end()) of.push_back(std::move(its));
  }
  check_different(count, requests);
  for (const queue::QueuePointer& queue : of) tell(*queue);
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL) continue;
    MPI_Status* const its = statuses ? &statuses[i] : status;
    if (its) p2p::set_empty(its);
    if (statuses) its->MPI_ERROR = MPI_SUCCESS;
  }
  for (const queue::QueuePointer& queue : of) put_wait_on(queue, comm, count, requests, status, statuses, call);
}

// ---- collective calls

/// A collective call of the ranks' endpoints. Its buffers are the host's, or staged by the step that has it.
template <class Make>
class CollectiveStep final : public queue::Step {
 public:
  CollectiveStep(queue::Communicator& c, queue::Staged staged, Make make, const char* call)
      : Step(true, call), inner_(c.inner), staged_(std::move(staged)), make_(std::move(make)) {}
  [[nodiscard]] bool any_thread() const noexcept override { return false; }
  void put_before() override { staged_.put_before(); }
  void put_behind() override { staged_.put_behind(); }
  [[nodiscard]] bool puts_behind() const noexcept override { return staged_.puts_behind(); }
  [[nodiscard]] progress::Waiter* waiter() const noexcept override { return &inner_->endpoint().waiter(); }
  [[nodiscard]] std::uint64_t communicator() const noexcept override { return p2p::to_bits(inner_->handle); }
  [[nodiscard]] std::string waits_for() const override {
    const lane::EndpointGuard guard(inner_->endpoint());
    return call_ ? call_->waits_for() : call();
  }

 private:
  void do_begin() override {
    phase_ = Phase::copying_in;
    staged_.to_host();
  }
  bool do_advance() override {
    if (phase_ == Phase::copying_in) {
      if (!staged_.is_over()) return false;
      call_.emplace(*inner_, true);
      call_->begin(make_(*call_));
      phase_ = Phase::travelling;
      transport::flush_network();
    }
    if (phase_ == Phase::travelling) {
      if (!call_->complete()) {
        Round round;
        p2p::progress(inner_->endpoint(), round);
      }
      if (!call_->complete()) return false;
      const int error = call_->error();
      call_.reset();
      require(error == MPI_SUCCESS, error);
      phase_ = Phase::copying_out;
      staged_.to_device();
    }
    return staged_.is_over();
  }

  enum class Phase : std::uint8_t { copying_in, travelling, copying_out };

  std::shared_ptr<collective::Rank> inner_;
  Phase phase_ = Phase::copying_in;
  queue::Staged staged_;
  Make make_;
  std::optional<Collective> call_;
};

/// `make(rank, staged)` gives what makes the algorithm of the call.
template <class Make>
void put_collective(MPI_Comm comm, Make make, const char* call) {
  queue::Communicator& c = with_queue(comm);
  require(c.everywhere, MPI_ERR_COMM);
  queue::Staged staged(c.queue);
  auto algorithm = make(static_cast<collective::Rank&>(*c.inner), staged);
  put(c, std::make_shared<CollectiveStep<decltype(algorithm)>>(c, std::move(staged), std::move(algorithm), call));
}

}  // namespace

void tell_if_fatal(std::uint64_t communicator, int error, const char* call) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  const MPI_Comm comm = comm_of(communicator);
  bool ends = false;
  {
    const MpiLock lock;
    if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return;
    ends = ends_the_job(handler);
    PMPI_Errhandler_free(&handler);
  }
  if (ends) report_on(comm, error, call);
}

int enqueue_send(queue::Communicator& c, const queue::Message& message, const char* call) {
  return on(c.handle, [&] { put(c, queue::make_send(c, message, true, call)); }, call);
}
int enqueue_isend(queue::Communicator& c, const queue::Message& message, MPI_Request* request, const char* call) {
  return on(c.handle, [&] { put_with_request(c, queue::make_send(c, message, false, call), request); }, call);
}
int enqueue_receive(queue::Communicator& c, const queue::Message& message, MPI_Status* status, const char* call) {
  return on(c.handle, [&] { put(c, queue::make_receive(c, message, true, status, call)); }, call);
}
int enqueue_ireceive(queue::Communicator& c, const queue::Message& message, MPI_Request* request, const char* call) {
  return on(c.handle, [&] { put_with_request(c, queue::make_receive(c, message, false, nullptr, call), request); }, call);
}

}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::require;
using plait::mpi::guarded;
using plait::mpi::on;
using plait::mpi::put;
using plait::mpi::put_collective;
using plait::mpi::put_with_request;
using plait::mpi::with_queue;
using plait::p2p::kAnyStream;
using plait::queue::make_receive;
using plait::queue::make_send;
using plait::queue::Staged;
namespace makers = plait::mpi::makers;

extern "C" int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size) {
  return guarded([&] {
    require(value && value_size > 0, MPI_ERR_ARG);
    constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
    std::string text;
    for (int i = 0; i < value_size; ++i) {
      const auto byte = static_cast<const unsigned char*>(value)[i];
      text += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    plait::check(plait::mpi::gated([&] { return PMPI_Info_set(info, key, text.c_str()); }));
  });
}

// ---- messages: as on a communicator of a queue MPI_Send and its like

#define PLAIT_SEND_ENQUEUE(NAME, COUNT)                                                                        \
  extern "C" int NAME(const void* buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) { \
    return on(comm, [&] {                                                                                      \
      auto& c = with_queue(comm);                                                                              \
      put(c, make_send(c, {buf, count, datatype, {dest, tag, kAnyStream}}, true, #NAME));                      \
    });                                                                                                        \
  }

#define PLAIT_ISEND_ENQUEUE(NAME, COUNT)                                                                                             \
  extern "C" int NAME(const void* buf, COUNT count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) { \
    return on(comm, [&] {                                                                                                            \
      auto& c = with_queue(comm);                                                                                                    \
      put_with_request(c, make_send(c, {buf, count, datatype, {dest, tag, kAnyStream}}, false, #NAME), request);                     \
    });                                                                                                                              \
  }

#define PLAIT_RECV_ENQUEUE(NAME, COUNT)                                                                                        \
  extern "C" int NAME(void* buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status) { \
    return on(comm, [&] {                                                                                                      \
      auto& c = with_queue(comm);                                                                                              \
      put(c, make_receive(c, {buf, count, datatype, {source, tag, kAnyStream}}, true, status, #NAME));                         \
    });                                                                                                                        \
  }

#define PLAIT_IRECV_ENQUEUE(NAME, COUNT)                                                                                         \
  extern "C" int NAME(void* buf, COUNT count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request) { \
    return on(comm, [&] {                                                                                                        \
      auto& c = with_queue(comm);                                                                                                \
      put_with_request(c, make_receive(c, {buf, count, datatype, {source, tag, kAnyStream}}, false, nullptr, #NAME), request);   \
    });                                                                                                                          \
  }

PLAIT_SEND_ENQUEUE(MPIX_Send_enqueue, int)
PLAIT_SEND_ENQUEUE(MPIX_Send_enqueue_c, MPI_Count)
PLAIT_ISEND_ENQUEUE(MPIX_Isend_enqueue, int)
PLAIT_ISEND_ENQUEUE(MPIX_Isend_enqueue_c, MPI_Count)
PLAIT_RECV_ENQUEUE(MPIX_Recv_enqueue, int)
PLAIT_RECV_ENQUEUE(MPIX_Recv_enqueue_c, MPI_Count)
PLAIT_IRECV_ENQUEUE(MPIX_Irecv_enqueue, int)
PLAIT_IRECV_ENQUEUE(MPIX_Irecv_enqueue_c, MPI_Count)

extern "C" int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status) {
  return on(plait::mpi::comm_of_first(1, request), [&] {
    require(request, MPI_ERR_REQUEST);
    plait::mpi::put_wait(1, request, plait::mpi::wanted(status), nullptr, "MPIX_Wait_enqueue");
  });
}

extern "C" int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses) {
  return on(plait::mpi::comm_of_first(count, array_of_requests), [&] {
    require(count >= 0, MPI_ERR_COUNT);
    require(array_of_requests || count == 0, MPI_ERR_ARG);
    plait::mpi::put_wait(count, array_of_requests, nullptr, array_of_statuses == MPI_STATUSES_IGNORE ? nullptr : array_of_statuses,
                         "MPIX_Waitall_enqueue");
  });
}

// ---- collective calls

namespace plait::mpi {
namespace {

using Use = queue::Staged::Use;

int put_allreduce(const void* from, void* to, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, const char* call) {
  const auto make = [&](collective::Rank& rank, queue::Staged& staged) {
    const bool in_place = from == MPI_IN_PLACE;
    const void* const its_from = in_place ? from : staged.computed(from, count, type, Use::read);
    return makers::Allreduce(rank, its_from, staged.computed(to, count, type, in_place ? Use::both : Use::written), count, type, op);
  };
  return on(comm, [&] { put_collective(comm, make, call); }, call);
}

int put_bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, const char* call) {
  const auto make = [&](collective::Rank& rank, queue::Staged& staged) {
    const auto its = staged.moved(buffer, count, type, rank.rank == root ? Use::read : Use::written);
    return makers::Bcast(rank, its.at, its.count, its.type, root);
  };
  return on(comm, [&] { put_collective(comm, make, call); }, call);
}

int put_alltoall(const void* from, MPI_Count sends, MPI_Datatype send_type, void* to, MPI_Count receives, MPI_Datatype receive_type,
                 MPI_Comm comm, const char* call) {
  const auto make = [&](collective::Rank& rank, queue::Staged& staged) {
    const bool in_place = from == MPI_IN_PLACE;
    queue::Staged::Buffer its_from{const_cast<void*>(from), sends, send_type};  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    if (!in_place) its_from = staged.moved(rank.size, from, sends, send_type, Use::read);
    const auto its_to = staged.moved(rank.size, to, receives, receive_type, in_place ? Use::both : Use::written);
    return makers::Alltoall(rank, its_from.at, its_from.count, its_from.type, its_to.at, its_to.count, its_to.type);
  };
  return on(comm, [&] { put_collective(comm, make, call); }, call);
}

}  // namespace
}  // namespace plait::mpi

#define PLAIT_ALLREDUCE_ENQUEUE(NAME, COUNT)                                                                              \
  extern "C" int NAME(const void* sendbuf, void* recvbuf, COUNT count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) { \
    return plait::mpi::put_allreduce(sendbuf, recvbuf, count, datatype, op, comm, #NAME);                                 \
  }

#define PLAIT_BCAST_ENQUEUE(NAME, COUNT)                                                           \
  extern "C" int NAME(void* buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm) { \
    return plait::mpi::put_bcast(buffer, count, datatype, root, comm, #NAME);                      \
  }

#define PLAIT_ALLTOALL_ENQUEUE(NAME, COUNT)                                                                                               \
  extern "C" int NAME(const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, void* recvbuf, COUNT recvcount, MPI_Datatype recvtype, \
                      MPI_Comm comm) {                                                                                                    \
    return plait::mpi::put_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, #NAME);                             \
  }

PLAIT_ALLREDUCE_ENQUEUE(MPIX_Allreduce_enqueue, int)
PLAIT_ALLREDUCE_ENQUEUE(MPIX_Allreduce_enqueue_c, MPI_Count)
PLAIT_BCAST_ENQUEUE(MPIX_Bcast_enqueue, int)
PLAIT_BCAST_ENQUEUE(MPIX_Bcast_enqueue_c, MPI_Count)
PLAIT_ALLTOALL_ENQUEUE(MPIX_Alltoall_enqueue, int)
PLAIT_ALLTOALL_ENQUEUE(MPIX_Alltoall_enqueue_c, MPI_Count)

extern "C" int MPIX_Barrier_enqueue(MPI_Comm comm) {
  return on(comm, [&] { put_collective(comm, [](auto& rank, Staged&) { return makers::Barrier(rank); }, "MPIX_Barrier_enqueue"); });
}

// ---- partitioned messages, which MPI_Psend_init and MPI_Precv_init have made on a communicator of the queue

namespace plait::mpi {
namespace {

/// A call on a partitioned request that is over when it returns. `check`: what can be said of it before the queue comes to it.
template <class Check, class Body>
int put_call(MPI_Request handle, Check check, Body body, const char* call) {
  Request* const r = handle == MPI_REQUEST_NULL ? nullptr : ours(handle);
  const auto run = [&] {
    require(r && r->kind, MPI_ERR_REQUEST);
    check(*r);
    put(of_partitioned(*r), std::make_shared<queue::CallStep>(r->kind->communicator(*r), call, [body, r] { body(*r); }));
  };
  return on(r && r->kind ? comm_of(r->kind->communicator(*r)) : MPI_COMM_NULL, run, call);
}

int put_ready(int low, int high, MPI_Request request, const char* call) {
  const auto check = [=](const Request& r) { partitioned::check_partitions(r, low, high); };
  return put_call(request, check, [=](Request& r) { partitioned::ready(r, low, high); }, call);
}

}  // namespace
}  // namespace plait::mpi

extern "C" int MPIX_Start_enqueue(MPI_Request* request) {
  const auto start = [](plait::Request& r) {
    const int error = r.kind->start(r);
    require(error == MPI_SUCCESS, error);
  };
  return plait::mpi::put_call(request ? *request : MPI_REQUEST_NULL, [](const plait::Request&) {}, start, "MPIX_Start_enqueue");
}

extern "C" int MPIX_Pready_enqueue(int partition, MPI_Request request) {
  return plait::mpi::put_ready(partition, partition, request, "MPIX_Pready_enqueue");
}

extern "C" int MPIX_Pready_range_enqueue(int partition_low, int partition_high, MPI_Request request) {
  return plait::mpi::put_ready(partition_low, partition_high, request, "MPIX_Pready_range_enqueue");
}

#pragma GCC visibility pop
