// What the programs check themselves with.
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>

static inline void check_failed(const char* what, const char* file, int line) {
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CHECK(what) ((what) ? (void)0 : check_failed(#what, __FILE__, __LINE__))

static inline int class_of(int code) {
  int c = -1;
  MPI_Error_class(code, &c);
  return c;
}

// A call that has to give an error of this class.
#define GIVES(CALL, CLASS)                                                         \
  do {                                                                             \
    const int class_ = class_of(CALL);                                             \
    if (class_ != (CLASS)) fprintf(stderr, "class %d, not %d: ", class_, (CLASS)); \
    CHECK(class_ == (CLASS) && #CALL);                                             \
  } while (0)

// Bytes of message `number` from `source`.
static inline void fill(unsigned char* at, int bytes, unsigned source, unsigned number) {
  unsigned state = source * 2654435761u + number * 2246822519u + 1;
  for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
}

static inline int is_filled(const unsigned char* at, int bytes, unsigned source, unsigned number) {
  unsigned state = source * 2654435761u + number * 2246822519u + 1;
  for (int i = 0; i < bytes; ++i) {
    if (at[i] != (unsigned char)((state = state * 1664525u + 1013904223u) >> 24)) return 0;
  }
  return 1;
}

#endif
