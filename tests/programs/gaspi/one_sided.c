/* Writes, reads, lists and their notifications between all ranks: a ring as GPI-2's tutorials have it, all sizes, order of data and
 * notification, read_notify, lists, a rank to itself. Any number of processes. */
#include <string.h>

#include "check.h"

enum { kBytes = 4 << 20, kHalf = kBytes / 2, kSources = 64 };

static unsigned char byte_of(int from, long i, int round) { return (unsigned char)(from * 31 + i * 7 + i / 251 + round * 13); }

static void fill(unsigned char* p, long n, int from, int round) {
  for (long i = 0; i < n; ++i) p[i] = byte_of(from, i, round);
}
static int is_filled(const unsigned char* p, long n, int from, int round) {
  for (long i = 0; i < n; ++i) {
    if (p[i] != byte_of(from, i, round)) return 0;
  }
  return 1;
}

static void ring(void) {
  static const long sizes[] = {0, 1, 7, 8, 64, 1000, 4096, 16383, 16384, 16385, 65536, 100001, 1 << 20, kHalf};
  unsigned char* const p = at(0);
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  const int left = (rank + size - 1) % size;
  for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); ++i) {
    const long n = sizes[i];
    fill(p, n, rank, i);
    barrier();
    OK(gaspi_write_notify(0, 0, next, 0, kHalf, (gaspi_size_t)n, 5, (gaspi_notification_t)(i + 1), 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    expect(0, 5, (gaspi_notification_t)(i + 1));
    CHECK(is_filled(p + kHalf, n, left, i));
    barrier();
    /* back again by a read */
    memset(p + kHalf, 0, (size_t)n);
    OK(gaspi_read(0, kHalf, (gaspi_rank_t)left, 0, 0, (gaspi_size_t)n, 1, GASPI_BLOCK));
    OK(gaspi_wait(1, GASPI_BLOCK));
    CHECK(is_filled(p + kHalf, n, left, i));
    memset(p + kHalf, 0, (size_t)n);
    OK(gaspi_read_notify(0, kHalf, (gaspi_rank_t)left, 0, 0, (gaspi_size_t)n, 9, 2, GASPI_BLOCK));
    expect(0, 9, 1);
    CHECK(is_filled(p + kHalf, n, left, i));
    OK(gaspi_wait(2, GASPI_BLOCK));
    barrier();
  }
}

/* A notification comes after all writes before it, large and small, to its queue and rank. */
static void order(void) {
  unsigned char* const p = at(0);
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  const int left = (rank + size - 1) % size;
  for (int round = 0; round < 20; ++round) {
    fill(p, kHalf, rank, round);
    barrier();
    const long large = 300000 + 1000 * round;
    OK(gaspi_write(0, 0, next, 0, kHalf, (gaspi_size_t)large, 3, GASPI_BLOCK));
    for (long i = large; i < large + 800; i += 8)
      OK(gaspi_write(0, (gaspi_offset_t)i, next, 0, (gaspi_offset_t)(kHalf + i), 8, 3, GASPI_BLOCK));
    OK(gaspi_notify(0, next, 77, 1, 3, GASPI_BLOCK));
    expect(0, 77, 1);
    CHECK(is_filled(p + kHalf, large + 800, left, round));
    OK(gaspi_wait(3, GASPI_BLOCK));
    barrier();
    memset(p + kHalf, 0, kHalf);
    barrier();
  }
}

static void lists(void) {
  enum { kPieces = 255 };
  gaspi_segment_id_t local[kPieces], remote[kPieces];
  gaspi_offset_t local_at[kPieces], remote_at[kPieces];
  gaspi_size_t bytes[kPieces];
  unsigned char* const p = at(0);
  unsigned char* const q = at(1);
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  const int left = (rank + size - 1) % size;
  fill(p, kHalf, rank, 3);
  memset(q, 0, kBytes);
  barrier();
  for (int i = 0; i < kPieces; ++i) {
    local[i] = 0;
    remote[i] = 1;
    local_at[i] = (gaspi_offset_t)i * 1000;
    remote_at[i] = (gaspi_offset_t)i * 1000;
    bytes[i] = (gaspi_size_t)(i % 200);
  }
  OK(gaspi_write_list_notify(kPieces, local, local_at, next, remote, remote_at, bytes, 1, 11, 4, 0, GASPI_BLOCK));
  expect(1, 11, 4);
  for (int i = 0; i < kPieces; ++i) {
    for (long k = 0; k < 1000; ++k) CHECK(q[i * 1000 + k] == (k < (long)bytes[i] ? byte_of(left, i * 1000 + k, 3) : 0));
  }
  OK(gaspi_wait(0, GASPI_BLOCK));
  barrier();
  memset(q, 0, kBytes);
  /* from the other's first segment into the second here */
  OK(gaspi_read_list_notify(kPieces, remote, remote_at, (gaspi_rank_t)left, local, local_at, bytes, 1, 12, 1, GASPI_BLOCK));
  expect(1, 12, 1);
  for (int i = 0; i < kPieces; ++i) CHECK(is_filled(q + i * 1000, 0, left, 3) && memcmp(q + i * 1000 + bytes[i], "\0", 1) == 0);
  OK(gaspi_wait(1, GASPI_BLOCK));
  OK(gaspi_write_list(3, local, local_at, rank, remote, remote_at, bytes, 0, GASPI_BLOCK));
  OK(gaspi_read_list(3, remote, remote_at, rank, local, local_at, bytes, 0, GASPI_BLOCK));
  OK(gaspi_wait(0, GASPI_BLOCK));
  barrier();
}

/* From all to all at once, taken by waitsome over a range as they come. */
static void all_to_all(void) {
  unsigned* const p = at(1);
  for (int round = 1; round <= 30; ++round) {
    for (int r = 0; r < size; ++r) {
      p[1024 + r] = (unsigned)(rank * 1000 + round);
      OK(gaspi_write_notify(1, (gaspi_offset_t)(4096 + 4 * r), (gaspi_rank_t)r, 1, 4UL * rank, 4, 100U + rank, (unsigned)round, 0,
                            GASPI_BLOCK));
    }
    unsigned char seen[kSources] = {0};
    for (int n = 0; n < size; ++n) {
      gaspi_notification_id_t id = 0;
      gaspi_notification_t value = 0;
      OK(gaspi_notify_waitsome(1, 100, size, &id, GASPI_BLOCK));
      OK(gaspi_notify_reset(1, id, &value));
      CHECK(value == (unsigned)round && id >= 100 && id < 100U + size && !seen[id - 100]);
      seen[id - 100] = 1;
      CHECK(p[id - 100] == (id - 100) * 1000 + (unsigned)round);
    }
    OK(gaspi_wait(0, GASPI_BLOCK));
    barrier();
  }
}

/* The last of a segment's notifications, in a range of all: by the summary. */
static void large_range(void) {
  gaspi_number_t num = 0;
  OK(gaspi_notification_num(&num));
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  for (unsigned i = 1; i <= 50; ++i) {
    const gaspi_notification_id_t id = (num - i * 1301 % num) % num;
    OK(gaspi_notify(1, next, id, i, 0, GASPI_BLOCK));
    gaspi_notification_id_t found = num;
    gaspi_notification_t value = 0;
    OK(gaspi_notify_waitsome(1, 0, num, &found, GASPI_BLOCK));
    CHECK(found == id);
    OK(gaspi_notify_reset(1, found, &value));
    CHECK(value == i);
    OK(gaspi_notify_reset(1, found, &value));
    CHECK(value == 0);
    OK(gaspi_wait(0, GASPI_BLOCK));
    barrier();
  }
  gaspi_notification_id_t found = num;
  IS(gaspi_notify_waitsome(1, 0, num, &found, GASPI_TEST), GASPI_TIMEOUT);
  IS(gaspi_notify_waitsome(1, 0, num, &found, 1), GASPI_TIMEOUT);
  barrier();
}

int main(void) {
  begin();
  CHECK(size <= kSources);
  OK(gaspi_segment_create(0, kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  OK(gaspi_segment_create(1, kBytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_UNINITIALIZED));
  ring();
  order();
  lists();
  all_to_all();
  large_range();
  end("data comes before its notification, from everybody to everybody");
  return 0;
}
