// pool_task: tasks of a thread pool as generalized requests, waited for together with receives in one MPI_Waitall. The
// threads of the pool never call MPI: poll_fn looks at a flag that they set.
#include <mpi.h>
#include <plait/mpix.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

/// Runs what it is given on its threads, in order of arrival.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    submit(nullptr);  // each thread hands it on
    for (std::thread& t : threads_) t.join();
  }
  void submit(std::function<void()> task) {
    {
      const std::lock_guard guard(lock_);
      queue_.push_back(std::move(task));
    }
    filled_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock guard(lock_);
      filled_.wait(guard, [this] { return !queue_.empty(); });
      std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      guard.unlock();
      if (!task) return submit(nullptr);
      task();
    }
  }

  std::mutex lock_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
};

/// A sum that a thread of the pool makes.
struct Sum {
  long first = 0, last = 0, result = 0;
  std::atomic<bool> done{false};
  MPI_Request request = MPI_REQUEST_NULL;

  void start(Pool& pool) {
    const auto query = [](void*, MPI_Status* status) {
      MPI_Status_set_elements(status, MPI_LONG, 1);
      return MPI_Status_set_cancelled(status, 0);
    };
    const auto free = [](void*) { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) { return MPI_SUCCESS; };
    const auto poll = [](void* extra, MPI_Status*) {
      const Sum& sum = *static_cast<Sum*>(extra);
      // acquire: the result is seen by whoever finds the request complete.
      return sum.done.load(std::memory_order_acquire) ? MPI_Grequest_complete(sum.request) : MPI_SUCCESS;
    };
    MPIX_Grequest_start(query, free, cancel, poll, nullptr, this, &request);
    pool.submit([this] {
      for (long i = first; i < last; ++i) result += i;
      done.store(true, std::memory_order_release);
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  constexpr int kTasks = 16;
  constexpr long kStep = 100'000;
  bool good = true;
  {
    Pool pool(2);
    std::vector<Sum> sums(kTasks);
    std::vector<MPI_Request> requests;
    std::vector<int> in(static_cast<std::size_t>(size), -1);
    for (int from = 0; from < size; ++from) {
      requests.emplace_back();
      MPI_Irecv(&in[static_cast<std::size_t>(from)], 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests.back());
    }
    for (int i = 0; i < kTasks; ++i) {
      Sum& sum = sums[static_cast<std::size_t>(i)];
      sum.first = i * kStep;
      sum.last = sum.first + kStep;
      sum.start(pool);
      requests.push_back(sum.request);
    }
    for (int to = 0; to < size; ++to) {
      requests.emplace_back();
      MPI_Isend(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests.back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    long total = 0;
    for (const Sum& sum : sums) total += sum.result;
    good = total == kTasks * kStep * (kTasks * kStep - 1) / 2;
    for (int from = 0; from < size; ++from) good = good && in[static_cast<std::size_t>(from)] == from;
  }
  int mine = good ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d tasks and %d messages each for %d processes: %s\n", kTasks, size, size, all ? "right" : "WRONG");
  MPI_Finalize();
  return !all;
}
