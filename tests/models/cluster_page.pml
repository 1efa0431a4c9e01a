/* A page's life on three nodes: src/cluster/protocol.cpp, pages.cpp, locks.cpp. pages.hpp has the words and the rules.
 *
 * The page has two words. In each round, up to a barrier, the first is read and written under a lock by whoever likes; the second has one
 * writer, or is read by all. So the program has no data races, and whoever reads must find what was written last, though several nodes
 * change the page at once. Twins, notices, requests, diffs in the order of Lamport's clock, diffs that come along with a barrier unasked,
 * and at one barrier the repossession, in which all give up twins and diffs. How much is done is one of a few scenarios (at the end):
 * in each all orders of what happens are looked at.
 *
 * An engine has one lock, so what it does at a time is one step here. A write notice is the number of an interval: in this model of one
 * page each interval has changed it. A diff never changes, so a message has the number of it. Left out: atomic operations, forks, pages
 * that are watched, several threads of a node.
 *
 * Variants, each of which must fail: -DNOSETTLE takes notices without making the own diff first, -DNOUPTO answers with diffs that the
 * asking node has no notice of, -DNOSTAMP applies diffs in the order of nodes, -DNOPROTECT leaves the page writable when its diff is made,
 * -DSOMEPUSH takes diffs that came along though the page lacks others, -DNOFETCH repossesses a page whose last writer lacks changes,
 * -DKEEPCOPY leaves copies that lack changes after it. */

#define MOST_ROUNDS 3
#define N 3
#define D 6 /* diffs of a node */
#define OF(n, m) ((n) * N + (m))
#define BIT(n) (1 << (n))

mtype = { EXCLUSIVE, ABSENT, INVALID, CLEAN, DIRTY };
mtype = { FETCH, PAGES, GRANT };

/* What is done: rounds; how often the lock is taken, in all, and in which rounds, as bits; how often the second word is used, in all. */
byte rounds, locks, lock_rounds, uses;
byte truth[2];                    /* what was written last */
byte writer[MOST_ROUNDS];              /* of the second word: N, nobody */
byte giving;                       /* the barrier at which all give up twins and diffs */

/* Of each node: its engine's state, as in struct Page. */
mtype state[N];
byte word[2 * N], twin[2 * N];
byte source[N], first[N], last_upto[N], pushed_upto[N], clock[N], asked[N], pushed[N], outstanding[N];
bool fresh[N], predicted[N], noticed[N] /* since the last barrier */, granted[N];
byte known[9], pending[9], applied[9];

typedef Diff { byte stamp, first, since, upto, mask, value0, value1 };
Diff diffs[N * D];
byte count[N];

/* Between two nodes messages keep their order. A barrier's do nothing before their receiver is there, and have a way of their own. */
chan way[9] = [3] of { mtype, byte, byte, byte, byte, byte, byte, byte, byte /* stamp */ };
chan meeting[9] = [2] of { byte, byte, byte, byte /* diffs, as bits */, byte /* stamp */ };
chan answers[N] = [2] of { byte, byte, byte, byte, byte, byte, byte, byte };

bool locked = false;
byte owner = 0, taken = 0, used = 0;
byte met = 0;

/* Only within one step. */
hidden byte i, k, m, best, best_of, found, last_sent, changed, got0, got1, got2;
hidden byte here[N] /* diffs that have come, as bits */, far[N];
hidden byte notice, all;
hidden mtype kind;
hidden byte a, b, c, d, e, f, g, stamp;

#define AT(n, w) ((n) * 2 + (w))
#define CLOSED(n) known[OF(n, n)]
#define DIFFERS(n) (word[AT(n, 0)] != twin[AT(n, 0)] || word[AT(n, 1)] != twin[AT(n, 1)])
#define NOTICED_TWIN(n) (state[n] == DIRTY && !predicted[n] && first[n] <= CLOSED(n))
#define LACKS(n) (pending[OF(n, 0)] > applied[OF(n, 0)] || pending[OF(n, 1)] > applied[OF(n, 1)] || pending[OF(n, 2)] > applied[OF(n, 2)])

inline tick(n, other) {
  if
  :: other > clock[n] -> clock[n] = other
  :: else
  fi
}

inline make_twin(n) {
  twin[AT(n, 0)] = word[AT(n, 0)]; twin[AT(n, 1)] = word[AT(n, 1)];
  state[n] = DIRTY;
  first[n] = CLOSED(n) + 1;
  fresh[n] = true
}

