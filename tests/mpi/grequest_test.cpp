// Generalized requests that progress themselves: what their callbacks are asked and when. 1 process x 1 or 2 threads.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tasks.hpp"

namespace plait::test {
namespace {

/// The six calls that end requests, used to end exactly one. Returns its error; `called` is what the call itself returned.
using End = int (*)(MPI_Request*, int* called);

int by_wait(MPI_Request* r, int* called) { return *called = MPI_Wait(r, MPI_STATUS_IGNORE); }
int by_test(MPI_Request* r, int* called) {
  for (int flag = 0; !flag;) *called = MPI_Test(r, &flag, MPI_STATUS_IGNORE);
  return *called;
}
int by_waitany(MPI_Request* r, int* called) {
  int index = -1;
  return *called = MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
}
int by_testany(MPI_Request* r, int* called) {
  int index = -1;
  for (int flag = 0; !flag;) *called = MPI_Testany(1, r, &index, &flag, MPI_STATUS_IGNORE);
  return *called;
}
int by_waitall(MPI_Request* r, int* called) {
  MPI_Status s{};
  *called = MPI_Waitall(1, r, &s);
  return s.MPI_ERROR;
}
int by_testall(MPI_Request* r, int* called) {
  MPI_Status s{};
  for (int flag = 0; !flag;) *called = MPI_Testall(1, r, &flag, &s);
  return s.MPI_ERROR;
}
int by_waitsome(MPI_Request* r, int* called) {
  MPI_Status s{};
  int n = 0;
  int index = -1;
  *called = MPI_Waitsome(1, r, &n, &index, &s);
  return s.MPI_ERROR;
}
int by_testsome(MPI_Request* r, int* called) {
  MPI_Status s{};
  int index = -1;
  for (int n = 0; n == 0;) *called = MPI_Testsome(1, r, &n, &index, &s);
  return s.MPI_ERROR;
}

struct NamedEnd {
  const char* name;
  End end;
  bool many;  ///< errors are in the statuses
};

class EveryCall : public testing::TestWithParam<NamedEnd> {
 protected:
  /// Ends a task that has an error in it; it must come out.
  void expect_error(Task& t, int wanted) {
    const ErrorsReturn errors;
    int called = MPI_SUCCESS;
    EXPECT_EQ(error_class(GetParam().end(&t.request, &called)), wanted);
    EXPECT_EQ(error_class(called), GetParam().many ? MPI_ERR_IN_STATUS : wanted);
    EXPECT_EQ(ErrorsReturn::calls, 1);
    EXPECT_EQ(t.request, MPI_REQUEST_NULL);
    EXPECT_EQ(t.queries, 1);
    EXPECT_EQ(t.frees, 1);
  }
};

TEST_P(EveryCall, EndsOnceItIsComplete) {
  Task t{.rounds = 3};
  t.start();
  int called = -1;
  EXPECT_EQ(GetParam().end(&t.request, &called), MPI_SUCCESS);
  EXPECT_EQ(called, MPI_SUCCESS);
  EXPECT_EQ(t.polls, 3);
  EXPECT_EQ(t.queries, 1);
  EXPECT_EQ(t.frees, 1);
  EXPECT_EQ(t.request, MPI_REQUEST_NULL);
}

TEST_P(EveryCall, TellsTheErrorOfQuery) {
  Task t{.query_error = MPI_ERR_IO};
  t.start();
  expect_error(t, MPI_ERR_IO);
}

TEST_P(EveryCall, TellsTheErrorOfFree) {
  Task t{.query_error = MPI_ERR_IO, .free_error = MPI_ERR_FILE};
  t.start();
  expect_error(t, MPI_ERR_FILE);
}

TEST_P(EveryCall, TellsTheErrorOfPollWhichEndsTheRequest) {
  Task t{.rounds = 0, .poll_error = MPI_ERR_NO_SPACE};
  t.start();
  expect_error(t, MPI_ERR_NO_SPACE);
  EXPECT_EQ(t.polls, 1);
}

class EveryWait : public EveryCall {};

TEST_P(EveryWait, TellsTheErrorOfWait) {
  Task t{.rounds = 0, .wait_error = MPI_ERR_QUOTA};
  t.start(Task::wait);
  expect_error(t, MPI_ERR_QUOTA);
  EXPECT_EQ(t.waits, 1);
}

constexpr NamedEnd kWaits[] = {
    {"wait", by_wait, false}, {"waitany", by_waitany, false}, {"waitall", by_waitall, true}, {"waitsome", by_waitsome, true}};
constexpr NamedEnd kTests[] = {
    {"test", by_test, false}, {"testany", by_testany, false}, {"testall", by_testall, true}, {"testsome", by_testsome, true}};
constexpr auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Waits, EveryCall, testing::ValuesIn(kWaits), kName);
INSTANTIATE_TEST_SUITE_P(Tests, EveryCall, testing::ValuesIn(kTests), kName);
INSTANTIATE_TEST_SUITE_P(Waits, EveryWait, testing::ValuesIn(kWaits), kName);

TEST(Grequest, ErrorsStandInTheStatusOfTheirRequestOnly) {
  const ErrorsReturn errors;
  Task a{.rounds = 2}, b{.query_error = MPI_ERR_IO}, c{.rounds = 0, .poll_error = MPI_ERR_OTHER}, d{.rounds = 4};
  std::array<MPI_Request, 4> requests{};
  std::array<Task*, 4> tasks{&a, &b, &c, &d};
  for (std::size_t i = 0; i < 4; ++i) {
    tasks[i]->start();
    requests[i] = tasks[i]->request;
  }
  std::array<MPI_Status, 4> statuses{};
  EXPECT_EQ(error_class(MPI_Waitall(4, requests.data(), statuses.data())), MPI_ERR_IN_STATUS);
  EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(error_class(statuses[1].MPI_ERROR), MPI_ERR_IO);
  EXPECT_EQ(error_class(statuses[2].MPI_ERROR), MPI_ERR_OTHER);
  EXPECT_EQ(statuses[3].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(requests, (std::array<MPI_Request, 4>{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}));
  EXPECT_EQ(ErrorsReturn::calls, 1);
}

TEST(Grequest, GetStatusTellsErrorsAndEndsNothing) {
  const ErrorsReturn errors;
  Task t{.query_error = MPI_ERR_IO};
  t.start();
  int flag = 0;
  EXPECT_EQ(error_class(MPI_Request_get_status(t.request, &flag, MPI_STATUS_IGNORE)), MPI_ERR_IO);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(t.frees, 0);
  t.query_error = MPI_SUCCESS;
  EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(Grequest, StatusIsWhatQuerySays) {
  Task t{.count = 12, .cancelled = true};
  t.start();
  MPI_Status s{};
  s.MPI_ERROR = 77;
  EXPECT_EQ(MPI_Wait(&t.request, &s), MPI_SUCCESS);
  EXPECT_EQ(bytes_in(s), 12);
  EXPECT_TRUE(was_cancelled(s));
  EXPECT_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
  EXPECT_EQ(s.MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(s.MPI_ERROR, 77) << "calls that end one request leave it alone";
}

TEST(Grequest, QuerySeesTheStatusThatPollHasWritten) {
  static MPI_Request request;
  const auto poll = [](void*, MPI_Status* s) {
    s->MPI_TAG = 42;
    MPI_Status_set_elements(s, MPI_INT, 3);
    return MPI_Grequest_complete(request);
  };
  const auto query = [](void*, MPI_Status* s) { return s->MPI_TAG == 42 ? MPI_SUCCESS : MPI_ERR_OTHER; };
  Task t;
  MPIX_Grequest_start(query, Task::free, Task::cancel, poll, nullptr, &t, &request);
  MPI_Status s{};
  EXPECT_EQ(MPI_Wait(&request, &s), MPI_SUCCESS);
  EXPECT_EQ(s.MPI_TAG, 42);
  EXPECT_EQ(bytes_in(s), 12);
}

TEST(Grequest, CompletedBeforeItIsWaitedForIsNotPolled) {
  Task t{.rounds = 0};
  t.start();
  EXPECT_EQ(t.complete(), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(t.polls, 0);
}

TEST(Grequest, CancelIsToldWhetherTheRequestIsComplete) {
  Task t{.rounds = 0};
  t.start();
  EXPECT_EQ(MPI_Cancel(&t.request), MPI_SUCCESS);
  EXPECT_EQ(t.complete_at_cancel, 0);
  EXPECT_EQ(t.complete(), MPI_SUCCESS);
  EXPECT_EQ(MPI_Cancel(&t.request), MPI_SUCCESS);
  EXPECT_EQ(t.complete_at_cancel, 1);
  const ErrorsReturn errors;
  t.cancel_error = MPI_ERR_OTHER;
  EXPECT_EQ(error_class(MPI_Cancel(&t.request)), MPI_ERR_OTHER);
  EXPECT_EQ(t.cancels, 3);
  EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// ---- MPI_Request_free

TEST(Grequest, FreedAfterItsEndIsFreedAtOnce) {
  Task t{.rounds = 0};
  t.start();
  EXPECT_EQ(t.complete(), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&t.request), MPI_SUCCESS);
  EXPECT_EQ(t.request, MPI_REQUEST_NULL);
  EXPECT_EQ(t.frees, 1);
  EXPECT_EQ(t.queries, 0) << "nobody wants its status";
}

TEST(Grequest, FreedBeforeItsEndIsFreedByComplete) {
  Task t{.rounds = 0};
  t.start();
  const MPI_Request mine = t.request;
  EXPECT_EQ(MPI_Request_free(&t.request), MPI_SUCCESS);
  EXPECT_EQ(t.request, MPI_REQUEST_NULL);
  EXPECT_EQ(t.frees, 0);
  EXPECT_EQ(MPI_Grequest_complete(mine), MPI_SUCCESS);
  EXPECT_EQ(t.frees, 1);
  EXPECT_EQ(t.queries, 0);
}

TEST(Grequest, FreedBeforeItsEndIsPolledByCallsOnOthers) {
  MPI_Request mine = MPI_REQUEST_NULL;
  Task freed{.rounds = 0, .in_poll = [&](Task& t) {
               if (t.polls == 3) MPI_Grequest_complete(mine);
             }};
  freed.start();
  mine = freed.request;
  Task waited{.rounds = 0, .in_poll = [&](Task& t) {
                if (freed.frees > 0 && t.rounds == 0) t.rounds = 1;
              }};
  waited.start();
  MPI_Request_free(&freed.request);
  EXPECT_EQ(MPI_Wait(&waited.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(freed.polls, 3);
  EXPECT_EQ(freed.frees, 1);
}

TEST(Grequest, ErrorOfFreeComesOutOfRequestFree) {
  const ErrorsReturn errors;
  Task t{.rounds = 0, .free_error = MPI_ERR_FILE};
  t.start();
  EXPECT_EQ(t.complete(), MPI_SUCCESS);
  EXPECT_EQ(error_class(MPI_Request_free(&t.request)), MPI_ERR_FILE);
}

// ---- wait_fn

class Waiting : public testing::Test {
 protected:
  /// Three of one class, complete after 2 rounds each.
  void SetUp() override {
    MPIX_Grequest_class_create(Task::query, Task::free, Task::cancel, Task::poll, Task::wait, &kind);
    for (std::size_t i = 0; i < 3; ++i) {
      tasks[i].rounds = 2;
      EXPECT_EQ(MPIX_Grequest_class_allocate(kind, &tasks[i], &tasks[i].request), MPI_SUCCESS);
      requests[i] = tasks[i].request;
    }
    requests[3] = MPI_REQUEST_NULL;
  }
  MPIX_Grequest_class kind = 0;
  std::array<Task, 3> tasks;
  std::array<MPI_Request, 4> requests{};
};

TEST_F(Waiting, IsLeftToWaitFnWhereAllAreOfOneClass) {
  EXPECT_EQ(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (const Task& t : tasks) {
    EXPECT_EQ(t.polls, 1);
    EXPECT_EQ(t.waits, 1);
    EXPECT_EQ(t.waited_together, 3);
  }
}

TEST_F(Waiting, ForAnyOfOneClassAndNullsIsLeftToWaitFn) {
  int index = -1;
  EXPECT_EQ(MPI_Waitany(4, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (const Task& t : tasks) EXPECT_EQ(t.waited_together, 3);
  EXPECT_EQ(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

TEST_F(Waiting, ForSomeOfOneClassAndNullsIsLeftToWaitFn) {
  std::array<int, 4> indices{};
  int n = 0;
  EXPECT_EQ(MPI_Waitsome(4, requests.data(), &n, indices.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(n, 3);
  for (const Task& t : tasks) EXPECT_EQ(t.waited_together, 3);
}

TEST_F(Waiting, ForOneIsLeftToWaitFn) {
  for (Task& t : tasks) {
    EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(t.waited_together, 1);
  }
}

TEST_F(Waiting, ForTwoClassesPolls) {
  Task other{.rounds = 6};
  other.start();
  std::array<MPI_Request, 4> all{requests[0], requests[1], requests[2], other.request};
  EXPECT_EQ(MPI_Waitall(4, all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (const Task& t : tasks) EXPECT_EQ(t.waits, 0);
}

TEST_F(Waiting, BesideAnMpiRequestPolls) {
  int in = 0;
  const int out = 9;
  // The message is on its way only when the tasks are done, so they are never waited for alone.
  tasks[2].in_poll = [&](Task& t) {
    if (t.rounds == 1) MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  };
  MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[3]);
  EXPECT_EQ(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(in, 9);
  for (const Task& t : tasks) EXPECT_EQ(t.waits, 0);
}

TEST_F(Waiting, IsNotLeftToWaitFnWhileAnotherThreadPollsOne) {
  std::atomic<bool> inside{false}, go{false};
  tasks[0].in_poll = [&](Task& t) {
    inside = true;
    while (!go) std::this_thread::yield();
    t.rounds = 1;
  };
  for (const std::size_t i : {1, 2}) {
    tasks[i].rounds = 0;
    tasks[i].in_poll = [&](Task& t) {
      if (t.polls == 50) go = true;
    };
  }
  std::thread poller([] { MPIX_Stream_progress(MPIX_STREAM_NULL); });
  while (!inside) std::this_thread::yield();
  int index = -1;
  EXPECT_EQ(MPI_Waitany(3, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
  poller.join();
  EXPECT_EQ(index, 0);
  for (const Task& t : tasks) EXPECT_EQ(t.waits, 0);
  for (const std::size_t i : {1, 2}) EXPECT_EQ(tasks[i].complete(), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

// ---- callbacks that call MPI

TEST(Grequest, CallbacksMayCallMpi) {
  int in = 0;
  const int out = 5;
  Task inner{.rounds = 2}, started;
  inner.start();
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &receive);
  bool inner_done = false;
  bool received = false;
  Task outer{.rounds = 0,
             .in_poll =
                 [&](Task& t) {
                   int flag = 0;
                   MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
                   if (!inner_done) {
                     MPI_Test(&inner.request, &flag, MPI_STATUS_IGNORE);
                     inner_done = flag;
                     if (flag) MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
                   } else if (!received) {
                     std::array<MPI_Request, 2> both{receive, MPI_REQUEST_NULL};
                     MPI_Testall(2, both.data(), &flag, MPI_STATUSES_IGNORE);
                     received = flag;
                   } else {
                     t.rounds = 1;
                   }
                 },
             .in_query = [&](Task&) { started.start(); },
             .in_free = [&](Task&) { MPI_Wait(&started.request, MPI_STATUS_IGNORE); }};
  outer.start();
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, outer.request};
  EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(in, 5);
  EXPECT_EQ(inner.frees, 1);
  EXPECT_EQ(started.frees, 1);
}

TEST(Grequest, ManyCallsMayNestInsideCallbacks) {
  // Each task's poll_fn waits for the next: every level has a Waitall of its own under way.
  constexpr int kDepth = 20;
  std::vector<Task> tasks(kDepth);
  for (int i = 0; i < kDepth; ++i) {
    if (i + 1 < kDepth) {
      tasks[i].in_poll = [&tasks, i](Task&) {
        std::array<MPI_Request, 2> requests{tasks[i + 1].request, MPI_REQUEST_NULL};
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      };
    }
    tasks[i].start();
  }
  std::array<MPI_Request, 3> requests{MPI_REQUEST_NULL, tasks[0].request, MPI_REQUEST_NULL};
  std::array<MPI_Status, 3> statuses{};
  EXPECT_EQ(MPI_Waitall(3, requests.data(), statuses.data()), MPI_SUCCESS);
  for (const Task& t : tasks) EXPECT_EQ(t.frees, 1);
}

// ---- progress

TEST(Grequest, StreamProgressPollsAll) {
  std::array<Task, 3> tasks;
  for (Task& t : tasks) {
    t.rounds = 2;
    t.start();
  }
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    for (const Task& t : tasks) EXPECT_EQ(t.polls, std::min(round, 2));
  }
  for (Task& t : tasks) EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(Grequest, StreamProgressFreesWhatWasFreed) {
  MPI_Request mine = MPI_REQUEST_NULL;
  Task t{.rounds = 0, .in_poll = [&](Task&) { EXPECT_EQ(MPI_Grequest_complete(mine), MPI_SUCCESS); }};
  t.start();
  mine = t.request;
  MPI_Request_free(&t.request);
  EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
  EXPECT_EQ(t.frees, 1);
}

// ---- many

TEST(Grequest, TensOfThousandsAtOnce) {
  constexpr std::size_t kMany = 50'000;
  std::vector<Task> tasks(kMany);
  std::vector<MPI_Request> requests(kMany + 1, MPI_REQUEST_NULL);
  int in = 0;
  const int out = 3;
  MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[kMany]);
  for (std::size_t i = 0; i < kMany; ++i) {
    tasks[i].rounds = 1 + static_cast<int>(i % 3);
    tasks[i].count = static_cast<int>(i);
    tasks[i].start();
    requests[i] = tasks[i].request;
  }
  // Half by Waitsome, as they come; the others and the receive by Waitall.
  std::vector<int> indices(kMany);
  for (std::size_t ended = 0; ended < kMany / 2;) {
    int n = 0;
    ASSERT_EQ(MPI_Waitsome(kMany / 2, requests.data(), &n, indices.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    ended += static_cast<std::size_t>(n);
  }
  MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  std::vector<MPI_Status> statuses(kMany + 1);
  ASSERT_EQ(MPI_Waitall(kMany + 1, requests.data(), statuses.data()), MPI_SUCCESS);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(tasks[i].frees, 1) << i;
    ASSERT_EQ(bytes_in(statuses[i]), i < kMany / 2 ? 0 : static_cast<int>(i));
  }
  EXPECT_EQ(in, 3);
}

// ---- what the program may get wrong

class Wrong : public testing::Test {
 protected:
  static int start(MPI_Grequest_query_function* q, MPI_Grequest_free_function* f, MPI_Grequest_cancel_function* c,
                   MPIX_Grequest_poll_function* p, MPI_Request* r) {
    return error_class(MPIX_Grequest_start(q, f, c, p, nullptr, nullptr, r));
  }
  static int create(MPI_Grequest_query_function* q, MPI_Grequest_free_function* f, MPI_Grequest_cancel_function* c,
                    MPIX_Grequest_poll_function* p, MPIX_Grequest_class* k) {
    return error_class(MPIX_Grequest_class_create(q, f, c, p, nullptr, k));
  }
  ErrorsReturn errors;
};

TEST_F(Wrong, NullCallbacksAndOutputs) {
  MPI_Request r = MPI_REQUEST_NULL;
  EXPECT_EQ(start(nullptr, Task::free, Task::cancel, Task::poll, &r), MPI_ERR_ARG);
  EXPECT_EQ(start(Task::query, nullptr, Task::cancel, Task::poll, &r), MPI_ERR_ARG);
  EXPECT_EQ(start(Task::query, Task::free, nullptr, Task::poll, &r), MPI_ERR_ARG);
  EXPECT_EQ(start(Task::query, Task::free, Task::cancel, nullptr, &r), MPI_ERR_ARG);
  EXPECT_EQ(start(Task::query, Task::free, Task::cancel, Task::poll, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(r, MPI_REQUEST_NULL);
  MPIX_Grequest_class k = 77;
  EXPECT_EQ(create(nullptr, Task::free, Task::cancel, Task::poll, &k), MPI_ERR_ARG);
  EXPECT_EQ(create(Task::query, nullptr, Task::cancel, Task::poll, &k), MPI_ERR_ARG);
  EXPECT_EQ(create(Task::query, Task::free, nullptr, Task::poll, &k), MPI_ERR_ARG);
  EXPECT_EQ(create(Task::query, Task::free, Task::cancel, nullptr, &k), MPI_ERR_ARG);
  EXPECT_EQ(create(Task::query, Task::free, Task::cancel, Task::poll, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(k, 77);
  EXPECT_EQ(ErrorsReturn::calls, 10);
}

TEST_F(Wrong, UnknownClasses) {
  MPIX_Grequest_class known = 0;
  ASSERT_EQ(create(Task::query, Task::free, Task::cancel, Task::poll, &known), MPI_SUCCESS);
  MPI_Request r = MPI_REQUEST_NULL;
  for (const MPIX_Grequest_class k : {0, -1, 1, known + 1, known + 1'000'000}) {
    EXPECT_EQ(error_class(MPIX_Grequest_class_allocate(k, nullptr, &r)), MPI_ERR_ARG) << k;
  }
  EXPECT_EQ(error_class(MPIX_Grequest_class_allocate(known, nullptr, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(r, MPI_REQUEST_NULL);
}

TEST_F(Wrong, CompletedTwice) {
  Task t{.rounds = 0};
  t.start();
  EXPECT_EQ(t.complete(), MPI_SUCCESS);
  EXPECT_EQ(error_class(t.complete()), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Wrong, EndedRequestsUsedAgain) {
  Task t;
  t.start();
  const MPI_Request stale = t.request;
  EXPECT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  int flag = 0;
  int n = 0;
  MPI_Request r = stale;
  EXPECT_EQ(error_class(MPI_Wait(&r, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Test(&r, &flag, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Waitall(1, &r, MPI_STATUSES_IGNORE)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Waitany(1, &r, &n, MPI_STATUS_IGNORE)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Cancel(&r)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Request_free(&r)), MPI_ERR_REQUEST);
  EXPECT_EQ(error_class(MPI_Grequest_complete(r)), MPI_ERR_REQUEST);
  EXPECT_EQ(r, stale);
}

TEST_F(Wrong, UnknownStreams) { EXPECT_EQ(error_class(MPIX_Stream_progress(static_cast<MPIX_Stream>(12345))), MPI_ERR_ARG); }

}  // namespace
}  // namespace plait::test
