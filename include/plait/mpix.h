/* The MPIX_ extensions, on every MPI. Include it after or instead of mpi.h; C and C++.
 *
 * Where mpi.h declares some of them itself (MPICH and its kin), its declarations stand and plait's functions take their
 * place at link time. */
#ifndef PLAIT_MPIX_H
#define PLAIT_MPIX_H

#include <mpi.h>

/* MPICH has MPIX_Iov and streams from 4.1 on; Intel MPI, which is of its kin, has neither. */
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION < 40100000 || defined(I_MPI_NUMVERSION)
#define PLAIT_DECLARES_STREAMS 1
#else
#define PLAIT_DECLARES_STREAMS 0
#endif
/* MPICH has thread communicators from 4.2 on. */
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION < 40200000 || defined(I_MPI_NUMVERSION)
#define PLAIT_DECLARES_THREADCOMMS 1
#else
#define PLAIT_DECLARES_THREADCOMMS 0
#endif
/* All of MPICH's kin have the polled generalized requests. */
#if !defined(MPICH_NUMVERSION) && !defined(I_MPI_NUMVERSION)
#define PLAIT_DECLARES_GREQUESTS 1
#else
#define PLAIT_DECLARES_GREQUESTS 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Datatypes as segments: docs/layout.md */

#if PLAIT_DECLARES_STREAMS

/* Laid out like struct iovec of <sys/uio.h>. */
typedef struct MPIX_Iov {
  void* iov_base;
  MPI_Aint iov_len;
} MPIX_Iov;

int MPIX_Type_iov_len(MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count* iov_len, MPI_Count* actual_iov_bytes);
int MPIX_Type_iov(MPI_Datatype datatype, MPI_Count iov_offset, MPIX_Iov* iov, MPI_Count max_iov_len, MPI_Count* actual_iov_len);

#endif

/* ---- Generalized requests that progress themselves: docs/grequest.md */

#if PLAIT_DECLARES_GREQUESTS

/* Asks whether the task behind `extra_state` is over and, if so, calls MPI_Grequest_complete. `status` is what query_fn
 * finds. An error it returns ends the request with that error. */
typedef int(MPIX_Grequest_poll_function)(void* extra_state, MPI_Status* status);
/* Blocks for at most `timeout` seconds until one or more of `count` tasks is over, and completes those requests. `status`
 * is that of the request where count is 1. */
typedef int(MPIX_Grequest_wait_function)(int count, void** array_of_states, double timeout, MPI_Status* status);
typedef int MPIX_Grequest_class;

int MPIX_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn, MPI_Grequest_cancel_function* cancel_fn,
                        MPIX_Grequest_poll_function* poll_fn, MPIX_Grequest_wait_function* wait_fn, void* extra_state,
                        MPI_Request* request);
int MPIX_Grequest_class_create(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                               MPI_Grequest_cancel_function* cancel_fn, MPIX_Grequest_poll_function* poll_fn,
                               MPIX_Grequest_wait_function* wait_fn, MPIX_Grequest_class* greq_class);
int MPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void* extra_state, MPI_Request* request);

#endif

/* ---- Streams: docs/stream.md */

#if PLAIT_DECLARES_STREAMS

typedef int MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3c000000)

int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream);
int MPIX_Stream_free(MPIX_Stream* stream);
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm);
int MPIX_Stream_comm_create_multiplex(MPI_Comm comm, int count, MPIX_Stream array_of_streams[], MPI_Comm* newcomm);
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream);

int MPIX_Stream_send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int source_stream_index,
                     int dest_stream_index);
int MPIX_Stream_isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int source_stream_index,
                      int dest_stream_index, MPI_Request* request);
int MPIX_Stream_recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, int source_stream_index,
                     int dest_stream_index, MPI_Status* status);
int MPIX_Stream_irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, int source_stream_index,
                      int dest_stream_index, MPI_Request* request);
int MPIX_Stream_send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int source_stream_index,
                       int dest_stream_index);
int MPIX_Stream_isend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int source_stream_index,
                        int dest_stream_index, MPI_Request* request);
int MPIX_Stream_recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, int source_stream_index,
                       int dest_stream_index, MPI_Status* status);
int MPIX_Stream_irecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, int source_stream_index,
                        int dest_stream_index, MPI_Request* request);

/* One round of progress on a stream; with MPIX_STREAM_NULL on everything that belongs to no stream: the MPI underneath,
 * generalized requests, messages of processes that brought no stream. */
int MPIX_Stream_progress(MPIX_Stream stream);
/* Has a thread of plait's do so until stopped, for instance while the program computes and others access its windows. It
 * sleeps while nothing is pending. */
int MPIX_Start_progress_thread(MPIX_Stream stream);
int MPIX_Stop_progress_thread(MPIX_Stream stream);

#endif

/* ---- Operations on queues: docs/queues.md
 *
 * A stream stands for a queue where the info that it is made with has "type" (cudaStream_t, hipStream_t, cl_command_queue or plait_queue)
 * and "value", the queue's handle, by MPIX_Info_set_hex. The calls put an operation behind what is on the queue, and return. */

#if PLAIT_DECLARES_STREAMS

int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size);

int MPIX_Send_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPIX_Recv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status);
int MPIX_Isend_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int MPIX_Irecv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request);
/* The request is null from then on, and `status` is written when the queue has come to it. */
int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status);
int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses);
int MPIX_Allreduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

int MPIX_Send_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPIX_Recv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status);
int MPIX_Isend_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int MPIX_Irecv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request);
int MPIX_Allreduce_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

#endif

/* Beyond MPICH's. */
int MPIX_Barrier_enqueue(MPI_Comm comm);
int MPIX_Bcast_enqueue(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPIX_Bcast_enqueue_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPIX_Alltoall_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                          MPI_Comm comm);
int MPIX_Alltoall_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm);
/* Of a partitioned request that was made on a communicator of the queue; MPIX_Wait_enqueue ends its round, and leaves the request. */
int MPIX_Start_enqueue(MPI_Request* request);
int MPIX_Pready_enqueue(int partition, MPI_Request request);
int MPIX_Pready_range_enqueue(int partition_low, int partition_high, MPI_Request request);

/* ---- Thread communicators: docs/threadcomm.md */

#if PLAIT_DECLARES_THREADCOMMS

/* One thread of each process of `comm` makes a communicator for `num_threads` threads of its own. Outside a parallel region. */
int MPIX_Threadcomm_init(MPI_Comm comm, int num_threads, MPI_Comm* newthreadcomm);
int MPIX_Threadcomm_free(MPI_Comm* threadcomm);
/* Inside: each thread is a rank between the two. */
int MPIX_Threadcomm_start(MPI_Comm threadcomm);
int MPIX_Threadcomm_finish(MPI_Comm threadcomm);
int MPIX_Comm_test_threadcomm(MPI_Comm comm, int* flag);

#endif

#ifdef __cplusplus
}
#endif

#endif
