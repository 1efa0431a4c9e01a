// Generalized requests whose callbacks do as told and count their calls.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <plait/mpix.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace plait::test {

struct Task {
  // what it is told
  int rounds = 1;  ///< polls or waits until it is complete; 0: somebody else completes it
  int count = 0;   ///< bytes that query_fn puts into the status
  bool cancelled = false;
  int query_error = MPI_SUCCESS, free_error = MPI_SUCCESS, cancel_error = MPI_SUCCESS, poll_error = MPI_SUCCESS, wait_error = MPI_SUCCESS;
  // NOLINTNEXTLINE(readability-redundant-member-init): gcc wants it where others are named
  std::function<void(Task&)> in_poll = {}, in_query = {}, in_free = {};

  // what has happened
  int polls = 0, waits = 0, queries = 0, frees = 0, cancels = 0;
  int waited_together = 0;  ///< the largest count that wait_fn got
  int complete_at_cancel = -1;
  MPI_Request request = MPI_REQUEST_NULL;

  int start(MPIX_Grequest_wait_function* wait_fn = nullptr) {
    return MPIX_Grequest_start(query, free, cancel, poll, wait_fn, this, &request);
  }
  int complete() const { return MPI_Grequest_complete(request); }

  static int query(void* extra, MPI_Status* status) {
    Task& t = of(extra);
    ++t.queries;
    if (t.in_query) t.in_query(t);
    MPI_Status_set_elements(status, MPI_BYTE, t.count);
    MPI_Status_set_cancelled(status, t.cancelled ? 1 : 0);
    return t.query_error;
  }
  static int free(void* extra) {
    Task& t = of(extra);
    ++t.frees;
    if (t.in_free) t.in_free(t);
    return t.free_error;
  }
  static int cancel(void* extra, int complete) {
    ++of(extra).cancels;
    of(extra).complete_at_cancel = complete;
    return of(extra).cancel_error;
  }
  static int poll(void* extra, MPI_Status*) {
    Task& t = of(extra);
    ++t.polls;
    if (t.in_poll) t.in_poll(t);
    t.round();
    return t.poll_error;
  }
  static int wait(int n, void** extras, double, MPI_Status*) {
    int error = MPI_SUCCESS;
    for (int i = 0; i < n; ++i) {
      Task& t = of(extras[i]);
      ++t.waits;
      t.waited_together = std::max(t.waited_together, n);
      t.round();
      if (t.wait_error != MPI_SUCCESS) error = t.wait_error;
    }
    return error;
  }

 private:
  static Task& of(void* extra) { return *static_cast<Task*>(extra); }
  void round() {
    if (rounds <= 0) return;
    --rounds;
    if (rounds == 0) {
      EXPECT_EQ(complete(), MPI_SUCCESS);
    }
  }
};

inline int error_class(int code) {
  int c = 0;
  MPI_Error_class(code, &c);
  return c;
}

inline int bytes_in(const MPI_Status& status) {
  int n = -1;
  MPI_Get_count(&status, MPI_BYTE, &n);
  return n;
}

inline bool was_cancelled(const MPI_Status& status) {
  int flag = -1;
  MPI_Test_cancelled(&status, &flag);
  return flag == 1;
}

/// Errors come back while one of these lives; they are counted too.
class ErrorsReturn {
 public:
  ErrorsReturn() {
    calls = 0;
    MPI_Comm_create_errhandler(count, &counting_);
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, counting_);
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn() {
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&counting_);
  }
  static inline int calls = 0;

 private:
  static void count(MPI_Comm*, int*, ...) { ++calls; }

  MPI_Errhandler counting_{};
};

}  // namespace plait::test
