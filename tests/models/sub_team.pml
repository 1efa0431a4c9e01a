/* Loops in chunks of a sub-team, which another thread joins: src/subteam/subteam.hpp.
 *
 * The first thread of the sub-team that comes to a loop opens the door. A helper waits until its loop has begun, comes in if it is not over,
 * takes chunks and goes out. The last thread of the sub-team at the loop's end waits until no helper is inside, shuts the door by moving on
 * its number, resets the cursor and ends the meeting. When a thread of the sub-team leaves the loop, all of its chunks are done, each once; a
 * helper never does one of another loop. Locked sequences only: each step is one access, and all see them in one order.
 * -DNOWAIT shuts the door while a helper is inside: the loop ends before its chunk is done. -DNONUMBER lets a helper in whatever the loop:
 * it does chunks of the next one. -DRESETFIRST resets the cursor before the door is shut: a helper does a chunk again. */

#define MEMBERS 2
#define LOOPS 2
#define CHUNKS 2

byte done[LOOPS * CHUNKS];
byte cursor = 0;
byte arrived = 0;
byte meetings = 0;
byte door_number = 0; /* the three are one word */
bool door_open = false;
byte helpers = 0;

#define ALL_DONE(loop) (done[(loop) * CHUNKS] == 1 && done[(loop) * CHUNKS + 1] == 1)

inline take(loop) {
  do
  :: atomic { k = cursor; cursor++ };
    if
    :: k < CHUNKS -> done[loop * CHUNKS + k]++
    :: else -> break
    fi
  od
}

inline shut_door(loop) {
#ifdef RESETFIRST
  cursor = 0;
#endif
#ifdef NOWAIT
  atomic { door_number = loop + 1; door_open = false; helpers = 0 }
#else
  atomic { helpers == 0 -> door_number = loop + 1; door_open = false }
#endif
#ifndef RESETFIRST
  cursor = 0
#endif
}

active [MEMBERS] proctype member() {
  byte loop = 0, k = 0;
  bool last = false;
  do
  :: loop < LOOPS ->
    /* One step: a thread that finds the door otherwise leaves it. */
    atomic {
      if
      :: door_number == loop && !door_open && helpers == 0 -> door_open = true
      :: else
      fi
    }
    take(loop);
    atomic { arrived++; last = (arrived == MEMBERS) };
    if
    :: last ->
      shut_door(loop);
      arrived = 0;
      meetings++
    :: else -> meetings > loop
    fi;
    assert(ALL_DONE(loop));
    loop++
  :: else -> break
  od
}

active proctype helper() {
  byte loop = 0, k = 0;
  bool inside = false;
  do
  :: loop < LOOPS ->
    (door_number > loop || (door_number == loop && door_open));
    atomic {
#ifdef NONUMBER
      inside = door_open;
#else
      inside = (door_number == loop && door_open);
#endif
      if
      :: inside -> helpers++
      :: else
      fi
    }
    if
    :: inside ->
#ifdef NONUMBER
      assert(door_number == loop);
#endif
      take(loop);
      atomic {
        if
        :: helpers > 0 -> helpers--
        :: else
        fi
      }
    :: else
    fi;
    loop++
  :: else -> break
  od
}
