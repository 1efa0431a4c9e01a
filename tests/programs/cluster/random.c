// random [-v] FIRST [COUNT]: random sequences of OpenMP's constructs, without data races, for COUNT seeds from FIRST on. Prints what each
// has left in memory; with -v after each region, with its steps. The output must be the same for any number of processes and threads, and
// what plain gcc -fopenmp makes of this file is what is right.
//
// A seed makes objects (in globals, on main's stack, in the heap; of elements of 1 to 8 bytes, many on one page), and then regions of some
// steps each. A step writes one object and may read another. There is a barrier between two steps where the second needs it, and elsewhere
// sometimes. What several threads write at once is guarded, and what they do commutes.
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
enum {
  kObjects = 12,
  kSteps = 10,
  kSets = 7,
  kBlocks = 20,
  kMost = 1500,
  kLocks = 8,
  kBuckets = 16,
  kGlobalBytes = 30000,
  kStackBytes = 20000
};

static u64 mix(u64 a, u64 b) {
  a = (a ^ (a >> 31) ^ b) * 0x9E3779B97F4A7C15;
  return a ^ a >> 27;
}

static int mistakes;
static void wrong(const char* what) {
  fprintf(stderr, "thread %d: %s\n", omp_get_thread_num(), what);
#pragma omp atomic
  ++mistakes;
}

// --- What the steps work on

typedef struct {
  unsigned char* at;
  int length, size, in_heap;
} Object;
static Object objects[kObjects];
static unsigned char global_bytes[kGlobalBytes];

static u64 get(const Object* o, long i) {
  switch (o->size) {
    case 1:
      return o->at[i];
    case 2:
      return ((unsigned short*)o->at)[i];
    case 4:
      return ((unsigned*)o->at)[i];
    default:
      return ((u64*)o->at)[i];
  }
}
static void put(const Object* o, long i, u64 value) {
  switch (o->size) {
    case 1:
      o->at[i] = (unsigned char)value;
      break;
    case 2:
      ((unsigned short*)o->at)[i] = (unsigned short)value;
      break;
    case 4:
      ((unsigned*)o->at)[i] = (unsigned)value;
      break;
    default:
      ((u64*)o->at)[i] = value;
  }
}
static u64 digest_of(const Object* o) {
  u64 digest = (u64)o->length;
  for (long i = 0; i < o->length; ++i) digest = mix(digest, get(o, i));
  return digest;
}

/// Counters that are changed by atomic operations only, always by the same one each.
typedef struct {
  unsigned char c1, x1;
  unsigned short c2, x2;
  unsigned c4, x4;
  u64 c8, product;
  double real;
  float small;
} Cells;
static Cells global_cells;

/// What one guard each guards: see guarded().
typedef struct Node {
  struct Node* next;
  u64 value;
} Node;
typedef struct {
  u64 plus, minus, most;
  int count, nodes;
  Node* list;
} Set;
static Set sets[kSets];
static omp_lock_t global_locks[2];
static omp_nest_lock_t nest_lock;

static void update(Set* set, u64 x) {
  if (set->plus + set->minus != 0) wrong("what a guard guards is not as it was left");
  set->plus += x;
  set->minus -= x;
  ++set->count;
  if (x > set->most) set->most = x;
  if (x % 3 == 0) {
    Node* const node = malloc(sizeof *node + x % 50);
    node->next = set->list;
    node->value = x;
    set->list = node;
    ++set->nodes;
  } else if (x % 7 == 0) {
    int nodes = 0;
    for (const Node* node = set->list; node; node = node->next) ++nodes;
    if (nodes != set->nodes) wrong("a list has not the nodes that it had");
  }
}

static u64 inherited;
#pragma omp threadprivate(inherited)

static u64 total, bits, least, most, last;
static int all_even;
static u64 totals[40];
typedef struct {
  u64 sum, low, high;
} Range;
static Range range;
static void join(Range* to, const Range* from) {
  to->sum += from->sum;
  if (from->low < to->low) to->low = from->low;
  if (from->high > to->high) to->high = from->high;
}
#pragma omp declare reduction(join:Range : join(&omp_out, &omp_in)) initializer(omp_priv = (Range){0, ~0ULL, 0})

