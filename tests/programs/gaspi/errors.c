/* Every mistake has its code, in every call that can make it, and moves nothing: before gaspi_proc_init, null pointers, and whatever is out
 * of range. 2 processes or more. */
#include <string.h>

#include "check.h"

static gaspi_segment_id_t zero_segment;
static gaspi_offset_t zero_offset;
static gaspi_size_t eight = 8;

static void before_init(gaspi_return_t code) {
  gaspi_rank_t r = 0;
  gaspi_number_t n = 0;
  gaspi_group_t g = 0;
  gaspi_queue_id_t q = 0;
  gaspi_segment_id_t s = 0;
  gaspi_pointer_t p = NULL;
  gaspi_size_t bytes = 0;
  gaspi_atomic_value_t old = 0;
  gaspi_network_t network;
  gaspi_state_t state[64];
  unsigned long count = 0;
  long one = 1, all = 0;
  IS(gaspi_proc_rank(&r), code);
  IS(gaspi_proc_num(&r), code);
  IS(gaspi_proc_kill(1, GASPI_BLOCK), code);
  IS(gaspi_connect(0, GASPI_BLOCK), code);
  IS(gaspi_disconnect(0, GASPI_BLOCK), code);
  IS(gaspi_proc_term(GASPI_BLOCK), code);
  IS(gaspi_group_create(&g), code);
  IS(gaspi_group_delete(1), code);
  IS(gaspi_group_add(1, 0), code);
  IS(gaspi_group_commit(1, GASPI_BLOCK), code);
  IS(gaspi_group_num(&n), code);
  IS(gaspi_group_size(0, &n), code);
  IS(gaspi_group_ranks(0, &r), code);
  IS(gaspi_group_max(&n), code);
  IS(gaspi_segment_alloc(0, 8, GASPI_ALLOC_DEFAULT), code);
  IS(gaspi_segment_delete(0), code);
  IS(gaspi_segment_register(0, 0, GASPI_BLOCK), code);
  IS(gaspi_segment_create(0, 8, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT), code);
  IS(gaspi_segment_bind(0, &one, 8, 0), code);
  IS(gaspi_segment_use(0, &one, 8, GASPI_GROUP_ALL, GASPI_BLOCK, 0), code);
  IS(gaspi_segment_num(&n), code);
  IS(gaspi_segment_list(0, &s), code);
  IS(gaspi_segment_ptr(0, &p), code);
  IS(gaspi_segment_max(&n), code);
  IS(gaspi_segment_size(0, 0, &bytes), code);
  IS(gaspi_segment_avail_local(&s), code);
  IS(gaspi_write(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK), code);
  IS(gaspi_read(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK), code);
  IS(gaspi_write_list(1, &zero_segment, &zero_offset, 0, &zero_segment, &zero_offset, &eight, 0, GASPI_BLOCK), code);
  IS(gaspi_read_list(1, &zero_segment, &zero_offset, 0, &zero_segment, &zero_offset, &eight, 0, GASPI_BLOCK), code);
  IS(gaspi_wait(0, GASPI_BLOCK), code);
  IS(gaspi_notify(0, 0, 0, 1, 0, GASPI_BLOCK), code);
  IS(gaspi_notify_waitsome(0, 0, 1, &n, GASPI_TEST), code);
  IS(gaspi_notify_reset(0, 0, &n), code);
  IS(gaspi_write_notify(0, 0, 0, 0, 0, 8, 0, 1, 0, GASPI_BLOCK), code);
  IS(gaspi_write_list_notify(1, &zero_segment, &zero_offset, 0, &zero_segment, &zero_offset, &eight, 0, 0, 1, 0, GASPI_BLOCK), code);
  IS(gaspi_read_notify(0, 0, 0, 0, 0, 8, 0, 0, GASPI_BLOCK), code);
  IS(gaspi_read_list_notify(1, &zero_segment, &zero_offset, 0, &zero_segment, &zero_offset, &eight, 0, 0, 0, GASPI_BLOCK), code);
  IS(gaspi_queue_size(0, &n), code);
  IS(gaspi_queue_num(&n), code);
  IS(gaspi_queue_size_max(&n), code);
  IS(gaspi_queue_max(&n), code);
  IS(gaspi_queue_create(&q, GASPI_BLOCK), code);
  IS(gaspi_queue_delete(0), code);
  IS(gaspi_passive_send(0, 0, 0, 8, GASPI_BLOCK), code);
  IS(gaspi_passive_receive(0, 0, &r, 8, GASPI_TEST), code);
  IS(gaspi_passive_transfer_size_min(&bytes), code);
  IS(gaspi_passive_transfer_size_max(&bytes), code);
  IS(gaspi_atomic_fetch_add(0, 0, 0, 1, &old, GASPI_BLOCK), code);
  IS(gaspi_atomic_compare_swap(0, 0, 0, 1, 1, &old, GASPI_BLOCK), code);
  IS(gaspi_atomic_max(&old), code);
  IS(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), code);
  IS(gaspi_allreduce(&one, &all, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK), code);
  IS(gaspi_allreduce_buf_size(&bytes), code);
  IS(gaspi_allreduce_elem_max(&n), code);
  IS(gaspi_transfer_size_min(&bytes), code);
  IS(gaspi_transfer_size_max(&bytes), code);
  IS(gaspi_notification_num(&n), code);
  IS(gaspi_rw_list_elem_max(&n), code);
  IS(gaspi_network_type(&network), code);
  IS(gaspi_build_infrastructure(&n), code);
  IS(gaspi_state_vec_get(state), code);
  IS(gaspi_statistic_verbosity_level(1), code);
  IS(gaspi_statistic_counter_get(0, 0, &count), code);
  IS(gaspi_statistic_counter_reset(0), code);
  IS(gaspi_proc_local_rank(&r), code);
  IS(gaspi_proc_local_num(&r), code);
  IS(gaspi_proc_ping(0, GASPI_BLOCK), code);
}

