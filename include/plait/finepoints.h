/* Finepoints' own calls for partitioned messages, on every MPI: docs/partitioned.md. C and C++.
 *
 * The threads of the sender add ranges of one buffer to a message, each range once, of any length and in any order; each
 * travels as it comes. The receiver gets the whole and knows nothing of threads. Requests are persistent, and ordinary ones:
 * every completion call takes them, MPI_Request_free ends them. */
#ifndef PLAIT_FINEPOINTS_H
#define PLAIT_FINEPOINTS_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Local, in whatever order the neighbours make theirs. `numThreads` says how many threads are going to add; any may. */
int MPI_Partitioned_Send_create(const void* buf, int count, MPI_Datatype datatype, int numThreads, int dest, int tag, MPI_Comm comm,
                                MPI_Request* request);
int MPI_Partitioned_Recv_create(void* buf, int count, MPI_Datatype datatype, int src, int tag, MPI_Comm comm, MPI_Request* request);

/* Both sides, once a round: then ranges may be added. */
int MPI_Start_part(MPI_Request* request);
/* `count` elements at `buf`, which lie in the buffer of the send. Any thread. */
int MPI_Partitioned_Add_to_buffer(MPI_Request* request, const void* buf, int count, MPI_Datatype datatype);
int MPI_Wait_part(MPI_Request* request, MPI_Status* status);

#ifdef __cplusplus
}
#endif

#endif