typedef enum {
  LOOP,
  COLLAPSE,
  ORDERED,
  SECTIONS,
  SINGLE,
  MASTER,
  GUARDED,
  ATOMIC,
  TICKETS,
  REDUCE,
  TASKS,
  DEPEND,
  TASKLOOP,
  TREE,
  BLOCKS,
  NESTED,
  SIGNAL,
  RELAY,
  INHERIT,
  COPY,
  BUCKETS,
  KINDS
} Kind;
static const char* const kNames[] = {"loop",   "collapse", "ordered", "sections", "single",  "master",   "guarded",
                                     "atomic", "tickets",  "reduce",  "tasks",    "depend",  "taskloop", "tree",
                                     "blocks", "nested",   "signal",  "relay",    "inherit", "copy",     "buckets"};

/// What the threads of one step share beside its objects.
typedef struct {
  int flag, ticket, hop[3];
  unsigned bucket[kBuckets], mirror[kBuckets];
  u64 expected;
  unsigned char* blocks[kBlocks];
} Scratch;
typedef struct {
  Kind kind;
  int way;  ///< of so many that the kind has
  int to, from;
  int chunk, stride, offset, count;
  int barrier;  ///< before it
  u64 salt;
  omp_lock_t* locks;
  Cells* cells;
  Scratch* scratch;
  Scratch own;
} Step;
typedef struct {
  int form, threads, steps;
  Step step[kSteps];
} Plan;

// --- The steps

static void change(const Step* s, long i) {
  const Object* const to = &objects[s->to];
  const Object* const from = &objects[s->from];
  put(to, i, mix(get(to, i), get(from, (i * s->stride + s->offset) % from->length) + s->salt));
}

static void do_loop(const Step* s) {
  const int n = objects[s->to].length;
  const int chunk = s->chunk;
  switch (s->way % 14) {
    case 0:
#pragma omp for schedule(static) nowait
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 1:
#pragma omp for schedule(static, chunk) nowait
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 2:
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 3:
#pragma omp for schedule(dynamic, chunk)
      for (int i = n - 1; i >= 0; --i) change(s, i);
      break;
    case 4:
#pragma omp for schedule(guided) nowait
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 5:
#pragma omp for schedule(guided, chunk)
      for (long i = 0; i < n; ++i) change(s, i);
      break;
    case 6:
#pragma omp for schedule(runtime)
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 7:
#pragma omp for schedule(auto) nowait
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 8:
#pragma omp for schedule(monotonic : dynamic, chunk) nowait
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 9:
#pragma omp for schedule(nonmonotonic : guided, chunk) nowait
      for (u64 i = 0; i < (u64)n; ++i) change(s, (long)i);
      break;
    case 10:
#pragma omp for schedule(dynamic, chunk)
      for (u64 i = (u64)n; i > 0; --i) change(s, (long)i - 1);
      break;
    case 11:
#pragma omp for schedule(nonmonotonic : runtime) nowait
      for (int i = 0; i < n; i += 3) {
        for (int k = i; k < n && k < i + 3; ++k) change(s, k);
      }
      break;
    case 12:
#pragma omp for schedule(dynamic, chunk) lastprivate(last)
      for (int i = 0; i < n; ++i) {
        change(s, i);
        last = get(&objects[s->to], i);
      }
      if (last != get(&objects[s->to], n - 1)) wrong("lastprivate");
#pragma omp barrier
      break;
    default:
#pragma omp for schedule(static, chunk) lastprivate(last)
      for (int i = 0; i < n; ++i) {
        change(s, i);
        last = get(&objects[s->to], i);
      }
      if (last != get(&objects[s->to], n - 1)) wrong("lastprivate");
#pragma omp barrier
  }
}

static void do_collapse(const Step* s) {
  const int n = objects[s->to].length;
  const int side = s->chunk;
  const int lines = (n + side - 1) / side;
  switch (s->way % 3) {
    case 0:
#pragma omp for collapse(2) schedule(static) nowait
      for (int i = 0; i < lines; ++i) {
        for (int k = 0; k < side; ++k) {
          if (i * side + k < n) change(s, i * side + k);
        }
      }
      break;
    case 1:
#pragma omp for collapse(2) schedule(dynamic, side)
      for (int i = lines - 1; i >= 0; --i) {
        for (long k = 0; k < side; ++k) {
          if (i * side + k < n) change(s, i * side + k);
        }
      }
      break;
    default:
#pragma omp for collapse(2) schedule(guided)
      for (int i = 0; i < lines; ++i) {
        for (int k = 0; k < side; ++k) {
          if (i * side + k < n) change(s, i * side + k);
        }
      }
  }
}

