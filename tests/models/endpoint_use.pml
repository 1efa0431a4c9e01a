/* An endpoint that belongs to the thread that comes first, until a second one comes: lane/endpoint.cpp, on biased_lock.pml's lock.
 *
 * Two threads of the program and one that visits. Whoever finds another's endpoint takes the mutex, visits it and makes it shared; from then
 * on all take the mutex. The owner's stores are kept back as in biased_lock.pml. Checked: nobody is inside together with another, and all
 * come to an end. -DNORECHECK: the owner does not look again once it has the guard. -DNOVISIT: the endpoint is made shared without a visit.
 * -DNOSEEN: the visitor does not look whether its way in is still the right one. */

#define ROUNDS 2

bool shared = false;
byte owner = 0;               /* 0: nobody yet */
bool mutex = false;
bool inside = false;          /* in memory */
bool visitor = false;
chan buffer = [2] of { bool } /* the owner's stores to `inside` that are not in memory yet */
byte busy = 0;                /* how many are in the section */

#define enter() busy++; assert(busy == 1)
#define leave() busy--
#define lock() atomic { !mutex -> mutex = true }
#define unlock() mutex = false

/* Sets got. */
inline visit() {
  got = false;
  if
  :: inside
  :: else ->
    atomic { was = visitor; visitor = true }
    if
    :: was
    :: else ->
      atomic { /* in all threads */
        do
        :: nempty(buffer) -> buffer?inside
        :: empty(buffer) -> break
        od
      }
      if
      :: !inside -> got = true
      :: else -> visitor = false
      fi
    fi
  fi
}

active proctype writer() {
end:
  do
  :: atomic { buffer?inside }
  od
}

active [2] proctype user() {
  byte me = _pid; /* 1 and 2 */
  byte i = 0;
  bool was, got;
  do
  :: i < ROUNDS ->
    i++;
    if
    :: shared
    :: else ->
      atomic { if :: owner == 0 -> owner = me :: else fi }
      if
      :: owner == me ->
        buffer!true;
        do
        :: visitor ->
          buffer!false;
          !visitor;
          buffer!true
        :: else -> break
        od;
#ifndef NORECHECK
        if
        :: shared -> buffer!false; goto by_mutex
        :: else
        fi;
#endif
        enter();
        leave();
        buffer!false;
        goto next
      :: else ->
        lock();
        if
        :: shared
        :: else ->
#ifdef NOVISIT
          shared = true
#else
          do
          :: visit();
            if
            :: got -> break
            :: else
            fi
          od;
          shared = true;
          visitor = false
#endif
        fi;
        unlock()
      fi
    fi;
by_mutex:
    lock();
    enter();
    leave();
    unlock();
next:
    skip
  :: else -> break
  od
}

active proctype guest() {
  byte i = 0;
  bool was, got, seen;
  do
  :: i < ROUNDS ->
    i++;
    seen = shared;
    if
    :: seen ->
      atomic { if :: !mutex -> mutex = true; got = true :: else -> got = false fi }
    :: else -> visit()
    fi;
#ifndef NOSEEN
    if
    :: got && seen != shared ->
      got = false;
      if
      :: seen -> mutex = false
      :: else -> visitor = false
      fi
    :: else
    fi;
#endif
    if
    :: got ->
      enter();
      leave();
      if
      :: seen -> mutex = false
      :: else -> visitor = false
      fi
    :: else
    fi
  :: else -> break
  od
}
