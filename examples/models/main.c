/* main() of all models but threadcomm and openmp.
 *
 *     plait cc -O2 -fopenmp main.c plate.c funneled_balanced.c -o funneled_balanced && plait run -n 2 -t 2 ./funneled_balanced
 */
#include <stdio.h>

#include "models.h"

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, thread_level, &level);
  if (level < thread_level) {
    fprintf(stderr, "the MPI gives too little thread support\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  simulate(MPI_COMM_WORLD, 50);
  MPI_Finalize();
  return 0;
}