inline add_diff(n) {
  changed = (word[AT(n, 0)] != twin[AT(n, 0)] -> 1 : 0) + (word[AT(n, 1)] != twin[AT(n, 1)] -> 2 : 0);
  if
  :: changed || pushed[n] ->
    assert(count[n] < D);
    k = n * D + count[n];
    count[n]++;
    clock[n]++;
    diffs[k].stamp = clock[n]; diffs[k].first = first[n]; diffs[k].since = last_upto[n]; diffs[k].upto = CLOSED(n);
    diffs[k].mask = changed; diffs[k].value0 = word[AT(n, 0)]; diffs[k].value1 = word[AT(n, 1)]
  :: else
  fi;
  last_upto[n] = CLOSED(n)
}

inline drop_twin(n) {
  predicted[n] = false;
  twin[AT(n, 0)] = 0; twin[AT(n, 1)] = 0
}

/* The page is read-only from here on. */
inline settle(n) {
  if
  :: !predicted[n] -> add_diff(n)
  :: else
  fi;
#ifdef NOPROTECT
  twin[AT(n, 0)] = word[AT(n, 0)]; twin[AT(n, 1)] = word[AT(n, 1)]
#else
  drop_twin(n);
  state[n] = CLEAN
#endif
}

/* It stays writable: its next change is found by comparing. */
inline refresh(n) {
  add_diff(n);
  twin[AT(n, 0)] = word[AT(n, 0)]; twin[AT(n, 1)] = word[AT(n, 1)];
  predicted[n] = true
}

inline close_interval(n, quiet) {
  notice = false;
  if
  :: fresh[n] && quiet && pushed[n] && !DIFFERS(n) -> predicted[n] = true
  :: fresh[n] && !(quiet && pushed[n] && !DIFFERS(n)) -> notice = true
  :: !fresh[n] && predicted[n] && DIFFERS(n) -> predicted[n] = false; first[n] = CLOSED(n) + 1; notice = true
  :: !fresh[n] && predicted[n] && !DIFFERS(n) && quiet ->
    if
    :: settle(n) /* unchanged too often */
    :: true
    fi
  :: else
  fi;
  fresh[n] = false;
  if
  :: notice ->
    if
    :: pushed[n] = pushed[n] | asked[n] /* they have asked in the interval before, too */
    :: asked[n]
    :: !asked[n]
    fi;
    asked[n] = 0;
    noticed[n] = true;
    CLOSED(n)++;
    pending[OF(n, n)] = CLOSED(n); applied[OF(n, n)] = CLOSED(n)
  :: else
  fi
}

/* One of the last intervals that another node knows of. */
inline take_notice(n, whom, number) {
  if
  :: number > known[OF(n, whom)] -> known[OF(n, whom)] = number; pending[OF(n, whom)] = number; source[n] = whom
  :: else
  fi
}

#define NEWS(n) (got0 > known[OF(n, 0)] || got1 > known[OF(n, 1)] || got2 > known[OF(n, 2)])

/* Notices of a lock's former owner, in got0 to got2. */
inline heed(n) {
  close_interval(n, false);
#ifndef NOSETTLE
  if
  :: NEWS(n) && state[n] == DIRTY -> settle(n)
  :: else
  fi;
#endif
  take_notice(n, 0, got0); take_notice(n, 1, got1); take_notice(n, 2, got2);
  if
  :: LACKS(n) && state[n] == CLEAN -> state[n] = INVALID
#ifdef NOSETTLE
  :: LACKS(n) && state[n] == DIRTY -> state[n] = INVALID /* with its twin */
#endif
  :: else
  fi
}

inline apply_one(n, number) {
  if
  :: diffs[number].mask & 1 ->
    word[AT(n, 0)] = diffs[number].value0;
    twin[AT(n, 0)] = (state[n] == DIRTY -> word[AT(n, 0)] : twin[AT(n, 0)])
  :: else
  fi;
  if
  :: diffs[number].mask & 2 ->
    word[AT(n, 1)] = diffs[number].value1;
    twin[AT(n, 1)] = (state[n] == DIRTY -> word[AT(n, 1)] : twin[AT(n, 1)])
  :: else
  fi
}

/* The diff of here[] with the earliest stamp: best, of node best_of; N if there is none. Takes it out. */
inline take_earliest() {
  best_of = N;
  best = 0;
  m = 0;
  do
  :: m == N -> break
  :: else ->
    i = 0;
    do
    :: i == D -> break
    :: else ->
      if
#ifdef NOSTAMP
      :: (here[m] & BIT(i)) && best_of == N
#else
      :: (here[m] & BIT(i)) && (best_of == N || diffs[m * D + i].stamp < diffs[best].stamp)
#endif
        -> best = m * D + i; best_of = m
      :: else
      fi;
      i++
    od;
    m++
  od;
  if
  :: best_of < N -> here[best_of] = here[best_of] & ~BIT(best - best_of * D)
  :: else
  fi
}

