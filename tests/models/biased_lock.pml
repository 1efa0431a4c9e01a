/* A lock whose owner pays no fence: src/base/biased_lock.hpp.
 *
 * The owner stores that it is inside (in the model a flag, in the code a count that is odd then) and loads `visitor`; its processor keeps stores back in a buffer (TSO), in order, so that the
 * load may come first. Visitors have a barrier run in all threads, which empties that buffer. Checked: nobody is inside
 * together with another, and all come to an end. -DNOBARRIER leaves the barrier out and -DNOSTEPBACK has the owner go on in
 * spite of a visitor: then two are inside. */

#define ROUNDS 2
#define VISITORS 2

bool inside = false;          /* in memory */
bool visitor = false;
chan buffer = [2] of { bool } /* the owner's stores to `inside` that are not in memory yet */
byte busy = 0;                /* how many are in the section */

#define enter() busy++; assert(busy == 1)
#define leave() busy--

/* The processor writes the buffer out whenever it likes. */
active proctype writer() {
end:
  do
  :: atomic { buffer?inside }
  od
}

active proctype owner() {
  byte i = 0;
  do
  :: i < ROUNDS ->
    i++;
    buffer!true;
#ifndef NOSTEPBACK
    do
    :: visitor ->
      buffer!false;
      !visitor;
      buffer!true
    :: else -> break
    od;
#endif
    enter();
    leave();
    buffer!false
  :: else -> break
  od
}

active [VISITORS] proctype guest() {
  byte i = 0;
  bool was;
  do
  :: i < ROUNDS ->
    i++; /* one that is sent away does not come back for this one */
    if
    :: inside
    :: else ->
      atomic { was = visitor; visitor = true }
      if
      :: was
      :: else ->
#ifndef NOBARRIER
        atomic { /* in all threads */
          do
          :: nempty(buffer) -> buffer?inside
          :: empty(buffer) -> break
          od
        }
#endif
        if
        :: !inside ->
          enter();
          leave()
        :: else
        fi;
        visitor = false
      fi
    fi
  :: else -> break
  od
}
