// Calls on queues of OpenCL's, a case each: queue_opencl CASE... Two processes.
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "opencl.hpp"

namespace {

int rank;
int other() { return 1 - rank; }

// ---- messages

void messages() {
  Device device;
  Line line(device);
  for (const size_t n : {size_t{2}, size_t{11}, size_t{1000}, size_t{5000}, size_t{100000}, size_t{1500000}}) {
    for (const Kind kind : kKinds) {
      const Array a(device, kind, n);
      const auto seed = static_cast<cl_uint>(n);
      MPI_Status status;
      const int count = static_cast<int>(n);
      if (rank == 0) {
        a.fill(line.queue, seed);
        CHECK(MPIX_Send_enqueue(a.address, count, MPI_UNSIGNED, 1, 5, line.comm) == MPI_SUCCESS);
        a.scale(line.queue, 3);  // after the send has read it
        CHECK(MPI_Recv(a.address, count, MPI_UNSIGNED, 1, 6, line.comm, &status) == MPI_SUCCESS);
        const std::vector<cl_uint> got = a.get(line.queue);
        for (size_t i = 0; i < n; ++i) CHECK(got[i] == scaled(filled(seed, i), 7, i));
        CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == 6);
      } else {
        CHECK(MPIX_Recv_enqueue(a.address, count, MPI_UNSIGNED, MPI_ANY_SOURCE, MPI_ANY_TAG, line.comm, &status) == MPI_SUCCESS);
        a.scale(line.queue, 7);
        CHECK(MPI_Send(a.address, count, MPI_UNSIGNED, 0, 6, line.comm) == MPI_SUCCESS);
        good(clFinish(line.queue));
        int received = 0;
        MPI_Get_count(&status, MPI_UNSIGNED, &received);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 5 && received == count);
      }
    }
  }
}

