// ends HOW RANK: RANK ends the job in one of the ways in which jobs end; the others do what programs do then.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* how = argc > 1 ? argv[1] : "";
  const int mine = argc > 2 && rank == atoi(argv[2]);
  if (!strcmp(how, "all") && rank == 0) fprintf(stderr, "ends: all is lost\n");
  if (!strcmp(how, "prompt") && rank == 0) {  // no end of line, and a line like a launcher's rule
    printf("------------------------------------------------------------------------\n=====\n\nname? ");
    fflush(stdout);
  }
  if (!strcmp(how, "signal") && mine) {
    signal(SIGILL, SIG_DFL);  // an MPI may have put its own handler there, which prints a page
    raise(SIGILL);
  }
  if (!strcmp(how, "abort") && mine) MPI_Abort(MPI_COMM_WORLD, 7);
  if (!strcmp(how, "hang")) {
    if (rank == 0) printf("hanging\n");
    fflush(stdout);
    for (;;) pause();
  }
  MPI_Finalize();
  if (!strcmp(how, "all")) return 3;
  return !strcmp(how, "one") && mine ? 4 : 0;
}
