// moves_while_blocked [threads|one]: nothing that was started stands still while another call blocks. For each pair of a call that blocks
// and a thing that must move, process 0 starts the thing and enters the call, and process 1 lets the call end only when the thing has
// come. A pair that fails hangs; its name is the last that was said. With "threads" another thread starts the thing when the call
// blocks already, and then calls nothing of MPI's; with "one" as well, and there is one stream, which that thread uses alone.
#include <mpi.h>
#include <plait/mpix.h>
#include <plait/partitioned.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kLarge = 200'000;  // doubles
constexpr int kMany = 1500;
constexpr int kParts = 4;
enum Tags { kMove = 1, kRelease = 2, kDone = 3 };

int rank;
bool by_thread;
MPI_Comm moving, blocking, native;  // by streams of their own, and the MPI's
MPIX_Stream streams[3];
MPI_Datatype spread;
std::vector<double> out(2 * kLarge), in(2 * kLarge), parts_out(kLarge), parts_in(kLarge);

// ---- what must move: begun by process 0, seen by process 1, ended by process 0

struct Thing {
  const char* name;
  std::function<void()> begin;
  std::function<void()> see;
  std::function<void()> end;
};

MPI_Request begun = MPI_REQUEST_NULL;
std::vector<int> numbers(kMany);
std::vector<MPI_Request> many(kMany, MPI_REQUEST_NULL);
MPI_Request sends_parts = MPI_REQUEST_NULL, receives_parts = MPI_REQUEST_NULL;

void wait_begun() { CHECK(MPI_Wait(&begun, MPI_STATUS_IGNORE) == MPI_SUCCESS); }

/// A task of the program's: polled often enough, it tells process 1.
struct Task {
  MPI_Request request = MPI_REQUEST_NULL;
  std::atomic<int> polls{0};
  bool freed = false;
} task;

int poll_task(void* state, MPI_Status*) {
  auto& t = *static_cast<Task*>(state);
  if (++t.polls != 3) return MPI_SUCCESS;
  const int x = 0;
  MPI_Send(&x, 1, MPI_INT, 1, kMove, native);
  return MPI_Grequest_complete(t.request);
}
int query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int nothing(void*) { return MPI_SUCCESS; }
int no_cancel(void*, int) { return MPI_SUCCESS; }

void begin_task(bool free_it) {
  task.polls = 0;
  CHECK(MPIX_Grequest_start(query, nothing, no_cancel, poll_task, nullptr, &task, &task.request) == MPI_SUCCESS);
  begun = task.request;
  if (free_it) CHECK(MPI_Request_free(&begun) == MPI_SUCCESS);
}

