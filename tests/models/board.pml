/* The notification board of a segment: src/gaspi/board.hpp.
 *
 * A notifier stores the word of a notification, and loads whether a summary is kept and whether anybody sleeps; its processor keeps the
 * store back (TSO). A waiter on a large range looks at the summary: the first makes it, by saying that it is kept, a barrier in all threads,
 * and a look at all words. A bit whose word is zero is cleared, and the word looked at once more. Whoever has found a word resets it: of
 * several one gets the value. Each notification is to be got once, by one of the waiters, though nothing but the notifiers wakes them.
 * -DNOBARRIER makes the summary without the barrier: a word that is in the buffer is in no summary. -DNOSECOND clears a bit without the
 * second look: one set meanwhile is lost. -DNORMW resets by a load and a store: two get the same value. -DNOLOOK sleeps without the look after
 * the announcement. */

#define NOTIFIERS 1
#define WAITERS 2

byte word[NOTIFIERS];   /* in memory */
byte buffer[NOTIFIERS]; /* each notifier's store that is not in memory yet */
bool bit_of[NOTIFIERS]; /* the summary */
byte summarized = 0;    /* 1: kept, 2: complete */
byte got[NOTIFIERS];    /* how often each was got */
#define POSTS 2
byte left = POSTS; /* of all that are to come */
byte epoch = 0;
byte sleepers = 0;

inline flush(i) {
  if
  :: buffer[i] != 0 -> word[i] = buffer[i]; buffer[i] = 0
  :: else
  fi
}

inline flush_all() {
  flush(0)
}

inline wake() {
  if
  :: sleepers > 0 -> atomic { epoch++; sleepers = 0 }
  :: else
  fi
}

/* The processor writes the buffers out whenever it likes. */
active [NOTIFIERS] proctype writer() {
end:
  do
  :: atomic { buffer[_pid] != 0 -> flush(_pid) }
  od
}

/* The same notification again when the one before was got. */
active [NOTIFIERS] proctype notifier() {
  byte me = _pid - NOTIFIERS;
  byte n = 0;
  do
  :: n < POSTS ->
    n++;
    buffer[me] = n;
    if
    :: summarized != 0 -> atomic { flush(me); bit_of[me] = true } /* a read-modify-write empties the buffer */
    :: else
    fi;
    if
    :: sleepers > 0 -> atomic { flush(me); epoch++; sleepers = 0 }
    :: else
    fi;
    got[me] == n
  :: else -> break
  od
}

inline look() {
  found = NOTIFIERS;
  if
  :: summarized != 2 ->
    atomic {
      if
      :: summarized == 0 -> summarized = 1
      :: else
      fi
    }
#ifndef NOBARRIER
    atomic { flush_all() }
#endif
    i = 0;
    do
    :: i < NOTIFIERS ->
      if
      :: word[i] != 0 -> bit_of[i] = true
      :: else
      fi;
      i++
    :: else -> break
    od;
    summarized = 2
  :: else
  fi;
  i = 0;
  do
  :: i < NOTIFIERS && found == NOTIFIERS ->
    if
    :: bit_of[i] ->
      if
      :: word[i] != 0 -> found = i
      :: else ->
        bit_of[i] = false;
#ifndef NOSECOND
        if
        :: word[i] != 0 ->
          bit_of[i] = true;
          found = i;
          wake()
        :: else
        fi
#endif
      fi
    :: else
    fi;
    i++
  :: else -> break
  od
}

inline reset() {
#ifdef NORMW
  value = word[found];
  word[found] = 0;
#else
  atomic { value = word[found]; word[found] = 0 }
#endif
  if
  :: value != 0 -> atomic { got[found]++; assert(got[found] == value); left-- }
  :: else
  fi
}

active [WAITERS] proctype waiter() {
  byte found;
  byte value;
  byte i;
  byte key;
  do
  :: left == 0 -> break
  :: else ->
    look();
    if
    :: found < NOTIFIERS -> reset()
    :: else ->
      atomic { key = epoch; sleepers++ }
      atomic { flush_all() } /* the announcement's barrier */
#ifdef NOLOOK
      found = NOTIFIERS;
#else
      look();
#endif
      if
      :: found < NOTIFIERS ->
        atomic {
          if
          :: epoch == key && sleepers > 0 -> sleepers--
          :: else
          fi
        };
        reset()
      :: else ->
        /* Until somebody posts; or the other has got the last one, for a program's waiter has its own to wait for. */
        (epoch != key || left == 0)
      fi
    fi
  od
}
