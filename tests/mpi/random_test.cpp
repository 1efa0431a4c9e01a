// Random completion calls on random sets of requests, held against what is known of each. 1 process x 1 thread.
// PLAIT_SEED=number repeats a run.
#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "tasks.hpp"

namespace plait::test {
namespace {

enum class Sort { none, task, plain, receive, persistent };

/// A place in the program's array of requests, and what must be true of it.
struct Slot {
  Sort sort = Sort::none;
  MPI_Request request = MPI_REQUEST_NULL;
  std::unique_ptr<Task> task;  ///< of a task and of MPI_Grequest_start's
  bool active = false;
  bool sure = false;  ///< complete, or on its way to be: needs no more of the program
  int in = 0, value = 0;

  [[nodiscard]] int error() const { return task ? task->query_error : MPI_SUCCESS; }
};

class Random : public testing::Test {
 protected:
  static constexpr int kSlots = 14;

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  void begin(int i) {
    Slot& s = slots[i];
    if (s.active) return;
    if (s.sort == Sort::persistent) {
      s.active = true;
      MPI_Start(&s.request);
      return;
    }
    s = Slot{};
    s.active = true;
    s.value = ++values;
    s.sort = std::array{Sort::task, Sort::task, Sort::plain, Sort::receive, Sort::persistent}[static_cast<std::size_t>(below(5))];
    if (s.sort == Sort::receive) MPI_Irecv(&s.in, 1, MPI_INT, 0, i, MPI_COMM_SELF, &s.request);
    if (s.sort == Sort::persistent) {
      MPI_Recv_init(&s.in, 1, MPI_INT, 0, i, MPI_COMM_SELF, &s.request);
      s.active = false;
    }
    if (s.sort != Sort::task && s.sort != Sort::plain) return;
    s.task = std::make_unique<Task>();
    s.task->count = s.value;
    if (s.sort == Sort::plain) {
      s.task->rounds = 0;
      MPI_Grequest_start(Task::query, Task::free, Task::cancel, s.task.get(), &s.request);
    } else {
      s.task->rounds = below(4);
      s.sure = s.task->rounds > 0;
      if (below(8) == 0) s.task->query_error = MPI_ERR_IO;
      s.task->start(below(2) ? Task::wait : nullptr);
      s.request = s.task->request;
    }
  }

