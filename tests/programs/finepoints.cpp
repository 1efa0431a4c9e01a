// finepoints WORD: finepoints' own requests in finepoints' own way, and where it meets MPI's. WORD is one of the cases below.
#include <mpi.h>
#include <plait/finepoints.h>
#include <plait/partitioned.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "check.h"

namespace {

int rank = 0;
int size = 0;
int right = 0;
int left = 0;

using Ints = std::vector<int>;
using Random = std::mt19937;

int value(int from, int round, int i) { return from * 1'000'000 + round * 10'000 + i % 10'000; }

MPI_Request send_to(int to, const Ints& from, int threads, int tag = 1) {
  MPI_Request r = MPI_REQUEST_NULL;
  CHECK(MPI_Partitioned_Send_create(from.data(), static_cast<int>(from.size()), MPI_INT, threads, to, tag, MPI_COMM_WORLD, &r) ==
        MPI_SUCCESS);
  return r;
}

MPI_Request receive_from(int from, Ints& to, int tag = 1) {
  MPI_Request r = MPI_REQUEST_NULL;
  CHECK(MPI_Partitioned_Recv_create(to.data(), static_cast<int>(to.size()), MPI_INT, from, tag, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
  return r;
}

int add(MPI_Request& r, const Ints& from, std::size_t first, std::size_t count) {
  return MPI_Partitioned_Add_to_buffer(&r, from.data() + first, static_cast<int>(count), MPI_INT);
}

void check_round(const Ints& to, int from, int round) {
  for (std::size_t i = 0; i < to.size(); ++i) CHECK(to[i] == value(from, round, static_cast<int>(i)));
}

void free_both(MPI_Request& send, MPI_Request& receive) {
  CHECK(MPI_Partitioned_free(&send) == MPI_SUCCESS && send == MPI_REQUEST_NULL);
  CHECK(MPI_Partitioned_free(&receive) == MPI_SUCCESS && receive == MPI_REQUEST_NULL);
}

/// Threads that meet at each point of a round.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {}
  void meet() {
    const int turn = turn_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_ = 0;
      turn_ = turn + 1;
      turn_.notify_all();
    } else {
      turn_.wait(turn);
    }
  }
  template <class Work>
  void run(Work work) {
    std::vector<std::thread> others;
    for (int t = 1; t < threads_; ++t) others.emplace_back([&, t] { work(t); });
    work(0);
    for (std::thread& t : others) t.join();
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0}, turn_{0};
};

/// Rounds round a ring of processes: the buffer is filled again as soon as all of it has been added, while the round before it may
/// still be on its way; the receiver comes late at times. `whole`: parts of the threads are rounded down, by _a; else up.
void rounds(int threads, int count, int many, bool whole) {
  const auto n = static_cast<std::size_t>(count);
  Ints from(n);
  Ints to(n, -1);
  MPI_Request receive = receive_from(left, to);
  MPI_Request send = send_to(right, from, threads);
  const auto all = static_cast<std::size_t>(threads);
  const std::size_t part = whole ? n / all : (n + all - 1) / all;
  Team team(threads);
  team.run([&](int t) {
    Random random(static_cast<unsigned>(rank * 100 + t));
    for (int round = 0; round < many; ++round) {
      const std::size_t first = std::min(part * static_cast<std::size_t>(t), n);
      const std::size_t end = t == threads - 1 ? n : std::min(first + part, n);
      for (std::size_t i = first; i < end; ++i) from[i] = value(rank, round, static_cast<int>(i));
      if (t == 0) CHECK(MPI_Start_part(&send) == MPI_SUCCESS);
      team.meet();
      // Outside of the buffer is no address: where parts are rounded up the last ones may begin behind it.
      const int* const at = from.data() + part * static_cast<std::size_t>(t);
      if (random() % 4 == 0) std::this_thread::yield();
      if (whole) {
        CHECK(MPI_Partitioned_Add_to_buffer_a(&send, at, static_cast<int>(part), MPI_INT) == MPI_SUCCESS);
      } else {
        CHECK(MPI_Partitioned_Add_to_buffer(&send, at, static_cast<int>(part), MPI_INT) == MPI_SUCCESS);
      }
      team.meet();
      // All of it is added: it is the program's again.
      for (std::size_t i = first; i < end; ++i) from[i] = -7;
      if (t != 0) continue;
      if (random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      MPI_Status status;
      CHECK(MPI_Wait_part(&receive, &status) == MPI_SUCCESS);
      int got = -1;
      MPI_Get_count(&status, MPI_INT, &got);
      CHECK(got == count && status.MPI_SOURCE == left && status.MPI_TAG == 1);
      check_round(to, left, round);
      std::fill(to.begin(), to.end(), -1);
    }
  });
  free_both(send, receive);
}

/// One way: the sender has nothing to wait for, and may be a round ahead.
void one_way(int count, int many) {
  Ints data(static_cast<std::size_t>(count));
  const int other = rank ^ 1;
  if (other >= size) return;
  if (rank % 2 == 0) {
    MPI_Request send = send_to(other, data, 1, 2);
    for (int round = 0; round < many; ++round) {
      CHECK(MPI_Start_part(&send) == MPI_SUCCESS);
      for (int i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = value(rank, round, i);
      CHECK(add(send, data, 0, data.size()) == MPI_SUCCESS);
      if (round % 3 == 1) CHECK(MPI_Wait_part(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    // What nobody has taken yet arrives without the request and the buffer.
    CHECK(MPI_Partitioned_free(&send) == MPI_SUCCESS && send == MPI_REQUEST_NULL);
    std::fill(data.begin(), data.end(), -9);
  } else {
    MPI_Request receive = receive_from(other, data, 2);
    for (int round = 0; round < many; ++round) {
      if (round % 4 == 3) {  // it may be started, and again
        CHECK(MPI_Start_part(&receive) == MPI_SUCCESS && MPI_Start_part(&receive) == MPI_SUCCESS);
      }
      int flag = 0;
      MPI_Request both[2] = {receive, MPI_REQUEST_NULL};
      switch (round % 5) {
        case 0:
          CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
          break;
        case 1:
          CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
          break;
        case 2:
          while (!flag) CHECK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
          break;
        case 3:
          while (!flag) CHECK(MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
          break;
        default:
          while (!flag) CHECK(MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
          CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      }
      check_round(data, other, round);
    }
    CHECK(MPI_Partitioned_free(&receive) == MPI_SUCCESS);
  }
}

/// Calls that look for one of several leave receives alone that nobody has started.
void any_of_several() {
  Ints from(10);
  Ints to(10, -1);
  MPI_Request send = send_to(right, from, 1, 3);
  MPI_Request receive = receive_from(left, to, 3);
  int index = 0;
  int flag = 0;
  int count = 0;
  CHECK(MPI_Waitany(1, &receive, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index == MPI_UNDEFINED);
  CHECK(MPI_Testany(1, &receive, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && index == MPI_UNDEFINED);
  CHECK(MPI_Waitsome(1, &receive, &count, &index, MPI_STATUSES_IGNORE) == MPI_SUCCESS && count == MPI_UNDEFINED);
  CHECK(MPI_Start_part(&receive) == MPI_SUCCESS && MPI_Start_part(&send) == MPI_SUCCESS);
  CHECK(add(send, from, 0, 10) == MPI_SUCCESS);
  CHECK(MPI_Waitany(1, &receive, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index == 0);
  free_both(send, receive);
}

/// Each side may be MPI's.
void with_mpis_own() {
  Ints from(1000);
  Ints to(1000, -1);
  MPI_Request strict_send = MPI_REQUEST_NULL;
  MPI_Request strict_receive = MPI_REQUEST_NULL;
  CHECK(MPI_Psend_init(from.data(), 10, 100, MPI_INT, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &strict_send) == MPI_SUCCESS);
  MPI_Request receive = receive_from(left, to, 4);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) from[static_cast<std::size_t>(i)] = value(rank, round, i);
    CHECK(MPI_Start(&strict_send) == MPI_SUCCESS && MPI_Pready_range(0, 9, strict_send) == MPI_SUCCESS);
    GIVES(MPI_Start(&strict_send), MPI_ERR_REQUEST);
    GIVES(MPI_Partitioned_free(&strict_send), MPI_ERR_REQUEST);
    CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_round(to, left, round);
    CHECK(MPI_Wait(&strict_send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  free_both(strict_send, receive);
  MPI_Request send = send_to(right, from, 1, 5);
  CHECK(MPI_Precv_init(to.data(), 4, 250, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &strict_receive) == MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    // A receive of MPI's that is not started is complete, as MPI has it.
    CHECK(MPI_Wait(&strict_receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Start(&strict_receive) == MPI_SUCCESS && MPI_Start_part(&send) == MPI_SUCCESS);
    GIVES(MPI_Start(&strict_receive), MPI_ERR_REQUEST);
    for (int i = 0; i < 1000; ++i) from[static_cast<std::size_t>(i)] = value(rank, round, i);
    CHECK(add(send, from, 0, 1000) == MPI_SUCCESS);
    CHECK(MPI_Wait(&strict_receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_round(to, left, round);
  }
  free_both(send, strict_receive);
}

void mistakes() {
  Ints from(10);
  Ints to(10, -1);
  MPI_Request send = send_to(right, from, 4, 6);  // parts of 3: they leave the buffer by 2
  MPI_Request receive = receive_from(left, to, 6);
  MPI_Request none = MPI_REQUEST_NULL;
  GIVES(MPI_Partitioned_free(&none), MPI_ERR_REQUEST);
  GIVES(MPI_Partitioned_Add_to_buffer_a(&none, from.data(), 1, MPI_INT), MPI_ERR_REQUEST);
  GIVES(MPI_Partitioned_Add_to_buffer_a(&send, from.data(), 2, MPI_INT), MPI_ERR_REQUEST);  // not started
  for (int round = 0; round < 3; ++round) {
    CHECK(MPI_Start_part(&send) == MPI_SUCCESS);
    GIVES(MPI_Start_part(&send), MPI_ERR_REQUEST);  // nothing is added
    GIVES(add(send, from, 9, 4), MPI_ERR_BUFFER);   // leaves it by more than parts do
    GIVES(add(send, from, 12, 1), MPI_ERR_BUFFER);  // all of it
    CHECK(add(send, from, 9, 3) == MPI_SUCCESS);    // the last thread's
    GIVES(add(send, from, 9, 1), MPI_ERR_BUFFER);   // again
    CHECK(add(send, from, 12, 0) == MPI_SUCCESS);
    CHECK(add(send, from, 0, 3) == MPI_SUCCESS && add(send, from, 3, 3) == MPI_SUCCESS);
    GIVES(MPI_Start_part(&send), MPI_ERR_REQUEST);  // the third thread's is missing
    MPI_Request kept = send;
    GIVES(MPI_Partitioned_free(&send), MPI_ERR_REQUEST);
    CHECK(send == kept);
    int flag = 1;
    CHECK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    CHECK(add(send, from, 6, 3) == MPI_SUCCESS);
    GIVES(add(send, from, 6, 3), MPI_ERR_BUFFER);
    CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  // By parts of 2: a call that is refused is none of the four, and the last of them adds the two that are left.
  CHECK(MPI_Start_part(&send) == MPI_SUCCESS);
  for (int i = 0; i < 10; ++i) from[static_cast<std::size_t>(i)] = value(rank, 7, i);
  for (int t = 0; t < 4; ++t) {
    CHECK(MPI_Partitioned_Add_to_buffer_a(&send, from.data() + 2 * t, 2, MPI_INT) == MPI_SUCCESS);
    GIVES(MPI_Partitioned_Add_to_buffer_a(&send, from.data() + 2 * t, 2, MPI_INT), MPI_ERR_BUFFER);
  }
  CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  check_round(to, left, 7);
  // A receive that was asked for and has not come cannot be freed.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
  CHECK(!MPIX_Request_is_complete(receive));  // although none of its rounds has been waited for: a wait would begin one
#endif
  int flag = 1;
  CHECK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
  GIVES(MPI_Partitioned_free(&receive), MPI_ERR_REQUEST);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Start_part(&send) == MPI_SUCCESS && add(send, from, 0, 10) == MPI_SUCCESS);
  CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  free_both(send, receive);
  // With nobody, and with nothing.
  send = send_to(MPI_PROC_NULL, from, 3);
  receive = receive_from(MPI_PROC_NULL, to);
  for (int round = 0; round < 3; ++round) {
    CHECK(MPI_Start_part(&send) == MPI_SUCCESS && add(send, from, 0, 10) == MPI_SUCCESS);
    CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  free_both(send, receive);
  Ints nothing;
  nothing.reserve(1);
  send = send_to(right, nothing, 3);
  receive = receive_from(left, nothing);
  for (int round = 0; round < 3; ++round) {
    CHECK(MPI_Start_part(&send) == MPI_SUCCESS);
    CHECK(MPI_Wait_part(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  free_both(send, receive);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "rounds") {
    for (const bool whole : {false, true}) {
      for (const int count : {3, 1000, 50'021, 400'003}) {
        const int many = count > 100'000 ? 20 : count > 10'000 ? 60 : 300;
        for (const int threads : {1, 4}) rounds(threads, count, many, whole);
      }
    }
  } else if (word == "ahead") {
    for (const int count : {1, 700, 30'000, 300'000}) one_way(count, 25);
  } else if (word == "meets") {
    any_of_several();
    with_mpis_own();
    mistakes();
  } else {
    CHECK(!"a word of the program's");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("finepoints: %s right\n", argv[1]);
  MPI_Finalize();
  return 0;
}
