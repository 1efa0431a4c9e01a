/* The words between a GPU's stream and the engine: src/queue/gpu.cpp.
 *
 * The stream comes to a step: it writes a word, and where the step holds it up, waits for another. The engine looks at the words again and
 * again, begins steps in their order, and writes the second word when a step is over.
 * Steps that are put there once have one pair of words for all: the stream writes the step's number, the engine the number of the last one
 * that is over of those that hold it up. The steps of a graph have a pair each, and are done again whenever the graph is launched: the
 * stream writes 1, waits for 1, and takes it back; the engine takes the stream's 1 back before it begins. It looks at their words from the
 * last to the first: what is before one that the stream has come to is then seen as well.
 * Here: a message that is started (0), one that holds the stream up (1), and the wait for the first (2); once as they are, then as a graph,
 * twice. Each is to begin once a pass, in order, and nothing behind one that holds it up runs before that is over.
 * -DEARLYGO: the engine writes the number before the step is over. -DNOTAKE: the stream does not take the 1 back. -DFORWARD: the
 * engine looks at a graph's words from the first to the last, and may see one and not the one before it. */

#define STEPS 3
#define PASSES 3 /* the first is no graph */

#define holds_up(i) (i != 0)

byte number = 0, go = 0; /* of what is put there once */
bool ready[STEPS], let[STEPS];
byte begun[STEPS], over[STEPS];

active proctype stream() {
  byte pass = 0, i;
  do
  :: pass < PASSES ->
    i = 0;
    do
    :: i < STEPS ->
      if
      :: pass == 0 ->
        number = i + 1;
        if
        :: holds_up(i) -> (go >= i + 1)
        :: else
        fi
      :: else ->
        ready[i] = true;
        if
        :: holds_up(i) ->
          (let[i]);
#ifndef NOTAKE
          let[i] = false
#endif
        :: else
        fi
      fi;
      if
      :: holds_up(i) -> assert(over[i] == pass + 1)
      :: else
      fi;
      i++
    :: else -> break
    od;
    assert(begun[0] == pass + 1 && over[0] == pass + 1);
    pass++
  :: else -> break
  od
}

inline begin(i) {
  assert(i == 0 || begun[i - 1] == begun[i] + 1);
  begun[i]++
}

/* The step is over: it lets the stream go on. */
inline end(i, graph) {
  d_step { over[i]++ };
  if
  :: !holds_up(i)
  :: holds_up(i) && !graph ->
#ifndef EARLYGO
    go = i + 1
#else
    skip
#endif
  :: holds_up(i) && graph -> let[i] = true
  fi
}

/* A look at one word of a graph. */
inline take(i) {
  if
  :: ready[i] && !goes[i] ->
    ready[i] = false;
    graph[i] = true;
    found[i] = true
  :: else
  fi
}

active proctype engine() {
  byte seen = 0, i;
  bool graph[STEPS], goes[STEPS], found[STEPS];
endless:
  do
  /* a look */
  :: seen < number ->
    seen++;
#ifdef EARLYGO
    if
    :: holds_up(seen - 1) -> go = seen
    :: else
    fi;
#endif
    begin((seen - 1));
    goes[seen - 1] = true;
    graph[seen - 1] = false
  :: seen == STEPS ->
#ifdef FORWARD
    i = 0;
    do
    :: i < STEPS -> take(i); i++
    :: else -> break
    od;
#else
    i = STEPS;
    do
    :: i > 0 -> i--; take(i)
    :: else -> break
    od;
#endif
    i = 0;
    do
    :: i < STEPS && found[i] -> found[i] = false; begin(i); goes[i] = true; i++
    :: i < STEPS && !found[i] -> i++
    :: i == STEPS -> break
    od
  /* a step ends; the third when the first has */
  :: goes[0] -> goes[0] = false; end(0, graph[0])
  :: goes[1] -> goes[1] = false; end(1, graph[1])
  :: goes[2] && over[0] > over[2] -> goes[2] = false; end(2, graph[2])
  od
}
