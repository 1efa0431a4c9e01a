/* A lane: one sender, one receiver, a ring of cells with stamps, a report of how far the receiver is, and a receiver and a
 * sender that sleep: src/transport/ring.hpp, src/lane/endpoint.cpp.
 *
 * Each side's stores go through a buffer of its own (TSO) and come to memory in order, whenever the processor likes. A cell
 * is a payload and a stamp, the position plus one; stamps go round (modulo LAPS laps), as positions do at 2^32. Checked:
 * the receiver gets every message once, in order, and none that is half written; and both come to an end.
 *
 * What must fail: -DNOBARRIER, sleeping without the barrier; -DNOWAIT, a sender that does not look at the report;
 * -DSTAMPFIRST, the stamp before the payload; -DEARLYREPORT, the report before the cells are read; -DSHORTSTAMP, stamps that
 * say only that a cell is full. */

#define CELLS 2
#define MESSAGES 5
#define STAMPS 6 /* three laps: one and a position of the next are told apart */
#ifdef SHORTSTAMP
#define stamp_of(position) 1
#else
#define stamp_of(position) (1 + (position) % STAMPS)
#endif

byte payload[CELLS];
byte stamp[CELLS];
byte consumed = 0;
byte parked[2]; /* 0: the sender's, 1: the receiver's */
bool asleep[2];

/* Stores on their way to memory: what, which, value. */
mtype = { to_payload, to_stamp, to_consumed };
chan sent = [3] of { mtype, byte, byte };
chan reported = [1] of { byte };

inline commit_sent() {
  atomic {
    sent?what,which,value;
    if
    :: what == to_payload -> payload[which] = value
    :: what == to_stamp -> stamp[which] = value
    fi
  }
}

active proctype writer() {
  mtype what;
  byte which, value;
end:
  do
  :: commit_sent()
  :: atomic { reported?consumed }
  od
}

/* Empties the buffers of all threads. */
inline barrier_in_all_threads() {
#ifdef NOBARRIER
  skip
#else
  atomic {
    do
    :: nempty(sent) -> commit_sent()
    :: nempty(reported) -> reported?consumed
    :: empty(sent) && empty(reported) -> break
    od
  }
#endif
}

/* The exchange is a full barrier for whoever does it: its own buffer is empty. */
inline notify(whom, own_is_empty) {
  if
  :: parked[whom] == 1 ->
    atomic {
      own_is_empty -> was = parked[whom];
      parked[whom] = 0
    }
    if
    :: was == 1 -> asleep[whom] = false
    :: else
    fi
  :: else
  fi
}

inline sleep_unless(me, found) {
  parked[me] = 1;
  barrier_in_all_threads();
  if
  :: found -> parked[me] = 0
  :: else ->
    atomic {
      if
      :: parked[me] == 1 -> asleep[me] = true
      :: else
      fi
    }
    !asleep[me];
    parked[me] = 0
  fi
}

#ifdef NOWAIT
#define ROOM true
#else
#define ROOM (position - consumed < CELLS)
#endif

active proctype sender() {
  byte position = 0, was;
  mtype what;
  byte which, value;
  do
  :: position == MESSAGES -> break
  :: else ->
    if
    :: ROOM ->
#ifdef STAMPFIRST
      sent!to_stamp,position % CELLS,stamp_of(position);
      sent!to_payload,position % CELLS,position + 1;
#else
      sent!to_payload,position % CELLS,position + 1;
      sent!to_stamp,position % CELLS,stamp_of(position);
#endif
      position++;
      notify(1, len(sent) == 0)
    :: else -> sleep_unless(0, ROOM)
    fi
  od
}

#define FOUND (stamp[position % CELLS] == stamp_of(position))

active proctype receiver() {
  byte position = 0, was;
  mtype what;
  byte which, value;
  do
  :: position == MESSAGES -> break
  :: else ->
    if
    :: FOUND ->
#ifdef EARLYREPORT
      reported!position + 1;
      notify(0, len(reported) == 0);
#endif
      assert(payload[position % CELLS] == position + 1);
      position++;
#ifndef EARLYREPORT
      reported!position;
      notify(0, len(reported) == 0)
#endif
    :: else -> sleep_unless(1, FOUND)
    fi
  od
}
