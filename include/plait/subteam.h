/* Sub-teams: inside one parallel region some threads communicate while a loop is shared by others, with barriers that only these take, and
 * loops whose shares plait balances against the communication beside them. For threads of any kind within a process: OpenMP's of any
 * compiler, pthreads, std::thread. C and C++; docs/subteam.md.
 *
 * A team is a number of threads, which call themselves 0, 1, 2 and so on, as omp_get_thread_num() does. A sub-team is those from `first` to
 * `last`, both included: OpenMP's proposed `onthreads(first:last)`. It need not be made. Its threads come to its barriers, singles and
 * loops in the same order. `me` is the calling thread's number in the team, always.
 *
 * No call needs MPI_Init, and none returns an error: what is wrong ends the program with one line that says so (docs/errors.md), as in all
 * of these it is a mistake that would leave threads waiting for ever. A thread that waits here drives plait's messages. */
#ifndef PLAIT_SUBTEAM_H
#define PLAIT_SUBTEAM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plait_team_s* plait_team;
#define PLAIT_TEAM_NULL ((plait_team)0)

/* Of 1 to 32,767 threads. Made by one of them or by any other thread, used by all. */
plait_team plait_team_create(int threads);
/* When no thread is in a call on it, and its balances are freed. Sets *team to PLAIT_TEAM_NULL, which may be given as well. */
void plait_team_free(plait_team* team);
int plait_team_size(plait_team team);

/* Returns when all threads from `first` to `last` have come; each of these calls it. */
void plait_team_barrier(plait_team team, int me, int first, int last);

/* ---- single: one thread of the sub-team runs the block, the first that comes; the others wait for its end. Threads that are not of the
 * sub-team go on at once. No `break`, `continue`, `goto` or `return` out of it.
 *
 *     PLAIT_SINGLE_ONTHREADS(team, me, 0, 0) { MPI_Sendrecv(...); }
 */
#define PLAIT_SINGLE_ONTHREADS(team, me, first, last) PLAIT_SINGLE_AT_(PLAIT_NAME_(plait_single_, __LINE__), team, me, first, last)
struct plait_single {
  int runs; /* 1: this thread runs the block, and then calls plait_single_end; 0: the block has been run */
  /* plait's own */
  int me;
  void* of;
};
struct plait_single plait_single_begin(plait_team team, int me, int first, int last);
/* Sets runs to 0. */
void plait_single_end(struct plait_single* single);

/* ---- for: the threads of the sub-team share the iterations `i` from `low` to `high` - 1. The loop ends with a barrier of the sub-team.
 * All give the same bounds. `continue` is allowed; `break`, `goto` and `return` out of it are not.
 *
 * In equal parts, each thread the same one for the same bounds. Other threads go on at once.
 *
 *     PLAIT_FOR_ONTHREADS(team, me, 1, threads - 1, i, 0, rows) { work on row i }
 *
 * In chunks, each thread the next when it is done with one. Other threads of the team may join: one that comes to the loop takes chunks
 * while there are any, and goes on without a barrier; all that it has done is done when the sub-team goes on. Its nth loop in chunks of
 * that sub-team is the sub-team's nth: a thread that joins, joins each. It waits where that has not begun; where it is over, the thread
 * goes on at once.
 */
#define PLAIT_FOR_ONTHREADS(team, me, first, last, i, low, high) \
  PLAIT_FOR_IN_LOOP_(plait_loop_begin((team), (me), (first), (last), (low), (high), 0), i)
#define PLAIT_FOR_CHUNKS_ONTHREADS(team, me, first, last, i, low, high, chunk) \
  PLAIT_FOR_IN_LOOP_(plait_loop_begin((team), (me), (first), (last), (low), (high), (chunk)), i)

/* The same where the work takes ranges:
 *
 *     struct plait_loop loop = plait_loop_begin(team, me, 1, threads - 1, 0, rows, 0);
 *     while (plait_loop_next(&loop)) work(loop.begin, loop.end);
 */
struct plait_loop {
  long begin, end; /* what to do now: begin to end - 1 */
  /* plait's own */
  void* of;
  long low, high, chunk;
  int me, state, unfinished;
};
/* `chunk`: 0 for equal parts, else the iterations of a chunk. No iterations where `high` <= `low`. */
struct plait_loop plait_loop_begin(plait_team team, int me, int first, int last, long low, long high, long chunk);
/* 1: there is a range to do. 0: the loop is over, and the barrier too. Not to be called again then. */
int plait_loop_next(struct plait_loop* loop);

/* ---- Full load balancing: a loop over independent work, beside which some or all of its threads do something else, like communication.
 * plait measures for each thread how long that takes and how fast it works, and gives each so many iterations that all end together. It
 * does so anew after each round, from the medians of the last five; a change is followed in three rounds. Where new shares
 * would save less than 2% of a round, or a microsecond, they stay as they are. Parts are contiguous and in the order of the threads.
 *
 *     plait_balance_begin(balance, me);
 *     if (me == 0) exchange the halo;
 *     PLAIT_FOR_BALANCED(balance, me, i, 0, rows) { work on row i, which needs no halo }
 *
 * The loop ends with a barrier of the balance's threads, and with it the round. One balance for each such place in a program.
 */