// Both send and receive; memory of the host's, too.
void nonblocking() {
  Device device;
  Line line(device);
  for (const size_t n : {size_t{2}, size_t{5000}, size_t{300000}}) {
    const Array from(device, Kind::buffer, n);
    const Array to(device, Kind::buffer, n);
    std::vector<cl_uint> host(n);
    const int count = static_cast<int>(n);
    from.fill(line.queue, static_cast<cl_uint>(rank));
    MPI_Request requests[4];
    MPI_Status statuses[4];
    CHECK(MPIX_Irecv_enqueue(to.address, count, MPI_UNSIGNED, other(), 1, line.comm, &requests[0]) == MPI_SUCCESS);
    CHECK(MPIX_Irecv_enqueue(host.data(), count, MPI_UNSIGNED, other(), 2, line.comm, &requests[1]) == MPI_SUCCESS);
    CHECK(MPIX_Isend_enqueue(from.address, count, MPI_UNSIGNED, other(), 1, line.comm, &requests[2]) == MPI_SUCCESS);
    CHECK(MPI_Isend(from.address, count, MPI_UNSIGNED, other(), 2, line.comm, &requests[3]) == MPI_SUCCESS);
    CHECK(MPIX_Wait_enqueue(&requests[0], &statuses[0]) == MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    to.scale(line.queue, 5);
    CHECK(MPIX_Waitall_enqueue(3, requests + 1, statuses + 1) == MPI_SUCCESS);
    const std::vector<cl_uint> got = to.get(line.queue);
    for (size_t i = 0; i < n; ++i) {
      CHECK(host[i] == filled(static_cast<cl_uint>(other()), i));
      CHECK(got[i] == scaled(host[i], 5, i));
    }
    for (int i = 0; i < 2; ++i) {
      int received = 0;
      MPI_Get_count(&statuses[i], MPI_UNSIGNED, &received);
      CHECK(statuses[i].MPI_SOURCE == other() && statuses[i].MPI_TAG == i + 1 && received == count);
    }
  }
}

// A receive that is cancelled ends, and so does one that the queue has not come to yet.
void cancelled() {
  Device device;
  Line line(device);
  const Array a(device, Kind::buffer, 10);
  MPI_Request requests[2];
  MPI_Status status;
  int flag = 0;
  for (const bool begun : {true, false}) {
    cl_int made = CL_SUCCESS;
    cl_event go = clCreateUserEvent(device.context, &made);
    good(made);
    if (begun) good(clSetUserEventStatus(go, CL_COMPLETE));
    good(clEnqueueBarrierWithWaitList(line.queue, 1, &go, nullptr));
    CHECK(MPIX_Irecv_enqueue(a.address, 10, MPI_UNSIGNED, other(), 7, line.comm, &requests[0]) == MPI_SUCCESS);
    if (begun) good(clFinish(line.queue));
    CHECK(MPI_Cancel(&requests[0]) == MPI_SUCCESS && MPI_Wait(&requests[0], &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag);
    if (!begun) good(clSetUserEventStatus(go, CL_COMPLETE));
    clReleaseEvent(go);
    MPI_Barrier(MPI_COMM_WORLD);  // or it would take the other's message
    CHECK(MPIX_Irecv_enqueue(a.address, 10, MPI_UNSIGNED, other(), 7, line.comm, &requests[0]) == MPI_SUCCESS);
    CHECK(MPIX_Isend_enqueue(&rank, 1, MPI_INT, other(), 7, line.comm, &requests[1]) == MPI_SUCCESS);
    CHECK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(a.get(line.queue)[0] == static_cast<cl_uint>(other()));
  }
}

void collectives() {
  Device device;
  Line line(device);
  constexpr size_t n = 20000;
  for (const Kind kind : kKinds) {
    const Array a(device, kind, n);
    const Array b(device, kind, 2 * n);
    std::vector<cl_uint> host(n, 7);
    a.fill(line.queue, static_cast<cl_uint>(rank));
    CHECK(MPIX_Allreduce_enqueue(a.address, b.address, static_cast<int>(n), MPI_UNSIGNED, MPI_SUM, line.comm) == MPI_SUCCESS);
    a.scale(line.queue, 3);
    CHECK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, a.address, static_cast<int>(n), MPI_UNSIGNED, MPI_MAX, line.comm) == MPI_SUCCESS);
    CHECK(MPIX_Bcast_enqueue(rank == 0 ? static_cast<void*>(b.address) : host.data(), static_cast<int>(n), MPI_UNSIGNED, 0, line.comm) ==
          MPI_SUCCESS);
    CHECK(MPIX_Barrier_enqueue(line.comm) == MPI_SUCCESS);
    std::vector<cl_uint> sum = b.get(line.queue);
    const std::vector<cl_uint> most = a.get(line.queue);
    for (size_t i = 0; i < n; ++i) {
      const cl_uint mine[] = {filled(0, i), filled(1, i)};
      CHECK(sum[i] == mine[0] + mine[1]);
      CHECK(most[i] == std::max(scaled(mine[0], 3, i), scaled(mine[1], 3, i)));
      CHECK(host[i] == (rank == 0 ? 7 : sum[i]));
    }
    b.fill(line.queue, static_cast<cl_uint>(rank + 2));
    CHECK(MPIX_Alltoall_enqueue(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b.address, static_cast<int>(n), MPI_UNSIGNED, line.comm) ==
          MPI_SUCCESS);
    sum = b.get(line.queue);
    for (size_t i = 0; i < 2 * n; ++i) {
      const size_t from = i / n;  // it has sent its block of this rank
      CHECK(sum[i] == filled(static_cast<cl_uint>(from + 2), i % n + static_cast<size_t>(rank) * n));
    }
  }
}

/// Of every fourth number.
void add_fourths(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<cl_uint*>(inout)[4 * i] += static_cast<cl_uint*>(in)[4 * i];
}

