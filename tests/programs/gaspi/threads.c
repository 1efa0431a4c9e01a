/* Threads of one process: one waits for a notification and one for a passive message until the end while segments come and go, and several
 * wait on one queue. 2 x 4. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { kSegments = 300, kThreads = 4, kPosts = 5000 };

static int open_files(void) {
  int n = 0;
  DIR* const folder = opendir("/proc/self/fd");
  CHECK(folder);
  while (readdir(folder)) ++n;
  closedir(folder);
  return n;
}

static void* wait_for_long(void* unused) {
  (void)unused;
  expect(0, 60000, 7);
  return NULL;
}

static void* receive_at_the_end(void* unused) {
  (void)unused;
  gaspi_rank_t from = 9999;
  OK(gaspi_passive_receive(0, 2048, &from, 8, GASPI_BLOCK));
  CHECK(from == (rank + size - 1) % size);
  return NULL;
}

static void* receive_into_deleted(void* unused) {
  (void)unused;
  gaspi_rank_t from = 9999;
  IS(gaspi_passive_receive(1, 0, &from, 8, GASPI_BLOCK), GASPI_ERR_INV_SEG);
  return NULL;
}

static void segments_come_and_go(void) {
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  const int before = open_files();
  for (int i = 0; i < kSegments; ++i) {
    OK(gaspi_segment_create(1, 4096, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    OK(gaspi_write_notify(0, 0, next, 1, 8, 8, 3, 1, 0, GASPI_BLOCK));
    expect(1, 3, 1);
    OK(gaspi_wait(0, GASPI_BLOCK));
    barrier();
    OK(gaspi_segment_delete(1));
  }
  CHECK(open_files() < before + kSegments / 10);
}

static atomic_uint largest;

static void* post_and_wait(void* number) {
  const gaspi_offset_t at = 64 * (gaspi_offset_t)(long)number;
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  for (int i = 0; i < kPosts; ++i) {
    gaspi_number_t n = 0;
    OK(gaspi_write(0, at, next, 0, 1024 + at, 8, 2, GASPI_BLOCK));
    OK(gaspi_queue_size(2, &n));
    for (unsigned seen = largest; n > seen && !atomic_compare_exchange_weak(&largest, &seen, n);) continue;
    OK(gaspi_wait(2, GASPI_BLOCK));
  }
  return NULL;
}

int main(void) {
  begin();
  pthread_t waiter, receiver, threads[kThreads];
  gaspi_number_t n = 1;
  OK(gaspi_segment_create(0, 4096, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  OK(gaspi_segment_create(1, 4096, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  pthread_create(&receiver, NULL, receive_into_deleted, NULL);
  usleep(2000);
  barrier();
  OK(gaspi_segment_delete(1));
  pthread_join(receiver, NULL);
  pthread_create(&waiter, NULL, wait_for_long, NULL);
  pthread_create(&receiver, NULL, receive_at_the_end, NULL);
  segments_come_and_go();
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, post_and_wait, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  OK(gaspi_queue_size(2, &n));
  CHECK(n == 0 && largest <= kThreads);
  OK(gaspi_notify(0, rank, 60000, 7, 0, GASPI_BLOCK));
  pthread_join(waiter, NULL);
  OK(gaspi_passive_send(0, 0, (gaspi_rank_t)((rank + 1) % size), 8, GASPI_BLOCK));
  pthread_join(receiver, NULL);
  end("threads wait beside each other");
  return 0;
}
