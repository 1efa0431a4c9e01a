/* Memory and notifications that the processes of a node share: docs/shan.md. C and C++, on every MPI.
 *
 * Calls return SHAN_SUCCESS or SHAN_ERROR; the latter says on stderr what was wrong. MPI is initialized. */
#ifndef PLAIT_SHAN_SEGMENT_H
#define PLAIT_SHAN_SEGMENT_H

#include <SHAN_type.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program holds it, and looks at nothing in it. Zeroes are no segment. */
typedef struct {
  void* plait;
} shan_segment_t;

/* A counter that processes of a node change and look at; it lies in a shared segment. */
typedef struct {
#ifdef __cplusplus
  alignas(64) volatile int val;
#else
  _Alignas(64) volatile int val;
#endif
} shan_notification_t;

/* `dataSz` bytes for this process, each process as much as it likes, at the beginning of a page, zeroed. All processes of `shm_comm`, whose
 * processes share memory. `shan_id` tells segments apart in messages, `shan_type` is SHAN_DATA or SHAN_TYPE. */
int shan_alloc_shared(shan_segment_t* segment, int shan_id, int shan_type, long dataSz, MPI_Comm shm_comm);
/* All processes of the communicator. Nobody uses it any more. */
int shan_free_shared(shan_segment_t* segment);
/* Where the memory of that rank of `shm_comm` lies here. Any thread. */
int shan_get_shared_ptr(const shan_segment_t* segment, int local_rank, void** ptr);

/* `ptr` is an array of notifications in a shared segment, of which `idx` is meant. Any thread of any process of the node.
 * Sets it to 0. */
int shan_notify_init_shared(shan_notification_t* ptr, int idx);
/* Sets it to 0, and says what it was; of several that do so at once one gets the value. */
int shan_notify_reset_shared(shan_notification_t* ptr, int idx, int* old);
/* Adds to it. Who sees that sees all that this thread has written before. */
int shan_notify_increment_shared(shan_notification_t* ptr, int idx, int increment);
/* What it is. */
int shan_notify_test_shared(shan_notification_t* ptr, int idx, int* value);

#ifdef __cplusplus
}
#endif

#endif
