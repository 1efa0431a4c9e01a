// Threads that start, poll, complete and end generalized requests all at once. 1 process x up to 6 threads.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tasks.hpp"

namespace plait::test {
namespace {

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI does not give MPI_THREAD_MULTIPLE";
  }
  template <class Body>
  static void on(int threads, Body body) {
    std::vector<std::thread> all;
    all.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) all.emplace_back(body, i);
    for (std::thread& t : all) t.join();
  }
};

/// Rounds of eight tasks: complete when they have been polled, or when another thread says so.
void start_and_wait(int thread, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::array<Task, 8> tasks;
    std::array<MPI_Request, 8> requests{};
    std::array<MPI_Status, 8> statuses{};
    for (std::size_t i = 0; i < 8; ++i) {
      tasks[i].rounds = 1 + static_cast<int>(i % 4);
      tasks[i].count = thread * 100 + static_cast<int>(i);
      ASSERT_EQ(tasks[i].start(i % 2 ? Task::wait : nullptr), MPI_SUCCESS);
      requests[i] = tasks[i].request;
    }
    ASSERT_EQ(MPI_Waitall(8, requests.data(), statuses.data()), MPI_SUCCESS);
    for (std::size_t i = 0; i < 8; ++i) {
      ASSERT_EQ(tasks[i].frees, 1);
      ASSERT_EQ(bytes_in(statuses[i]), tasks[i].count);
    }
  }
}

TEST_F(Threads, EachWaitsForItsOwn) {
  on(4, [](int i) { start_and_wait(i, 500); });
}

TEST_F(Threads, OthersPollMeanwhile) {
  std::atomic<int> left{4};
  on(6, [&](int i) {
    if (i < 4) {
      start_and_wait(i, 300);
      --left;
    } else {
      while (left > 0) {
        ASSERT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
        std::this_thread::yield();
      }
    }
  });
}

/// What one thread does, plain memory, is seen by the one that finds the request complete.
TEST_F(Threads, CompleteTheRequestsOfOthers) {
  constexpr int kRounds = 2000;
  std::atomic<Task*> handed{nullptr};
  int work = 0;
  on(2, [&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      if (i == 0) {
        Task t{.rounds = 0};
        ASSERT_EQ(t.start(), MPI_SUCCESS);
        handed = &t;
        ASSERT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(work, round + 1);
        ASSERT_EQ(t.frees, 1);
      } else {
        Task* t = nullptr;
        while (!(t = handed.exchange(nullptr))) std::this_thread::yield();
        ++work;
        const MPI_Request request = t->request;
        ASSERT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
      }
    }
  });
}

/// MPI_Request_free, MPI_Grequest_complete and polling meet in any order; free_fn is called once.
TEST_F(Threads, FreeCompleteAndPollAtOnce) {
  constexpr int kRounds = 1000;
  struct Freed {
    MPI_Request request = MPI_REQUEST_NULL;
    std::atomic<int> frees{0};
  };
  std::vector<Freed> all(kRounds);
  std::atomic<int> started{-1}, completed{0};
  const auto query = [](void*, MPI_Status*) { return MPI_SUCCESS; };
  const auto free = [](void* extra) {
    ++static_cast<Freed*>(extra)->frees;
    return MPI_SUCCESS;
  };
  const auto cancel = [](void*, int) { return MPI_SUCCESS; };
  const auto poll = [](void*, MPI_Status*) { return MPI_SUCCESS; };
  on(3, [&](int i) {
    for (int round = 0; i < 2 && round < kRounds; ++round) {
      if (i == 0) {
        Freed& f = all[round];
        ASSERT_EQ(MPIX_Grequest_start(query, free, cancel, poll, nullptr, &f, &f.request), MPI_SUCCESS);
        MPI_Request mine = f.request;
        started = round;
        ASSERT_EQ(MPI_Request_free(&mine), MPI_SUCCESS);
      } else {
        while (started < round) std::this_thread::yield();
        ASSERT_EQ(MPI_Grequest_complete(all[round].request), MPI_SUCCESS);
        ++completed;
      }
    }
    while (i == 2 && completed < kRounds) MPIX_Stream_progress(MPIX_STREAM_NULL);
  });
  for (const Freed& f : all) ASSERT_EQ(f.frees, 1);
}

TEST_F(Threads, MakeClassesAtOnce) {
  on(4, [](int) {
    for (int round = 0; round < 100; ++round) {
      MPIX_Grequest_class kind = 0;
      ASSERT_EQ(MPIX_Grequest_class_create(Task::query, Task::free, Task::cancel, Task::poll, Task::wait, &kind), MPI_SUCCESS);
      Task t;
      ASSERT_EQ(MPIX_Grequest_class_allocate(kind, &t, &t.request), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&t.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(t.frees, 1);
    }
  });
}

}  // namespace
}  // namespace plait::test