#ifdef NOUPTO
#define IS_SENT (diffs[k].upto > b)
#else
#define IS_SENT (diffs[k].upto > b && diffs[k].first <= c)
#endif

/* Node a wants the changes since b of intervals up to c, or (d) the page. */
inline on_fetch(n) {
  if
  :: d && state[n] == ABSENT -> way[OF(n, source[n])]!FETCH(a, b, c, d, 0, 0, 0, clock[n])
  :: else ->
#ifdef NOUPTO
    if
    :: NOTICED_TWIN(n) -> settle(n)
#else
    if
    :: NOTICED_TWIN(n) && (d || first[n] <= c) -> settle(n)
#endif
    :: else
    fi;
    state[n] = (state[n] == EXCLUSIVE -> CLEAN : state[n]);
    asked[n] = asked[n] | BIT(a);
    if
    :: d -> way[OF(n, a)]!PAGES(n, true, word[AT(n, 0)], word[AT(n, 1)], (n == 0 -> CLOSED(n) : applied[OF(n, 0)]),
                                (n == 1 -> CLOSED(n) : applied[OF(n, 1)]), (n == 2 -> CLOSED(n) : applied[OF(n, 2)]), clock[n])
    :: else ->
      last_sent = c; found = 0; i = 0;
      do
      :: i == count[n] -> break
      :: else ->
        k = n * D + i;
        if
        :: IS_SENT -> found = found | BIT(i); last_sent = (diffs[k].upto > last_sent -> diffs[k].upto : last_sent)
        :: else
        fi;
        i++
      od;
      way[OF(n, a)]!PAGES(n, false, last_sent, found, 0, 0, 0, clock[n])
    fi
  fi
}

inline handle(n, from) {
  atomic {
    way[OF(from, n)]?kind, a, b, c, d, e, f, g, stamp ->
    tick(n, stamp);
    if
    :: kind == FETCH -> on_fetch(n)
    :: kind == PAGES -> outstanding[n]--; answers[n]!a, b, c, d, e, f, g, 0
    :: kind == GRANT -> got0 = a; got1 = b; got2 = c; heed(n); granted[n] = true
    fi;
    kind = FETCH
  }
}

/* Whatever thread looks at the network. */
proctype handler(byte n) {
end:
  do
  :: handle(n, (n + 1) % N)
  :: handle(n, (n + 2) % N)
  od
}

inline ask_one(n, whom) {
  if
  :: pending[OF(n, whom)] > applied[OF(n, whom)] ->
    way[OF(n, whom)]!FETCH(n, applied[OF(n, whom)], pending[OF(n, whom)], false, 0, 0, 0, clock[n]);
    outstanding[n]++
  :: else
  fi
}

inline raise_applied(n, whom, number) {
  if
  :: number > applied[OF(n, whom)] -> applied[OF(n, whom)] = number
  :: else
  fi
}

/* All answers have come. */
inline install(n) {
  here[0] = 0; here[1] = 0; here[2] = 0;
  do
  :: nempty(answers[n]) ->
    answers[n]?a, b, c, d, e, f, g, _;
    if
    :: b ->
      word[AT(n, 0)] = c; word[AT(n, 1)] = d;
      applied[OF(n, 0)] = (n == 0 -> applied[OF(n, 0)] : e);
      applied[OF(n, 1)] = (n == 1 -> applied[OF(n, 1)] : f);
      applied[OF(n, 2)] = (n == 2 -> applied[OF(n, 2)] : g);
      state[n] = INVALID
    :: else -> raise_applied(n, a, c); here[a] = d
    fi
  :: empty(answers[n]) -> break
  od;
  do
  :: take_earliest();
    if
    :: best_of < N -> apply_one(n, best)
    :: else -> break
    fi
  od
}

/* Until the page lacks nothing. */
inline fetch(n) {
  do
  :: atomic { state[n] == ABSENT -> way[OF(n, source[n])]!FETCH(n, 0, 0, true, 0, 0, 0, clock[n]); outstanding[n] = 1 };
    atomic { outstanding[n] == 0 -> install(n) }
  :: atomic { state[n] == INVALID && LACKS(n) -> ask_one(n, 0); ask_one(n, 1); ask_one(n, 2) };
    atomic { outstanding[n] == 0 -> install(n) }
  :: atomic { state[n] == INVALID && !LACKS(n) -> state[n] = CLEAN; break }
  :: atomic { state[n] != ABSENT && state[n] != INVALID -> break }
  od
}

