// What the MPI underneath gets wrong on its own communicators, found by trying. Without these every run on such an MPI
// would fail at once. Stream communicators are held to the standard all the same.
#pragma once

#include <mpi.h>

namespace random_p2p {

struct Quirks {
  /// MPICH 4.0.2 to 5.0.2 and Intel MPI 2021 leave the status of MPI_Isendrecv empty or undefined; the data arrive.
  bool isendrecv_status_lost = false;
  /// In the same MPIs MPI_Request_get_status makes a completed persistent request inactive, so the completion call that
  /// follows says there was nothing to complete.
  bool look_completes_persistent = false;
  /// A started persistent request with MPI_PROC_NULL is inactive at once (MPICH) or active for ever (Intel MPI).
  bool persistent_nobody_lost = false;
  /// In the same MPIs MPI_Testall of more than 64 requests with MPI_STATUSES_IGNORE leaves completed persistent ones
  /// active.
  bool long_testall_forgets_persistent = false;
};

inline bool isendrecv_status_lost() {
#if MPI_VERSION >= 4
  constexpr int tag = 12345;
  int from[5] = {}, to[5] = {}, count = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Isendrecv(from, 5, MPI_INT, 0, tag, to, 5, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  return status.MPI_SOURCE != 0 || status.MPI_TAG != tag || count != 5;
#else
  return false;
#endif
}

inline bool look_completes_persistent() {
  int from = 1, to = 0, flag = 0, index = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&to, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
  MPI_Start(&request);
  MPI_Send(&from, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
  while (flag == 0) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return index != 0;
}

inline bool persistent_nobody_lost() {
  int to = 0, first = -1, second = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&to, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &request);
  MPI_Start(&request);
  MPI_Waitany(1, &request, &first, MPI_STATUS_IGNORE);
  MPI_Waitany(1, &request, &second, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return first != 0 || second != MPI_UNDEFINED;
}

inline bool long_testall_forgets_persistent() {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  return true;  // 4.0.2 does not forget them, it aborts
#endif
  constexpr int n = 65;
  int from = 1, to[n] = {}, flag = 0, index = -1;
  MPI_Request requests[n];
  for (int i = 0; i < n; ++i) {
    if (i > 0) {
      MPI_Irecv(&to[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    } else {
      MPI_Recv_init(&to[0], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
      MPI_Start(&requests[0]);
    }
    MPI_Send(&from, 1, MPI_INT, 0, i, MPI_COMM_SELF);
  }
  while (flag == 0) MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
  MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[0]);
  return index != MPI_UNDEFINED;
}

inline Quirks find_quirks() {
  return {.isendrecv_status_lost = isendrecv_status_lost(),
          .look_completes_persistent = look_completes_persistent(),
          .persistent_nobody_lost = persistent_nobody_lost(),
          .long_testall_forgets_persistent = long_testall_forgets_persistent()};
}

}  // namespace random_p2p
