/* Sleeping without a fence on the waker's side: src/base/parking.hpp.
 *
 * The waker stores the work and then loads `parked`; its processor keeps stores back in a buffer (TSO), so that the load may
 * come first. The sleeper says that it sleeps, has a barrier run in all threads, looks at the work once more and sleeps.
 * The barrier empties the waker's buffer, wherever the waker is. -DNOBARRIER leaves it out and -DNOLOOK the second
 * look: then there are sleepers that nobody wakes. */

#define WORKS 2

byte work = 0;       /* in memory */
byte parked = 0;
byte buffer = 0;     /* the waker's store that is not in memory yet, 0: none */
bool asleep = false; /* in the futex */

/* The processor writes the buffer out whenever it likes. */
active proctype writer() {
end:
  do
  :: atomic { buffer != 0 -> work = buffer; buffer = 0 }
  od
}

active proctype waker() {
  byte i = 0;
  bool was;
  do
  :: i < WORKS ->
    i++;
    /* One entry is enough: a second store waits for the first. */
    atomic { buffer == 0 -> buffer = i }
    if
    :: parked == 1 ->
      /* The exchange is a full barrier. */
      atomic { buffer == 0 -> was = parked; parked = 0 }
      if
      :: was -> asleep = false
      :: else
      fi
    :: else
    fi
  :: else -> break
  od
}

active proctype sleeper() {
  byte seen = 0;
  do
  :: seen == WORKS -> break
  :: work > seen -> seen = work
  :: else ->
    parked = 1; /* and a fence of its own: at once in memory */
#ifndef NOBARRIER
    atomic { /* in all threads */
      if
      :: buffer != 0 -> work = buffer; buffer = 0
      :: else
      fi
    }
#endif
#ifdef NOLOOK
#define LOOK false
#else
#define LOOK (work > seen)
#endif
    if
    :: LOOK -> parked = 0
    :: else ->
      /* The futex compares and sleeps in one step, and no timeout comes to the rescue. */
      atomic {
        if
        :: parked == 1 -> asleep = true
        :: else
        fi
      }
      !asleep;
      parked = 0
    fi
  od
}
