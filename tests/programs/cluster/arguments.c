// Each thread reads the program's arguments, one of which the serial part has changed.
#include <omp.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int right = 0;
  if (argc > 1) argv[1][0] = 'O';
#pragma omp parallel reduction(+ : right)
  right += argc == 3 && !strcmp(argv[1], "One") && !strcmp(argv[2], "two words") && !argv[3];
  puts(right == omp_get_max_threads() ? "right" : "wrong");
}
