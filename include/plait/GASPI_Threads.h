/* Threads as programs for GPI-2 have them, which calls this deprecated: a number of them that meet, and their numbers. C and C++; any
 * thread; before gaspi_proc_init, too, but gaspi_threads_sync_all. */
#ifndef PLAIT_GASPI_THREADS_H
#define PLAIT_GASPI_THREADS_H

#include "GASPI.h"

#ifdef __cplusplus
extern "C" {
#endif

/* So many threads will meet, the caller among them: as many as the process may use cores, or as the program says. GASPI_ERROR where
 * this was said already, or for none. */
gaspi_return_t gaspi_threads_init(gaspi_int* num);
gaspi_return_t gaspi_threads_init_user(const unsigned int use_nr_of_threads);
/* No thread meets any more; gaspi_threads_init may be called again. */
gaspi_return_t gaspi_threads_term(void);

/* Starts a thread, which ends with its function. GASPI_ERROR before gaspi_threads_init, or where the system refuses. */
gaspi_return_t gaspi_threads_run(void* (*function)(void*), void* arg);
/* Gives the calling thread its number, from 0 on; the same again if it has one. GASPI_ERROR before gaspi_threads_init, or where as many
 * have one as were named there. */
gaspi_return_t gaspi_threads_register(gaspi_int* tid);
/* GASPI_ERROR for a thread that is not registered. */
gaspi_return_t gaspi_threads_get_tid(gaspi_int* const tid);
/* As many as gaspi_threads_init has named. */
gaspi_return_t gaspi_threads_get_total(gaspi_int* const num);
gaspi_return_t gaspi_threads_get_num_cores(gaspi_int* const cores);

/* Waits until all threads of the process that gaspi_threads_init has named are here. */
void gaspi_threads_sync(void);
/* The same, with a gaspi_barrier of the group within, by one of them. All get what that returns. */
gaspi_return_t gaspi_threads_sync_all(const gaspi_group_t g, const gaspi_timeout_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