static gaspi_return_t nothing(gaspi_pointer_t a, gaspi_pointer_t b, gaspi_pointer_t c, gaspi_reduce_state_t s, const gaspi_number_t n,
                              const gaspi_size_t e, const gaspi_timeout_t t) {
  (void)a, (void)b, (void)c, (void)s, (void)n, (void)e, (void)t;
  return GASPI_SUCCESS;
}

static void null_pointers(void) {
  long one = 1;
  IS(gaspi_config_get(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_version(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_initialized(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_proc_rank(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_proc_num(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_proc_local_rank(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_proc_local_num(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_group_create(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_group_num(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_group_size(0, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_group_ranks(0, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_group_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_bind(1, NULL, 8, 0), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_use(1, NULL, 8, GASPI_GROUP_ALL, GASPI_BLOCK, 0), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_num(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_list(1, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_ptr(0, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_size(0, 0, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_segment_avail_local(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_write_list(1, NULL, &zero_offset, 0, &zero_segment, &zero_offset, &eight, 0, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_read_list(1, &zero_segment, &zero_offset, 0, &zero_segment, NULL, &eight, 0, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_write_list_notify(1, &zero_segment, &zero_offset, 0, &zero_segment, &zero_offset, NULL, 0, 0, 1, 0, GASPI_BLOCK),
     GASPI_ERR_NULLPTR);
  IS(gaspi_read_list_notify(1, &zero_segment, &zero_offset, 0, NULL, &zero_offset, &eight, 0, 0, 0, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_notify_waitsome(0, 0, 1, NULL, GASPI_TEST), GASPI_ERR_NULLPTR);
  IS(gaspi_queue_size(0, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_queue_num(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_queue_size_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_queue_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_queue_create(NULL, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_passive_receive(0, 0, NULL, 8, GASPI_TEST), GASPI_ERR_NULLPTR);
  IS(gaspi_passive_transfer_size_min(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_passive_transfer_size_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_atomic_fetch_add(0, 0, 0, 1, NULL, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_atomic_compare_swap(0, 0, 0, 1, 1, NULL, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_atomic_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_allreduce(NULL, &one, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_allreduce(&one, NULL, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_allreduce_user(&one, &one, 1, 8, NULL, NULL, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_NULLPTR);
  IS(gaspi_allreduce_buf_size(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_allreduce_elem_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_transfer_size_min(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_transfer_size_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_notification_num(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_rw_list_elem_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_network_type(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_build_infrastructure(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_time_ticks(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_time_get(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_print_error(GASPI_ERROR, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_state_vec_get(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_statistic_counter_max(NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_statistic_counter_info(0, NULL, NULL, NULL, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_statistic_counter_get(0, 0, NULL), GASPI_ERR_NULLPTR);
  IS(gaspi_cpu_frequency(NULL), GASPI_ERR_NULLPTR);
}

/* One-sided calls with one argument wrong; `extra` and what follows as each has it. */
#define WRONG(CODE, LOCAL, LOCAL_AT, RANK, REMOTE, REMOTE_AT, BYTES, QUEUE)                                 \
  do {                                                                                                      \
    gaspi_segment_id_t l_ = (LOCAL), r_ = (REMOTE);                                                         \
    gaspi_offset_t la_ = (LOCAL_AT), ra_ = (REMOTE_AT);                                                     \
    gaspi_size_t b_ = (BYTES);                                                                              \
    IS(gaspi_write(l_, la_, (RANK), r_, ra_, b_, (QUEUE), GASPI_BLOCK), CODE);                              \
    IS(gaspi_read(l_, la_, (RANK), r_, ra_, b_, (QUEUE), GASPI_TEST), CODE);                                \
    IS(gaspi_write_notify(l_, la_, (RANK), r_, ra_, b_, 3, 1, (QUEUE), 1), CODE);                           \
    IS(gaspi_read_notify(l_, la_, (RANK), r_, ra_, b_, 3, (QUEUE), GASPI_BLOCK), CODE);                     \
    IS(gaspi_write_list(1, &l_, &la_, (RANK), &r_, &ra_, &b_, (QUEUE), GASPI_BLOCK), CODE);                 \
    IS(gaspi_read_list(1, &l_, &la_, (RANK), &r_, &ra_, &b_, (QUEUE), GASPI_BLOCK), CODE);                  \
    IS(gaspi_write_list_notify(1, &l_, &la_, (RANK), &r_, &ra_, &b_, 0, 3, 1, (QUEUE), GASPI_BLOCK), CODE); \
    IS(gaspi_read_list_notify(1, &l_, &la_, (RANK), &r_, &ra_, &b_, 0, 3, (QUEUE), GASPI_BLOCK), CODE);     \
  } while (0)

enum { kBytes = 1000 };

static void out_of_range(void) {
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  const gaspi_size_t more = ~0UL;
  WRONG(GASPI_ERR_INV_RANK, 0, 0, size, 0, 0, 8, 0);
  WRONG(GASPI_ERR_INV_RANK, 0, 0, 65535, 0, 0, 8, 0);
  WRONG(GASPI_ERR_INV_QUEUE, 0, 0, next, 0, 0, 8, 8);
  WRONG(GASPI_ERR_INV_QUEUE, 0, 0, next, 0, 0, 8, 255);
  WRONG(GASPI_ERR_INV_SEG, 7, 0, next, 0, 0, 8, 0);
  WRONG(GASPI_ERR_INV_SEG, 255, 0, next, 0, 0, 8, 0);
  WRONG(GASPI_ERR_INV_SEG, 0, 0, next, 7, 0, 8, 0);
  WRONG(GASPI_ERR_INV_SEG, 0, 0, next, 200, 0, 8, 0);
  WRONG(GASPI_ERR_INV_SEG, 0, 0, next, 2, 0, 8, 0); /* which is not registered */
  WRONG(GASPI_ERR_INV_LOC_OFF, 0, kBytes - 7, next, 0, 0, 8, 0);
  WRONG(GASPI_ERR_INV_LOC_OFF, 0, more, next, 0, 0, 8, 0);
  WRONG(GASPI_ERR_INV_LOC_OFF, 0, 8, next, 0, 0, more, 0);
  WRONG(GASPI_ERR_INV_REM_OFF, 0, 0, next, 0, kBytes - 7, 8, 0);
  WRONG(GASPI_ERR_INV_REM_OFF, 0, 0, next, 0, more - 3, 8, 0);
  WRONG(GASPI_ERR_INV_REM_OFF, 1, 0, next, 0, 0, kBytes + 1, 0);
  WRONG(GASPI_ERR_INV_SIZE, 1, 0, next, 1, 0, (1UL << 20) + 1, 0); /* than this configuration allows */
  IS(gaspi_write_notify(0, 0, next, 0, 0, 8, 65536, 1, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_ID);
  IS(gaspi_read_notify(0, 0, next, 0, 0, 8, 65536, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_ID);
  IS(gaspi_write_notify(0, 0, next, 0, 0, 8, 0, 0, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_VAL);
  IS(gaspi_write_list_notify(1, &zero_segment, &zero_offset, next, &zero_segment, &zero_offset, &eight, 0, 0, 0, 0, GASPI_BLOCK),
     GASPI_ERR_INV_NOTIF_VAL);
  IS(gaspi_write_list_notify(1, &zero_segment, &zero_offset, next, &zero_segment, &zero_offset, &eight, 9, 0, 1, 0, GASPI_BLOCK),
     GASPI_ERR_INV_SEG);
  IS(gaspi_write_list(0, &zero_segment, &zero_offset, next, &zero_segment, &zero_offset, &eight, 0, GASPI_BLOCK), GASPI_ERR_INV_NUM);
  IS(gaspi_read_list(256, &zero_segment, &zero_offset, next, &zero_segment, &zero_offset, &eight, 0, GASPI_BLOCK), GASPI_ERR_INV_NUM);
  IS(gaspi_notify(0, next, 0, 0, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_VAL);
  IS(gaspi_notify(0, next, 65536, 1, 0, GASPI_BLOCK), GASPI_ERR_INV_NOTIF_ID);
  IS(gaspi_notify(0, size, 0, 1, 0, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_notify(9, next, 0, 1, 0, GASPI_BLOCK), GASPI_ERR_INV_SEG);
  IS(gaspi_notify(0, next, 0, 1, 20, GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
  gaspi_number_t n = 0;
  IS(gaspi_notify_waitsome(9, 0, 1, &n, GASPI_TEST), GASPI_ERR_INV_SEG);
  IS(gaspi_notify_waitsome(0, 65536, 1, &n, GASPI_TEST), GASPI_ERR_INV_NOTIF_ID);
  IS(gaspi_notify_waitsome(0, 65535, 2, &n, GASPI_TEST), GASPI_ERR_INV_NUM);
  OK(gaspi_notify_waitsome(0, 0, 0, &n, GASPI_BLOCK)); /* of none */
  IS(gaspi_notify_waitsome(0, 0, 65536, &n, GASPI_TEST), GASPI_TIMEOUT);
  IS(gaspi_notify_reset(9, 0, &n), GASPI_ERR_INV_SEG);
  IS(gaspi_notify_reset(0, 65536, &n), GASPI_ERR_INV_NOTIF_ID);
  gaspi_atomic_value_t old = 0;
  IS(gaspi_atomic_fetch_add(0, 4, next, 1, &old, GASPI_BLOCK), GASPI_ERR_UNALIGN_OFF);
  IS(gaspi_atomic_compare_swap(0, 12, next, 1, 1, &old, GASPI_BLOCK), GASPI_ERR_UNALIGN_OFF);
  IS(gaspi_atomic_fetch_add(0, 1000, next, 1, &old, GASPI_BLOCK), GASPI_ERR_INV_REM_OFF);
  IS(gaspi_atomic_fetch_add(9, 0, next, 1, &old, GASPI_BLOCK), GASPI_ERR_INV_SEG);
  IS(gaspi_atomic_fetch_add(0, 0, size, 1, &old, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  gaspi_rank_t r = 0;
  IS(gaspi_passive_send(0, 0, size, 8, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_passive_send(9, 0, next, 8, GASPI_BLOCK), GASPI_ERR_INV_SEG);
  IS(gaspi_passive_send(0, 0, next, 0, GASPI_BLOCK), GASPI_ERR_INV_SIZE);
  IS(gaspi_passive_send(1, 0, next, 65536, GASPI_BLOCK), GASPI_ERR_INV_SIZE);
  IS(gaspi_passive_send(0, 999, next, 8, GASPI_BLOCK), GASPI_ERR_INV_LOC_OFF);
  IS(gaspi_passive_receive(9, 0, &r, 8, GASPI_TEST), GASPI_ERR_INV_SEG);
  IS(gaspi_passive_receive(0, 0, &r, 0, GASPI_TEST), GASPI_ERR_INV_SIZE);
  IS(gaspi_passive_receive(0, 999, &r, 8, GASPI_TEST), GASPI_ERR_INV_LOC_OFF);
  IS(gaspi_queue_size(8, &n), GASPI_ERR_INV_QUEUE);
  IS(gaspi_queue_delete(8), GASPI_ERR_INV_QUEUE);
  IS(gaspi_wait(8, GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
  gaspi_size_t bytes = 0;
  IS(gaspi_segment_alloc(0, 8, GASPI_ALLOC_DEFAULT), GASPI_ERR_INV_SEG); /* there is one */
  IS(gaspi_segment_alloc(255, 8, GASPI_ALLOC_DEFAULT), GASPI_ERR_INV_SEG);
  IS(gaspi_segment_alloc(9, 0, GASPI_ALLOC_DEFAULT), GASPI_ERR_INV_SEGSIZE);
  IS(gaspi_segment_alloc(9, 1UL << 60, GASPI_ALLOC_DEFAULT), GASPI_ERR_INV_SEGSIZE);
  IS(gaspi_segment_alloc(9, 1UL << 45, GASPI_ALLOC_DEFAULT), GASPI_ERR_MEMALLOC);
  IS(gaspi_segment_create(9, 0, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT), GASPI_ERR_INV_SEGSIZE);
  IS(gaspi_segment_create(9, 8, 5, GASPI_BLOCK, GASPI_ALLOC_DEFAULT), GASPI_ERR_INV_GROUP);
  IS(gaspi_segment_bind(9, &bytes, 0, 0), GASPI_ERR_INV_SEGSIZE);
  IS(gaspi_segment_bind(0, &bytes, 8, 0), GASPI_ERR_INV_SEG);
  IS(gaspi_segment_register(9, next, GASPI_BLOCK), GASPI_ERR_INV_SEG);
  IS(gaspi_segment_register(0, size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_segment_delete(9), GASPI_ERR_INV_SEG);
  gaspi_pointer_t p = NULL;
  IS(gaspi_segment_ptr(9, &p), GASPI_ERR_INV_SEG);
  IS(gaspi_segment_size(9, next, &bytes), GASPI_ERR_INV_SEG);
  IS(gaspi_segment_size(0, size, &bytes), GASPI_ERR_INV_RANK);
  gaspi_segment_id_t list[40];
  IS(gaspi_segment_list(9, list), GASPI_ERR_INV_NUM);
  IS(gaspi_connect(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_disconnect(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_proc_ping(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_proc_kill(size, GASPI_BLOCK), GASPI_ERR_INV_RANK);
  IS(gaspi_proc_kill(rank, GASPI_BLOCK), GASPI_ERR_INV_RANK);
}

static void groups(void) {
  long one = 1, all = 0;
  gaspi_group_t g = 0;
  gaspi_number_t n = 0;
  IS(gaspi_barrier(1, GASPI_BLOCK), GASPI_ERR_INV_GROUP);
  IS(gaspi_allreduce(&one, &all, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, 77, GASPI_BLOCK), GASPI_ERR_INV_GROUP);
  IS(gaspi_allreduce(&one, &all, 0, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_INV_NUM);
  IS(gaspi_allreduce(&one, &all, 256, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_INV_NUM);
  IS(gaspi_allreduce_user(&one, &all, 1, 0, nothing, NULL, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_INV_SIZE);
  IS(gaspi_allreduce_user(&one, &all, 255, 9, nothing, NULL, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_INV_SIZE);
  OK(gaspi_group_create(&g));
  IS(gaspi_barrier(g, GASPI_BLOCK), GASPI_ERR_INV_GROUP);      /* not committed */
  IS(gaspi_group_commit(g, GASPI_BLOCK), GASPI_ERR_INV_GROUP); /* without ranks */
  IS(gaspi_group_add(g, size), GASPI_ERR_INV_RANK);
  OK(gaspi_group_add(g, rank));
  IS(gaspi_group_add(g, rank), GASPI_ERR_INV_RANK); /* again */
  OK(gaspi_group_commit(g, GASPI_BLOCK));
  IS(gaspi_group_commit(g, GASPI_BLOCK), GASPI_ERR_INV_GROUP);
  IS(gaspi_group_add(g, rank), GASPI_ERR_INV_GROUP);
  OK(gaspi_barrier(g, GASPI_TEST));
  OK(gaspi_group_delete(g));
  IS(gaspi_group_delete(g), GASPI_ERR_INV_GROUP);
  IS(gaspi_group_delete(GASPI_GROUP_ALL), GASPI_ERR_INV_GROUP);
  IS(gaspi_group_size(g, &n), GASPI_ERR_INV_GROUP);
  gaspi_rank_t r[64];
  IS(gaspi_group_ranks(g, r), GASPI_ERR_INV_GROUP);
  /* another call in the place of one that has timed out */
  barrier();
  if (rank == 0) {
    IS(gaspi_barrier(GASPI_GROUP_ALL, GASPI_TEST), GASPI_TIMEOUT);
    IS(gaspi_allreduce(&one, &all, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_ACTIVE_COLL);
    OK(gaspi_notify(0, 1, 50, 1, 0, GASPI_BLOCK));
  } else if (rank == 1) {
    expect(0, 50, 1);
  }
  barrier();
  if (rank == 0) OK(gaspi_wait(0, GASPI_BLOCK));
}

static void many_segments(void) {
  for (int i = 3; i < 255; ++i) OK(gaspi_segment_alloc((gaspi_segment_id_t)i, 8, GASPI_ALLOC_DEFAULT));
  gaspi_segment_id_t s = 0;
  IS(gaspi_segment_avail_local(&s), GASPI_ERR_MANY_SEG);
  for (int i = 3; i < 255; ++i) OK(gaspi_segment_delete((gaspi_segment_id_t)i));
}

int main(void) {
  before_init(GASPI_ERR_NOINIT);
  gaspi_config_t config;
  OK(gaspi_config_get(&config));
  config.transfer_size_max = 1UL << 20;
  OK(gaspi_config_set(config));
  config.queue_size_max = 0;
  IS(gaspi_config_set(config), GASPI_ERR_CONFIG);
  begin();
  OK(gaspi_segment_create(0, kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
  OK(gaspi_segment_create(1, 2 << 20, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
  OK(gaspi_segment_alloc(2, kBytes, GASPI_ALLOC_DEFAULT));
  memset(at(0), 17, kBytes);
  barrier();
  null_pointers();
  out_of_range();
  groups();
  many_segments();
  barrier();
  for (int i = 0; i < kBytes; ++i) CHECK(((char*)at(0))[i] == 17); /* nothing has moved */
  gaspi_number_t n = 0, found = 0;
  OK(gaspi_queue_size(0, &n));
  CHECK(n == 0);
  IS(gaspi_notify_waitsome(0, 0, 65536, &found, GASPI_TEST), GASPI_TIMEOUT);
  end("every mistake has its code");
  before_init(GASPI_ERR_NOINIT);
  return 0;
}