typedef struct plait_balance_s* plait_balance;
#define PLAIT_BALANCE_NULL ((plait_balance)0)

/* For the threads from `first` to `last`, which begin with equal shares. */
plait_balance plait_balance_create(plait_team team, int first, int last);
void plait_balance_free(plait_balance* balance);
/* Begins a round for this thread: what it does from here to the loop is what the work is balanced against. */
void plait_balance_begin(plait_balance balance, int me);
#define PLAIT_FOR_BALANCED(balance, me, i, low, high) PLAIT_FOR_IN_LOOP_(plait_balance_loop((balance), (me), (low), (high)), i)
/* The round's loop: for plait_loop_next, which gives one range at most. */
struct plait_loop plait_balance_loop(plait_balance balance, int me, long low, long high);
/* While no thread is in a round: fixed shares from now on, one number for each thread of the balance, of any size in relation to each
 * other, none below 0 and not all 0: then each run cuts the loop alike. NULL: what is learnt. */
void plait_balance_fix(plait_balance balance, const double* shares);
/* The share of the work that a thread has in the next round, or in this one: 0 to 1. By a thread of the balance, or while none is in a
 * round. */
double plait_balance_share(plait_balance balance, int thread);

/* plait's own. The end of a range is kept apart, so that the compiler knows that the body does not change it. A range that is left before
 * its end is told of by the next call. NOLINTBEGIN(bugprone-macro-parentheses): a variable is declared. */
#define PLAIT_FOR_IN_LOOP_(made, i)                                                                          \
  for (struct plait_loop plait_loop_##i = made; plait_loop_next(&plait_loop_##i);)                           \
    for (long i = plait_loop_##i.begin, plait_end_##i = (plait_loop_##i.unfinished = 1, plait_loop_##i.end); \
         i < plait_end_##i || (plait_loop_##i.unfinished = 0) != 0; ++i)
#define PLAIT_SINGLE_AT_(name, team, me, first, last) \
  for (struct plait_single name = plait_single_begin((team), (me), (first), (last)); name.runs; plait_single_end(&name))
#define PLAIT_NAME_(name, line) PLAIT_PASTE_(name, line)
#define PLAIT_PASTE_(name, line) name##line
/* NOLINTEND(bugprone-macro-parentheses) */

#ifdef __cplusplus
}

namespace plait {

/* The same in C++. What the program gives as a function must not throw: the others would wait for ever, so std::terminate is called. */
class Team {
 public:
  explicit Team(int threads) : team_(plait_team_create(threads)) {}
  Team(Team&& other) noexcept : team_(other.team_) { other.team_ = PLAIT_TEAM_NULL; }
  Team& operator=(Team&&) = delete;
  ~Team() { plait_team_free(&team_); }

  operator plait_team() const noexcept { return team_; }
  int size() const noexcept { return plait_team_size(team_); }

  void barrier(int me) const noexcept { plait_team_barrier(team_, me, 0, size() - 1); }
  void barrier(int me, int first, int last) const noexcept { plait_team_barrier(team_, me, first, last); }

  /* body(): by the first thread of the sub-team that comes. */
  template <class Body>
  void single(int me, int first, int last, Body&& body) const noexcept {
    PLAIT_SINGLE_ONTHREADS(team_, me, first, last) { body(); }
  }
  /* body(begin, end): a range of iterations. */
  template <class Body>
  void loop(int me, int first, int last, long low, long high, Body&& body) const noexcept {
    run(plait_loop_begin(team_, me, first, last, low, high, 0), body);
  }
  template <class Body>
  void chunks(int me, int first, int last, long low, long high, long chunk, Body&& body) const noexcept {
    run(plait_loop_begin(team_, me, first, last, low, high, chunk), body);
  }

 private:
  friend class Balance;
  template <class Body>
  static void run(plait_loop loop, Body& body) noexcept {
    while (plait_loop_next(&loop)) body(loop.begin, loop.end);
  }

  plait_team team_;
};

class Balance {
 public:
  Balance(plait_team team, int first, int last) : balance_(plait_balance_create(team, first, last)) {}
  Balance(Balance&& other) noexcept : balance_(other.balance_) { other.balance_ = PLAIT_BALANCE_NULL; }
  Balance& operator=(Balance&&) = delete;
  ~Balance() { plait_balance_free(&balance_); }

  operator plait_balance() const noexcept { return balance_; }

  /* A round: beside() is what this thread does beside the work, body(begin, end) its share of that. */
  template <class Beside, class Body>
  void run(int me, long low, long high, Beside&& beside, Body&& body) const noexcept {
    plait_balance_begin(balance_, me);
    beside();
    Team::run(plait_balance_loop(balance_, me, low, high), body);
  }
  void fix(const double* shares) const noexcept { plait_balance_fix(balance_, shares); }
  double share(int thread) const noexcept { return plait_balance_share(balance_, thread); }

 private:
  plait_balance balance_;
};

} /* namespace plait */
#endif

#endif
