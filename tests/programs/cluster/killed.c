// A process is killed, from outside: WHERE PROCESS FILE. It makes the file when it can be: in a serial part ("serial"), in a region in
// which all compute ("region"), or when it alone has not come to a barrier ("barrier"). It goes no further, and the others must not either.
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int page[4096];

static void be_killed(const char* file) {
  char own[4096];  // the kernel finds no name in memory that is still elsewhere
  snprintf(own, sizeof own, "%s", file);
  const int made = open(own, O_CREAT | O_WRONLY, 0666);
  if (made < 0) perror(own);
  for (;;) pause();
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* const where = argv[1];
  const int victim = atoi(argv[2]);
#pragma omp parallel
  page[omp_get_thread_num() * 8] = 1;
  if (strcmp(where, "serial") == 0) be_killed(argv[3]);
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    if (me == victim) be_killed(argv[3]);
    while (strcmp(where, "region") == 0) {
      ++page[me * 1024];
      usleep(100);
    }
#pragma omp barrier
  }
  puts("goes on");
  return 0;
}
