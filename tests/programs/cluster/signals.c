// A handler of signals counts, and reads what another process writes, while regions run: in main's thread, wherever that is at work, and in
// whichever thread the system takes. Prints "right".
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { N = 20000, ROUNDS = 60, SENT = 42 };
static volatile sig_atomic_t came, to_main, wrong;
static int numbers[N], far[4096];

static void on_alarm(int number) {
  (void)number;
  came = came + 1;
}
static void on_timer(int number, siginfo_t* info, void* context) {
  (void)context;
  to_main = to_main + 1;
  wrong += number != SIGUSR1 || info->si_code != SI_TIMER || info->si_value.sival_int != SENT;
  // Of the last thread's process: written in each region.
  wrong += ((volatile int*)far)[2048] < 0;
}

int main(void) {
  struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  struct itimerspec often = {{0, 500000}, {0, 500000}};
  struct sigaction action = {0}, found;
  struct sigevent event = {0};
  timer_t timer;
  long sum = 0;
  signal(SIGALRM, on_alarm);
  action.sa_sigaction = on_timer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (sigaction(SIGUSR1, &action, NULL) != 0 || sigaction(SIGUSR1, NULL, &found) != 0) return 2;
  // What was set is what is found.
  wrong += found.sa_sigaction != on_timer || (found.sa_flags & action.sa_flags) != action.sa_flags || signal(SIGALRM, on_alarm) != on_alarm;
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_int = SENT;
  event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 2;
  timer_settime(timer, 0, &often, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
  for (int round = 0; round < ROUNDS; ++round) {
    long* const blocks[2] = {malloc(sizeof(long)), malloc(100000)};
    *blocks[0] = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; ++i) sum += numbers[i] == round;
#pragma omp parallel
    {
      if (omp_get_thread_num() == omp_get_num_threads() - 1) far[2048] = round;
#pragma omp for schedule(dynamic, 1000)
      for (int i = 0; i < N; ++i) numbers[i] = round + 1;
#pragma omp atomic
      *blocks[0] += 1;
#pragma omp critical
      *blocks[1] = round;
    }
    wrong += *blocks[0] != omp_get_max_threads() || *blocks[1] != round;
    free(blocks[0]);
    free(blocks[1]);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  timer_delete(timer);
  if (raise(SIGALRM) != 0) return 2;
  if (sum != (long)N * ROUNDS || wrong || !came || !to_main) {
    printf("%ld of %ld, wrong %d, came %d and %d\n", sum, (long)N * ROUNDS, wrong, came, to_main);
    return 1;
  }
  puts("right");
  return 0;
}
