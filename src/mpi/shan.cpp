// The exported functions of shared notifications: shan_*. What is wrong is said in one line on stderr.
#include <plait/SHAN_comm.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "p2p/communicator.hpp"
#include "shan/failure.hpp"
#include "shan/neighborhood.hpp"

namespace plait::mpi {
namespace {

using shan::expect;
using shan::Failure;
using shan::Neighborhood;
using shan::Segment;

void say_of_call(const char* call, const char* what) noexcept { std::fprintf(stderr, "plait: %s: %s\n", call, what); }

/// Runs a call. Whatever goes wrong below is said.
template <class Call>
int shan_guarded(Call call, const char* name = __builtin_FUNCTION()) noexcept {
  try {
    int is = 0;
    int was = 0;
    PMPI_Initialized(&is);
    PMPI_Finalized(&was);
    expect(is && !was, "MPI is not initialized, or finalized already");
    return call();
  } catch (const Failure& failure) {
    say_of_call(name, failure.what());
  } catch (const MPIError& error) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    PMPI_Error_string(error.code, text, &length);
    say_of_call(name, text);
  } catch (const std::bad_alloc&) {
    say_of_call(name, "no memory is left");
  } catch (const std::exception& error) {
    say_of_call(name, error.what());
  }
  return SHAN_ERROR;
}

Segment& segment_of(const shan_segment_t* handle) {
  expect(handle && handle->plait, "no segment: shan_alloc_shared makes one");
  return *static_cast<Segment*>(handle->plait);
}

Neighborhood& neighborhood_of(const shan_neighborhood_t* handle) {
  expect(handle && handle->plait, "no neighbourhood: shan_comm_init_comm makes one");
  return *static_cast<Neighborhood*>(handle->plait);
}

void require_between(int value, int end, const char* what) {
  if (value < 0 || value >= end)
    throw Failure(std::string(what) + " " + std::to_string(value) + ", where there are " + std::to_string(end) + " from 0 on");
}

Neighborhood& with_type(const shan_neighborhood_t* handle, int type) {
  Neighborhood& n = neighborhood_of(handle);
  require_between(type, n.types(), "type");
  return n;
}

Neighborhood& with_neighbor(const shan_neighborhood_t* handle, int type, int idx) {
  Neighborhood& n = with_type(handle, type);
  require_between(idx, n.neighbors(), "neighbour");
  return n;
}

void require_communicator(MPI_Comm comm, const char* what) {
  int inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
    throw Failure(std::string(what) + " is null or an intercommunicator");
  const p2p::Communicator* const c = p2p::find_communicator(comm);
  if (c && !c->ordinary) throw Failure(std::string(what) + " is one of streams or threads; ranks have to be processes");
}

/// Ranks of `all`. Throws Failure.
std::vector<int> checked_neighbors(const int* neighbors, int n, MPI_Comm all) {
  int size = 0;
  check(PMPI_Comm_size(all, &size));
  expect(n >= 0 && (n == 0 || neighbors), "the number of neighbours is below 0, or they are null");
  for (int i = 0; i < n; ++i) require_between(neighbors[i], size, "neighbour of rank");
  return {neighbors, neighbors + n};
}

std::vector<shan::Limits> checked_limits(const long* send, const long* receive, const int* send_elements, const int* receive_elements,
                                         int types) {
  constexpr long kMost = std::numeric_limits<int>::max();
  expect(types >= 0 && (types == 0 || (send && receive && send_elements && receive_elements)),
         "the number of types is below 0, or an array of theirs null");
  std::vector<shan::Limits> limits;
  for (int t = 0; t < types; ++t) {
    limits.push_back({send[t], receive[t], send_elements[t], receive_elements[t]});
    const bool right =
        send[t] >= 0 && receive[t] >= 0 && send[t] <= kMost && receive[t] <= kMost && send_elements[t] >= 0 && receive_elements[t] >= 0;
    if (!right) throw Failure("the sizes of type " + std::to_string(t) + " are below 0, or above 2 GiB");
  }
  return limits;
}

std::atomic_ref<int> counter(shan_notification_t* all, int idx) {
  expect(all && idx >= 0, "the notifications are null, or the index is below 0");
  return std::atomic_ref<int>(const_cast<int&>(all[idx].val));
}

}  // namespace
}  // namespace plait::mpi

using namespace plait::mpi;  // NOLINT(google-build-using-namespace): what follows are C functions