// Calls that compute, with datatypes that have gaps: MPI's own pairs, and one of the program's, between whose elements all stays.
void gaps() {
  Device device;
  Line line(device);
  constexpr int n = 50;
  struct Pair {
    double value;
    int place;
  };
  MPI_Datatype fourth = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Type_create_resized(MPI_UNSIGNED, 0, 4 * sizeof(cl_uint), &fourth);
  MPI_Type_commit(&fourth);
  MPI_Op_create(add_fourths, 1, &op);
  for (const Kind kind : kKinds) {
    const Array a(device, kind, 4 * n);
    const Array b(device, kind, 4 * n);
    std::vector<Pair> pairs(n);
    for (int i = 0; i < n; ++i) pairs[static_cast<size_t>(i)] = {static_cast<double>(i * (rank == 0 ? 1 : -1)), rank};
    a.put(line.queue, reinterpret_cast<const cl_uint*>(pairs.data()));
    CHECK(MPIX_Allreduce_enqueue(a.address, b.address, n, MPI_DOUBLE_INT, MPI_MAXLOC, line.comm) == MPI_SUCCESS);
    std::vector<cl_uint> got = b.get(line.queue);
    for (int i = 0; i < n; ++i) {
      Pair pair{};
      std::memcpy(&pair, got.data() + size_t{4} * static_cast<size_t>(i), sizeof pair);
      CHECK(pair.value == i && pair.place == 0);
    }
    a.fill(line.queue, static_cast<cl_uint>(rank));
    b.fill(line.queue, 9);
    CHECK(MPIX_Allreduce_enqueue(a.at(1), b.at(1), n - 1, fourth, op, line.comm) == MPI_SUCCESS);
    got = b.get(line.queue);
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == (i % 4 == 1 && i < 4 * (n - 1) ? filled(0, i) + filled(1, i) : filled(9, i)));
  }
  MPI_Op_free(&op);
  MPI_Type_free(&fourth);
}

void partitioned() {
  Device device;
  Line line(device);
  constexpr int kPartitions = 4;
  constexpr size_t n = 1000;
  const Array a(device, Kind::fine, kPartitions * n);
  MPI_Request request;
  if (rank == 0) {
    MPI_Psend_init(a.address, kPartitions, n, MPI_UNSIGNED, 1, 3, line.comm, MPI_INFO_NULL, &request);
  } else {
    MPI_Precv_init(a.address, kPartitions, n, MPI_UNSIGNED, 0, 3, line.comm, MPI_INFO_NULL, &request);
  }
  for (cl_uint round = 0; round < 5; ++round) {
    MPI_Status status;
    if (rank == 0) a.fill(line.queue, round);
    CHECK(MPIX_Start_enqueue(&request) == MPI_SUCCESS);
    if (rank == 0) {
      CHECK(MPIX_Pready_enqueue(2, request) == MPI_SUCCESS);
      CHECK(MPIX_Pready_range_enqueue(0, 1, request) == MPI_SUCCESS);
      CHECK(MPIX_Pready_enqueue(3, request) == MPI_SUCCESS);
    }
    CHECK(MPIX_Wait_enqueue(&request, &status) == MPI_SUCCESS);
    a.scale(line.queue, 9);
    const std::vector<cl_uint> got = a.get(line.queue);
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == scaled(filled(round, i), 9, i));
  }
  MPI_Request_free(&request);
  // Threads of the host carry it: memory that only the device can use is refused at once.
  MPI_Comm_set_errhandler(line.comm, MPI_ERRORS_RETURN);
  for (const Kind kind : {Kind::buffer, Kind::coarse}) {
    const Array none(device, kind, kPartitions * n);
    GIVES(MPI_Psend_init(none.address, kPartitions, n, MPI_UNSIGNED, other(), 3, line.comm, MPI_INFO_NULL, &request), MPI_ERR_BUFFER);
    GIVES(MPI_Precv_init(none.address, kPartitions, n, MPI_UNSIGNED, other(), 3, line.comm, MPI_INFO_NULL, &request), MPI_ERR_BUFFER);
  }
}

