// bench-grequest: what MPI_Waitall adds to the poll functions of generalized requests. One process, one thread.
//
// Waitall on 1,000 requests, each complete at its first poll, against the same poll functions called in turn, with the
// MPI_Grequest_complete that they contain. Starting the requests is not part of it. The two take turns; figures are
// medians. JSON on stdout with --json.
#include <mpi.h>
#include <plait/mpix.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "timing.hpp"

namespace {

using plait::bench::seconds;

constexpr int kRequests = 1000, kTurns = 2001;

double median(std::vector<double> all) { return plait::bench::Summary(std::move(all)).median; }

int query_fn(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  return MPI_Status_set_cancelled(status, 0);
}
int free_fn(void*) { return MPI_SUCCESS; }
int cancel_fn(void*, int) { return MPI_SUCCESS; }
int poll_fn(void* extra, MPI_Status*) { return MPI_Grequest_complete(*static_cast<MPI_Request*>(extra)); }

struct Requests {
  std::vector<MPI_Request> handles = std::vector<MPI_Request>(kRequests);
  std::vector<MPI_Request> states = handles;

  void start(MPIX_Grequest_class kind) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      MPIX_Grequest_class_allocate(kind, &states[i], &states[i]);
      handles[i] = states[i];
    }
  }
};

double timed(auto body) {
  const double start = seconds();
  body();
  return (seconds() - start) / kRequests * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool json = argc > 1 && std::string(argv[1]) == "--json";
  MPIX_Grequest_class kind = 0;
  MPIX_Grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, nullptr, &kind);
  Requests requests;
  std::vector<MPI_Status> statuses(kRequests);
  std::vector<double> polls, waits, ended, added;
  for (int turn = 0; turn < kTurns; ++turn) {
    // volatile: the poll functions are called through a pointer, as the library does.
    MPIX_Grequest_poll_function* volatile poll = poll_fn;
    requests.start(kind);
    polls.push_back(timed([&] {
      for (MPI_Request& state : requests.states) poll(&state, statuses.data());
    }));
    ended.push_back(timed([&] { MPI_Waitall(kRequests, requests.handles.data(), statuses.data()); }));
    requests.start(kind);
    waits.push_back(timed([&] { MPI_Waitall(kRequests, requests.handles.data(), statuses.data()); }));
    added.push_back(waits.back() - polls.back());
  }
  const char* const form =
      json ? "{\"requests\": %d, \"poll_ns\": %.1f, \"waitall_ns\": %.1f, \"added_ns\": %.1f, \"complete_before_ns\": %.1f}\n"
           : "%d requests, each: poll functions %.1f ns, Waitall %.1f ns, added %.1f ns; complete before Waitall %.1f ns\n";
  std::printf(form, kRequests, median(polls), median(waits), median(added), median(ended));
  MPI_Finalize();
  return 0;
}
