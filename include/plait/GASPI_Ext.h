/* Calls that GPI-2 has beside the specification's: docs/gaspi.md. C and C++; any thread. */
#ifndef PLAIT_GASPI_EXT_H
#define PLAIT_GASPI_EXT_H

#include "GASPI.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 1 between gaspi_proc_init and gaspi_proc_term, else 0. */
gaspi_return_t gaspi_initialized(gaspi_number_t* initialized);
/* This process among those of its node. */
gaspi_return_t gaspi_proc_local_rank(gaspi_rank_t* local_rank);
gaspi_return_t gaspi_proc_local_num(gaspi_rank_t* local_num);
/* Whether that process answers; GASPI_ERROR where it has died. On another node, only when it has answered. */
gaspi_return_t gaspi_proc_ping(gaspi_rank_t rank, gaspi_timeout_t timeout);
/* Of another rank's: once that has registered it here. */
gaspi_return_t gaspi_segment_size(gaspi_segment_id_t segment_id, gaspi_rank_t rank, gaspi_size_t* size);
/* The least number that no segment of this process's has. */
gaspi_return_t gaspi_segment_avail_local(gaspi_segment_id_t* avail_seg_id);
/* In MHz. */
gaspi_return_t gaspi_cpu_frequency(gaspi_float* cpu_mhz);
/* The NUMA node on which the calling thread runs. */
gaspi_return_t gaspi_numa_socket(gaspi_uchar* socket);
/* Binds the calling thread to the cores of a NUMA node. */
gaspi_return_t gaspi_set_socket_affinity(gaspi_uchar socket);
/* As gaspi_print_error has it; never null. */
gaspi_string_t gaspi_error_str(gaspi_return_t error_code);
/* To standard output, behind the rank. */
void gaspi_printf(const char* fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;
/* To that rank's standard output; lines of up to 1 KB. */
void gaspi_printf_to(gaspi_rank_t rank, const char* fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void gaspi_print_affinity_mask(void);
/* Tells the processor that the thread polls. */
void gaspi_delay(void);

#ifdef __cplusplus
}
#endif

#endif
