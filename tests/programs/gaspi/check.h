// What the programs of GASPI check themselves with: they call nothing of the MPI's.
#ifndef GASPI_CHECK_H
#define GASPI_CHECK_H

#include <GASPI.h>
#include <GASPI_Ext.h>
#include <stdio.h>
#include <stdlib.h>

static gaspi_rank_t rank, size;

static inline void gaspi_failed(const char* what, int code, const char* file, int line) {
  fprintf(stderr, "%s:%d: rank %d: %s: %d, %s\n", file, line, rank, what, code, gaspi_error_str((gaspi_return_t)code));
  abort();
}

#define IS(CALL, CODE)                                                   \
  do {                                                                   \
    const int code_ = (CALL);                                            \
    if (code_ != (CODE)) gaspi_failed(#CALL, code_, __FILE__, __LINE__); \
  } while (0)
#define OK(CALL) IS(CALL, GASPI_SUCCESS)
#define CHECK(WHAT) ((WHAT) ? (void)0 : gaspi_failed(#WHAT, 0, __FILE__, __LINE__))

static inline void begin(void) {
  OK(gaspi_proc_init(GASPI_BLOCK));
  OK(gaspi_proc_rank(&rank));
  OK(gaspi_proc_num(&size));
}
static inline void end(const char* text) {
  OK(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
  if (rank == 0) printf("%s\n", text);
  fflush(stdout);
  OK(gaspi_proc_term(GASPI_BLOCK));
}
static inline void* at(gaspi_segment_id_t segment) {
  gaspi_pointer_t pointer = NULL;
  OK(gaspi_segment_ptr(segment, &pointer));
  return pointer;
}
/* Waits for one notification, which has to have this value. */
static inline void expect(gaspi_segment_id_t segment, gaspi_notification_id_t id, gaspi_notification_t value) {
  gaspi_notification_id_t found = 0;
  gaspi_notification_t got = 0;
  OK(gaspi_notify_waitsome(segment, id, 1, &found, GASPI_BLOCK));
  CHECK(found == id);
  OK(gaspi_notify_reset(segment, id, &got));
  CHECK(got == value);
}
static inline void barrier(void) { OK(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK)); }

#endif
