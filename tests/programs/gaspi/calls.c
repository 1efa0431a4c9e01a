/* Groups of GASPI's calls as a program written for GPI-2 uses them, by words, one after the other: setup, which has to be alone, groups,
 * segments, queues, passive, atomics, collective, statistics, runtime, threads. Any number of processes. */
#include <GASPI_Threads.h>
#include <math.h>
#include <string.h>

#include "check.h"

static void start(void) {
  gaspi_number_t begun = 0;
  OK(gaspi_initialized(&begun));
  if (!begun) begin();
}

static gaspi_return_t add_three(gaspi_pointer_t one, gaspi_pointer_t two, gaspi_pointer_t result, gaspi_reduce_state_t state,
                                const gaspi_number_t num, const gaspi_size_t element, const gaspi_timeout_t timeout) {
  (void)state;
  (void)timeout;
  CHECK(element == 3 * sizeof(int));
  for (unsigned i = 0; i < 3 * num; ++i) ((int*)result)[i] = ((int*)one)[i] + ((int*)two)[i];
  return GASPI_SUCCESS;
}

/* Of more than travels at a time. */
static void large_reductions(void) {
  enum { kElements = 20000 };
  static double mine[kElements], all[kElements];
  static int triples[kElements], sums[kElements];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kElements; ++i) mine[i] = rank + i + round, triples[i] = rank * i + round;
    const gaspi_timeout_t patience = round == 1 ? GASPI_TEST : GASPI_BLOCK;
    gaspi_return_t code;
    while ((code = gaspi_allreduce(mine, all, kElements, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL, patience)) == GASPI_TIMEOUT);
    OK(code);
    for (int i = 0; i < kElements; ++i) CHECK(all[i] == size * (size - 1) / 2 + (double)size * (i + round));
    const int n = kElements / 3;
    while ((code = gaspi_allreduce_user(triples, sums, n, 3 * sizeof(int), add_three, NULL, GASPI_GROUP_ALL, patience)) == GASPI_TIMEOUT);
    OK(code);
    for (int i = 0; i < 3 * n; ++i) CHECK(sums[i] == size * (size - 1) / 2 * i + size * round);
  }
  IS(gaspi_allreduce(mine, all, kElements + 1, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_INV_NUM);
  IS(gaspi_allreduce_user(mine, all, 1, 20000, add_three, NULL, GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_ERR_INV_SIZE);
}

static void setup(void) {
  gaspi_config_t config;
  gaspi_float version = 0;
  gaspi_number_t n = 7;
  gaspi_rank_t r = 0;
  gaspi_size_t bytes = 0;
  OK(gaspi_config_get(&config));
  CHECK(config.queue_num == 8 && config.queue_size_max == 1024 && config.segment_max == 255 && config.group_max == 32);
  CHECK(config.notification_num == 65536 && config.transfer_size_max == 1UL << 30 && config.passive_transfer_size_max == 65535);
  config.queue_num = 3;
  config.queue_size_max = 5;
  config.segment_max = 4;
  config.group_max = 3;
  config.allreduce_elem_max = 20000;
  config.allreduce_buf_size = 400000;
  OK(gaspi_config_set(config));
  gaspi_dev_config_t device = config.dev_config;
  device.params.tcp.port = 1;
  config.dev_config = device;
  config.queue_num = 17;
  IS(gaspi_config_set(config), GASPI_ERR_CONFIG);
  OK(gaspi_version(&version));
  CHECK(version > 1);
  OK(gaspi_initialized(&n));
  CHECK(n == 0);
  start();
  IS(gaspi_proc_init(GASPI_BLOCK), GASPI_ERR_INITED);
  IS(gaspi_config_set(config), GASPI_ERR_INITED);
  OK(gaspi_initialized(&n));
  CHECK(n == 1);
  OK(gaspi_queue_num(&n));
  CHECK(n == 3);
  OK(gaspi_queue_size_max(&n));
  CHECK(n == 5);
  OK(gaspi_segment_max(&n));
  CHECK(n == 4);
  OK(gaspi_group_max(&n));
  CHECK(n == 3);
  OK(gaspi_transfer_size_min(&bytes));
  CHECK(bytes == 0);
  OK(gaspi_transfer_size_max(&bytes));
  OK(gaspi_rw_list_elem_max(&n));
  CHECK(n == 255);
  OK(gaspi_notification_num(&n));
  OK(gaspi_passive_transfer_size_min(&bytes));
  CHECK(bytes == 1);
  OK(gaspi_passive_transfer_size_max(&bytes));
  OK(gaspi_allreduce_buf_size(&bytes));
  OK(gaspi_allreduce_elem_max(&n));
  CHECK(n == 20000 && bytes == 400000);
  large_reductions();
  for (int i = 0; i < size; ++i) {
    OK(gaspi_connect((gaspi_rank_t)i, GASPI_BLOCK));
    OK(gaspi_proc_ping((gaspi_rank_t)i, GASPI_BLOCK));
    OK(gaspi_disconnect((gaspi_rank_t)i, GASPI_BLOCK));
  }
  OK(gaspi_proc_local_rank(&r));
  gaspi_rank_t locals = 0;
  OK(gaspi_proc_local_num(&locals));
  CHECK(r < locals && locals <= size);
}

static void groups(void) {
  gaspi_group_t evens, many[40];
  gaspi_number_t n = 0;
  start();
  OK(gaspi_group_num(&n));
  CHECK(n == 1);
  for (int round = 0; round < 5; ++round) {
    OK(gaspi_group_create(&evens));
    const int mine = rank % 2;
    for (int r = size - 1; r >= 0; --r) {
      if (r % 2 == mine) OK(gaspi_group_add(evens, (gaspi_rank_t)r));
    }
    OK(gaspi_group_commit(evens, GASPI_BLOCK));
    OK(gaspi_group_commit(GASPI_GROUP_ALL, GASPI_BLOCK)); /* it is already */
    OK(gaspi_group_size(evens, &n));
    CHECK(n == (gaspi_number_t)(size + 1 - mine) / 2);
    gaspi_rank_t ranks[256];
    OK(gaspi_group_ranks(evens, ranks));
    for (unsigned i = 0; i < n; ++i) CHECK(ranks[i] == 2 * i + (unsigned)mine);
    for (int i = 0; i < 20; ++i) {
      int one = 1 + i, all = 0;
      OK(gaspi_allreduce(&one, &all, 1, GASPI_OP_SUM, GASPI_TYPE_INT, evens, GASPI_BLOCK));
      CHECK(all == (int)n * (1 + i));
      OK(gaspi_barrier(evens, GASPI_BLOCK));
    }
    OK(gaspi_group_delete(evens));
  }
  for (int i = 0; i < 31; ++i) OK(gaspi_group_create(&many[i]));
  IS(gaspi_group_create(&evens), GASPI_ERR_MANY_GRP);
  for (int i = 0; i < 31; ++i) OK(gaspi_group_delete(many[i]));
}

static void segments(void) {
  gaspi_number_t n = 0;
  gaspi_segment_id_t list[8], avail = 0;
  gaspi_size_t bytes = 0;
  start();
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  OK(gaspi_segment_avail_local(&avail));
  CHECK(avail == 0);
  OK(gaspi_segment_alloc(0, 1000, GASPI_MEM_INITIALIZED));
  for (int i = 0; i < 1000; ++i) CHECK(((char*)at(0))[i] == 0);
  for (int r = 0; r < size; ++r) OK(gaspi_segment_register(0, (gaspi_rank_t)r, GASPI_BLOCK));
  OK(gaspi_segment_create(3, 100000UL * (1 + rank), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
  OK(gaspi_segment_num(&n));
  CHECK(n == 2);
  OK(gaspi_segment_list(n, list));
  CHECK(list[0] == 0 && list[1] == 3);
  OK(gaspi_segment_size(3, next, &bytes));
  CHECK(bytes == 100000UL * (1 + next));
  /* the program's own memory, of the heap and of the stack's kind */
  static double mine[1000];
  double* const heap = malloc(1000 * sizeof *heap);
  OK(gaspi_segment_use(1, heap, 1000 * sizeof *heap, GASPI_GROUP_ALL, GASPI_BLOCK, 0));
  OK(gaspi_segment_bind(2, mine, sizeof mine, 0));
  for (int r = 0; r < size; ++r) OK(gaspi_segment_register(2, (gaspi_rank_t)r, GASPI_BLOCK));
  barrier();
  CHECK(at(1) == heap && at(2) == mine);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) heap[i] = rank + i + 1000 * round;
    OK(gaspi_write_notify(1, 0, next, 2, 4000, 4000, 3, 9, 0, GASPI_BLOCK));
    expect(2, 3, 9);
    for (int i = 0; i < 500; ++i) CHECK(mine[500 + i] == (rank + size - 1) % size + i + 1000 * round);
    OK(gaspi_read(3, 8, next, 2, 4000, 4000, 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    barrier();
  }
  gaspi_atomic_value_t old = 0;
  ((long*)mine)[0] = 0;
  barrier();
  for (int i = 0; i < 100; ++i) OK(gaspi_atomic_fetch_add(2, 0, 0, 1, &old, GASPI_BLOCK));
  barrier();
  if (rank == 0) CHECK(((long*)mine)[0] == 100 * size);
  barrier();
  for (int i = 0; i < 4; ++i) OK(gaspi_segment_delete((gaspi_segment_id_t)i));
  free(heap);
  IS(gaspi_segment_delete(0), GASPI_ERR_INV_SEG);
  barrier();
  /* numbers come again */
  for (int i = 0; i < 40; ++i) {
    OK(gaspi_segment_create(5, 1UL << (i % 20), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    OK(gaspi_notify(5, next, 1, 1, 0, GASPI_BLOCK));
    expect(5, 1, 1);
    OK(gaspi_wait(0, GASPI_BLOCK));
    barrier();
    OK(gaspi_segment_delete(5));
    barrier();
  }
}

static void queues(void) {
  gaspi_number_t n = 0, max = 0;
  gaspi_queue_id_t made[16];
  start();
  OK(gaspi_segment_create(0, 4096, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  OK(gaspi_queue_size_max(&max));
  for (unsigned i = 0; i < max; ++i) OK(gaspi_write(0, 0, next, 0, 8UL * (i % 500), 8, 0, GASPI_BLOCK));
  OK(gaspi_queue_size(0, &n));
  CHECK(n == max);
  IS(gaspi_write(0, 0, next, 0, 0, 8, 0, GASPI_BLOCK), GASPI_QUEUE_FULL);
  IS(gaspi_notify(0, next, 0, 1, 0, GASPI_TEST), GASPI_QUEUE_FULL);
  OK(gaspi_queue_size(0, &n));
  CHECK(n == max);
  OK(gaspi_write(0, 0, next, 0, 0, 8, 1, GASPI_BLOCK));
  OK(gaspi_wait(0, GASPI_BLOCK));
  OK(gaspi_queue_size(0, &n));
  CHECK(n == 0);
  OK(gaspi_write(0, 0, next, 0, 0, 8, 0, GASPI_BLOCK));
  OK(gaspi_wait(0, GASPI_BLOCK));
  OK(gaspi_wait(1, GASPI_BLOCK));
  OK(gaspi_queue_max(&n));
  CHECK(n == 16);
  for (int i = 0; i < 8; ++i) OK(gaspi_queue_create(&made[i], GASPI_BLOCK));
  IS(gaspi_queue_create(&made[8], GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
  OK(gaspi_write(0, 0, next, 0, 0, 8, made[3], GASPI_BLOCK));
  IS(gaspi_queue_delete(made[3]), GASPI_ERR_INV_QUEUE);
  OK(gaspi_wait(made[3], GASPI_BLOCK));
  for (int i = 0; i < 8; ++i) OK(gaspi_queue_delete(made[i]));
  IS(gaspi_write(0, 0, next, 0, 0, 8, made[3], GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
  OK(gaspi_queue_num(&n));
  CHECK(n == 8);
  OK(gaspi_write(0, 0, next, 0, 0, 8, 2, GASPI_BLOCK));
  OK(gaspi_queue_purge(2, GASPI_BLOCK));
  OK(gaspi_queue_size(2, &n));
  CHECK(n == 0);
  OK(gaspi_queue_purge(2, GASPI_TEST));
  IS(gaspi_queue_purge(made[3], GASPI_BLOCK), GASPI_ERR_INV_QUEUE);
}

static void passive(void) {
  start();
  OK(gaspi_segment_alloc(0, 200000, GASPI_MEM_INITIALIZED));
  unsigned* const p = at(0);
  unsigned given_up[100] = {0};
  CHECK(size <= 100);
  if (rank == 0) {
    unsigned long seen = 0;
    for (int i = 0; i < 20 * (size - 1); ++i) {
      gaspi_rank_t from = 0;
      gaspi_return_t code;
      while ((code = gaspi_passive_receive(0, 100000, &from, 65535, i % 2 ? 1 : GASPI_BLOCK)) == GASPI_TIMEOUT);
      OK(code);
      const unsigned* const got = p + 25000;
      CHECK(got[0] == from && from > 0);
      const unsigned words = got[1];
      for (unsigned k = 2; k < words; ++k) CHECK(got[k] == from * 7 + k);
      seen += from;
    }
    CHECK(seen == 20UL * size * (size - 1) / 2);
    gaspi_rank_t from = 0;
    IS(gaspi_passive_receive(0, 0, &from, 8, GASPI_TEST), GASPI_TIMEOUT);
    barrier();
    barrier();
    for (int i = 0; i < 2 * (size - 1); ++i) {
      OK(gaspi_passive_receive(0, 0, &from, 8, GASPI_BLOCK));
      CHECK(p[0] == from && p[1] == ++given_up[from]);
    }
  } else {
    for (int i = 0; i < 20; ++i) {
      const unsigned words = (unsigned[]){2, 100, 4096, 4097, 16383}[i % 5];
      p[0] = rank;
      p[1] = words;
      for (unsigned k = 2; k < words; ++k) p[k] = rank * 7 + k;
      gaspi_return_t code;
      while ((code = gaspi_passive_send(0, 0, 0, 4UL * words, i % 3 == 0 ? GASPI_BLOCK : (gaspi_timeout_t)(i % 3 - 1))) == GASPI_TIMEOUT);
      OK(code);
    }
    barrier();
    /* One that was given up, and then another. */
    p[0] = p[2] = rank;
    p[1] = 1, p[3] = 2;
    IS(gaspi_passive_send(0, 0, 0, 8, GASPI_TEST), GASPI_TIMEOUT);
    barrier();
    OK(gaspi_passive_send(0, 8, 0, 8, GASPI_BLOCK));
  }
  barrier();
}

static void atomics(void) {
  start();
  OK(gaspi_segment_create(0, 4096, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  gaspi_atomic_value_t old = 0, max = 0;
  OK(gaspi_atomic_max(&max));
  CHECK(max == ~0UL);
  unsigned char seen[100] = {0};
  for (int i = 0; i < 100; ++i) {
    const gaspi_rank_t r = (gaspi_rank_t)(i % size);
    gaspi_return_t code;
    while ((code = gaspi_atomic_fetch_add(0, 8, r, 1, &old, i % 2 ? 1 : GASPI_BLOCK)) == GASPI_TIMEOUT);
    OK(code);
    CHECK(old < 100UL * size);
    (void)seen;
  }
  barrier();
  long sum = ((volatile long*)at(0))[1], all = 0;
  OK(gaspi_allreduce(&sum, &all, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, GASPI_BLOCK));
  CHECK(all == 100L * size);
  /* a lock: the value of who holds it */
  volatile long* const count = (volatile long*)at(0) + 4;
  (void)count;
  for (int i = 0; i < 30; ++i) {
    do OK(gaspi_atomic_compare_swap(0, 24, 0, 0, 1UL + rank, &old, GASPI_BLOCK));
    while (old != 0);
    long here = 0;
    OK(gaspi_read(0, 64, 0, 0, 32, 8, 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    here = ((volatile long*)at(0))[8] + 1;
    ((volatile long*)at(0))[8] = here;
    OK(gaspi_write(0, 64, 0, 0, 32, 8, 0, GASPI_BLOCK));
    OK(gaspi_wait(0, GASPI_BLOCK));
    /* the data has arrived when it is read back */
    do {
      OK(gaspi_read(0, 72, 0, 0, 32, 8, 0, GASPI_BLOCK));
      OK(gaspi_wait(0, GASPI_BLOCK));
    } while (((volatile long*)at(0))[9] != here);
    OK(gaspi_atomic_compare_swap(0, 24, 0, 1UL + rank, 0, &old, GASPI_BLOCK));
    CHECK(old == 1UL + rank);
  }
  barrier();
  if (rank == 0) CHECK(*count == 30L * size);
}

/* Matrices of 2 x 2 do not commute: the operands come in the order of ranks. */
static gaspi_return_t multiply(gaspi_pointer_t one, gaspi_pointer_t two, gaspi_pointer_t result, gaspi_reduce_state_t state,
                               const gaspi_number_t num, const gaspi_size_t element, const gaspi_timeout_t timeout) {
  (void)timeout;
  CHECK(element == 4 * sizeof(long));
  ++*(int*)state;
  for (unsigned i = 0; i < num; ++i) {
    const long* const a = (const long*)one + 4 * i;
    const long* const b = (const long*)two + 4 * i;
    const long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    memcpy((long*)result + 4 * i, c, sizeof c);
  }
  return GASPI_SUCCESS;
}

#define REDUCES(T, TYPE)                                                                   \
  do {                                                                                     \
    T mine[255], all[255];                                                                 \
    for (int i = 0; i < 255; ++i) mine[i] = (T)(rank + i);                                 \
    OK(gaspi_allreduce(mine, all, 255, GASPI_OP_SUM, TYPE, GASPI_GROUP_ALL, GASPI_BLOCK)); \
    for (int i = 0; i < 255; ++i) CHECK(all[i] == (T)(size * (size - 1) / 2 + size * i));  \
    OK(gaspi_allreduce(mine, all, 3, GASPI_OP_MIN, TYPE, GASPI_GROUP_ALL, GASPI_BLOCK));   \
    CHECK(all[2] == (T)2);                                                                 \
    OK(gaspi_allreduce(mine, mine, 3, GASPI_OP_MAX, TYPE, GASPI_GROUP_ALL, GASPI_BLOCK));  \
    CHECK(mine[2] == (T)(size + 1));                                                       \
  } while (0)

static void collective(void) {
  start();
  for (int i = 0; i < 20; ++i) barrier();
  REDUCES(int, GASPI_TYPE_INT);
  REDUCES(unsigned, GASPI_TYPE_UINT);
  REDUCES(float, GASPI_TYPE_FLOAT);
  REDUCES(double, GASPI_TYPE_DOUBLE);
  REDUCES(long, GASPI_TYPE_LONG);
  REDUCES(unsigned long, GASPI_TYPE_ULONG);
  int negative = -1 - rank, least = 0;
  OK(gaspi_allreduce(&negative, &least, 1, GASPI_OP_MIN, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
  CHECK(least == -size);
  OK(gaspi_allreduce(&negative, &least, 1, GASPI_OP_MAX, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK));
  CHECK(least == -1);
  for (int round = 0; round < 10; ++round) {
    long mine[8] = {1, 1 + rank, 0, 1, rank == 0, 2, 3, rank}, all[8], expected[8];
    int calls = 0, ignored = 0;
    OK(gaspi_allreduce_user(mine, all, 2, 4 * sizeof(long), multiply, &calls, GASPI_GROUP_ALL, GASPI_BLOCK));
    memcpy(expected, (long[]){1, 1, 0, 1, 1, 2, 3, 0}, sizeof expected);
    for (int r = 1; r < size; ++r) {
      long next[8] = {1, 1 + r, 0, 1, 0, 2, 3, r};
      multiply(expected, next, expected, &ignored, 2, 4 * sizeof(long), GASPI_BLOCK);
    }
    CHECK(memcmp(all, expected, sizeof all) == 0);
  }
  /* resumed after each timeout */
  for (int i = 0; i < 50; ++i) {
    gaspi_return_t code;
    while ((code = gaspi_barrier(GASPI_GROUP_ALL, (gaspi_timeout_t)(i % 2))) == GASPI_TIMEOUT);
    OK(code);
    long one = i, all = 0;
    while ((code = gaspi_allreduce(&one, &all, 1, GASPI_OP_SUM, GASPI_TYPE_LONG, GASPI_GROUP_ALL, (gaspi_timeout_t)(i % 2))) ==
           GASPI_TIMEOUT);
    OK(code);
    CHECK(all == (long)i * size);
  }
}

static void statistics_(void) {
  start();
  OK(gaspi_segment_create(0, 4096, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  OK(gaspi_statistic_verbosity_level(1));
  gaspi_statistic_counter_t counters = 0;
  OK(gaspi_statistic_counter_max(&counters));
  const gaspi_rank_t next = (gaspi_rank_t)((rank + 1) % size);
  for (int i = 0; i < 10; ++i) OK(gaspi_write_notify(0, 0, next, 0, 0, 100, 1, 1, 0, GASPI_BLOCK));
  OK(gaspi_wait(0, GASPI_BLOCK));
  gaspi_statistic_print_counters();
  unsigned found = 0;
  for (unsigned c = 0; c < counters; ++c) {
    gaspi_statistic_argument_t argument;
    gaspi_string_t name, text;
    gaspi_number_t level;
    unsigned long value = 0;
    OK(gaspi_statistic_counter_info(c, &argument, &name, &text, &level));
    OK(gaspi_statistic_counter_get(c, argument == GASPI_STATISTIC_ARGUMENT_RANK ? next : 0, &value));
    if (!strcmp(name, "writes")) found += value == 10;
    if (!strcmp(name, "bytes_written")) found += value == 1000;
    if (!strcmp(name, "notifications")) found += value == 10;
    if (!strcmp(name, "bytes_to_rank")) found += value == 1000;
    if (!strcmp(name, "queue_waits")) found += value == 1;
    OK(gaspi_statistic_counter_reset(c));
    OK(gaspi_statistic_counter_get(c, 0, &value));
    CHECK(value == 0);
  }
  CHECK(found == 5);
  IS(gaspi_statistic_counter_reset(counters), GASPI_ERR_INV_NUM);
}

static void runtime(void) {
  start();
  gaspi_network_t network;
  gaspi_number_t build = 0;
  gaspi_cycles_t first = 0, second = 0;
  gaspi_time_t t1 = 0, t2 = 0;
  gaspi_string_t text = NULL;
  gaspi_float mhz = 0;
  gaspi_uchar socket = 0;
  OK(gaspi_network_type(&network));
  OK(gaspi_build_infrastructure(&build));
  OK(gaspi_time_ticks(&first));
  OK(gaspi_time_get(&t1));
  barrier();
  OK(gaspi_time_ticks(&second));
  OK(gaspi_time_get(&t2));
  CHECK(second > first && t2 >= t1);
  for (int c = GASPI_ERROR; c <= GASPI_ERR_MEMALLOC; ++c) {
    OK(gaspi_print_error((gaspi_return_t)c, &text));
    CHECK(text && strlen(text) > 5 && strcmp(text, gaspi_error_str((gaspi_return_t)99)) != 0);
  }
  OK(gaspi_cpu_frequency(&mhz));
  if (gaspi_numa_socket(&socket) == GASPI_SUCCESS) (void)gaspi_set_socket_affinity(socket);
  gaspi_state_vector_t states = malloc(size * sizeof *states);
  OK(gaspi_state_vec_get(states));
  for (int r = 0; r < size; ++r) CHECK(states[r] == GASPI_STATE_HEALTHY);
  free(states);
  barrier();
  if (rank == size - 1) gaspi_printf_to(0, "hello\n");
  barrier();
}

static int met = 0;

static void* member(void* argument) {
  gaspi_int number = -1, again = -1;
  IS(gaspi_threads_get_tid(&number), GASPI_ERROR);
  OK(gaspi_threads_register(&number));
  OK(gaspi_threads_get_tid(&again));
  CHECK(number >= 0 && number < 3 && number == again);
  for (int i = 1; i <= 50; ++i) {
    __atomic_add_fetch(&met, 1, __ATOMIC_RELAXED);
    gaspi_threads_sync();
    CHECK(__atomic_load_n(&met, __ATOMIC_RELAXED) == 3 * i);
    OK(gaspi_threads_sync_all(GASPI_GROUP_ALL, GASPI_BLOCK));
  }
  return argument;
}

static void threads(void) {
  start();
  gaspi_int n = -1, cores = 0;
  IS(gaspi_threads_run(member, NULL), GASPI_ERROR);
  IS(gaspi_threads_register(&n), GASPI_ERROR);
  IS(gaspi_threads_init_user(0), GASPI_ERROR);
  OK(gaspi_threads_get_num_cores(&cores));
  OK(gaspi_threads_init(&n));
  CHECK(n == cores && n >= 1);
  OK(gaspi_threads_term());
  OK(gaspi_threads_init_user(3));
  IS(gaspi_threads_init(&n), GASPI_ERROR);
  OK(gaspi_threads_get_total(&n));
  CHECK(n == 3);
  for (int i = 0; i < 2; ++i) OK(gaspi_threads_run(member, NULL));
  member(NULL);
  OK(gaspi_threads_term());
  IS(gaspi_threads_get_tid(&n), GASPI_ERROR);
  gaspi_delay();
}

/* The next group finds no segments. */
static void delete_segments(void) {
  gaspi_segment_id_t there[255];
  gaspi_number_t n = 0;
  OK(gaspi_segment_num(&n));
  OK(gaspi_segment_list(n, there));
  barrier();
  for (gaspi_number_t i = 0; i < n; ++i) OK(gaspi_segment_delete(there[i]));
  barrier();
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } all[] = {{"setup", setup},     {"groups", groups},         {"segments", segments},      {"queues", queues},   {"passive", passive},
             {"atomics", atomics}, {"collective", collective}, {"statistics", statistics_}, {"runtime", runtime}, {"threads", threads}};
  for (int w = 1; w < argc; ++w) {
    unsigned known = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
      if (strcmp(argv[w], all[i].name)) continue;
      all[i].run();
      ++known;
    }
    if (!known) {
      fprintf(stderr, "gaspi_calls: there is no group of calls '%s'\n", argv[w]);
      return 2;
    }
    delete_segments();
    if (rank == 0) printf("%s\n", argv[w]);
  }
  fflush(stdout);
  OK(gaspi_proc_term(GASPI_BLOCK));
  return 0;
}
