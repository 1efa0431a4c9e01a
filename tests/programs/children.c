/* children: knows nothing of plait. A program that it starts inherits no libplait; a process that it spawns has it if it has it itself. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has_libplait(void) {
  static char line[4096];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, "/libplait.so") != NULL;
  if (maps) fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  int level = -1, mine = has_libplait(), theirs = 0;
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_get_parent(&other);
  if (other != MPI_COMM_NULL) {
    int right = mine && argc == 3 && !strcmp(argv[1], "a word") && !strcmp(argv[2], "it's");
    MPI_Send(&right, 1, MPI_INT, 0, 3, other);
  } else {
    static char first[] = "a word", second[] = "it's";
    char* words[] = {first, second, NULL};
    char** both[] = {words, words};
    char* commands[] = {argv[0], argv[0]};
    int counts[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    int started = system("exec grep -q /libplait.so /proc/self/maps") == 0, preload = getenv("LD_PRELOAD") != NULL;
    if (argc > 1)
      MPI_Comm_spawn_multiple(2, commands, both, counts, infos, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
    else
      MPI_Comm_spawn(argv[0], words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
    for (int i = 0; i < (argc > 1 ? 2 : 1); ++i) {
      int one = 0;
      MPI_Recv(&one, 1, MPI_INT, i, 3, other, MPI_STATUS_IGNORE);
      theirs = one && (i == 0 || theirs);
    }
    printf("level %d, libplait here %d, in LD_PRELOAD %d, in a program %d, in a spawned process %d\n", level - MPI_THREAD_FUNNELED, mine,
           preload, started, theirs);
  }
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
