// What the programs of this folder share: a mistake is said and counted, in serial parts only.
#ifndef CHECK_H
#define CHECK_H
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int mistakes = 0;
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++mistakes;                                                     \
    }                                                                 \
  } while (0)

static inline int end(void) {
  if (!mistakes) puts("right");
  return mistakes != 0;
}
#endif