/// In order: each element is made from the one before.
static void in_order(const Step* s, int i) {
  const Object* const to = &objects[s->to];
  put(to, i, mix(i > 0 ? get(to, i - 1) : s->salt, get(to, i) + (u64)i));
}
static void do_ordered(const Step* s) {
  const int n = objects[s->to].length < s->count ? objects[s->to].length : s->count;
  switch (s->way % 4) {
    case 0:
#pragma omp for ordered schedule(static)
      for (int i = 0; i < n; ++i) {
#pragma omp ordered
        in_order(s, i);
      }
      break;
    case 1:
#pragma omp for ordered schedule(dynamic, 2)
      for (int i = 0; i < n; ++i) {
        if (i % 5 == 3) continue;
#pragma omp ordered
        in_order(s, i);
      }
      break;
    case 2:
#pragma omp for ordered schedule(static, 3)
      for (int i = 0; i < n; ++i) {
#pragma omp ordered
        in_order(s, i);
      }
      break;
    default:
#pragma omp for ordered schedule(runtime)
      for (int i = 0; i < n; ++i) {
#pragma omp ordered
        in_order(s, i);
      }
  }
}

static void piece(const Step* s, int part, int parts) {
  const long n = objects[s->to].length;
  for (long i = n * part / parts; i < n * (part + 1) / parts; ++i) change(s, i);
}

static void do_sections(const Step* s) {
#pragma omp sections nowait
  {
    piece(s, 0, 5);
#pragma omp section
    piece(s, 1, 5);
#pragma omp section
    piece(s, 2, 5);
#pragma omp section
    piece(s, 3, 5);
#pragma omp section
    piece(s, 4, 5);
  }
}

static void do_single(const Step* s) {
  u64 value = 0;
  unsigned char* block = NULL;
  const Object* const from = &objects[s->from];
  const Object* const to = &objects[s->to];
#pragma omp single copyprivate(value, block)
  {
    value = get(from, s->offset % from->length) + s->salt;
    block = malloc((size_t)to->length);
    for (int i = 0; i < to->length; ++i) block[i] = (unsigned char)mix(value, (u64)i);
  }
#pragma omp for schedule(static, s->chunk)
  for (int i = 0; i < to->length; ++i) put(to, i, mix(get(to, i) + block[i], value));
#pragma omp single nowait
  free(block);
}

static void do_master(const Step* s) {
  const Object* const to = &objects[s->to];
#pragma omp master
  for (int i = 0; i < to->length; i += 1 + s->chunk) change(s, i);
#pragma omp barrier
  if (s->way % 2 == 0) return;
  u64 digest = digest_of(to);
#pragma omp single copyprivate(digest)
  digest = digest_of(to);
  if (digest != digest_of(to)) wrong("an object is not as the master left it");
#pragma omp barrier
}

static void guarded(const Step* s, int which, u64 x) {
  Set* const set = &sets[which];
  switch (which) {
    case 0:
#pragma omp critical
      update(set, x);
      break;
    case 1:
#pragma omp critical(first)
      update(set, x);
      break;
    case 2:
#pragma omp critical(second)
      update(set, x);
      break;
    case 3:
      omp_set_lock(&global_locks[0]);
      update(set, x);
      omp_unset_lock(&global_locks[0]);
      break;
    case 4:
      while (!omp_test_lock(&global_locks[1])) sched_yield();
      update(set, x);
      omp_unset_lock(&global_locks[1]);
      break;
    case 5:
      omp_set_nest_lock(&nest_lock);
      if (x % 2) omp_set_nest_lock(&nest_lock);
      update(set, x);
      if (x % 2) omp_unset_nest_lock(&nest_lock);
      omp_unset_nest_lock(&nest_lock);
      break;
    default:
      // Two guards, of which others take one alone.
      omp_set_lock(&s->locks[0]);
#pragma omp critical(second)
      {
        update(set, x);
        update(&sets[2], x + 1);
      }
      omp_unset_lock(&s->locks[0]);
  }
}

static void do_guarded(const Step* s) {
  const Object* const from = &objects[s->from];
  if (s->way % 2) {
#pragma omp for schedule(static, 1) nowait
    for (int i = 0; i < s->count; ++i) guarded(s, s->way / 2 % kSets, mix(get(from, (i * s->stride) % from->length), s->salt) >> 8);
  } else {
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < s->count; ++i) guarded(s, (i + s->way) % kSets, mix(get(from, (i * s->stride) % from->length), s->salt) >> 8);
  }
}