  /// Does what the request waits for.
  void help(int i) {
    Slot& s = slots[i];
    if (!s.active || s.sure) return;
    s.sure = true;
    if (s.sort == Sort::receive || s.sort == Sort::persistent) {
      MPI_Send(&s.value, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    } else {
      EXPECT_EQ(MPI_Grequest_complete(s.request), MPI_SUCCESS);
    }
  }

  void ended(int i, const MPI_Status& status) {
    Slot& s = slots[i];
    ASSERT_TRUE(s.active) << i;
    ASSERT_TRUE(s.sure && (!s.task || s.task->rounds == 0)) << i;
    ASSERT_EQ(s.request == MPI_REQUEST_NULL, s.sort != Sort::persistent) << i;
    if (s.task) {
      ASSERT_EQ(bytes_in(status), s.value);
      ASSERT_EQ(s.task->frees, 1);
      if (s.sort == Sort::task) {  // MPICH asks its own more often
        ASSERT_EQ(s.task->queries, 1);
      }
    } else {
      ASSERT_EQ(bytes_in(status), 4);
      ASSERT_EQ(s.in, s.value);
    }
    s.active = s.sure = false;
    if (s.sort != Sort::persistent) s.sort = Sort::none;
  }

  /// One completion call on some of the slots, in any order.
  void call() {
    picks.clear();
    for (int i = 0; i < kSlots; ++i) {
      if (below(2)) picks.push_back(i);
    }
    std::ranges::shuffle(picks, random);
    handles.clear();
    for (const int i : picks) handles.push_back(slots[i].request);
    const auto is = [&](auto test) { return [&, test](int i) { return test(slots[i]); }; };
    const bool all = std::ranges::all_of(picks, is([](const Slot& s) { return !s.active || s.sure; }));
    const bool any = std::ranges::any_of(picks, is([](const Slot& s) { return s.active && s.sure; }));
    const bool none = std::ranges::none_of(picks, is([](const Slot& s) { return s.active; }));
    std::vector<MPI_Status> statuses(picks.size() + 1);
    switch (below(6)) {
      case 0:
        return all ? end_all(true, statuses) : end_all(false, statuses);
      case 1:
        return end_all(false, statuses);
      case 2:
        return end_any(any || none, none, statuses[0]);
      case 3:
        return end_any(false, none, statuses[0]);
      case 4:
        return end_some(any || none, none, statuses);
      default:
        return end_some(false, none, statuses);
    }
  }

  void end_all(bool wait, std::vector<MPI_Status>& statuses) {
    const int n = static_cast<int>(picks.size());
    int flag = 1;
    const int error = wait ? MPI_Waitall(n, handles.data(), statuses.data()) : MPI_Testall(n, handles.data(), &flag, statuses.data());
    bool failed = false;
    for (int k = 0; k < n; ++k) {
      Slot& s = slots[picks[k]];
      if (!flag) {
        ASSERT_EQ(handles[k], s.request);
        continue;
      }
      s.request = handles[k];
      failed |= s.active && s.error() != MPI_SUCCESS;
      if (error != MPI_SUCCESS) {
        ASSERT_EQ(error_class(statuses[k].MPI_ERROR), s.active ? s.error() : MPI_SUCCESS);
      }
      if (s.active) {
        ended(picks[k], statuses[k]);
      } else {
        ASSERT_EQ(bytes_in(statuses[k]), 0);
      }
    }
    ASSERT_EQ(error_class(error), failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
  }

  void end_any(bool wait, bool none, const MPI_Status& status) {
    const int n = static_cast<int>(picks.size());
    int flag = 1;
    int k = -1;
    MPI_Status* const to = const_cast<MPI_Status*>(&status);
    const int error = wait ? MPI_Waitany(n, handles.data(), &k, to) : MPI_Testany(n, handles.data(), &k, &flag, to);
    if (!flag || none) {
      ASSERT_EQ(k, MPI_UNDEFINED);
      ASSERT_EQ(flag, none);
      return;
    }
    ASSERT_GE(k, 0);
    ASSERT_LT(k, n);
    Slot& s = slots[picks[k]];
    s.request = handles[k];
    ASSERT_EQ(error_class(error), s.error());
    ended(picks[k], status);
  }

  void end_some(bool wait, bool none, std::vector<MPI_Status>& statuses) {
    const int n = static_cast<int>(picks.size());
    int out = -1;
    std::vector<int> indices(picks.size() + 1);
    const int error = wait ? MPI_Waitsome(n, handles.data(), &out, indices.data(), statuses.data())
                           : MPI_Testsome(n, handles.data(), &out, indices.data(), statuses.data());
    if (none) {
      ASSERT_EQ(out, MPI_UNDEFINED);
      return;
    }
    ASSERT_GE(out, wait ? 1 : 0);
    bool failed = false;
    for (int o = 0; o < out; ++o) {
      Slot& s = slots[picks[indices[o]]];
      s.request = handles[indices[o]];
      failed |= s.error() != MPI_SUCCESS;
      if (error != MPI_SUCCESS) {
        ASSERT_EQ(error_class(statuses[o].MPI_ERROR), s.error());
      }
      ended(picks[indices[o]], statuses[o]);
    }
    ASSERT_EQ(error_class(error), failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
    for (std::size_t k = 0; k < picks.size(); ++k) ASSERT_EQ(handles[k], slots[picks[k]].request);
  }

  std::mt19937 random;
  std::array<Slot, kSlots> slots;
  int values = 0;
  std::vector<int> picks;
  std::vector<MPI_Request> handles;
  ErrorsReturn errors;
};

TEST_F(Random, CallsAgreeWithWhatIsKnown) {
  const char* const given = std::getenv("PLAIT_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::atoll(given)) : std::random_device{}();
  std::printf("PLAIT_SEED=%u\n", seed);
  SCOPED_TRACE("PLAIT_SEED=" + std::to_string(seed));
  random.seed(seed);
  for (int step = 0; step < 20'000 && !HasFatalFailure(); ++step) {
    switch (below(4)) {
      case 0:
        begin(below(kSlots));
        break;
      case 1:
        help(below(kSlots));
        break;
      default:
        call();
    }
  }
  if (HasFatalFailure()) return;
  for (int i = 0; i < kSlots; ++i) {
    help(i);
    MPI_Wait(&slots[i].request, MPI_STATUS_IGNORE);
    if (slots[i].sort == Sort::persistent) MPI_Request_free(&slots[i].request);
  }
}

}  // namespace
}  // namespace plait::test
