/* Partitions that threads ready, and the channel that their groups go through: src/partitioned/sender.hpp, memory.hpp.
 *
 * Two threads ready the partitions 0, 1 and 2; the first two are group 0, the last is group 1. Whoever completes a group puts
 * it into the ring, which has one cell here, or opens it where that is full. The sender's waiting thread puts what was opened
 * into the ring, and the receiver empties the cell or fetches what was opened, whoever claims it first. A round is over for
 * the sender when all groups have left the buffer: then the threads write the next one's values into it.
 *
 * Where the sender can write the receiver's buffer, it may place a group there instead of filling the cell with it; not before the
 * receiver has started the round, since its program may still be reading.
 *
 * All words are handed over by release and acquire, and nobody's store has to be seen before his own later load: so any
 * interleaving of the steps is all there is. Variants, each of which must fail: -DNORMW tells a complete group by a load behind
 * the bit's store, -DNOCLAIM fetches without a claim, -DEARLY counts a group as gone before it is copied, -DNOLIMIT takes a
 * cell that is not empty, -DNOSTART places in a buffer whose round has not been started, -DSTALE never gets past
 * a cell that a round has left with nothing in it. */

#define ROUNDS 2
#define GROUPS 2
#define FULL(g) ((g) == 0 -> 3 : 4)

byte round = 0;        /* of the sender; the requests are started when it changes */
byte buffer[3];        /* the round whose values are in a partition */
byte bits = 0;
byte pushed = 0, pulled = 0; /* groups, in all rounds */

/* The ring: tickets are counted from 0. */
byte next = 0, consumed = 0;
byte turn = 0, cell_group = 0, cell_value = 0, cell_round = 0;
bool cell_void = false, cell_placed = false;
byte started = 0;         /* round of the receiver */
byte target[GROUPS];      /* the round whose values have been placed in its buffer */

byte opened = 0;          /* entries of this round */
byte entry_round[GROUPS], entry_group[GROUPS];
byte claim[GROUPS];       /* one word: the round twice, plus one where somebody has taken the group on himself */
#define FREE(r) (2 * (r))
#define TAKEN(r) (2 * (r) + 1)

byte got[GROUPS];         /* rounds of a group that the receiver has */

#ifdef NOSTART
#define PLACES true
#else
#define PLACES (started == r)
#endif

/* A cell with nothing in it may be left from a round that ended without it. */
#ifdef STALE
#define COMES (cell_round == r)
#else
#define COMES (cell_round == r || cell_void)
#endif

inline check_buffer(g, r) {
  assert(g == 1 || (buffer[0] == r && buffer[1] == r));
  assert(g == 0 || buffer[2] == r);
}

/* Fills the cell of `ticket`; as copying takes time, the buffer is looked at at its begin and its end. */
inline fill(g, r, nothing) {
  cell_void = nothing;
#ifdef EARLY
  if
  :: !nothing -> pushed++
  :: else
  fi;
#endif
  if
  :: !nothing -> check_buffer(g, r); cell_group = g;
    if
    :: PLACES -> target[g] = buffer[2 * g]; cell_placed = true
    :: true -> cell_value = buffer[2 * g]; cell_placed = false
    fi;
    cell_round = r; check_buffer(g, r)
  :: else -> cell_round = r
  fi;
  turn = ticket + 1;
#ifndef EARLY
  if
  :: !nothing -> pushed++
  :: else
  fi
#endif
}

#ifdef NOCLAIM
#define TAKE mine = true; claim[g] = TAKEN(r)
#else
#define TAKE atomic { mine = (claim[g] == FREE(r)); if :: mine -> claim[g] = TAKEN(r) :: else fi }
#endif

#ifdef NOLIMIT
#define ROOM true
#else
#define ROOM (next < consumed + 1)
#endif

inline complete(g, r) {
  if
  :: atomic { ROOM -> ticket = next; next++ };
     fill(g, r, false)
  :: atomic { !(ROOM) -> skip };
     claim[g] = FREE(r);
     atomic { at = opened; opened++ };
     entry_group[at] = g; entry_round[at] = r
  fi
}

inline ready(p, g, r) {
  buffer[p] = r;
#ifdef NORMW
  atomic { bits = bits | (1 << p) };
  after = bits;
#else
  atomic { bits = bits | (1 << p); after = bits };
#endif
  if
  :: (after & FULL(g)) == FULL(g) -> complete(g, r)
  :: else
  fi
}

proctype readier(bool first) {
  byte r = 1, after, ticket, at;
  do
  :: r > ROUNDS -> break
  :: else ->
    round >= r;
    if
    :: first -> ready(0, 0, r)
    :: else -> ready(2, 1, r); ready(1, 0, r)
    fi;
    r++
  od
}

/* Starts the rounds and waits for each. */
proctype sender() {
  byte r = 1, i, g, ticket;
  bool mine;
  do
  :: r > ROUNDS -> break
  :: else ->
    bits = 0; opened = 0; i = 0;
    round = r;
    do
    :: pushed + pulled == r * GROUPS -> break
    :: i < opened && entry_round[i] == r && claim[entry_group[i]] == TAKEN(r) -> i++
    :: i < opened && entry_round[i] == r && claim[entry_group[i]] == FREE(r) && ROOM ->
      g = entry_group[i];
      if
      :: atomic { ROOM -> ticket = next; next++ };
         TAKE;
         fill(g, r, !mine)
      :: atomic { !(ROOM) -> skip }
      fi
    od;
    r++
  od
}

proctype receiver() {
  byte r = 1, head = 0, left, g;
  bool mine, fetches;
  do
  :: r > ROUNDS -> break
  :: else ->
    assert(target[0] < r && target[1] < r);
    started = r;
    if
    :: fetches = true
    :: fetches = false  /* it need not */
    fi;
    left = GROUPS;
    do
    :: left == 0 -> break
    :: turn == head + 1 && COMES ->
      if
      :: !cell_void ->
        assert((cell_placed && target[cell_group] == r) || (!cell_placed && cell_value == r));
        assert(got[cell_group] == r - 1);
        got[cell_group] = r;
        left--
      :: else
      fi;
      head++;
      consumed = head
    :: fetches && entry_round[0] == r && claim[entry_group[0]] == FREE(r) ->
      g = entry_group[0]; goto fetch
    :: fetches && entry_round[1] == r && claim[entry_group[1]] == FREE(r) ->
      g = entry_group[1];
fetch:
      TAKE;
      if
      :: mine ->
        check_buffer(g, r);
        assert(got[g] == r - 1);
        got[g] = r;
        left--;
        check_buffer(g, r);
        pulled++
      :: else
      fi
    od;
    r++
  od
}

init {
  atomic {
    run readier(true); run readier(false); run sender(); run receiver()
  }
}