#pragma GCC visibility push(default)
extern "C" {

int shan_alloc_shared(shan_segment_t* segment, int shan_id, int shan_type, long dataSz, MPI_Comm shm_comm) {
  return shan_guarded([&] {
    expect(segment, "the segment is null");
    expect(shan_type == SHAN_DATA || shan_type == SHAN_TYPE, "the type is neither SHAN_DATA nor SHAN_TYPE");
    expect(dataSz >= 0, "the size is below 0");
    require_communicator(shm_comm, "the communicator");
    segment->plait = new Segment{shan_id, {static_cast<std::size_t>(dataSz), shm_comm}};
    return SHAN_SUCCESS;
  });
}

int shan_free_shared(shan_segment_t* segment) {
  return shan_guarded([&] {
    delete &segment_of(segment);
    segment->plait = nullptr;
    return SHAN_SUCCESS;
  });
}

int shan_get_shared_ptr(const shan_segment_t* segment, int local_rank, void** ptr) {
  return shan_guarded([&] {
    expect(ptr, "the pointer is null");
    const Segment& s = segment_of(segment);
    require_between(local_rank, static_cast<int>(s.block.processes()), "local rank");
    *ptr = s.block.at(static_cast<std::size_t>(local_rank));
    return SHAN_SUCCESS;
  });
}

int shan_notify_init_shared(shan_notification_t* ptr, int idx) {
  return shan_guarded([&] {
    counter(ptr, idx).store(0, std::memory_order_release);
    return SHAN_SUCCESS;
  });
}

int shan_notify_reset_shared(shan_notification_t* ptr, int idx, int* old) {
  return shan_guarded([&] {
    expect(old, "the old value is null");
    *old = counter(ptr, idx).exchange(0, std::memory_order_acq_rel);
    return SHAN_SUCCESS;
  });
}

int shan_notify_increment_shared(shan_notification_t* ptr, int idx, int increment) {
  return shan_guarded([&] {
    counter(ptr, idx).fetch_add(increment, std::memory_order_acq_rel);
    return SHAN_SUCCESS;
  });
}

int shan_notify_test_shared(shan_notification_t* ptr, int idx, int* value) {
  return shan_guarded([&] {
    expect(value, "the value is null");
    *value = counter(ptr, idx).load(std::memory_order_acquire);
    return SHAN_SUCCESS;
  });
}

int shan_comm_init_comm(shan_neighborhood_t* neighborhood, int id, const int* neighbors, int num_neighbors, const long* maxSendSz,
                        const long* maxRecvSz, const int* max_nelem_send, const int* max_nelem_recv, int num_type, MPI_Comm shm_comm,
                        MPI_Comm all_comm) {
  static_cast<void>(id);
  return shan_guarded([&] {
    expect(neighborhood, "the neighbourhood is null");
    require_communicator(shm_comm, "shm_comm");
    require_communicator(all_comm, "all_comm");
    neighborhood->plait =
        new Neighborhood(checked_neighbors(neighbors, num_neighbors, all_comm),
                         checked_limits(maxSendSz, maxRecvSz, max_nelem_send, max_nelem_recv, num_type), shm_comm, all_comm);
    return SHAN_SUCCESS;
  });
}

int shan_comm_free_comm(shan_neighborhood_t* neighborhood) {
  return shan_guarded([&] {
    delete &neighborhood_of(neighborhood);
    neighborhood->plait = nullptr;
    return SHAN_SUCCESS;
  });
}

int shan_comm_type_offset(const shan_neighborhood_t* neighborhood, int type_id, int** nelem_send, int** nelem_recv, int** send_sz,
                          int** recv_sz, long** send_offset, long** recv_offset) {
  return shan_guarded([&] {
    const Neighborhood::Lists lists = with_type(neighborhood, type_id).lists(type_id);
    if (nelem_send) *nelem_send = lists.send_count;
    if (nelem_recv) *nelem_recv = lists.receive_count;
    if (send_sz) *send_sz = lists.send_length;
    if (recv_sz) *recv_sz = lists.receive_length;
    if (send_offset) *send_offset = lists.send_offset;
    if (recv_offset) *recv_offset = lists.receive_offset;
    return SHAN_SUCCESS;
  });
}

int shan_comm_notify_or_write(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id, int idx) {
  return shan_guarded([&] {
    with_neighbor(neighborhood, type_id, idx).send(segment_of(segment), type_id, idx);
    return SHAN_SUCCESS;
  });
}

int shan_comm_wait4Recv(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id, int idx) {
  return shan_guarded([&] {
    with_neighbor(neighborhood, type_id, idx).receive(segment_of(segment), type_id, idx);
    return SHAN_SUCCESS;
  });
}

int shan_comm_test4Recv(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id, int idx) {
  return shan_guarded(
      [&] { return with_neighbor(neighborhood, type_id, idx).try_receive(segment_of(segment), type_id, idx) ? SHAN_SUCCESS : SHAN_FAIL; });
}

int shan_comm_wait4Send(const shan_neighborhood_t* neighborhood, int type_id, int idx) {
  return shan_guarded([&] {
    with_neighbor(neighborhood, type_id, idx).wait_for_send(type_id, idx);
    return SHAN_SUCCESS;
  });
}

int shan_comm_test4Send(const shan_neighborhood_t* neighborhood, int type_id, int idx) {
  return shan_guarded([&] { return with_neighbor(neighborhood, type_id, idx).has_left(type_id, idx) ? SHAN_SUCCESS : SHAN_FAIL; });
}

int shan_comm_wait4AllRecv(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id) {
  return shan_guarded([&] {
    with_type(neighborhood, type_id).receive_all(segment_of(segment), type_id, true);
    return SHAN_SUCCESS;
  });
}

int shan_comm_wait4AllSend(const shan_neighborhood_t* neighborhood, int type_id) {
  return shan_guarded([&] {
    with_type(neighborhood, type_id).wait_for_sends(type_id);
    return SHAN_SUCCESS;
  });
}

int shan_comm_wait4All(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id) {
  return shan_guarded([&] {
    Neighborhood& n = with_type(neighborhood, type_id);
    n.receive_all(segment_of(segment), type_id, false);
    n.wait_for_sends(type_id);
    return SHAN_SUCCESS;
  });
}

int shan_comm_shmemBarrier(const shan_neighborhood_t* neighborhood) {
  return shan_guarded([&] {
    neighborhood_of(neighborhood).barrier();
    return SHAN_SUCCESS;
  });
}

int shan_comm_local_rank(const shan_neighborhood_t* neighborhood, int rank) {
  return shan_guarded([&] { return neighborhood_of(neighborhood).local_rank(rank); });
}

int plait_shan_comm_datatypes(const shan_neighborhood_t* neighborhood, int type_id, int idx, MPI_Datatype send, MPI_Datatype receive) {
  return shan_guarded([&] {
    with_neighbor(neighborhood, type_id, idx).set_datatypes(type_id, idx, send, receive);
    return SHAN_SUCCESS;
  });
}

}  // extern "C"
#pragma GCC visibility pop
