/* GASPI 17.1 on any MPI, source-compatible with programs written for GPI-2: docs/gaspi.md. C and C++.
 *
 * Calls return GASPI_SUCCESS, GASPI_TIMEOUT where their time ran out (call again with the same arguments to go on), or an error:
 * wrong arguments are found before anything moves. Timeouts are milliseconds; GASPI_TEST never blocks, GASPI_BLOCK waits for ever.
 * Offsets and sizes are bytes. After gaspi_proc_init any thread may make any call but those of set-up, at any time, and beside
 * MPI's. Ranks are those of MPI_COMM_WORLD. Each call exists as pgaspi_*, too (PGASPI.h), so that tools can stand in between. */
#ifndef PLAIT_GASPI_H
#define PLAIT_GASPI_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types */

typedef char gaspi_char;
typedef unsigned char gaspi_uchar;
typedef short gaspi_short;
typedef unsigned short gaspi_ushort;
typedef int gaspi_int;
typedef unsigned int gaspi_uint;
typedef long gaspi_long;
typedef unsigned long gaspi_ulong;
typedef float gaspi_float;
typedef double gaspi_double;

typedef unsigned long gaspi_timeout_t;
typedef unsigned short gaspi_rank_t;
typedef unsigned char gaspi_group_t;
typedef unsigned char gaspi_queue_id_t;
typedef unsigned char gaspi_segment_id_t;
typedef unsigned int gaspi_number_t;
typedef unsigned int gaspi_notification_id_t;
typedef unsigned int gaspi_notification_t;
typedef unsigned int gaspi_statistic_counter_t;
typedef unsigned long gaspi_size_t;
typedef unsigned long gaspi_offset_t;
typedef unsigned long gaspi_atomic_value_t;
typedef unsigned long gaspi_cycles_t;
typedef float gaspi_time_t;
typedef void* gaspi_pointer_t;
typedef void* gaspi_reduce_state_t;
typedef char* gaspi_string_t;
typedef int gaspi_memory_description_t;

#define GASPI_GROUP_ALL ((gaspi_group_t)0)
#define GASPI_BLOCK ((gaspi_timeout_t)~0UL)
#define GASPI_TEST ((gaspi_timeout_t)0)

typedef enum {
  GASPI_ERROR = -1,
  GASPI_SUCCESS = 0,
  GASPI_TIMEOUT = 1,
  GASPI_ERR_EMFILE = 2,
  GASPI_ERR_ENV = 3,
  GASPI_ERR_SN_PORT = 4,
  GASPI_ERR_CONFIG = 5,
  GASPI_ERR_NOINIT = 6,
  GASPI_ERR_INITED = 7,
  GASPI_ERR_NULLPTR = 8,
  GASPI_ERR_INV_SEGSIZE = 9,
  GASPI_ERR_INV_SEG = 10,
  GASPI_ERR_INV_GROUP = 11,
  GASPI_ERR_INV_RANK = 12,
  GASPI_ERR_INV_QUEUE = 13,
  GASPI_ERR_INV_LOC_OFF = 14,
  GASPI_ERR_INV_REM_OFF = 15,
  GASPI_ERR_INV_COMMSIZE = 16,
  GASPI_ERR_INV_NOTIF_VAL = 17,
  GASPI_ERR_INV_NOTIF_ID = 18,
  GASPI_ERR_INV_NUM = 19,
  GASPI_ERR_INV_SIZE = 20,
  GASPI_ERR_MANY_SEG = 21,
  GASPI_ERR_MANY_GRP = 22,
  GASPI_QUEUE_FULL = 23,
  GASPI_ERR_UNALIGN_OFF = 24,
  GASPI_ERR_ACTIVE_COLL = 25,
  GASPI_ERR_DEVICE = 26,
  GASPI_ERR_SN = 27,
  GASPI_ERR_MEMALLOC = 28
} gaspi_return_t;

typedef enum { GASPI_STATE_HEALTHY = 0, GASPI_STATE_CORRUPT = 1 } gaspi_state_t;
typedef gaspi_state_t* gaspi_state_vector_t;

