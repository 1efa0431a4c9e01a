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

/* The sender, once a round: then ranges may be added. A receiver may, and need not: waiting for a receive starts it. */
int MPI_Start_part(MPI_Request* request);
/* `count` elements at `buf`, which lie in the buffer of the send, or leave it as the parts of `numThreads` do that are rounded up. Any
 * thread. When all of the buffer is added it may be written again, whether anybody waits for the send or not. */
int MPI_Partitioned_Add_to_buffer(MPI_Request* request, const void* buf, int count, MPI_Datatype datatype);
/* The same for parts that are rounded down, one call a thread: the last of the `numThreads` adds what these leave at the end. */
int MPI_Partitioned_Add_to_buffer_a(MPI_Request* request, const void* buf, int count, MPI_Datatype datatype);
/* For a receive: the next round has come. For a send: all of the buffer is added. */
int MPI_Wait_part(MPI_Request* request, MPI_Status* status);
/* Local. A send that was started and never waited for may be freed when all of its buffer is added. */
int MPI_Partitioned_free(MPI_Request* request);

#ifdef __cplusplus
}
#endif

#endif
