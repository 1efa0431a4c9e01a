/* Sleeping without a fence on the notifier's side: src/base/event_count.hpp.
 *
 * The notifier stores the work and then loads the word; its processor keeps stores back in a buffer (TSO), so that the load may
 * come first. A sleeper announces itself, has a barrier run in all threads, looks at the work once more and sleeps until the
 * epoch is another. The barrier empties the notifier's buffer, wherever the notifier is. -DNOBARRIER leaves it out and
 * -DNOLOOK the second look: then there are sleepers that nobody wakes. -DNOEPOCH has a sleeper that found work take out an
 * announcement of a later epoch, which may be the other sleeper's: then that one is not woken. */

#define WORKS 2
#define SLEEPERS 2

byte work = 0;    /* in memory */
byte buffer = 0;  /* the notifier's store that is not in memory yet, 0: none */
byte epoch = 0;   /* of the word; */
byte waiting = 0; /* and how many have announced themselves in it */

/* The processor writes the buffer out whenever it likes. */
active proctype writer() {
end:
  do
  :: atomic { buffer != 0 -> work = buffer; buffer = 0 }
  od
}

active proctype notifier() {
  byte i = 0;
  do
  :: i < WORKS ->
    i++;
    /* One entry is enough: a second store waits for the first. */
    atomic { buffer == 0 -> buffer = i }
    if
    :: waiting > 0 ->
      /* The exchange is a full barrier; whoever sleeps in the futex finds another epoch. */
      atomic {
        buffer == 0 ->
        if
        :: waiting > 0 -> epoch++; waiting = 0
        :: else
        fi
      }
    :: else
    fi
  :: else -> break
  od
}

active [SLEEPERS] proctype sleeper() {
  byte seen = 0;
  byte key;
  do
  :: seen == WORKS -> break
  :: work > seen -> seen = work
  :: else ->
    atomic { key = epoch; waiting++ }
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
    :: LOOK
    :: else ->
      /* The futex compares and sleeps in one step, and no timeout comes to the rescue. */
      epoch != key
    fi;
    atomic { /* takes its announcement back, if it is still there */
      if
#ifdef NOEPOCH
      :: waiting > 0 -> waiting--
#else
      :: epoch == key && waiting > 0 -> waiting--
#endif
      :: else
      fi
    }
  od
}
