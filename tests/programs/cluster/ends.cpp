// How an OpenMP program over several processes ends: HOW [PROCESS].
#include <err.h>
#include <error.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

struct Ends {
  std::vector<int> values = std::vector<int>(5000);
  ~Ends() {
    long sum = 0;
    for (const int value : values) sum += value;
    std::printf("destroyed once, %s\n", sum == 5000 ? "all there" : "values are missing");
    std::fflush(stdout);
  }
};
Ends ends;

}  // namespace

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  const int process = argc > 2 ? std::atoi(argv[2]) : 0;
  std::atexit([] { std::puts("atexit"); });
  // It has what the regions have left, and is followed by nothing that would write out what puts has taken.
  std::at_quick_exit([] {
    std::printf("quick, %s\n", ends.values[4999] == 1 ? "all there" : "values are missing");
    std::fflush(stdout);
  });
  const std::vector<int> many(!std::strcmp(how, "busy") ? 1 << 24 : 0, 1);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < 5000; ++i) ends.values[i] = 1;
  if (!std::strcmp(how, "serial")) std::exit(7);
  if (!std::strcmp(how, "serial-quick")) std::quick_exit(7);
  if (!std::strcmp(how, "serial-at-once")) _exit(7);
#pragma omp parallel
  {
    const bool here = omp_get_thread_num() == process;
    if (!std::strcmp(how, "exit") && here) std::exit(3);
    if (!std::strcmp(how, "zero") && here) std::exit(0);
    if (!std::strcmp(how, "all")) std::exit(4);
    if (!std::strcmp(how, "busy")) {
      // The others find pages of process 0's as they were, or none any more.
      if (here) std::exit(0);
      for (const int value : many) {
        if (value != 1) std::abort();
      }
    }
    if (!std::strcmp(how, "quick") && here) std::quick_exit(3);
    if (!std::strcmp(how, "at-once") && here) std::_Exit(3);
    if (!std::strcmp(how, "quick-zero") && here) std::quick_exit(0);
    if (!std::strcmp(how, "at-once-zero") && here) _exit(0);
    if (!std::strcmp(how, "all-at-once")) _exit(4);
    if (!std::strcmp(how, "err")) errx(6, "as errx says it");
    if (!std::strcmp(how, "error") && here) error(6, 0, "as %s says it", "error");
    if (!std::strcmp(how, "abort") && here) std::abort();
    if (!std::strcmp(how, "throw") && here) throw std::runtime_error("nobody catches this");
#pragma omp barrier
  }
  return 5;
}