// Datatypes with gaps: what lies in them stays.
void layouts() {
  Device device;
  Line line(device);
  constexpr int kBlocks = 50;
  constexpr int kLength = 3;
  constexpr int kStride = 10;
  MPI_Datatype vector;
  MPI_Type_vector(kBlocks, kLength, kStride, MPI_UNSIGNED, &vector);
  MPI_Type_commit(&vector);
  const size_t n = size_t{kBlocks} * kStride;
  for (const Kind kind : kKinds) {
    const Array a(device, kind, n + 1);
    a.fill(line.queue, static_cast<cl_uint>(rank));
    if (rank == 0) {
      CHECK(MPIX_Send_enqueue(a.at(1), 1, vector, 1, 0, line.comm) == MPI_SUCCESS);
      CHECK(MPIX_Send_enqueue(a.at(1), kBlocks, MPI_UNSIGNED, 1, 0, line.comm) == MPI_SUCCESS);
    } else {
      CHECK(MPIX_Recv_enqueue(a.at(1), 1, vector, 0, 0, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    std::vector<cl_uint> got = a.get(line.queue);
    for (size_t i = 0; i < n; ++i) {
      const bool inside = i % kStride < kLength;
      CHECK(got[i + 1] == filled(inside ? 0 : static_cast<cl_uint>(rank), i + 1));
    }
    // Half of the elements come: the rest stays, too.
    if (rank == 1) {
      a.fill(line.queue, 8);
      CHECK(MPIX_Recv_enqueue(a.at(1), 1, vector, 0, 0, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      got = a.get(line.queue);
      int next = 0;
      for (size_t i = 0; i < n; ++i) {
        const bool inside = i % kStride < kLength && next < kBlocks;
        CHECK(got[i + 1] == (inside ? filled(0, static_cast<size_t>(next++) + 1) : filled(8, i + 1)));
      }
    }
  }
  MPI_Type_free(&vector);
}

/// `count` elements that lie at these addresses, wherever the buffer is.
MPI_Datatype type_at(std::initializer_list<const void*> places, int count) {
  std::vector<MPI_Aint> addresses;
  for (const void* place : places) MPI_Get_address(place, &addresses.emplace_back());
  const std::vector<int> counts(addresses.size(), count);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(static_cast<int>(addresses.size()), counts.data(), addresses.data(), MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  return type;
}

// The datatype says where the data are, and the buffer does not: it is MPI_BOTTOM, or lies below them.
void addresses() {
  Device device;
  Line line(device);
  MPI_Comm_set_errhandler(line.comm, MPI_ERRORS_RETURN);
  constexpr int n = 1000;
  for (const Kind kind : kKinds) {
    const Array a(device, kind, n);
    const MPI_Aint below = 1000;
    MPI_Datatype all = type_at({a.address}, n);
    MPI_Datatype ends = type_at({a.at(0), a.at(n - 10)}, 10);
    MPI_Datatype above = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(1, &n, &below, MPI_UNSIGNED, &above);
    MPI_Type_commit(&above);
    MPI_Request request;
    const auto exchange = [&](void* from, MPI_Datatype type) {
      a.fill(line.queue, static_cast<cl_uint>(rank));
      if (rank == 0) {
        CHECK(MPIX_Isend_enqueue(from, 1, type, 1, 0, line.comm, &request) == MPI_SUCCESS);
        CHECK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      } else {
        CHECK(MPIX_Recv_enqueue(from, 1, type, 0, 0, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      }
      return a.get(line.queue);
    };
    for (const std::vector<cl_uint>& got : {exchange(MPI_BOTTOM, all), exchange(static_cast<char*>(a.address) - below, above)}) {
      for (size_t i = 0; i < n; ++i) CHECK(got[i] == filled(0, i));
    }
    const std::vector<cl_uint> got = exchange(MPI_BOTTOM, ends);
    for (size_t i = 0; i < n; ++i) CHECK(got[i] == filled(i < 10 || i >= n - 10 ? 0 : static_cast<cl_uint>(rank), i));
    a.fill(line.queue, static_cast<cl_uint>(rank));
    CHECK(MPIX_Bcast_enqueue(MPI_BOTTOM, 1, all, 1, line.comm) == MPI_SUCCESS);
    CHECK(a.get(line.queue)[n - 1] == filled(1, n - 1));
    for (MPI_Datatype* type : {&all, &ends, &above}) MPI_Type_free(type);
  }
  // What no queue of this device can use: some here and some there, or past the end.
  const Array a(device, Kind::buffer, n);
  cl_uint host[n];
  MPI_Datatype both[] = {type_at({a.address, host}, 10), type_at({host, a.address}, 10)};
  for (MPI_Datatype& type : both) {
    GIVES(MPIX_Send_enqueue(MPI_BOTTOM, 1, type, other(), 0, line.comm), MPI_ERR_BUFFER);
    GIVES(MPIX_Bcast_enqueue(MPI_BOTTOM, 1, type, 0, line.comm), MPI_ERR_BUFFER);
    MPI_Type_free(&type);
  }
  GIVES(MPIX_Send_enqueue(a.at(1), n, MPI_UNSIGNED, other(), 0, line.comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Recv_enqueue(a.at(1), n, MPI_UNSIGNED, other(), 0, line.comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  GIVES(MPIX_Allreduce_enqueue(MPI_IN_PLACE, a.at(1), n, MPI_UNSIGNED, MPI_SUM, line.comm), MPI_ERR_BUFFER);
  GIVES(MPIX_Send_enqueue(nullptr, 1, MPI_UNSIGNED, other(), 0, line.comm), MPI_ERR_BUFFER);
  CHECK(MPIX_Barrier_enqueue(line.comm) == MPI_SUCCESS);
  good(clFinish(line.queue));
}

// What one queue receives, another one computes with and sends.
void events() {
  Device device;
  Line first(device);
  Line second(device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  constexpr size_t n = 10000;
  const Array a(device, Kind::buffer, n);
  for (cl_uint round = 0; round < 20; ++round) {
    cl_event event = nullptr;
    if (rank == 0) {
      a.fill(first.queue, round);
      CHECK(MPIX_Send_enqueue(a.address, n, MPI_UNSIGNED, 1, 0, first.comm) == MPI_SUCCESS);
      good(clEnqueueMarkerWithWaitList(first.queue, 0, nullptr, &event));
      good(clEnqueueBarrierWithWaitList(second.queue, 1, &event, nullptr));
      CHECK(MPIX_Recv_enqueue(a.address, n, MPI_UNSIGNED, 1, 0, second.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      const std::vector<cl_uint> got = a.get(second.queue);
      for (size_t i = 0; i < n; ++i) CHECK(got[i] == scaled(filled(round, i), 3, i));
    } else {
      CHECK(MPIX_Recv_enqueue(a.address, n, MPI_UNSIGNED, 0, 0, first.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      good(clEnqueueMarkerWithWaitList(first.queue, 0, nullptr, &event));
      good(clEnqueueBarrierWithWaitList(second.queue, 1, &event, nullptr));
      a.scale(second.queue, 3);
      good(clEnqueueBarrierWithWaitList(second.queue, 0, nullptr, nullptr));
      CHECK(MPIX_Send_enqueue(a.address, n, MPI_UNSIGNED, 0, 0, second.comm) == MPI_SUCCESS);
      good(clFinish(second.queue));
    }
    clReleaseEvent(event);
  }
}

// ---- what fails

/// What is enqueued behind it fails once the event that is given back is set to an error, as a kernel does that cannot run.
cl_event enqueue_failing(const Device& device, cl_command_queue queue, const Array& a) {
  cl_int status = CL_SUCCESS;
  cl_event bad = clCreateUserEvent(device.context, &status);
  good(status);
  const cl_uint by = 1;
  const size_t n = 1;
  a.set_argument(device.scale, 0);
  good(clSetKernelArg(device.scale, 1, sizeof by, &by));
  good(clEnqueueNDRangeKernel(queue, device.scale, 1, nullptr, &n, nullptr, 1, &bad, nullptr));
  return bad;
}

// A kernel fails before a send: nothing is sent, the next call says so, and then the queue goes on.
void failures() {
  Device device;
  Line line(device);
  MPI_Comm_set_errhandler(line.comm, MPI_ERRORS_RETURN);
  const Array a(device, Kind::buffer, 100);
  for (int round = 0; round < 6; ++round) {
    const bool nonblocking = round % 2 != 0;
    a.fill(line.queue, 1);
    good(clFinish(line.queue));
    if (rank == 0) {
      cl_event bad = enqueue_failing(device, line.queue, a);
      MPI_Request request = MPI_REQUEST_NULL;
      if (nonblocking) {
        CHECK(MPIX_Isend_enqueue(a.address, 100, MPI_UNSIGNED, 1, 1, line.comm, &request) == MPI_SUCCESS);
      } else {
        CHECK(MPIX_Send_enqueue(a.address, 100, MPI_UNSIGNED, 1, 1, line.comm) == MPI_SUCCESS);
        CHECK(MPIX_Send_enqueue(a.address, 99, MPI_UNSIGNED, 1, 1, line.comm) == MPI_SUCCESS);
      }
      clFlush(line.queue);
      good(clSetUserEventStatus(bad, -1));
      clReleaseEvent(bad);
      if (round < 4) clFinish(line.queue);
      if (nonblocking) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
      clFinish(line.queue);
      GIVES(MPIX_Send_enqueue(a.address, 98, MPI_UNSIGNED, 1, 1, line.comm), MPI_ERR_OTHER);
      // It has been told.
      CHECK(MPIX_Send_enqueue(a.address, 97, MPI_UNSIGNED, 1, 1, line.comm) == MPI_SUCCESS);
      good(clFinish(line.queue));
    } else {
      MPI_Status status;
      CHECK(MPIX_Recv_enqueue(a.address, 100, MPI_UNSIGNED, 0, 1, line.comm, &status) == MPI_SUCCESS);
      good(clFinish(line.queue));
      int received = 0;
      MPI_Get_count(&status, MPI_UNSIGNED, &received);
      CHECK(received == 97);
    }
  }
  // A receive that is too short fails when the queue comes to it; the queue goes on.
  if (rank == 0) {
    CHECK(MPIX_Send_enqueue(a.address, 100, MPI_UNSIGNED, 1, 2, line.comm) == MPI_SUCCESS);
    CHECK(MPIX_Send_enqueue(a.address, 100, MPI_UNSIGNED, 1, 3, line.comm) == MPI_SUCCESS);
    good(clFinish(line.queue));
  } else {
    CHECK(MPIX_Recv_enqueue(a.address, 10, MPI_UNSIGNED, 0, 2, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    good(clFinish(line.queue));
    GIVES(MPIX_Recv_enqueue(a.address, 100, MPI_UNSIGNED, 0, 3, line.comm, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(MPIX_Recv_enqueue(a.address, 100, MPI_UNSIGNED, 0, 3, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    good(clFinish(line.queue));
  }
  CHECK(MPIX_Barrier_enqueue(line.comm) == MPI_SUCCESS);
  good(clFinish(line.queue));
}

void values() {
  Device device;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPIX_Stream stream;
  cl_command_queue queue = device.queue();
  const auto refused = [&](void* value) {
    GIVES(create_stream(static_cast<const void*>(&value), sizeof(void*), &stream), MPI_ERR_INFO_VALUE);
  };
  refused(nullptr);
  refused(reinterpret_cast<void*>(0x1234567));
  refused(reinterpret_cast<void*>(0x7000000000001000));
  refused(&stream);
  refused(device.context);
  refused(device.id);
  refused(device.fill);
  GIVES(create_stream(static_cast<const void*>(&queue), 4, &stream), MPI_ERR_INFO_VALUE);
  GIVES(create_stream(static_cast<const void*>(&queue), sizeof(cl_command_queue), &stream, "cl_queue"), MPI_ERR_INFO_VALUE);
  GIVES(create_stream(static_cast<const void*>(&queue), sizeof(cl_command_queue), &stream, "plait_queue"), MPI_ERR_INFO_VALUE);
  void* address = nullptr;
  CHECK(plait_cl_address(nullptr, &address) == MPI_ERR_ARG);
  CHECK(plait_cl_address(reinterpret_cast<cl_mem>(queue), &address) == MPI_ERR_ARG);
  CHECK(plait_cl_release_address(&stream) == MPI_ERR_ARG);
  CHECK(plait_cl_svm(device.context, nullptr, 8) == MPI_ERR_ARG);
  {
    const Array a(device, Kind::buffer, 10);
    CHECK(plait_cl_address(a.mem, &address) == MPI_SUCCESS && address == a.address);
    CHECK(plait_cl_svm(device.context, a.at(1), 8) == MPI_ERR_ARG);
    CHECK(plait_cl_address(a.mem, nullptr) == MPI_ERR_ARG);
    CHECK(plait_cl_release_address(address) == MPI_SUCCESS);
    // Memory of another context than the queue's.
    Device second;
    Line line(second);
    MPI_Comm_set_errhandler(line.comm, MPI_ERRORS_RETURN);
    GIVES(MPIX_Send_enqueue(a.address, 10, MPI_UNSIGNED, other(), 0, line.comm), MPI_ERR_BUFFER);
    GIVES(MPIX_Allreduce_enqueue(MPI_IN_PLACE, a.address, 10, MPI_UNSIGNED, MPI_SUM, line.comm), MPI_ERR_BUFFER);
  }
  // A queue that was released. Something else may lie there by now, so plait tells most of them, not all.
  clReleaseCommandQueue(queue);
}

// ---- what belongs to whom

// The queue lives as long as its stream; a buffer is free once the queue has finished.
void lifetimes() {
  Device device;
  cl_command_queue queue = device.queue();
  MPIX_Stream stream;
  MPIX_Stream again;
  CHECK(create_stream(static_cast<const void*>(&queue), sizeof(cl_command_queue), &stream) == MPI_SUCCESS);
  CHECK(create_stream(static_cast<const void*>(&queue), sizeof(cl_command_queue), &again) == MPI_SUCCESS);
  MPI_Comm comm;
  CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm) == MPI_SUCCESS);
  for (int round = 0; round < 50; ++round) {
    const size_t n = round % 2 == 0 ? 100 : 100000;
    const Array a(device, kKinds[round % 3], n);
    auto* const host = static_cast<cl_uint*>(std::malloc(n * sizeof(cl_uint)));
    if (rank == 0) {
      a.fill(queue, static_cast<cl_uint>(round));
      a.read(queue, host);
      CHECK(MPIX_Send_enqueue(a.address, static_cast<int>(n), MPI_UNSIGNED, 1, 0, comm) == MPI_SUCCESS);
      CHECK(MPIX_Send_enqueue(host, static_cast<int>(n), MPI_UNSIGNED, 1, 0, comm) == MPI_SUCCESS);
    } else {
      CHECK(MPIX_Recv_enqueue(a.address, static_cast<int>(n), MPI_UNSIGNED, 0, 0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      CHECK(MPIX_Recv_enqueue(host, static_cast<int>(n), MPI_UNSIGNED, 0, 0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    good(clFinish(queue));
    for (size_t i = 0; i < n; ++i) CHECK(host[i] == filled(static_cast<cl_uint>(round), i));
    std::memset(host, 0xAB, n * sizeof(cl_uint));
    std::free(host);
  }
  clReleaseCommandQueue(queue);  // the stream's from here on
  int value = rank;
  CHECK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  MPI_Comm_free(&comm);  // when it is over
  CHECK(value == 1);
  MPIX_Stream_free(&stream);
  MPIX_Stream_free(&again);
}

/// This process's threads.
std::set<std::string> threads() {
  std::set<std::string> found;
  DIR* const folder = opendir("/proc/self/task");
  while (const dirent* const entry = readdir(folder)) {
    if (entry->d_name[0] != '.') found.insert(entry->d_name);
  }
  closedir(folder);
  return found;
}

/// Seconds of CPU time of one.
double used(const std::string& thread) {
  std::ifstream file("/proc/self/task/" + thread + "/schedstat");
  double ns = 0;
  file >> ns;
  return ns * 1e-9;
}

void CL_CALLBACK rest(void*) { usleep(1000000); }

// A receive waits behind what runs for a second: nobody burns a core meanwhile.
void waits() {
  Device device;
  cl_command_queue warm = device.queue();
  const Array a(device, Kind::buffer, 100);
  a.fill(warm, 1);
  good(clFinish(warm));
  const std::set<std::string> before = threads();
  Line line(device);
  std::vector<std::string> plaits;
  for (const std::string& t : threads()) {
    if (!before.contains(t)) plaits.push_back(t);
  }
  const auto all = [&] {
    double sum = 0;
    for (const std::string& t : plaits) sum += used(t);
    return sum;
  };
  CHECK(!plaits.empty());
  const double began = all();
  cl_int status = clEnqueueNativeKernel(line.queue, rest, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr);
  good(status);
  if (rank == 0) {
    CHECK(MPIX_Send_enqueue(a.address, 100, MPI_UNSIGNED, 1, 0, line.comm) == MPI_SUCCESS);
  } else {
    CHECK(MPIX_Recv_enqueue(a.address, 100, MPI_UNSIGNED, 0, 0, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  good(clFinish(line.queue));
  const double mine = all() - began;
  double most = 0;
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.4f s of CPU time\n", most);
  clReleaseCommandQueue(warm);
}

/// MPI_Finalize comes while receives wait: they are given up, and what is behind them on the queue fails.
void finalize() {
  // Never destroyed: its communicator is not freed.
  const Line& line = *new Line(*new Device);
  cl_uint x = 0;
  CHECK(MPIX_Recv_enqueue(&x, 1, MPI_UNSIGNED, 1 - rank, 0, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPIX_Recv_enqueue(&x, 1, MPI_UNSIGNED, 1 - rank, 1, line.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  cl_event behind = nullptr;
  good(clEnqueueMarkerWithWaitList(line.queue, 0, nullptr, &behind));
  good(clFlush(line.queue));
  MPI_Finalize();
  clWaitForEvents(1, &behind);
  cl_int status = CL_QUEUED;
  good(clGetEventInfo(behind, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr));
  std::printf("the event behind them %s\n", status < 0 ? "has failed" : "has not failed");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && argv[1] == std::string_view("finalize")) {
    finalize();
    return 0;
  }
  struct Case {
    const char* name;
    void (*run)();
  };
  const Case cases[] = {{"messages", messages}, {"nonblocking", nonblocking}, {"cancelled", cancelled}, {"collectives", collectives},
                        {"gaps", gaps},         {"partitioned", partitioned}, {"layouts", layouts},     {"addresses", addresses},
                        {"events", events},     {"failures", failures},       {"values", values},       {"lifetimes", lifetimes},
                        {"waits", waits}};
  for (const std::string_view word : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    const auto* const named = std::ranges::find(cases, word, &Case::name);
    CHECK(named != std::end(cases) && "a case");
    named->run();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("%s: as it should be\n", named->name);
  }
  MPI_Finalize();
  return 0;
}