static void do_atomic(const Step* s) {
  Cells* const c = s->cells;
  const Object* const from = &objects[s->from];
#pragma omp for schedule(static, 1) nowait
  for (int i = 0; i < s->count; ++i) {
    const u64 x = mix(get(from, (i * s->stride) % from->length), s->salt + (u64)i);
    switch (x % 11) {
      case 0:
#pragma omp atomic
        c->c1 += (unsigned char)(x >> 20);
        break;
      case 1:
#pragma omp atomic
        c->x1 ^= (unsigned char)(x >> 20);
        break;
      case 2:
#pragma omp atomic
        c->c2 += (unsigned short)(x >> 20);
        break;
      case 3:
#pragma omp atomic
        c->x2 |= (unsigned short)(1U << (x >> 20 & 15));
        break;
      case 4:
#pragma omp atomic
        c->c4 -= (unsigned)(x >> 20);
        break;
      case 5:
#pragma omp atomic seq_cst
        c->x4 ^= (unsigned)(x >> 20);
        break;
      case 6:
#pragma omp atomic
        c->c8 += x;
        break;
      case 7:
#pragma omp atomic
        c->product *= x | 1;
        break;
      case 8:
#pragma omp atomic
        c->real += (double)(x >> 44);
        break;
      case 9:
#pragma omp atomic
        c->small += (float)(x >> 60);
        break;
      default:
        __atomic_fetch_add(&c->c8, x, __ATOMIC_ACQ_REL);
    }
  }
}

static void do_tickets(const Step* s) {
  const Object* const to = &objects[s->to];
  const int n = to->length < s->count ? to->length : s->count;
#pragma omp for schedule(dynamic, 1)
  for (int i = 0; i < n; ++i) {
    int ticket;
#pragma omp atomic capture
    ticket = s->scratch->ticket++;
    if (ticket < 0 || ticket >= n) {
      wrong("a ticket was given that there is not");
    } else {
      put(to, ticket, mix(get(to, ticket), s->salt + (u64)ticket));
    }
  }
}

static void do_reduce(const Step* s) {
  const Object* const from = &objects[s->from];
  const Object* const to = &objects[s->to];
  const int n = from->length;
#pragma omp single
  {
    total = bits = last = 0;
    least = ~0ULL, most = 0, all_even = 1;
    range = (Range){s->salt, ~0ULL, 0};
    memset(totals, 0, sizeof totals);
  }
  switch (s->way % 4) {
    case 0:
#pragma omp for reduction(+ : total) schedule(static)
      for (int i = 0; i < n; ++i) total += get(from, i);
      break;
    case 1:
#pragma omp for reduction(+ : total) reduction(^ : bits) reduction(min : least) reduction(max : most) reduction(&& : all_even) \
    schedule(dynamic, s->chunk)
      for (int i = 0; i < n; ++i) {
        const u64 x = get(from, i);
        total += x;
        bits ^= x << i % 50;
        if (x < least) least = x;
        if (x > most) most = x;
        all_even = all_even && x % 2 == 0;
      }
      break;
    case 2:
#pragma omp for reduction(+ : totals) schedule(guided)
      for (int i = 0; i < n; ++i) totals[i % 40] += get(from, i);
      break;
    default:
#pragma omp for reduction(join : range) reduction(+ : totals[3 : 20]) schedule(static, s->chunk)
      for (int i = 0; i < n; ++i) {
        const u64 x = get(from, i);
        join(&range, &(Range){x, x, x});
        totals[3 + i % 20] ^= 0;
        totals[3 + i % 20] += x;
      }
  }
  u64 all = mix(mix(total, bits), mix(least, most) + (u64)all_even);
  all = mix(all, mix(range.sum, mix(range.low, range.high)));
  for (int i = 0; i < 40; ++i) all = mix(all, totals[i]);
#pragma omp for schedule(static)
  for (int i = 0; i < to->length; ++i) put(to, i, get(to, i) + all);
}

static void do_tasks(const Step* s) {
  const int parts = 1 + s->chunk % 12;
  if (s->way % 2) {
    // By all threads, done at the next barrier.
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < parts; ++i) {
#pragma omp task firstprivate(i) untied
      piece(s, i, parts);
    }
#pragma omp barrier
  } else {
#pragma omp single
    {
#pragma omp taskgroup
      for (int i = 0; i < parts; ++i) {
#pragma omp task firstprivate(i) if (i % 3) priority(i)
        {
#pragma omp task firstprivate(i) final(i % 2)
          piece(s, i, parts);
        }
      }
    }
  }
}

