// The queue on the host and the engine, with threads that put functions, events and steps there at once. Nothing here is atomic but what
// the steps wait for: that functions see what ran before them on the queue is what ThreadSanitizer is to confirm.
#include "queue/host.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include "queue/engine.hpp"

namespace plait::queue {
namespace {

/// Over when another thread, or another step, says so; or at once.
class TestStep final : public Step {
 public:
  TestStep(bool holds_up, long* seen, std::atomic<bool>* go) : Step(holds_up, "test"), seen_(seen), go_(go) {}
  [[nodiscard]] std::uint64_t communicator() const noexcept override { return 0; }

 private:
  void do_begin() override { begun_ = *seen_; }
  bool do_advance() override {
    if (go_ && !go_->load(std::memory_order_acquire)) return false;
    if (holds_up()) ++*seen_;
    return true;
  }
  long* seen_;
  long begun_ = 0;
  std::atomic<bool>* go_;
};

/// Two threads that run what they are given, in any order.
class Executor {
 public:
  Executor() : threads_{std::thread([this] { work(); }), std::thread([this] { work(); })} {}
  ~Executor() {
    {
      const std::lock_guard guard(lock_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  static void execute(void (*run)(void*), void* argument, void* self) {
    auto& e = *static_cast<Executor*>(self);
    const std::lock_guard guard(e.lock_);
    e.given_.emplace_back(run, argument);
    e.changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock guard(lock_);
    for (;;) {
      changed_.wait(guard, [this] { return over_ || !given_.empty(); });
      if (given_.empty()) return;
      const auto [run, argument] = given_.back();
      given_.pop_back();
      guard.unlock();
      run(argument);
      guard.lock();
    }
  }
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::pair<void (*)(void*), void*>> given_;
  bool over_ = false;
  std::array<std::thread, 2> threads_;
};

class HostQueueTest : public testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<HostQueue> make() {
    if (GetParam()) return std::make_shared<HostQueue>(Executor::execute, &executor_);
    auto made = std::make_shared<HostQueue>();
    made->start();
    return made;
  }
  static void wait(HostQueue& queue) {
    const auto here = std::make_shared<Occurrence>();
    queue.record(here);
    here->wait();
  }
  static void add(HostQueue& queue, long* to) {
    queue.put(
        [](void* p) {
          ++*static_cast<long*>(p);
          return 0;
        },
        to);
  }

 private:
  Executor executor_;
};
INSTANTIATE_TEST_SUITE_P(Ways, HostQueueTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& i) { return i.param ? "executor" : "thread"; });

TEST_P(HostQueueTest, FunctionsAndStepsSeeWhatRanBefore) {
  const auto queue = make();
  long seen = 0;
  std::vector<std::unique_ptr<std::atomic<bool>>> gates;
  constexpr int kRounds = 300;
  for (int i = 0; i < kRounds; ++i) {
    gates.push_back(std::make_unique<std::atomic<bool>>(false));
    add(*queue, &seen);
    queue->put(std::make_shared<TestStep>(true, &seen, gates.back().get()));
    queue->put(std::make_shared<TestStep>(false, &seen, gates.front().get()));
    queue->put(std::make_shared<TestStep>(true, &seen, nullptr));
  }
  for (const auto& gate : gates) {
    gate->store(true, std::memory_order_release);
    engine::wake();
  }
  wait(*queue);
  EXPECT_EQ(seen, 3 * kRounds);
  queue->close();
  EXPECT_EQ(queue->outstanding(), 0);
}

TEST_P(HostQueueTest, EventsOrderQueuesThatManyThreadsFill) {
  constexpr int kQueues = 3, kThreads = 3, kTurns = 200;
  std::vector<std::shared_ptr<HostQueue>> queues;
  queues.reserve(kQueues);
  for (int i = 0; i < kQueues; ++i) queues.push_back(make());
  // Each thread has a word, which goes from queue to queue, an event at each change.
  std::array<long, kThreads> words{};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t) + 1);
      std::shared_ptr<Occurrence> last;
      for (int i = 0; i < kTurns; ++i) {
        HostQueue& queue = *queues[random() % kQueues];
        if (last) queue.wait_for(last);
        add(queue, &words[static_cast<std::size_t>(t)]);
        last = std::make_shared<Occurrence>();
        queue.record(last);
      }
      last->wait();
      EXPECT_EQ(words[static_cast<std::size_t>(t)], kTurns);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& queue : queues) queue->close();
}