void receive_from_0(MPI_Comm comm, void* buffer, int count, MPI_Datatype type) {
  CHECK(MPI_Recv(buffer, count, type, 0, kMove, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

std::vector<Thing> things() {
  const auto see_small = [] {
    int x = 0;
    receive_from_0(native, &x, 1, MPI_INT);
  };
  const auto see_many = [] {
    for (int i = 0; i < kMany; ++i) {
      int x = -1;
      receive_from_0(moving, &x, 1, MPI_INT);
      CHECK(x == i);
    }
  };
  return {
      {"a large Isend on a stream", [] { MPI_Isend(out.data(), 1, spread, 1, kMove, moving, &begun); },
       [] { receive_from_0(moving, in.data(), 1, spread); }, wait_begun},
      {"an Ssend's acknowledgement", [] { MPI_Issend(out.data(), 1, MPI_DOUBLE, 1, kMove, moving, &begun); },
       [] { receive_from_0(moving, in.data(), 1, MPI_DOUBLE); }, wait_begun},
      {"many small sends on a stream",
       [] {
         for (int i = 0; i < kMany; ++i)
           MPI_Isend(&numbers[static_cast<std::size_t>(i)], 1, MPI_INT, 1, kMove, moving, &many[static_cast<std::size_t>(i)]);
       },
       see_many, [] { CHECK(MPI_Waitall(kMany, many.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS); }},
      {"a partitioned send",
       [] {
         MPI_Start(&sends_parts);
         for (int p = 0; p < kParts; ++p) MPI_Pready(p, sends_parts);
       },
       [] {
         MPI_Start(&receives_parts);
         CHECK(MPI_Wait(&receives_parts, MPI_STATUS_IGNORE) == MPI_SUCCESS);
       },
       [] { CHECK(MPI_Wait(&sends_parts, MPI_STATUS_IGNORE) == MPI_SUCCESS); }},
      {"a generalized request", [] { begin_task(false); }, see_small, wait_begun},
      {"a generalized request that was freed", [] { begin_task(true); }, see_small, [] {}},
      {"a large Isend of the MPI's", [] { MPI_Isend(out.data(), kLarge, MPI_DOUBLE, 1, kMove, native, &begun); },
       [] { receive_from_0(native, in.data(), kLarge, MPI_DOUBLE); }, wait_begun},
  };
}

// ---- calls that block: made by process 0, ended by process 1

struct Call {
  const char* name;
  std::function<void()> block;
  std::function<void()> release;
  std::function<void()> before = [] {};  ///< by process 1, before it sees the thing
  bool of_mpi = false;                   ///< no call on a stream
};

void send_to_0(MPI_Comm comm) {
  const int x = 7;
  CHECK(MPI_Send(&x, 1, MPI_INT, 0, kRelease, comm) == MPI_SUCCESS);
}

/// A request of the program's that is complete when process 1 says so.
struct Released {
  MPI_Request request = MPI_REQUEST_NULL;
} released;

int poll_released(void* state, MPI_Status*) {
  int flag = 0;
  MPI_Iprobe(1, kRelease, native, &flag, MPI_STATUS_IGNORE);
  if (!flag) return MPI_SUCCESS;
  int x = 0;
  MPI_Recv(&x, 1, MPI_INT, 1, kRelease, native, MPI_STATUS_IGNORE);
  return MPI_Grequest_complete(static_cast<Released*>(state)->request);
}
int wait_released(int count, void** states, double seconds, MPI_Status* status) {
  usleep(static_cast<useconds_t>(seconds * 1e6));
  for (int i = 0; i < count; ++i) poll_released(states[i], status);
  return MPI_SUCCESS;
}
void wait_for_task(MPIX_Grequest_wait_function* wait) {
  CHECK(MPIX_Grequest_start(query, nothing, no_cancel, poll_released, wait, &released, &released.request) == MPI_SUCCESS);
  MPI_Request r = released.request;
  CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

MPI_Request back_out = MPI_REQUEST_NULL, back_in = MPI_REQUEST_NULL;  // a partitioned message from process 1 to 0

std::vector<Call> calls() {
  static int x, y;
  const auto by_stream = [] { send_to_0(blocking); };
  const auto by_both = [] {
    send_to_0(blocking);
    send_to_0(native);
  };
  const auto by_parts = [] {
    MPI_Start(&back_out);
    CHECK(MPI_Pready(0, back_out) == MPI_SUCCESS && MPI_Wait(&back_out, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  };
  const auto duplicate = [](MPI_Comm comm) {
    MPI_Comm made = MPI_COMM_NULL;
    CHECK(MPI_Comm_dup(comm, &made) == MPI_SUCCESS && MPI_Comm_free(&made) == MPI_SUCCESS);
  };
  const auto create = [] {
    MPI_Comm made = MPI_COMM_NULL;
    CHECK(MPIX_Stream_comm_create(native, streams[2], &made) == MPI_SUCCESS && MPI_Comm_free(&made) == MPI_SUCCESS);
  };
  const auto thread_ranks = [] {
    MPI_Comm made = MPI_COMM_NULL;
    CHECK(MPIX_Threadcomm_init(native, 1, &made) == MPI_SUCCESS);
    CHECK(MPIX_Threadcomm_start(made) == MPI_SUCCESS && MPI_Barrier(made) == MPI_SUCCESS && MPIX_Threadcomm_finish(made) == MPI_SUCCESS);
    CHECK(MPIX_Threadcomm_free(&made) == MPI_SUCCESS);
  };
  return {
      {"MPI_Recv on a stream", [] { MPI_Recv(&x, 1, MPI_INT, 1, kRelease, blocking, MPI_STATUS_IGNORE); }, by_stream},
      {"MPI_Probe on a stream",
       [] {
         MPI_Probe(1, kRelease, blocking, MPI_STATUS_IGNORE);
         MPI_Recv(&x, 1, MPI_INT, 1, kRelease, blocking, MPI_STATUS_IGNORE);
       },
       by_stream},
      {"MPI_Ssend on a stream", [] { MPI_Ssend(&x, 1, MPI_INT, 1, kRelease, blocking); },
       [] { MPI_Recv(&x, 1, MPI_INT, 0, kRelease, blocking, MPI_STATUS_IGNORE); }},
      {"MPI_Waitany of both kinds",
       [] {
         MPI_Request both[2];
         MPI_Irecv(&x, 1, MPI_INT, 1, kRelease, native, &both[0]);
         MPI_Irecv(&y, 1, MPI_INT, 1, kRelease, blocking, &both[1]);
         int index = -1;
         MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE);
         MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
       },
       by_both},
      {"MPI_Waitall of both kinds",
       [] {
         MPI_Request both[2];
         MPI_Irecv(&x, 1, MPI_INT, 1, kRelease, native, &both[0]);
         MPI_Irecv(&y, 1, MPI_INT, 1, kRelease, blocking, &both[1]);
         MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
       },
       by_both},
      {"MPI_Waitall of two streams, one of which is done with",
       [] {
         MPI_Request both[2];
         MPI_Irecv(&x, 1, MPI_INT, 1, kRelease, moving, &both[0]);
         MPI_Irecv(&y, 1, MPI_INT, 1, kRelease, blocking, &both[1]);
         MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
       },
       by_stream,
       [] {
         send_to_0(moving);
         usleep(2000);  // so that it is done with
       }},
      {"MPI_Wait for a partitioned receive",
       [] {
         MPI_Start(&back_in);
         MPI_Wait(&back_in, MPI_STATUS_IGNORE);
       },
       by_parts},
      {"MPI_Parrived again and again",
       [] {
         MPI_Start(&back_in);
         for (int flag = 0; !flag;) MPI_Parrived(back_in, 0, &flag);
         MPI_Wait(&back_in, MPI_STATUS_IGNORE);
       },
       by_parts},
      {"MPI_Test on a stream again and again",
       [] {
         MPI_Request r;
         MPI_Irecv(&x, 1, MPI_INT, 1, kRelease, blocking, &r);
         for (int flag = 0; !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
       },
       by_stream},
      {"MPI_Iprobe on a stream again and again",
       [] {
         for (int flag = 0; !flag;) MPI_Iprobe(1, kRelease, blocking, &flag, MPI_STATUS_IGNORE);
         MPI_Recv(&x, 1, MPI_INT, 1, kRelease, blocking, MPI_STATUS_IGNORE);
       },
       by_stream},
      {"MPI_Test of the MPI's again and again",
       [] {
         MPI_Request r;
         MPI_Irecv(&x, 1, MPI_INT, 1, kRelease, native, &r);
         for (int flag = 0; !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
       },
       [] { send_to_0(native); }},
      {"MPI_Wait for a generalized request", [] { wait_for_task(nullptr); }, [] { send_to_0(native); }},
      {"MPI_Wait for one with a wait_fn", [] { wait_for_task(wait_released); }, [] { send_to_0(native); }},
      {"MPI_Recv of the MPI's", [] { MPI_Recv(&x, 1, MPI_INT, 1, kRelease, native, MPI_STATUS_IGNORE); }, [] { send_to_0(native); }, [] {},
       true},
      {"MPI_Barrier of the MPI's", [] { MPI_Barrier(native); }, [] { MPI_Barrier(native); }, [] {}, true},
      {"MPI_Comm_dup of a stream communicator", [=] { duplicate(blocking); }, [=] { duplicate(blocking); }},
      {"MPIX_Stream_comm_create", create, create},
      {"a thread communicator's beginning and end", thread_ranks, thread_ranks},
  };
}

void try_pair(const Call& call, const Thing& thing) {
  if (rank == 0) std::fprintf(stderr, "%s, while in %s\n", thing.name, call.name);
  int x = 0;
  if (rank == 1) {
    call.before();
    thing.see();
    call.release();
    MPI_Send(&x, 1, MPI_INT, 0, kDone, native);
    return;
  }
  if (by_thread) {
    std::atomic<bool> over{false};
    std::thread other([&] {
      usleep(3000);  // so that the call blocks
      thing.begin();
      while (!over.load()) usleep(200);
    });
    call.block();
    over.store(true);
    other.join();
  } else {
    thing.begin();
    call.block();
  }
  thing.end();
  MPI_Recv(&x, 1, MPI_INT, 1, kDone, native, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  std::iota(numbers.begin(), numbers.end(), 0);
  const bool one_stream = argc > 1 && std::strcmp(argv[1], "one") == 0;
  by_thread = one_stream || (argc > 1 && std::strcmp(argv[1], "threads") == 0);
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2);
  if (level < MPI_THREAD_MULTIPLE) {
    std::puts("skipped: the MPI does not grant MPI_THREAD_MULTIPLE");
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &native);
  const std::span used(streams, one_stream ? 1 : std::size(streams));
  for (MPIX_Stream& s : used) MPIX_Stream_create(MPI_INFO_NULL, &s);
  MPIX_Stream_comm_create(native, streams[0], &moving);
  if (!one_stream) MPIX_Stream_comm_create(native, streams[1], &blocking);
  MPI_Type_vector(kLarge, 1, 2, MPI_DOUBLE, &spread);
  MPI_Type_commit(&spread);
  if (rank == 0) {
    MPI_Psend_init(parts_out.data(), kParts, kLarge / kParts, MPI_DOUBLE, 1, kMove, native, MPI_INFO_NULL, &sends_parts);
    MPI_Precv_init(parts_in.data(), 1, kLarge, MPI_DOUBLE, 1, kRelease, native, MPI_INFO_NULL, &back_in);
  } else {
    MPI_Precv_init(parts_in.data(), kParts, kLarge / kParts, MPI_DOUBLE, 0, kMove, native, MPI_INFO_NULL, &receives_parts);
    MPI_Psend_init(parts_out.data(), 1, kLarge, MPI_DOUBLE, 0, kRelease, native, MPI_INFO_NULL, &back_out);
  }
  int pairs = 0;
  for (const Call& call : calls()) {
    if (one_stream && !call.of_mpi) continue;
    for (const Thing& thing : things()) {
      try_pair(call, thing);
      ++pairs;
    }
  }
  if (rank == 0) {
    std::printf("%d pairs: all moved\n", pairs);
    MPI_Request_free(&sends_parts);
    MPI_Request_free(&back_in);
  } else {
    MPI_Request_free(&receives_parts);
    MPI_Request_free(&back_out);
  }
  MPI_Type_free(&spread);
  MPI_Comm_free(&moving);
  if (!one_stream) MPI_Comm_free(&blocking);
  MPI_Comm_free(&native);
  for (MPIX_Stream& s : used) MPIX_Stream_free(&s);
  MPI_Finalize();
}
