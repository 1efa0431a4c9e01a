/* Neighbourhoods: an exchange with the same neighbours again and again, without packing inside a node: docs/shan.md. C and C++, on every
 * MPI.
 *
 * Each process says, for each type (an exchange that is independent of the others) and each neighbour, which elements of its segment it
 * sends and where those that come are to lie. A neighbour on the node reads them where they lie, from layout to layout; for one on another
 * node they are gathered into one message.
 *
 * Calls return SHAN_SUCCESS, SHAN_ERROR with a line on stderr, or, where they test, SHAN_FAIL. One thread at a time uses a type of a
 * neighbourhood; several may use different ones where the MPI grants MPI_THREAD_MULTIPLE. */
#ifndef PLAIT_SHAN_COMM_H
#define PLAIT_SHAN_COMM_H

#include <SHAN_segment.h>
#include <SHAN_type.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program holds it, and looks at nothing in it. Zeroes are no neighbourhood. */
typedef struct {
  void* plait;
} shan_neighborhood_t;

/* All processes of `all_comm`. `neighbors` are ranks there. Each neighbour names this process as often as it is named here; of several
 * times the first belongs to the first, and so on. `shm_comm`: the processes of `all_comm` that share memory with this one. The arrays
 * have an entry for each type: bytes, and elements, that are sent to and received from one neighbour at most. `id` tells neighbourhoods
 * apart in messages. */
int shan_comm_init_comm(shan_neighborhood_t* neighborhood, int id, const int* neighbors, int num_neighbors, const long* maxSendSz,
                        const long* maxRecvSz, const int* max_nelem_send, const int* max_nelem_recv, int num_type, MPI_Comm shm_comm,
                        MPI_Comm all_comm);
/* All processes. What was sent has been received. */
int shan_comm_free_comm(shan_neighborhood_t* neighborhood);

/* Where this process says what it sends and receives, an entry a neighbour: elements, bytes of each element, and where each lies in the
 * segment, in bytes; offsets of neighbour k begin at k * max_nelem. Zeroes at first. Those of a send may be changed when it is over, those
 * of a receive when it has been waited for. A null pointer is passed over. */
int shan_comm_type_offset(const shan_neighborhood_t* neighborhood, int type_id, int** nelem_send, int** nelem_recv, int** send_sz,
                          int** recv_sz, long** send_offset, long** recv_offset);

/* What a neighbour is to get is ready: on the node it is told so, to another node it is sent. `segment` is the same on both sides. */
int shan_comm_notify_or_write(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id, int idx);

/* What neighbour `idx` has sent next is where the layout says. */
int shan_comm_wait4Recv(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id, int idx);
int shan_comm_test4Recv(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id, int idx);
/* The elements that were sent may be written again: they have been read, or gathered and sent. */
int shan_comm_wait4Send(const shan_neighborhood_t* neighborhood, int type_id, int idx);
int shan_comm_test4Send(const shan_neighborhood_t* neighborhood, int type_id, int idx);
/* The same of all neighbours, in the order in which they come. What was received one by one in this round counts; where all of it was,
 * wait4AllRecv is for the next round. */
int shan_comm_wait4AllRecv(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id);
int shan_comm_wait4AllSend(const shan_neighborhood_t* neighborhood, int type_id);
/* All that this process has sent has been read, and as often it has received. */
int shan_comm_wait4All(const shan_neighborhood_t* neighborhood, const shan_segment_t* segment, int type_id);

/* All processes of `shm_comm` have come here. */
int shan_comm_shmemBarrier(const shan_neighborhood_t* neighborhood);
/* The rank in `shm_comm` of a rank of `all_comm`; -1: it is on another node. */
int shan_comm_local_rank(const shan_neighborhood_t* neighborhood, int rank);

/* Plait's own: what is sent to neighbour `idx` and received from it is one element of an MPI datatype each, whose addresses count from the
 * segment's beginning, instead of elements by the arrays. Both are committed; they may be freed afterwards. Both sides may do as they
 * like, as long as as many bytes are sent as are received. Nothing is under way. MPI_DATATYPE_NULL: the arrays again. */
int plait_shan_comm_datatypes(const shan_neighborhood_t* neighborhood, int type_id, int idx, MPI_Datatype send, MPI_Datatype receive);

#ifdef __cplusplus
}
#endif

#endif
