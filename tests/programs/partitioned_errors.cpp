// partitioned_errors: what a program may get wrong with partitioned requests gives MPI's error classes through the communicator's
// error handler, on the side that erred; none of it hangs, and what follows is right. Also what is unusual and allowed.
#include <mpi.h>
#include <plait/finepoints.h>
#include <plait/partitioned.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

namespace {

int told = 0;  // how often the handler was
int rank = 0;
int other = 0;
MPI_Comm comm = MPI_COMM_NULL;

void note(MPI_Comm*, int*, ...) { ++told; }

#define TELLS(CALL, CLASS)      \
  do {                          \
    const int before_ = told;   \
    GIVES(CALL, CLASS);         \
    CHECK(told == before_ + 1); \
  } while (0)

MPI_Request send_init(const std::vector<int>& from, int parts, int tag) {
  MPI_Request r = MPI_REQUEST_NULL;
  CHECK(MPI_Psend_init(from.data(), parts, static_cast<MPI_Count>(from.size()) / parts, MPI_INT, other, tag, comm, MPI_INFO_NULL, &r) ==
        MPI_SUCCESS);
  return r;
}

MPI_Request receive_init(std::vector<int>& to, int parts, int tag) {
  MPI_Request r = MPI_REQUEST_NULL;
  CHECK(MPI_Precv_init(to.data(), parts, static_cast<MPI_Count>(to.size()) / parts, MPI_INT, other, tag, comm, MPI_INFO_NULL, &r) ==
        MPI_SUCCESS);
  return r;
}

void initializing() {
  std::vector<int> x(4);
  MPI_Request r = MPI_REQUEST_NULL;
  const auto send = [&](int parts, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Info info = MPI_INFO_NULL) {
    return MPI_Psend_init(x.data(), parts, n, t, to, tag, comm, info, &r);
  };
  const auto receive = [&](int from, int tag) { return MPI_Precv_init(x.data(), 2, 2, MPI_INT, from, tag, comm, MPI_INFO_NULL, &r); };
  int size = 0;
  MPI_Comm_size(comm, &size);
  TELLS(send(-1, 1, MPI_INT, other, 0), MPI_ERR_ARG);
  TELLS(send(PLAIT_MOST_PARTITIONS + 1, 0, MPI_INT, other, 0), MPI_ERR_ARG);
  TELLS(send(2, -1, MPI_INT, other, 0), MPI_ERR_COUNT);
  TELLS(send(2, 1, MPI_INT, size, 0), MPI_ERR_RANK);
  TELLS(send(2, 1, MPI_INT, other, -5), MPI_ERR_TAG);
  TELLS(receive(MPI_ANY_SOURCE, 0), MPI_ERR_RANK);
  TELLS(receive(other, MPI_ANY_TAG), MPI_ERR_TAG);
  GIVES(send(2, 1, MPI_DATATYPE_NULL, other, 0), MPI_ERR_TYPE);
  GIVES(MPI_Psend_init(x.data(), 2, 2, MPI_INT, other, 0, MPI_COMM_NULL, MPI_INFO_NULL, &r), MPI_ERR_COMM);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const char* value : {"many", "0", "-3", "12x"}) {
    MPI_Info_set(info, PLAIT_CHUNK_BYTES, value);
    TELLS(send(2, 1, MPI_INT, other, 0, info), MPI_ERR_INFO_VALUE);
  }
  MPI_Info_free(&info);
  CHECK(r == MPI_REQUEST_NULL);
}