static void do_depend(const Step* s) {
  const Object* const to = &objects[s->to];
#pragma omp single
  {
    u64 chain[3] = {s->salt, 1, 2};
    for (int i = 0; i < s->count; ++i) {
      u64* const mine = &chain[mix(s->salt, (u64)i) % 3];
      const u64* const other = &chain[mix(s->salt, (u64)i + 77) % 3];
#pragma omp task firstprivate(i, mine, other) depend(inout : mine[0]) depend(in : other[0])
      *mine = mix(*mine, *other + (u64)i);
    }
#pragma omp taskwait
    put(to, 0, mix(get(to, 0), mix(chain[0], mix(chain[1], chain[2]))));
  }
}

static void do_taskloop(const Step* s) {
  const int n = objects[s->to].length;
#pragma omp single
  if (s->way % 2) {
#pragma omp taskloop grainsize(50)
    for (int i = 0; i < n; ++i) change(s, i);
  } else {
#pragma omp taskloop num_tasks(7) firstprivate(n)
    for (long i = n - 1; i >= 0; --i) change(s, i);
  }
}

static u64 tree(const Object* o, int low, int high) {
  if (high - low < 40) {
    u64 sum = 0;
    for (int i = low; i < high; ++i) sum += mix(get(o, i), (u64)i);
    return sum;
  }
  u64 left = 0, right = 0;
  const int middle = low + (high - low) / 2;
#pragma omp task shared(left)
  left = tree(o, low, middle);
#pragma omp task shared(right) mergeable
  right = tree(o, middle, high);
#pragma omp taskwait
  return left + right;
}
static void do_tree(const Step* s) {
  const Object* const to = &objects[s->to];
  const Object* const from = &objects[s->from];
  u64 sum = 0;
#pragma omp single copyprivate(sum)
  sum = tree(from, 0, from->length);
#pragma omp for schedule(static, s->chunk) nowait
  for (int i = 0; i < to->length; ++i) put(to, i, mix(get(to, i), sum));
}

