/* Cores that wait are lent: with PLAIT_LEND=1 in all processes, as `plait run --lend` sets it, a process that waits in a call of the MPI's
 * lends its cores to the others of its node, which use them in their next parallel region. OpenMP's regions do so by themselves; these
 * calls are for threads of other kinds, and for programs that want to know. C and C++; docs/lend.md.
 *
 * Each may be called by any thread at any time. Before MPI_Init, and where nothing can be lent, nothing is. */
#ifndef PLAIT_LEND_H
#define PLAIT_LEND_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many cores this process may use now: its own, and those of others that are free to borrow. */
int plait_lend_threads(void);

/* How many cores it can borrow at most: that many more elements an array wants which has one for each thread. Before MPI_Init, with
 * PLAIT_LEND=1, all but one of the machine. */
int plait_lend_most(void);

/* This process lends and borrows from now on, as it does from the start, or not. Disabled, it has its cores back at once. */
void plait_lend_enable(void);
void plait_lend_disable(void);

/* Around work that other threads of this process share with the caller: takes this process's cores back, and borrows at most so many of
 * others'. Their numbers, as sched_setaffinity() takes them, are put into `cpus`; returns how many. */
int plait_lend_begin(int most, int cpus[]);
/* Ends what plait_lend_begin() has begun, with the numbers that it gave; what this process has not borrowed is left alone. */
void plait_lend_end(int count, const int cpus[]);

#ifdef __cplusplus
}
#endif
#endif