/// Both sides, of one round after another.
void readying() {
  std::vector<int> from(8, 7 + rank);
  std::vector<int> to(8);
  MPI_Request send = send_init(from, 4, 1);
  MPI_Request receive = receive_init(to, 2, 1);
  int flag = 0;
  TELLS(MPI_Pready(0, send), MPI_ERR_REQUEST);  // before start
  TELLS(MPI_Pready_range(0, 1, send), MPI_ERR_REQUEST);
  TELLS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
  TELLS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
  GIVES(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  GIVES(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag), MPI_ERR_REQUEST);
  TELLS(MPI_Partitioned_Add_to_buffer(&send, from.data(), 1, MPI_INT), MPI_ERR_REQUEST);
  for (int round = 0; round < 3; ++round) {
    MPI_Request both[2] = {send, receive};
    CHECK(MPI_Startall(2, both) == MPI_SUCCESS);
    TELLS(MPI_Start(&send), MPI_ERR_REQUEST);  // twice
    TELLS(MPI_Start(&receive), MPI_ERR_REQUEST);
    TELLS(MPI_Pready(-1, send), MPI_ERR_ARG);
    TELLS(MPI_Pready(4, send), MPI_ERR_ARG);
    TELLS(MPI_Pready_range(2, 4, send), MPI_ERR_ARG);
    TELLS(MPI_Pready_range(2, 1, send), MPI_ERR_ARG);
    int list[3] = {0, 3, 4};
    TELLS(MPI_Pready_list(3, list, send), MPI_ERR_ARG);  // none of them is ready now
    TELLS(MPI_Pready_list(-1, list, send), MPI_ERR_ARG);
    CHECK(MPI_Pready_list(0, list, send) == MPI_SUCCESS);
    TELLS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    TELLS(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG);
    TELLS(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG);
    MPI_Request kept = send;
    TELLS(MPI_Request_free(&send), MPI_ERR_REQUEST);  // while active
    CHECK(send == kept);
    kept = receive;
    TELLS(MPI_Request_free(&receive), MPI_ERR_REQUEST);
    CHECK(receive == kept);
    TELLS(MPI_Cancel(&receive), MPI_ERR_REQUEST);
    CHECK(MPI_Pready(2, send) == MPI_SUCCESS);
    TELLS(MPI_Pready(2, send), MPI_ERR_ARG);  // twice
    CHECK(MPI_Request_get_status(send, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(MPI_Pready_list(2, list, send) == MPI_SUCCESS);
    CHECK(MPI_Pready(1, send) == MPI_SUCCESS);
    for (flag = 0; !flag;) CHECK(MPI_Parrived(receive, 1, &flag) == MPI_SUCCESS);
    CHECK(to[4] == 7 + other && to[7] == 7 + other);
    MPI_Status status;
    for (flag = 0; !flag;) CHECK(MPI_Request_get_status(receive, &flag, &status) == MPI_SUCCESS);
    int n = 0;
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == 8 && status.MPI_SOURCE == other && status.MPI_TAG == 1);
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(both[0] == send && both[1] == receive);
    for (const int v : to) CHECK(v == 7 + other);
    TELLS(MPI_Pready(0, send), MPI_ERR_REQUEST);  // again not started
    CHECK(MPI_Parrived(receive, 0, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);  // inactive
    to.assign(8, 0);
  }
  CHECK(MPI_Request_free(&send) == MPI_SUCCESS && send == MPI_REQUEST_NULL);
  CHECK(MPI_Request_free(&receive) == MPI_SUCCESS && receive == MPI_REQUEST_NULL);
}

/// Of so many ints sent, as many received as fit.
void sizes(int sent, int received) {
  std::vector<int> from(static_cast<std::size_t>(sent), 5 + rank);
  std::vector<int> memory(static_cast<std::size_t>(received) + 1, -1);
  std::vector<int> to(static_cast<std::size_t>(received), -1);
  MPI_Request send = send_init(from, 2, 2);
  MPI_Request receive = MPI_REQUEST_NULL;
  CHECK(MPI_Precv_init(memory.data(), 1, received, MPI_INT, other, 2, comm, MPI_INFO_NULL, &receive) == MPI_SUCCESS);
  for (int round = 0; round < 2; ++round) {
    CHECK(MPI_Start(&receive) == MPI_SUCCESS && MPI_Start(&send) == MPI_SUCCESS);
    CHECK(MPI_Pready_range(0, 1, send) == MPI_SUCCESS);
    MPI_Status status;
    // This process's own receive, too: it must not wait for the send alone.
    if (sent > received) {
      TELLS(MPI_Wait(&receive, &status), MPI_ERR_TRUNCATE);
    } else {
      CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS);
    }
    int n = 0;
    MPI_Get_count(&status, MPI_INT, &n);
    const int fits = sent < received ? sent : received;
    CHECK(n == fits);
    for (int i = 0; i <= received; ++i) CHECK(memory[static_cast<std::size_t>(i)] == (i < fits ? 5 + other : -1));
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(receive != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

/// No partitions, or none with anything in it, on one side or on both: every round ends, and the receiver learns of what does not fit.
void nothing(int sent_parts, int sent_each, int received_parts, int received_each) {
  std::vector<int> from(8, 5);
  std::vector<int> to(8, -1);
  MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  CHECK(MPI_Precv_init(to.data(), received_parts, received_each, MPI_INT, other, 9, comm, MPI_INFO_NULL, &both[0]) == MPI_SUCCESS);
  CHECK(MPI_Psend_init(from.data(), sent_parts, sent_each, MPI_INT, other, 9, comm, MPI_INFO_NULL, &both[1]) == MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    CHECK(MPI_Startall(2, both) == MPI_SUCCESS);
    if (sent_parts > 0) CHECK(MPI_Pready_range(0, sent_parts - 1, both[1]) == MPI_SUCCESS);
    for (int flag = 0; received_parts > 0 && !flag;) CHECK(MPI_Parrived(both[0], received_parts - 1, &flag) == MPI_SUCCESS);
    if (sent_parts * sent_each > received_parts * received_each) {
      TELLS(MPI_Wait(&both[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    } else {
      CHECK(MPI_Wait(&both[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Wait(&both[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

void nobody() {
  int x[4] = {};
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request receive = MPI_REQUEST_NULL;
  CHECK(MPI_Psend_init(x, 2, 2, MPI_INT, MPI_PROC_NULL, 3, comm, MPI_INFO_NULL, &send) == MPI_SUCCESS);
  CHECK(MPI_Precv_init(x, 4, 1, MPI_INT, MPI_PROC_NULL, 3, comm, MPI_INFO_NULL, &receive) == MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    CHECK(MPI_Start(&send) == MPI_SUCCESS && MPI_Start(&receive) == MPI_SUCCESS);
    TELLS(MPI_Pready(2, send), MPI_ERR_ARG);
    CHECK(MPI_Pready_range(0, 0, send) == MPI_SUCCESS);
    int flag = 0;
    CHECK(MPI_Parrived(receive, 3, &flag) == MPI_SUCCESS && flag);
    MPI_Status status;
    CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    // Of several threads one may be late: a send to nobody does not wait for it.
    CHECK(MPI_Pready(1, send) == MPI_SUCCESS);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

/// Requests freed without having been started, on one side, the other, or both, between those that are.
void never_started(bool sender, bool receiver, bool early) {
  std::vector<int> none(2, -1);
  std::vector<int> from(2, 40 + rank);
  std::vector<int> to(2, -1);
  MPI_Request unused_send = sender ? send_init(none, 1, 4) : MPI_REQUEST_NULL;
  MPI_Request unused_receive = receiver ? receive_init(none, 1, 4) : MPI_REQUEST_NULL;
  if (early && sender) CHECK(MPI_Request_free(&unused_send) == MPI_SUCCESS);
  if (early && receiver) CHECK(MPI_Request_free(&unused_receive) == MPI_SUCCESS);
  MPI_Request send = send_init(from, 1, 4);
  MPI_Request receive = receive_init(to, 1, 4);
  // So that the two sides have met.
  for (int i = 0; i < 5 && !early; ++i) MPI_Barrier(comm);
  if (!early && sender) CHECK(MPI_Request_free(&unused_send) == MPI_SUCCESS);
  if (!early && receiver) CHECK(MPI_Request_free(&unused_receive) == MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    to = {-1, -1};
    MPI_Request both[2] = {receive, send};
    CHECK(MPI_Startall(2, both) == MPI_SUCCESS && MPI_Pready(0, send) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(to[0] == 40 + other && to[1] == 40 + other && none[0] == -1);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Barrier(comm);
}

void finepoints() {
  std::vector<double> from(100, 1.5 + rank);
  std::vector<double> to(100);
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request receive = MPI_REQUEST_NULL;
  TELLS(MPI_Partitioned_Send_create(from.data(), 100, MPI_DOUBLE, 0, other, 5, comm, &send), MPI_ERR_ARG);
  CHECK(MPI_Partitioned_Send_create(from.data(), 100, MPI_DOUBLE, 4, other, 5, comm, &send) == MPI_SUCCESS);
  CHECK(MPI_Partitioned_Recv_create(to.data(), 100, MPI_DOUBLE, other, 5, comm, &receive) == MPI_SUCCESS);
  const auto add = [&](std::size_t first, int count) {
    return MPI_Partitioned_Add_to_buffer(&send, from.data() + first, count, MPI_DOUBLE);
  };
  TELLS(add(0, 1), MPI_ERR_REQUEST);  // before start
  TELLS(MPI_Partitioned_Add_to_buffer(&receive, to.data(), 1, MPI_DOUBLE), MPI_ERR_REQUEST);
  for (int round = 0; round < 3; ++round) {
    CHECK(MPI_Start_part(&receive) == MPI_SUCCESS && MPI_Start_part(&send) == MPI_SUCCESS);
    TELLS(MPI_Pready(0, send), MPI_ERR_REQUEST);  // it has no partitions
    CHECK(add(10, 70) == MPI_SUCCESS);
    TELLS(add(5, 6), MPI_ERR_BUFFER);  // overlaps
    TELLS(add(79, 1), MPI_ERR_BUFFER);
    TELLS(add(0, 100), MPI_ERR_BUFFER);
    TELLS(add(95, 6), MPI_ERR_BUFFER);  // leaves the buffer
    TELLS(add(101, 1), MPI_ERR_BUFFER);
    TELLS(MPI_Partitioned_Add_to_buffer(&send, from.data() - 1, 1, MPI_DOUBLE), MPI_ERR_BUFFER);
    TELLS(MPI_Partitioned_Add_to_buffer(&send, reinterpret_cast<char*>(from.data()) + 4, 1, MPI_DOUBLE), MPI_ERR_BUFFER);
    TELLS(MPI_Partitioned_Add_to_buffer(&send, from.data(), 3, MPI_INT), MPI_ERR_TYPE);  // not whole elements
    TELLS(add(0, -1), MPI_ERR_COUNT);
    CHECK(add(80, 0) == MPI_SUCCESS);
    CHECK(MPI_Partitioned_Add_to_buffer(&send, from.data() + 80, 160, MPI_BYTE) == MPI_SUCCESS);
    CHECK(add(0, 10) == MPI_SUCCESS);
    MPI_Status status;
    CHECK(MPI_Wait_part(&receive, &status) == MPI_SUCCESS && MPI_Wait_part(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    int n = 0;
    MPI_Get_count(&status, MPI_DOUBLE, &n);
    CHECK(n == 100);
    for (const double v : to) CHECK(v == 1.5 + other);
    to.assign(100, 0);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

/// Requests with the same envelope are matched as they were made, whatever is made and received between them otherwise.
void in_order() {
  constexpr int kMany = 20;
  std::vector<std::vector<int>> from;
  std::vector<std::vector<int>> to;
  std::vector<MPI_Request> sends;
  std::vector<MPI_Request> receives;
  for (int i = 0; i < kMany; ++i) {
    from.push_back(std::vector<int>(4, 1000 * rank + i));
    to.push_back(std::vector<int>(4, -1));
  }
  for (int i = 0; i < kMany; ++i) sends.push_back(send_init(from[static_cast<std::size_t>(i)], 1 + i % 4 - (i % 4 == 2 ? 1 : 0), 6));
  int word = rank;
  int heard = -1;
  MPI_Sendrecv(&word, 1, MPI_INT, other, 6, &heard, 1, MPI_INT, other, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  CHECK(heard == other);
  for (int i = 0; i < kMany; ++i) receives.push_back(receive_init(to[static_cast<std::size_t>(i)], 1, 6));
  MPI_Startall(kMany, receives.data());
  MPI_Startall(kMany, sends.data());
  for (int i = kMany; i-- > 0;) {
    const int parts = 1 + i % 4 - (i % 4 == 2 ? 1 : 0);
    CHECK(MPI_Pready_range(0, parts - 1, sends[static_cast<std::size_t>(i)]) == MPI_SUCCESS);
  }
  for (int left = kMany; left > 0;) {
    std::array<int, kMany> indices{};
    int n = 0;
    CHECK(MPI_Waitsome(kMany, receives.data(), &n, indices.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS && n != MPI_UNDEFINED);
    left -= n;
  }
  for (int i = 0; i < kMany; ++i) {
    int index = -1;
    CHECK(MPI_Waitany(kMany, sends.data(), &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index != MPI_UNDEFINED);
    CHECK(to[static_cast<std::size_t>(i)][3] == 1000 * other + i);
  }
  for (MPI_Request& r : sends) MPI_Request_free(&r);
  for (MPI_Request& r : receives) MPI_Request_free(&r);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(note, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  for (int distance = 0; distance <= 1; ++distance) {  // to itself, and to another
    other = distance == 0 ? rank : rank ^ 1;
    initializing();
    readying();
    sizes(10, 9);
    sizes(10, 10);
    sizes(10, 14);
    sizes(200000, 150000);
    nothing(0, 1, 0, 1);
    nothing(0, 4, 4, 1);
    nothing(4, 1, 0, 4);
    nothing(4, 0, 0, 4);
    nothing(4, 0, 4, 0);
    nothing(0, 0, 4, 2);
    nobody();
    for (int which = 0; which < 8; ++which) never_started((which & 1) != 0, (which & 2) != 0, (which & 4) != 0);
    finepoints();
    in_order();
  }
  // A communicator may be freed before its requests.
  std::vector<int> from(2, rank);
  std::vector<int> to(2, -1);
  MPI_Request send = send_init(from, 2, 8);
  MPI_Request receive = receive_init(to, 1, 8);
  MPI_Comm_free(&comm);
  GIVES(MPI_Pready(0, send), MPI_ERR_REQUEST);
  MPI_Start(&receive);
  MPI_Start(&send);
  MPI_Pready_range(0, 1, send);
  CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS && MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS && to[1] == other);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Errhandler_free(&handler);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("every mistake has its error class in %d processes\n", size);
  MPI_Finalize();
  return 0;
}