static size_t bytes_of(const Step* s, int i) {
  const u64 x = mix(s->salt, (u64)i);
  return (size_t)(x % 16 == 0 ? x >> 8 & 0x3FFF : x >> 8 & 0x1FF) + 1;
}
static u64 look_at(const unsigned char* block, size_t bytes, u64 salt) {
  for (size_t k = 0; k < bytes; ++k) {
    if (block[k] != (unsigned char)(salt + k)) {
      wrong("a block has not what was written to it");
      break;
    }
  }
  return salt;
}
static void do_blocks(const Step* s) {
  const Object* const to = &objects[s->to];
  const int n = to->length < kBlocks ? to->length : kBlocks;
  unsigned char** const blocks = s->scratch->blocks;
#pragma omp for schedule(static, 1)
  for (int i = 0; i < n; ++i) {
    const size_t bytes = bytes_of(s, i);
    blocks[i] = i % 5 == 0 ? calloc(bytes, 1) : i % 5 == 1 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : malloc(bytes);
    if (i % 5 == 0 && (blocks[i][0] || blocks[i][bytes - 1])) wrong("calloc gave bytes that are not zero");
    for (size_t k = 0; k < bytes; ++k) blocks[i][k] = (unsigned char)(s->salt + k);
  }
#pragma omp for schedule(dynamic, 1)
  for (int i = n - 1; i >= 0; --i) {
    const size_t bytes = bytes_of(s, i);
    put(to, i, get(to, i) + look_at(blocks[i], bytes, s->salt));
    if (i % 2) {
      blocks[i] = realloc(blocks[i], 2 * bytes);
      for (size_t k = 0; k < bytes; ++k) blocks[i][bytes + k] = (unsigned char)(s->salt + bytes + k);
    }
  }
  if (s->way % 3 == 0) return;  // freed after the region
#pragma omp for schedule(static)
  for (int i = 0; i < n; ++i) {
    look_at(blocks[i], (i % 2 ? 2 : 1) * bytes_of(s, i), s->salt);
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

static void do_nested(const Step* s) {
  const int n = objects[s->to].length;
  const int parts = 6;
#pragma omp for schedule(dynamic, 1)
  for (int p = 0; p < parts; ++p) {
    const int low = n * p / parts, high = n * (p + 1) / parts;
    int changed = 0;
    if (s->way % 2) {
#pragma omp parallel for num_threads(2) schedule(dynamic, 3) reduction(+ : changed)
      for (int i = low; i < high; ++i) {
        change(s, i);
        ++changed;
        if (i == low) guarded(s, s->way % kSets, s->salt >> 9);
      }
    } else {
#pragma omp parallel num_threads(3) reduction(+ : changed)
      {
#pragma omp for schedule(static) nowait
        for (int i = low; i < high; ++i) {
          change(s, i);
          ++changed;
        }
#pragma omp single
#pragma omp atomic
        s->cells->c8 += s->salt;
      }
    }
    if (changed != high - low) wrong("the sum of a region within a region");
  }
}

static void do_signal(const Step* s) {
  const Object* const to = &objects[s->to];
  Scratch* const shared = s->scratch;
  if (omp_get_thread_num() == 0) {
    for (int i = 0; i < to->length; ++i) change(s, i);
    shared->expected = digest_of(to);
#pragma omp atomic write seq_cst
    shared->flag = 1;
  } else {
    int there = 0;
    while (!there) {
      sched_yield();
#pragma omp atomic read seq_cst
      there = shared->flag;
    }
    if (digest_of(to) != shared->expected) wrong("what was written before a flag is not seen after it");
  }
}

/// A baton goes round: who has it changes the object, without any guard, and passes it on.
static int has_baton(const Step* s, int hop) {
  int now = 0;
  if (s->way % 3 == 0) {
#pragma omp atomic read seq_cst
    now = s->scratch->hop[0];
  } else if (s->way % 3 == 1) {
    omp_set_lock(&s->locks[hop % 3]);
    now = s->scratch->hop[hop % 3];
    omp_unset_lock(&s->locks[hop % 3]);
  } else {
#pragma omp critical(baton)
    now = s->scratch->hop[0];
  }
  return now >= hop;
}
static void pass_baton(const Step* s, int hop) {
  if (s->way % 3 == 0) {
#pragma omp atomic write seq_cst
    s->scratch->hop[0] = hop;
  } else if (s->way % 3 == 1) {
    omp_set_lock(&s->locks[hop % 3]);
    s->scratch->hop[hop % 3] = hop;
    omp_unset_lock(&s->locks[hop % 3]);
  } else {
#pragma omp critical(baton)
    s->scratch->hop[0] = hop;
  }
}
static void do_relay(const Step* s) {
  const Object* const to = &objects[s->to];
  const int threads = omp_get_num_threads();
  for (int hop = omp_get_thread_num(); hop < s->count; hop += threads) {
    while (!has_baton(s, hop)) sched_yield();
    for (int i = hop % 3; i < to->length; i += s->stride) {
      put(to, i, mix(get(to, i), get(to, (i + hop) % to->length) + (u64)hop));
    }
    pass_baton(s, hop + 1);
  }
}

static void do_inherit(const Step* s) {
  const Object* const to = &objects[s->to];
#pragma omp for schedule(static) nowait
  for (int i = 0; i < to->length; ++i) put(to, i, mix(get(to, i), inherited));
}

static void do_copy(const Step* s) {
  const Object* const to = &objects[s->to];
  const Object* const from = &objects[s->from];
  const long bytes_to = (long)to->length * to->size, bytes_from = (long)from->length * from->size;
  const long bytes = bytes_to < bytes_from ? bytes_to : bytes_from;
  const int parts = 1 + s->chunk % 7;
#pragma omp for schedule(dynamic) nowait
  for (int p = 0; p < parts; ++p) {
    const long low = bytes * p / parts, high = bytes * (p + 1) / parts;
    if (s->way % 4 == 0) {
      memset(to->at + low, (int)(s->salt & 0xFF), (size_t)(high - low));
    } else {
      memcpy(to->at + low, from->at + low, (size_t)(high - low));
    }
  }
}

/// Many short exclusions, whose variables share a page.
static void do_buckets(const Step* s) {
  const Object* const to = &objects[s->to];
  const Object* const from = &objects[s->from];
  Scratch* const shared = s->scratch;
#pragma omp for schedule(static, 1)
  for (int i = 0; i < 4 * s->count; ++i) {
    const unsigned x = (unsigned)mix(get(from, (i * s->stride) % from->length), (u64)i);
    const int which = (int)(x % kBuckets);
    omp_set_lock(&s->locks[which % kLocks]);
    if (shared->bucket[which] != shared->mirror[which]) wrong("what a lock guards is not as it was left");
    shared->bucket[which] += x;
    shared->mirror[which] += x;
    omp_unset_lock(&s->locks[which % kLocks]);
  }
#pragma omp for schedule(static, 3)
  for (int i = 0; i < to->length; ++i) put(to, i, mix(get(to, i), shared->bucket[i % kBuckets]));
}

static void (*const kPerform[])(const Step*) = {do_loop,   do_collapse, do_ordered, do_sections, do_single,  do_master,   do_guarded,
                                                do_atomic, do_tickets,  do_reduce,  do_tasks,    do_depend,  do_taskloop, do_tree,
                                                do_blocks, do_nested,   do_signal,  do_relay,    do_inherit, do_copy,     do_buckets};

static void perform(const Plan* plan) {
  for (int k = 0; k < plan->steps; ++k) {
    const Step* const s = &plan->step[k];
    if (s->barrier) {
#pragma omp barrier
    }
    kPerform[s->kind](s);
  }
}

static void run(Plan* plan) {
  const Step* const s = &plan->step[0];
  const int n = objects[s->to].length;
  switch (plan->form) {
    case 0:
#pragma omp parallel copyin(inherited)
      perform(plan);
      break;
    case 1:
#pragma omp parallel num_threads(plan->threads) copyin(inherited)
      perform(plan);
      break;
    case 2:
#pragma omp parallel if (plan->threads % 2) copyin(inherited)
      perform(plan);
      break;
    case 3:
#pragma omp parallel for schedule(static)
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 4:
#pragma omp parallel for schedule(dynamic, s->chunk) num_threads(plan->threads)
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 5:
#pragma omp parallel for schedule(runtime)
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    case 6:
#pragma omp parallel for schedule(guided)
      for (int i = 0; i < n; ++i) change(s, i);
      break;
    default:
#pragma omp parallel sections
    {
      piece(s, 0, 3);
#pragma omp section
      piece(s, 1, 3);
#pragma omp section
      piece(s, 2, 3);
    }
  }
}

// --- The plan, made in serial parts

static u64 state;
static int draw(int below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((state >> 33) % (u64)below);
}

static void make_object(Object* o, int which, unsigned char* stack_bytes, int* global_at, int* stack_at) {
  o->size = 1 << draw(4);
  o->length = draw(3) == 0 ? 1 + draw(20) : 1 + draw(kMost / o->size);
  const int bytes = o->size * o->length;
  int* const at = which % 3 == 0 ? global_at : which % 3 == 1 ? stack_at : NULL;
  o->in_heap = !at || *at + bytes + 8 > (at == global_at ? kGlobalBytes : kStackBytes);
  if (o->in_heap) {
    o->at = draw(2) ? malloc((size_t)bytes) : calloc((size_t)o->length, (size_t)o->size);
  } else {
    *at = (*at + 7) / 8 * 8;
    o->at = (at == global_at ? global_bytes : stack_bytes) + *at;
    *at += bytes;
  }
  for (int i = 0; i < o->length; ++i) put(o, i, (u64)draw(1 << 30));
}

static void make_step(Step* s, unsigned kinds, unsigned* read, unsigned* written, Cells** cells, omp_lock_t* locks, Scratch* scratch) {
  memset(s, 0, sizeof *s);
  do s->kind = (Kind)draw(KINDS);
  while (!(kinds >> s->kind & 1));
  s->way = draw(1000);
  s->to = draw(kObjects);
  do s->from = draw(kObjects);
  while (s->from == s->to);
  s->chunk = 1 + draw(draw(2) ? 8 : 200);
  s->stride = 1 + draw(50);
  s->offset = draw(1000);
  s->count = 1 + draw(24);
  s->salt = mix(state, 1);
  s->locks = locks;
  s->cells = cells[draw(3)];
  s->scratch = draw(2) ? &s->own : scratch;
  memset(s->scratch, 0, sizeof *s->scratch);
  const unsigned to = s->kind == GUARDED || s->kind == ATOMIC ? 0 : 1U << s->to;
  const unsigned from = 1U << s->from;
  // Reductions and lastprivate use what they share with others of their kind.
  const unsigned common = s->kind == REDUCE || (s->kind == LOOP && s->way % 14 >= 12) ? 1U << 31 : 0;
  s->barrier = ((to | common) & (*read | *written)) || (from & *written) || draw(5) == 0;
  if (s->barrier) *read = *written = 0;
  *read |= from;
  *written |= to | common;
}

static u64 digest_of_rest(Cells** cells) {
  u64 digest = 0;
  for (int i = 0; i < 3; ++i) {
    const Cells* const c = cells[i];
    digest = mix(digest, c->c1 + ((u64)c->x1 << 8) + ((u64)c->c2 << 16) + ((u64)c->x2 << 32));
    digest = mix(digest, c->c4 + ((u64)c->x4 << 32));
    digest = mix(mix(digest, c->c8), c->product);
    digest = mix(mix(digest, (u64)c->real), (u64)c->small);
  }
  for (int i = 0; i < kSets; ++i) {
    u64 nodes = 0;
    while (sets[i].list) {
      Node* const node = sets[i].list;
      sets[i].list = node->next;
      nodes += mix(node->value, 5);
      free(node);
    }
    sets[i].nodes = 0;
    digest = mix(mix(digest, sets[i].plus), mix(sets[i].most, (u64)sets[i].count) + nodes);
  }
  return digest;
}

static void run_seed(u64 seed, int verbose) {
  state = mix(seed, 0xABCDEF);
  _Alignas(8) unsigned char stack_bytes[kStackBytes];
  Cells stack_cells;
  Plan plan;
  Cells* cells[3] = {&global_cells, malloc(sizeof(Cells)), &stack_cells};
  for (int i = 0; i < 3; ++i) {
    memset(cells[i], 0, sizeof(Cells));
    cells[i]->product = 1;
  }
  memset(sets, 0, sizeof sets);
  omp_lock_t* const locks = malloc(kLocks * sizeof *locks);
  for (int i = 0; i < kLocks; ++i) omp_init_lock(&locks[i]);
  Scratch* const scratch = malloc(kSteps * sizeof *scratch);
  int global_at = draw(100), stack_at = draw(100);
  for (int i = 0; i < kObjects; ++i) make_object(&objects[i], i, stack_bytes, &global_at, &stack_at);
  const int regions = 1 + draw(6);
  // Half of the seeds have a few kinds of steps only.
  unsigned kinds = ~0U;
  if (draw(2)) kinds = 1U << draw(KINDS) | 1U << draw(KINDS) | 1U << draw(KINDS);
  u64 digest = 0;
  for (int r = 0; r < regions; ++r) {
    plan.form = draw(3) ? draw(2) : draw(8);
    plan.threads = 1 + draw(8);
    plan.steps = 1 + draw(kSteps);
    unsigned read = 0, written = 0;
    for (int k = 0; k < plan.steps; ++k) make_step(&plan.step[k], kinds, &read, &written, cells, locks, &scratch[k]);
    inherited = mix(state, 2);
    static const omp_sched_t schedules[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
    omp_set_schedule(schedules[draw(3)], draw(2) ? 0 : 1 + draw(30));
    run(&plan);
    for (int k = 0; k < plan.steps; ++k) {
      for (int i = 0; i < kBlocks; ++i) free(plan.step[k].scratch->blocks[i]);
    }
    if (verbose) {
      printf("seed %llu region %d form %d threads %d:", seed, r, plan.form, plan.threads);
      for (int k = 0; k < plan.steps; ++k) {
        const Step* const s = &plan.step[k];
        printf("%s %s/%d %d<-%d", s->barrier ? " |" : "", kNames[s->kind], s->way, s->to, s->from);
      }
      printf("\n ");
      for (int i = 0; i < kObjects; ++i) printf(" %llx", digest_of(&objects[i]) & 0xFFFF);
      digest = mix(digest, digest_of_rest(cells));
      printf(" rest %llx\n", digest & 0xFFFF);
      fflush(stdout);
    }
    // The program itself works on.
    const Object* const o = &objects[draw(kObjects)];
    digest = mix(digest, digest_of(o));
    for (int i = 0; i < o->length; i += 7) put(o, i, mix(get(o, i), digest));
    Object* const old = &objects[2 + 3 * draw(kObjects / 3)];
    if (old->in_heap && draw(2)) {
      free(old->at);
      int none = kGlobalBytes;
      make_object(old, 2, stack_bytes, &none, &none);
    }
  }
  for (int i = 0; i < kObjects; ++i) {
    digest = mix(digest, digest_of(&objects[i]));
    if (objects[i].in_heap) free(objects[i].at);
  }
  digest = mix(digest, digest_of_rest(cells));
  for (int i = 0; i < kLocks; ++i) omp_destroy_lock(&locks[i]);
  free(locks);
  free(cells[1]);
  free(scratch);
  printf("%llu %016llx\n", seed, digest);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const int verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
  if (argc < 2 + verbose) {
    fputs("usage: random [-v] FIRST [COUNT]\n", stderr);
    return 2;
  }
  const u64 first = strtoull(argv[1 + verbose], NULL, 10);
  const u64 count = argc > 2 + verbose ? strtoull(argv[2 + verbose], NULL, 10) : 1;
  omp_set_max_active_levels(2);
  for (int i = 0; i < 2; ++i) omp_init_lock(&global_locks[i]);
  omp_init_nest_lock(&nest_lock);
  for (u64 seed = first; seed < first + count; ++seed) run_seed(seed, verbose);
  return mistakes != 0;
}