#define MAY_READ(n) (state[n] == EXCLUSIVE || state[n] == CLEAN || state[n] == DIRTY)
#define MAY_WRITE(n) (state[n] == EXCLUSIVE || state[n] == DIRTY)

inline read(n, which) {
  do
  :: atomic { MAY_READ(n) -> assert(word[AT(n, which)] == truth[which]); break }
  :: atomic { !MAY_READ(n) -> skip }; fetch(n)
  od
}

/* Reads it as well. */
inline write(n, which) {
  do
  :: atomic {
      MAY_WRITE(n) ->
      assert(word[AT(n, which)] == truth[which]);
      truth[which]++;
      word[AT(n, which)] = truth[which];
      break
    }
  :: atomic { state[n] == CLEAN -> make_twin(n) }
  :: atomic { !MAY_READ(n) -> skip }; fetch(n)
  od
}

inline lock_section(n) {
  atomic {
    !locked && taken < locks && (lock_rounds & BIT(round)) ->
    locked = true;
    taken++;
    if
    :: owner == n -> granted[n] = true
    :: else ->
      close_interval(owner, false);
      way[OF(owner, n)]!GRANT(known[OF(owner, 0)], known[OF(owner, 1)], known[OF(owner, 2)], 0, 0, 0, 0, clock[owner]);
      owner = n
    fi
  };
  atomic { granted[n] -> granted[n] = false };
  write(n, 0);
  locked = false
}

inline send_meeting(n, to) {
  found = 0;
  if
  :: noticed[n] && (pushed[n] & BIT(to)) ->
    i = 0;
    do
    :: i == count[n] -> break
    :: else ->
      found = found | (diffs[n * D + i].upto > pushed_upto[n] -> BIT(i) : 0);
      i++
    od
  :: else
  fi;
  meeting[OF(n, to)]!known[OF(n, 0)], known[OF(n, 1)], known[OF(n, 2)], found, clock[n]
}

inline take_meeting(n, from) {
  meeting[OF(from, n)]?a, b, c, d, stamp;
  tick(n, stamp);
  here[from] = d;
  got0 = (a > got0 -> a : got0); got1 = (b > got1 -> b : got1); got2 = (c > got2 -> c : got2)
}

/* How far the diffs in here[] get the page. */
inline reach(n, from) {
  i = 0;
  do
  :: i == D -> break
  :: else ->
    k = from * D + i;
    if
    :: (here[from] & BIT(i)) && far[from] >= diffs[k].since && diffs[k].upto > far[from] -> far[from] = diffs[k].upto
    :: else
    fi;
    i++
  od
}

inline take_pushes(n) {
  far[0] = applied[OF(n, 0)]; far[1] = applied[OF(n, 1)]; far[2] = applied[OF(n, 2)];
  reach(n, 0); reach(n, 1); reach(n, 2);
#ifdef SOMEPUSH
  all = true;
#else
  all = pending[OF(n, 0)] <= far[0] && pending[OF(n, 1)] <= far[1] && pending[OF(n, 2)] <= far[2];
#endif
  if
  :: all && (here[0] || here[1] || here[2]) && state[n] != ABSENT && state[n] != EXCLUSIVE ->
    if
    :: state[n] == DIRTY && !predicted[n] -> settle(n)
    :: else
    fi;
    do
    :: take_earliest();
      if
      :: best_of < N ->
        if
        :: diffs[best].upto > applied[OF(n, best_of)] -> apply_one(n, best)
        :: else
        fi
      :: else -> break
      fi
    od;
    applied[OF(n, 0)] = far[0]; applied[OF(n, 1)] = far[1]; applied[OF(n, 2)] = far[2];
    state[n] = (state[n] == INVALID && !LACKS(n) -> CLEAN : state[n])
  :: else
  fi
}