typedef enum { GASPI_MEM_UNINITIALIZED = 0, GASPI_ALLOC_DEFAULT = 0, GASPI_MEM_INITIALIZED = 1 } gaspi_alloc_t;

typedef enum { GASPI_OP_MIN = 0, GASPI_OP_MAX = 1, GASPI_OP_SUM = 2 } gaspi_operation_t;

typedef enum {
  GASPI_TYPE_INT = 0,
  GASPI_TYPE_UINT = 1,
  GASPI_TYPE_FLOAT = 2,
  GASPI_TYPE_DOUBLE = 3,
  GASPI_TYPE_LONG = 4,
  GASPI_TYPE_ULONG = 5
} gaspi_datatype_t;

typedef enum { GASPI_IB = 0, GASPI_ROCE = 1, GASPI_ETHERNET = 2, GASPI_GEMINI = 3, GASPI_ARIES = 4, GASPI_OFI = 5 } gaspi_network_t;

typedef enum { GASPI_TOPOLOGY_NONE = 0, GASPI_TOPOLOGY_STATIC = 1, GASPI_TOPOLOGY_DYNAMIC = 2 } gaspi_topology_t;

typedef enum { GASPI_STATISTIC_ARGUMENT_NONE = 0, GASPI_STATISTIC_ARGUMENT_RANK = 1 } gaspi_statistic_argument_t;

/* Combines `num` elements of `element_size` bytes of both operands into `result`. The same on all ranks, and associative; called by
 * gaspi_allreduce_user, which returns what it returns where that is not GASPI_SUCCESS. */
typedef gaspi_return_t (*gaspi_reduce_operation_t)(gaspi_pointer_t operand_one, gaspi_pointer_t operand_two, gaspi_pointer_t result,
                                                   gaspi_reduce_state_t state, const gaspi_number_t num, const gaspi_size_t element_size,
                                                   const gaspi_timeout_t timeout_ms);

/* GPI-2's own networks'. */
typedef struct {
  gaspi_network_t network_type;
  struct {
    struct {
      gaspi_int netdev_id;
      gaspi_uint mtu;
      gaspi_uint port_check;
    } ib;
    struct {
      gaspi_uint port;
    } tcp;
    struct {
      gaspi_int use_shm;
      gaspi_int provider_info;
      gaspi_int progress_auto;
    } ofi;
  } params;
} gaspi_dev_config_t;

/* What gaspi_config_set may change before gaspi_proc_init. The limits hold; what concerns GPI-2's own networks is kept and not used. */
typedef struct gaspi_config {
  gaspi_uint logger;
  gaspi_uint sn_port;
  gaspi_uint net_info;
  gaspi_uint user_net;
  gaspi_int sn_persistent;
  gaspi_timeout_t sn_timeout;
  gaspi_dev_config_t dev_config;
  gaspi_network_t network;
  gaspi_uint queue_size_max;  /* requests that a queue takes between two gaspi_wait: 1 to 4,096 */
  gaspi_uint queue_num;       /* queues that exist from the start: 1 to 16 */
  gaspi_number_t group_max;   /* 1 to 255 */
  gaspi_number_t segment_max; /* 1 to 255 */
  gaspi_size_t transfer_size_max;
  gaspi_number_t notification_num;          /* of each segment: 1 to 65,536 */
  gaspi_number_t passive_queue_size_max;    /* kept; not used */
  gaspi_number_t passive_transfer_size_max; /* 1 to 65,535 */
  gaspi_size_t allreduce_buf_size;          /* bytes that a gaspi_allreduce_user takes: 1 to 1 GB; the same on all ranks */
  gaspi_number_t allreduce_elem_max;        /* 1 to 16,777,216; the same on all ranks */
  gaspi_number_t rw_list_elem_max;
  gaspi_topology_t build_infrastructure; /* kept; connections are made at first use */
  void* user_defined;
} gaspi_config_t;

/* ---- Set-up: by one thread */

gaspi_return_t gaspi_config_get(gaspi_config_t* config);
/* GASPI_ERR_INITED after gaspi_proc_init, GASPI_ERR_CONFIG for a value that cannot be. */
gaspi_return_t gaspi_config_set(gaspi_config_t config);
gaspi_return_t gaspi_version(gaspi_float* version);