/// Nothing but being cancelled ends it. What it writes is no atomic.
class CancelledStep final : public Step {
 public:
  CancelledStep() : Step(false, "test") { answer_for_itself(); }
  [[nodiscard]] std::uint64_t communicator() const noexcept override { return 0; }
  int begun = 0, withdrawn = 0, cancelled = 0, rounds = 0;

 private:
  void do_begin() override { ++begun; }
  bool do_advance() override {
    ++rounds;
    return cancelled > 0;
  }
  void do_withdraw() noexcept override { ++withdrawn; }
  void do_cancel() noexcept override { ++cancelled; }
};

TEST_P(HostQueueTest, WhatIsCancelledEndsWhetherItHasBegunOrNot) {
  const auto queue = make();
  constexpr int kSteps = 2000;
  std::vector<std::shared_ptr<CancelledStep>> steps(kSteps);
  for (auto& step : steps) step = std::make_shared<CancelledStep>();
  std::atomic<int> put{0};
  std::thread canceller([&] {
    for (int i = 0; i < kSteps; ++i) {
      while (put.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      steps[static_cast<std::size_t>(i)]->cancel();
    }
  });
  for (const auto& step : steps) {
    queue->put(step);
    put.fetch_add(1, std::memory_order_release);
  }
  canceller.join();
  engine::wake();
  queue->close();
  while (queue->outstanding() > 0) std::this_thread::yield();
  for (const auto& step : steps) {
    EXPECT_TRUE(step->over());
    EXPECT_EQ(step->error(), MPI_SUCCESS);
    EXPECT_EQ(step->begun + step->withdrawn, 1);
    EXPECT_EQ(step->cancelled, step->begun);
  }
}

TEST_P(HostQueueTest, WhatIsBehindAFailureDoesNotRun) {
  const auto queue = make();
  long seen = 0;
  for (int i = 0; i < 50; ++i) {
    add(*queue, &seen);
    queue->put([](void*) { return 1; }, nullptr);
    add(*queue, &seen);
    const auto step = std::make_shared<TestStep>(true, &seen, nullptr);
    step->answer_for_itself();
    queue->put(step);
    wait(*queue);
    EXPECT_TRUE(step->over());
    EXPECT_EQ(step->error(), MPI_ERR_OTHER);
    EXPECT_EQ(queue->take_error(), MPI_ERR_OTHER);
    EXPECT_EQ(queue->take_error(), MPI_SUCCESS);
  }
  add(*queue, &seen);
  wait(*queue);
  EXPECT_EQ(seen, 51);
  queue->close();
}

TEST_P(HostQueueTest, AQueueThatWaitsForAnEventBehindAFailureFails) {
  const auto first = make();
  const auto second = make();
  long seen = 0;
  for (const bool late : {false, true}) {
    std::binary_semaphore gate(0);
    const auto behind = std::make_shared<Occurrence>();
    const auto last = std::make_shared<Occurrence>();
    first->put(
        [](void* p) {
          static_cast<std::binary_semaphore*>(p)->acquire();
          return 1;
        },
        &gate);
    first->record(behind);
    if (!late) {
      gate.release();
      behind->wait();
    }
    second->wait_for(behind);
    add(*second, &seen);
    second->record(last);
    if (late) gate.release();
    last->wait();
    EXPECT_TRUE(behind->has_failed() && last->has_failed());
    EXPECT_EQ(first->take_error(), MPI_ERR_OTHER);
    EXPECT_EQ(second->take_error(), MPI_ERR_OTHER);
  }
  add(*second, &seen);
  wait(*second);
  EXPECT_EQ(seen, 1);
  first->close();
  second->close();
}

TEST_P(HostQueueTest, NothingIsLostWhereItIsClosedAtOnce) {
  for (int i = 0; i < 200; ++i) {
    const auto queue = make();
    long seen = 0;
    for (int k = 0; k < i % 5; ++k) add(*queue, &seen);
    queue->close();
    EXPECT_EQ(seen, i % 5);
    EXPECT_ANY_THROW(add(*queue, &seen));
  }
}

}  // namespace
}  // namespace plait::queue
