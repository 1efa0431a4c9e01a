/* The same calls by the names that tools go on to: a tool defines gaspi_* and calls pgaspi_*. C and C++ of compilers that know
 * __typeof__. */
#ifndef PLAIT_PGASPI_H
#define PLAIT_PGASPI_H

#include "GASPI.h"
#include "GASPI_Ext.h"
#include "GASPI_Threads.h"

#ifdef __cplusplus
extern "C" {
#endif

/* GASPI.h */
__typeof__(gaspi_config_get) pgaspi_config_get;
__typeof__(gaspi_config_set) pgaspi_config_set;
__typeof__(gaspi_version) pgaspi_version;
__typeof__(gaspi_proc_init) pgaspi_proc_init;
__typeof__(gaspi_proc_term) pgaspi_proc_term;
__typeof__(gaspi_proc_rank) pgaspi_proc_rank;
__typeof__(gaspi_proc_num) pgaspi_proc_num;
__typeof__(gaspi_proc_kill) pgaspi_proc_kill;
__typeof__(gaspi_connect) pgaspi_connect;
__typeof__(gaspi_disconnect) pgaspi_disconnect;
__typeof__(gaspi_group_create) pgaspi_group_create;
__typeof__(gaspi_group_delete) pgaspi_group_delete;
__typeof__(gaspi_group_add) pgaspi_group_add;
__typeof__(gaspi_group_commit) pgaspi_group_commit;
__typeof__(gaspi_group_num) pgaspi_group_num;
__typeof__(gaspi_group_size) pgaspi_group_size;
__typeof__(gaspi_group_ranks) pgaspi_group_ranks;
__typeof__(gaspi_group_max) pgaspi_group_max;
__typeof__(gaspi_segment_alloc) pgaspi_segment_alloc;
__typeof__(gaspi_segment_delete) pgaspi_segment_delete;
__typeof__(gaspi_segment_register) pgaspi_segment_register;
__typeof__(gaspi_segment_create) pgaspi_segment_create;
__typeof__(gaspi_segment_bind) pgaspi_segment_bind;
__typeof__(gaspi_segment_use) pgaspi_segment_use;
__typeof__(gaspi_segment_num) pgaspi_segment_num;
__typeof__(gaspi_segment_list) pgaspi_segment_list;
__typeof__(gaspi_segment_ptr) pgaspi_segment_ptr;
__typeof__(gaspi_segment_max) pgaspi_segment_max;
__typeof__(gaspi_write) pgaspi_write;
__typeof__(gaspi_read) pgaspi_read;
__typeof__(gaspi_write_list) pgaspi_write_list;
__typeof__(gaspi_read_list) pgaspi_read_list;
__typeof__(gaspi_wait) pgaspi_wait;
__typeof__(gaspi_notify) pgaspi_notify;
__typeof__(gaspi_notify_waitsome) pgaspi_notify_waitsome;
__typeof__(gaspi_notify_reset) pgaspi_notify_reset;
__typeof__(gaspi_write_notify) pgaspi_write_notify;
__typeof__(gaspi_write_list_notify) pgaspi_write_list_notify;
__typeof__(gaspi_read_notify) pgaspi_read_notify;
__typeof__(gaspi_read_list_notify) pgaspi_read_list_notify;
__typeof__(gaspi_queue_size) pgaspi_queue_size;
__typeof__(gaspi_queue_num) pgaspi_queue_num;
__typeof__(gaspi_queue_size_max) pgaspi_queue_size_max;
__typeof__(gaspi_queue_max) pgaspi_queue_max;
__typeof__(gaspi_queue_create) pgaspi_queue_create;
__typeof__(gaspi_queue_delete) pgaspi_queue_delete;
__typeof__(gaspi_queue_purge) pgaspi_queue_purge;
__typeof__(gaspi_passive_send) pgaspi_passive_send;
__typeof__(gaspi_passive_receive) pgaspi_passive_receive;
__typeof__(gaspi_passive_transfer_size_min) pgaspi_passive_transfer_size_min;
__typeof__(gaspi_passive_transfer_size_max) pgaspi_passive_transfer_size_max;
__typeof__(gaspi_atomic_fetch_add) pgaspi_atomic_fetch_add;
__typeof__(gaspi_atomic_compare_swap) pgaspi_atomic_compare_swap;
__typeof__(gaspi_atomic_max) pgaspi_atomic_max;
__typeof__(gaspi_barrier) pgaspi_barrier;
__typeof__(gaspi_allreduce) pgaspi_allreduce;
__typeof__(gaspi_allreduce_user) pgaspi_allreduce_user;
__typeof__(gaspi_allreduce_buf_size) pgaspi_allreduce_buf_size;
__typeof__(gaspi_allreduce_elem_max) pgaspi_allreduce_elem_max;
__typeof__(gaspi_transfer_size_min) pgaspi_transfer_size_min;
__typeof__(gaspi_transfer_size_max) pgaspi_transfer_size_max;
__typeof__(gaspi_notification_num) pgaspi_notification_num;
__typeof__(gaspi_rw_list_elem_max) pgaspi_rw_list_elem_max;
__typeof__(gaspi_network_type) pgaspi_network_type;
__typeof__(gaspi_build_infrastructure) pgaspi_build_infrastructure;
__typeof__(gaspi_time_ticks) pgaspi_time_ticks;
__typeof__(gaspi_time_get) pgaspi_time_get;
__typeof__(gaspi_print_error) pgaspi_print_error;
__typeof__(gaspi_state_vec_get) pgaspi_state_vec_get;
__typeof__(gaspi_statistic_verbosity_level) pgaspi_statistic_verbosity_level;
__typeof__(gaspi_statistic_counter_max) pgaspi_statistic_counter_max;
__typeof__(gaspi_statistic_counter_info) pgaspi_statistic_counter_info;
__typeof__(gaspi_statistic_counter_get) pgaspi_statistic_counter_get;
__typeof__(gaspi_statistic_counter_reset) pgaspi_statistic_counter_reset;
__typeof__(gaspi_statistic_print_counters) pgaspi_statistic_print_counters;

/* GASPI_Ext.h */
__typeof__(gaspi_initialized) pgaspi_initialized;
__typeof__(gaspi_proc_local_rank) pgaspi_proc_local_rank;
__typeof__(gaspi_proc_local_num) pgaspi_proc_local_num;
__typeof__(gaspi_proc_ping) pgaspi_proc_ping;
__typeof__(gaspi_segment_size) pgaspi_segment_size;
__typeof__(gaspi_segment_avail_local) pgaspi_segment_avail_local;
__typeof__(gaspi_cpu_frequency) pgaspi_cpu_frequency;
__typeof__(gaspi_numa_socket) pgaspi_numa_socket;
__typeof__(gaspi_set_socket_affinity) pgaspi_set_socket_affinity;
__typeof__(gaspi_error_str) pgaspi_error_str;
__typeof__(gaspi_printf) pgaspi_printf;
__typeof__(gaspi_printf_to) pgaspi_printf_to;
__typeof__(gaspi_print_affinity_mask) pgaspi_print_affinity_mask;
__typeof__(gaspi_delay) pgaspi_delay;

/* GASPI_Threads.h */
__typeof__(gaspi_threads_get_tid) pgaspi_threads_get_tid;
__typeof__(gaspi_threads_get_total) pgaspi_threads_get_total;
__typeof__(gaspi_threads_get_num_cores) pgaspi_threads_get_num_cores;
__typeof__(gaspi_threads_init) pgaspi_threads_init;
__typeof__(gaspi_threads_init_user) pgaspi_threads_init_user;
__typeof__(gaspi_threads_term) pgaspi_threads_term;
__typeof__(gaspi_threads_run) pgaspi_threads_run;
__typeof__(gaspi_threads_register) pgaspi_threads_register;
__typeof__(gaspi_threads_sync) pgaspi_threads_sync;
__typeof__(gaspi_threads_sync_all) pgaspi_threads_sync_all;

#ifdef __cplusplus
}
#endif

#endif