inline barrier(n) {
  atomic {
    close_interval(n, true);
    if
    :: noticed[n] && pushed[n] && NOTICED_TWIN(n) -> refresh(n)
    :: else
    fi;
    send_meeting(n, (n + 1) % N); send_meeting(n, (n + 2) % N);
    pushed_upto[n] = (noticed[n] && pushed[n] -> last_upto[n] : pushed_upto[n]);
    noticed[n] = false
  };
  atomic {
    nempty(meeting[OF((n + 1) % N, n)]) && nempty(meeting[OF((n + 2) % N, n)]) ->
    here[n] = 0; got0 = 0; got1 = 0; got2 = 0;
    take_meeting(n, (n + 1) % N); take_meeting(n, (n + 2) % N);
    take_notice(n, 0, got0); take_notice(n, 1, got1); take_notice(n, 2, got2);
    take_pushes(n);
    if
    :: LACKS(n) ->
      if
      :: state[n] == DIRTY -> settle(n)
      :: else
      fi;
      state[n] = (state[n] == CLEAN -> INVALID : state[n])
    :: else
    fi
  }
}

inline meet(number) {
  met++;
  met >= N * number
}

/* All give up twins and diffs. The last node that gave notice has all changes after it. */
inline repossess(n) {
  atomic {
    source[n] = (pending[OF(n, 0)] > 0 -> 0 : source[n]);
    source[n] = (pending[OF(n, 1)] > 0 -> 1 : source[n]);
    source[n] = (pending[OF(n, 2)] > 0 -> 2 : source[n])
  };
#ifndef NOFETCH
  if
  :: atomic { state[n] == INVALID && source[n] == n -> skip }; fetch(n)
  :: atomic { !(state[n] == INVALID && source[n] == n) -> skip }
  fi;
#endif
  meet(1);
  atomic {
    if
    :: NOTICED_TWIN(n) -> settle(n); state[n] = EXCLUSIVE
    :: else
    fi;
    i = 0;
    do
    :: i == D -> break
    :: else ->
      k = n * D + i;
      diffs[k].stamp = 0; diffs[k].first = 0; diffs[k].since = 0; diffs[k].upto = 0;
      diffs[k].mask = 0; diffs[k].value0 = 0; diffs[k].value1 = 0;
      i++
    od;
    count[n] = 0; last_upto[n] = 0; pushed_upto[n] = 0;
#ifndef KEEPCOPY
    state[n] = (state[n] == INVALID -> ABSENT : state[n]);
#endif
    pending[OF(n, 0)] = 0; pending[OF(n, 1)] = 0; pending[OF(n, 2)] = 0;
    applied[OF(n, 0)] = 0; applied[OF(n, 1)] = 0; applied[OF(n, 2)] = 0
  };
  meet(2)
}

inline may_lock(n) {
  if
  :: lock_section(n)
  :: true
  fi
}

proctype node(byte n) {
  byte round = 0;
  do
  :: round == rounds -> break
  :: else ->
    if
    :: atomic { used < uses && writer[round] == n -> used++ }; write(n, 1); may_lock(n)
    :: atomic { used < uses && writer[round] == N -> used++ }; read(n, 1); may_lock(n)
    :: lock_section(n);
      if
      :: atomic { used < uses && writer[round] == n -> used++ }; write(n, 1)
      :: atomic { used < uses && writer[round] == N -> used++ }; read(n, 1)
      :: true
      fi
    :: true
    fi;
    barrier(n);
    if
    :: atomic { round == giving -> skip }; repossess(n)
    :: atomic { round != giving -> skip }
    fi;
    round++
  od
}

#define ANY 9

inline who_writes(round, who) {
  if
  :: who == ANY ->
    if
    :: writer[round] = 0
    :: writer[round] = 1
    :: writer[round] = 2
    :: writer[round] = N
    fi
  :: else -> writer[round] = who
  fi
}

inline scenario(rounds_, locks_, lock_rounds_, uses_, who0, who1, who2, first_state, others_state) {
  state[0] = first_state; state[1] = others_state; state[2] = others_state;
  rounds = rounds_; locks = locks_; lock_rounds = lock_rounds_; uses = uses_;
  who_writes(0, who0); who_writes(1, who1); who_writes(2, who2)
}

init {
  atomic {
    if
    :: scenario(1, 3, 1, 1, ANY, N, N, EXCLUSIVE, ABSENT)
    :: scenario(2, 2, 1, 2, 0, N, N, EXCLUSIVE, ABSENT)
    :: scenario(3, 1, 1, 3, 2, 0, N, EXCLUSIVE, ABSENT)
    :: scenario(2, 1, 3, 2, ANY, ANY, N, EXCLUSIVE, ABSENT)
    :: scenario(3, 3, 6, 2, 0, N, N, CLEAN, CLEAN)
    fi;
    if
    :: rounds > 1 -> giving = 0
    :: giving = rounds /* at none */
    fi;
    run node(0); run node(1); run node(2);
    run handler(0); run handler(1); run handler(2)
  }
}
