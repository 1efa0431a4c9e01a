/* Data arrives while its target computes and calls nothing: rank 0 looks at its own memory until all has come. And rank 0's words are added
 * to, and read, meanwhile. 2 processes or more. */
#include <string.h>

#include "check.h"

enum { kBytes = 1 << 20, kSmall = 100 };

int main(void) {
  begin();
  OK(gaspi_segment_create(0, 2 * kBytes * (gaspi_size_t)size, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
  volatile long* const p = at(0);
  if (rank == 0) {
    p[1] = 4711;
    barrier();
    for (int r = 1; r < size; ++r) {
      volatile long* const theirs = (volatile long*)((char*)at(0) + (size_t)r * kBytes);
      for (int i = 0; i < kSmall; ++i) {
        while (theirs[i] != r + i);
      }
      while (theirs[kBytes / 8 - 1] != r);
    }
    while (p[0] != size - 1);
  } else {
    long* const mine = at(0);
    for (int i = 0; i < kSmall; ++i) mine[i] = rank + i;
    barrier();
    for (int i = 0; i < kSmall; ++i) OK(gaspi_write(0, 8UL * i, 0, 0, (gaspi_offset_t)rank * kBytes + 8UL * i, 8, 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    mine[kBytes / 8 - 1] = rank;
    OK(gaspi_write_notify(0, 8 * kSmall, 0, 0, (gaspi_offset_t)rank * kBytes + 8 * kSmall, kBytes - 8 * kSmall,
                          (gaspi_notification_id_t)rank, 1, 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    OK(gaspi_read(0, kBytes, 0, 0, 8, 8, 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    CHECK(mine[kBytes / 8] == 4711);
    gaspi_atomic_value_t old = 0;
    OK(gaspi_atomic_fetch_add(0, 0, 0, 1, &old, GASPI_BLOCK));
  }
  end("all has come while rank 0 computed");
  return 0;
}
