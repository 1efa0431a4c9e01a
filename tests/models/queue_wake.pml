/* Where the engine of queues sleeps, and how it is woken: src/queue/engine.cpp.
 *
 * The engine sleeps at its own event count, or, while a step waits for a message, at that of the endpoint where the message comes. It says
 * first where it is about to sleep, announces itself there, looks once more, and sleeps. Who has something for it stores that, makes a
 * fence, loads where the engine sleeps, and notifies there; a sender knows nothing of the engine and notifies the endpoint. Stores stay in
 * a buffer for a while (TSO), but for the engine's own, whose announcement is a read-modify-write.
 * The first piece of work is a step that waits for a message, the second one that is over at once. Both are to be done, though nothing but
 * notifications wakes the engine.
 * -DNOFENCE leaves out the waker's fence. -DLATE says where it sleeps after the last look. -DELSEWHERE sleeps at its own event count while
 * a step waits for a message. */

#define OWN 0
#define ENDPOINT 1
#define WORKS 2

byte work = 0;        /* pieces that are in memory */
byte work_buffer = 0; /* and in the waker's buffer */
bool message = false;
byte taken = 0;       /* pieces of work */
bool waits = false;  /* a step waits for the message */
bool received = false;
byte asleep_at = OWN;
byte sleepers[2];
byte epoch[2];

inline notify(at) {
  if
  :: sleepers[at] > 0 -> atomic { epoch[at]++; sleepers[at] = 0 }
  :: else
  fi
}

inline flush() { atomic { work = work + work_buffer; work_buffer = 0 } }

/* The processor writes the buffer out whenever it likes. */
active proctype writer() {
end:
  do
  :: atomic { work_buffer > 0 -> work = work + work_buffer; work_buffer = 0 }
  od
}

active proctype waker() {
  byte n = 0;
  byte at;
  do
  :: n < WORKS ->
    n++;
    work_buffer++;
#ifndef NOFENCE
    flush();
#endif
    at = asleep_at;
    notify(at)
  :: else -> break
  od
}

active proctype sender() {
  atomic { message = true }
  notify(ENDPOINT)
}

inline look() {
  found = false;
  atomic {
    if
    :: work > taken ->
      taken++;
      found = true;
      if
      :: taken == 1 -> waits = true /* its message has not come, as far as it knows */
      :: else
      fi
    :: else
    fi
  }
  if
  :: waits && message -> waits = false; received = true; found = true
  :: else
  fi
}

active proctype engine() {
  bool found;
  byte at, key;
  do
  :: taken == WORKS && received -> break
  :: else ->
    look();
    if
    :: found
    :: else ->
#ifdef ELSEWHERE
      at = OWN;
#else
      at = (waits -> ENDPOINT : OWN);
#endif
#ifndef LATE
      asleep_at = at;
#endif
      atomic { sleepers[at]++; key = epoch[at] }
      look();
#ifdef LATE
      asleep_at = at;
#endif
      if
      :: found -> atomic {
          if
          :: epoch[at] == key -> sleepers[at]--
          :: else
          fi
        }
      :: else -> (epoch[at] != key)
      fi
    fi
  od
}