/* ---- Processes */

/* Collective over MPI_COMM_WORLD; waits for all whatever the timeout. Starts the MPI where the program has not: then MPI_Init may still
 * be called, and does nothing more. */
gaspi_return_t gaspi_proc_init(gaspi_timeout_t timeout_ms);
/* When no other thread is in a call of GASPI's. Ends the MPI if gaspi_proc_init has started it and the program has not called MPI_Init:
 * that waits for all. */
gaspi_return_t gaspi_proc_term(gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_proc_rank(gaspi_rank_t* rank);
gaspi_return_t gaspi_proc_num(gaspi_rank_t* proc_num);
/* Ends another process, by SIGKILL. Most launchers then end the whole job. */
gaspi_return_t gaspi_proc_kill(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);
/* Connections are made at first use: these check their arguments. */
gaspi_return_t gaspi_connect(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_disconnect(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);

/* ---- Groups: of ranks that make collective calls. One thread at a time changes a group */

gaspi_return_t gaspi_group_create(gaspi_group_t* group);
gaspi_return_t gaspi_group_delete(gaspi_group_t group);
gaspi_return_t gaspi_group_add(gaspi_group_t group, gaspi_rank_t rank);
/* Collective over the ranks that were added, the caller among them. */
gaspi_return_t gaspi_group_commit(gaspi_group_t group, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_group_num(gaspi_number_t* group_num);
gaspi_return_t gaspi_group_size(gaspi_group_t group, gaspi_number_t* group_size);
/* Ascending. */
gaspi_return_t gaspi_group_ranks(gaspi_group_t group, gaspi_rank_t* group_ranks);
gaspi_return_t gaspi_group_max(gaspi_number_t* group_max);

/* ---- Segments: memory that others read and write, numbered 0 to segment_max - 1 by each process, each with its notifications */

/* Local. The memory is zeroed whatever the policy. */
gaspi_return_t gaspi_segment_alloc(gaspi_segment_id_t segment_id, gaspi_size_t size, gaspi_alloc_t alloc_policy);
/* Local. Calls of others that are under way may still end well; later ones of theirs return GASPI_ERR_INV_SEG. */
gaspi_return_t gaspi_segment_delete(gaspi_segment_id_t segment_id);
/* That rank may use the segment from now on. */
gaspi_return_t gaspi_segment_register(gaspi_segment_id_t segment_id, gaspi_rank_t rank, gaspi_timeout_t timeout_ms);
/* Collective over the group: allocates, registers with all and waits for them. */
gaspi_return_t gaspi_segment_create(gaspi_segment_id_t segment_id, gaspi_size_t size, gaspi_group_t group, gaspi_timeout_t timeout_ms,
                                    gaspi_alloc_t alloc_policy);
/* A segment of memory that the program has; it stays until the segment is deleted. The description is not used. */
gaspi_return_t gaspi_segment_bind(gaspi_segment_id_t segment_id, gaspi_pointer_t pointer, gaspi_size_t size,
                                  gaspi_memory_description_t memory_description);
/* gaspi_segment_create of such memory. */
gaspi_return_t gaspi_segment_use(gaspi_segment_id_t segment_id, gaspi_pointer_t pointer, gaspi_size_t size, gaspi_group_t group,
                                 gaspi_timeout_t timeout, gaspi_memory_description_t memory_description);
gaspi_return_t gaspi_segment_num(gaspi_number_t* segment_num);
/* The first `num` of the segments that this process has, ascending: at most gaspi_segment_num. */
gaspi_return_t gaspi_segment_list(gaspi_number_t num, gaspi_segment_id_t* segment_id_list);
gaspi_return_t gaspi_segment_ptr(gaspi_segment_id_t segment_id, gaspi_pointer_t* pointer);
gaspi_return_t gaspi_segment_max(gaspi_number_t* segment_max);

/* ---- One-sided. A call returns when it is queued; GASPI_QUEUE_FULL where the queue has no room until gaspi_wait */

gaspi_return_t gaspi_write(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                           gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size, gaspi_queue_id_t queue,
                           gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_read(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                          gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size, gaspi_queue_id_t queue,
                          gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_write_list(gaspi_number_t num, const gaspi_segment_id_t* segment_id_local, const gaspi_offset_t* offset_local,
                                gaspi_rank_t rank, const gaspi_segment_id_t* segment_id_remote, const gaspi_offset_t* offset_remote,
                                const gaspi_size_t* size, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_read_list(gaspi_number_t num, const gaspi_segment_id_t* segment_id_local, const gaspi_offset_t* offset_local,
                               gaspi_rank_t rank, const gaspi_segment_id_t* segment_id_remote, const gaspi_offset_t* offset_remote,
                               const gaspi_size_t* size, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);
/* Local buffers of all that was posted to the queue may be used again: what was read is there. GASPI_ERROR if some of it failed. */
gaspi_return_t gaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/* ---- Notified. A notification is seen after all data posted before it to the same queue and rank, its own included. Values are not 0 */

gaspi_return_t gaspi_notify(gaspi_segment_id_t segment_id_remote, gaspi_rank_t rank, gaspi_notification_id_t notification_id,
                            gaspi_notification_t notification_value, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);
/* Until one of `num` notifications from `notification_begin` on is not 0. Any number of threads. */
gaspi_return_t gaspi_notify_waitsome(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_begin, gaspi_number_t num,
                                     gaspi_notification_id_t* first_id, gaspi_timeout_t timeout_ms);
/* Takes and clears the value: of several threads one gets it, the others 0. */
gaspi_return_t gaspi_notify_reset(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_id,
                                  gaspi_notification_t* old_notification_val);
gaspi_return_t gaspi_write_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                  gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                                  gaspi_notification_id_t notification_id, gaspi_notification_t notification_value, gaspi_queue_id_t queue,
                                  gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_write_list_notify(gaspi_number_t num, const gaspi_segment_id_t* segment_id_local, const gaspi_offset_t* offset_local,
                                       gaspi_rank_t rank, const gaspi_segment_id_t* segment_id_remote, const gaspi_offset_t* offset_remote,
                                       const gaspi_size_t* size, gaspi_segment_id_t segment_id_notification,
                                       gaspi_notification_id_t notification_id, gaspi_notification_t notification_value,
                                       gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);
/* These notify this process, with the value 1, when the data is there: in segment_id_local, or segment_id_notification. */
gaspi_return_t gaspi_read_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                 gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                                 gaspi_notification_id_t notification_id, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_read_list_notify(gaspi_number_t num, const gaspi_segment_id_t* segment_id_local, const gaspi_offset_t* offset_local,
                                      gaspi_rank_t rank, const gaspi_segment_id_t* segment_id_remote, const gaspi_offset_t* offset_remote,
                                      const gaspi_size_t* size, gaspi_segment_id_t segment_id_notification,
                                      gaspi_notification_id_t notification_id, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/* ---- Queues: threads on queues of their own do not wait for each other */

gaspi_return_t gaspi_queue_size(gaspi_queue_id_t queue, gaspi_number_t* queue_size);
gaspi_return_t gaspi_queue_num(gaspi_number_t* queue_num);
gaspi_return_t gaspi_queue_size_max(gaspi_number_t* queue_size_max);
gaspi_return_t gaspi_queue_max(gaspi_number_t* queue_max);
gaspi_return_t gaspi_queue_create(gaspi_queue_id_t* queue, gaspi_timeout_t timeout_ms);
/* One on which nothing is left to wait for. */
gaspi_return_t gaspi_queue_delete(gaspi_queue_id_t queue);
/* As gaspi_wait, but errors of what was posted before, toward a process that has died say, are forgotten. */
gaspi_return_t gaspi_queue_purge(gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms);

/* ---- Passive: the receiver takes part. A send returns when its message has been received. One that has timed out stays, as it was
 * copied, and may be received: the same call again takes it up, another message to that rank follows it */

gaspi_return_t gaspi_passive_send(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank, gaspi_size_t size,
                                  gaspi_timeout_t timeout_ms);
/* From any rank. A message of another size: GASPI_ERR_INV_SIZE here, and it stays. */
gaspi_return_t gaspi_passive_receive(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t* rem_rank,
                                     gaspi_size_t size, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_passive_transfer_size_min(gaspi_size_t* passive_transfer_size_min);
gaspi_return_t gaspi_passive_transfer_size_max(gaspi_size_t* passive_transfer_size_max);

/* ---- Global atomics on 8 bytes, at a multiple of 8 */

gaspi_return_t gaspi_atomic_fetch_add(gaspi_segment_id_t segment_id, gaspi_offset_t offset, gaspi_rank_t rank, gaspi_atomic_value_t val_add,
                                      gaspi_atomic_value_t* val_old, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_atomic_compare_swap(gaspi_segment_id_t segment_id, gaspi_offset_t offset, gaspi_rank_t rank,
                                         gaspi_atomic_value_t comparator, gaspi_atomic_value_t val_new, gaspi_atomic_value_t* val_old,
                                         gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_atomic_max(gaspi_atomic_value_t* max_value);

/* ---- Collective: one at a time in a group. Of several threads in one, all but the first get GASPI_ERR_ACTIVE_COLL */

gaspi_return_t gaspi_barrier(gaspi_group_t group, gaspi_timeout_t timeout_ms);
/* The buffers may be the same. */
gaspi_return_t gaspi_allreduce(const gaspi_pointer_t buffer_send, gaspi_pointer_t buffer_receive, gaspi_number_t num,
                               gaspi_operation_t operation, gaspi_datatype_t datatype, gaspi_group_t group, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_allreduce_user(const gaspi_pointer_t buffer_send, gaspi_pointer_t buffer_receive, gaspi_number_t num,
                                    gaspi_size_t element_size, gaspi_reduce_operation_t reduce_operation, gaspi_reduce_state_t reduce_state,
                                    gaspi_group_t group, gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_allreduce_buf_size(gaspi_size_t* buf_size);
gaspi_return_t gaspi_allreduce_elem_max(gaspi_number_t* elem_max);

/* ---- Limits */

gaspi_return_t gaspi_transfer_size_min(gaspi_size_t* transfer_size_min);
gaspi_return_t gaspi_transfer_size_max(gaspi_size_t* transfer_size_max);
gaspi_return_t gaspi_notification_num(gaspi_number_t* notification_num);
gaspi_return_t gaspi_rw_list_elem_max(gaspi_number_t* elem_max);

/* ---- Run time */

gaspi_return_t gaspi_network_type(gaspi_network_t* network_type);
gaspi_return_t gaspi_build_infrastructure(gaspi_number_t* build_infrastructure);
gaspi_return_t gaspi_time_ticks(gaspi_cycles_t* ticks);
/* Milliseconds since some moment. */
gaspi_return_t gaspi_time_get(gaspi_time_t* wtime);
/* A text of plait's own, which stays. */
gaspi_return_t gaspi_print_error(gaspi_return_t error_code, gaspi_string_t* error_message);
/* An entry a rank. Processes of this node are asked for; of others, only what the MPI tells is known. */
gaspi_return_t gaspi_state_vec_get(gaspi_state_vector_t state_vector);

/* ---- Statistics: counted from a verbosity level of 1 on; at first it is 0 */

gaspi_return_t gaspi_statistic_verbosity_level(gaspi_number_t verbosity_level);
gaspi_return_t gaspi_statistic_counter_max(gaspi_statistic_counter_t* counter_max);
gaspi_return_t gaspi_statistic_counter_info(gaspi_statistic_counter_t counter, gaspi_statistic_argument_t* counter_argument,
                                            gaspi_string_t* counter_name, gaspi_string_t* counter_description,
                                            gaspi_number_t* verbosity_level);
gaspi_return_t gaspi_statistic_counter_get(gaspi_statistic_counter_t counter, gaspi_number_t argument, unsigned long* value);
gaspi_return_t gaspi_statistic_counter_reset(gaspi_statistic_counter_t counter);
/* This process's counters but those at 0, a line each, as gaspi_printf does. */
void gaspi_statistic_print_counters(void);

#ifdef __cplusplus
}
#endif

#endif
