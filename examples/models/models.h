/* The common part of the programs in this folder: a plate of rows x columns points, cut into blocks of two rows or more, one for each rank.
 * In a step each point becomes the mean of itself and its four neighbours; the edge keeps its values. A model is the file with step(). */
#ifndef MODELS_H
#define MODELS_H

#include <mpi.h>

typedef struct {
  int rows, columns; /* of this rank: rows 1 to `rows`; rows 0 and `rows` + 1 are the neighbours', the halo, or the plate's edge */
  int up, down;      /* ranks of the neighbours, or MPI_PROC_NULL */
  MPI_Comm comm;
  double *now, *next;
} Plate;

static inline double* row(const Plate* p, int i) { return p->now + (long)i * p->columns; }

/* One row of the next step. */
void update(const Plate* p, int i);
/* Sends `count` points of the first and last row from `column` on to the neighbours, and receives as many into the halo. */
void exchange(const Plate* p, MPI_Comm comm, int column, int count);

/* A step: the halo, and all rows. The caller exchanges now and next. */
void step(const Plate* p);
/* Once before the first step and after the last. */
void begin(const Plate* p);
void end(void);
/* What the model needs of MPI_Init_thread. */
extern const int thread_level;

/* All steps, by each rank of comm; rank 0 prints the sum of all points. */
void simulate(MPI_Comm comm, int steps);

#endif
