// Children made by fork() have a copy of what their parent had, as without other processes. Prints "right". With "absent" one wants memory
// that only the last thread's process has; with "region" the first thread makes one in a region.
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 100000 };
static int globals[N];
static _Thread_local int of_thread = 1;
static int mistakes, ended;
static int* of_last;

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      ++mistakes;                                             \
    }                                                         \
  } while (0)

static int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static void at_end(void) { ended += 1; }
static int all_are(const int* values, int value) {
  for (int i = 0; i < N; ++i) {
    if (values[i] != value) return 0;
  }
  return 1;
}

/// In the child, after the parent has changed everything.
static int child(int* heap, int* stack, int go_on) {
  char byte = 0;
  int* const grown = malloc(8 << 20);
  CHECK(read(go_on, &byte, 1) == 1 && byte == 'g');
  CHECK(all_are(globals, 7) && all_are(heap, 7) && all_are(stack, 7) && of_thread == 5);
  for (int i = 0; i < N; ++i) globals[i] = heap[i] = stack[i] = 8;
  memset(grown, 1, 8 << 20);
  free(grown);
  free(heap);
  of_thread = 9;
  const pid_t inner = fork();
  if (inner == 0) {
    globals[5] = 10;
    _exit(all_are(stack, 8) ? 3 : 4);
  }
  CHECK(status_of(inner) == 3 && globals[5] == 8 && ended == 0);
  return mistakes;
}

int main(int argc, char** argv) {
  int stack[N];
  int* const heap = malloc(sizeof stack);
  int ends[2];
  atexit(at_end);
  of_thread = 5;
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < N; ++i) globals[i] = heap[i] = stack[i] = 7;
    if (omp_get_thread_num() == omp_get_num_threads() - 1) of_last = calloc(1 << 20, 1);
  }
  if (argc > 1 && strcmp(argv[1], "region") == 0) {
#pragma omp parallel
    if (omp_get_thread_num() == 0 && fork() == 0) _exit(0);
    return 0;
  }
  if (argc > 1) {
    const pid_t lost = fork();
    if (lost == 0) _exit(of_last[1000]);
    int status = 0;
    waitpid(lost, &status, 0);
    puts(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? "right" : "wrong");
    return 0;
  }
  CHECK(pipe(ends) == 0);
  const pid_t first = fork();
  if (first == 0) _exit(child(heap, stack, ends[0]));
#pragma omp parallel for
  for (int i = 0; i < N; ++i) globals[i] = heap[i] = stack[i] = 6;
  of_thread = 2;
  CHECK(write(ends[1], "g", 1) == 1 && status_of(first) == 0);
  CHECK(all_are(globals, 6) && all_are(heap, 6) && all_are(stack, 6) && of_thread == 2);
  const pid_t second = fork();
  if (second == 0) {
    execlp("true", "true", (char*)NULL);
    _exit(9);
  }
  CHECK(status_of(second) == 0);

  // By a thread of another process.
  int from_region = -1, at_home = 0;
#pragma omp parallel num_threads(omp_get_max_threads())
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    at_home = globals[3];
    const pid_t third = fork();
    if (third == 0) {
      globals[3] += 5;
      _exit(globals[3]);
    }
    from_region = status_of(third);
  }
  CHECK(from_region == 11 && at_home == 6 && globals[3] == 6);
  free(heap);
  if (!mistakes) puts("right");
  return mistakes != 0;
}
