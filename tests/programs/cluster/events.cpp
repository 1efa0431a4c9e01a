// The three examples of Intel's Cluster OpenMP, event by event: what happens to page A on each process, as lines "process event other".
// events 1|2|3; 2 to 4 processes.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "spmd.hpp"

using namespace plait::cluster;

namespace {

alignas(4096) int page_a[1024];
int example = 0;

void show(Event event, std::uint32_t page, int other, std::uint32_t, std::uint32_t) {
  static std::uint32_t wanted = 0;
  if (wanted == 0) wanted = page;  // the first event is a fault on it
  constexpr const char* kNames[] = {"read", "write", "twin", "notice", "ask", "diff", "apply", "push", "repossess"};
  if (page != wanted) return;
  char line[64];
  const int length = other < 0 ? std::snprintf(line, sizeof line, "%d %s\n", job().process, kNames[static_cast<int>(event)])
                               : std::snprintf(line, sizeof line, "%d %s %d\n", job().process, kNames[static_cast<int>(event)], other);
  std::fwrite(line, 1, static_cast<std::size_t>(length), stdout);
}

void write(int index) { static_cast<volatile int*>(page_a)[index] = page_a[index] + 1; }
void read(int index) { (void)static_cast<volatile int*>(page_a)[index]; }

void example_1(int process) {
  if (process == 0) write(1), write(2);
  if (process == 1) write(5), write(5);
  barrier();
  if (process == 0) write(5);
  barrier();
}

void example_2(int process) {
  if (process == 0) write(1);
  barrier();
  if (process == 0) write(2);
  barrier();
  if (process == 0) write(3);
  barrier();
  if (process == 1) read(1);
  barrier();
  if (process == 0) write(1);
  barrier();
  if (process == 2) read(1);
  barrier();
}

void example_3(int process) {
  if (process == 0) write(1);
  if (process == 1) write(5);
  barrier();
  if (process == 0) write(2);
  if (process == 1) write(1 + 8);
  barrier();
  if (process == 0) write(3);
  if (process == 1) write(6);
  if (process == 2) read(1);
  barrier();
  if (process == 0) write(1);
  barrier();
  if (process == 3) read(1);
  barrier();
}

}  // namespace

int main(int argc, char** argv) {
  example = argc > 1 ? std::atoi(argv[1]) : 1;
  spmd::parallel(
      [](int process, void*) {
        read(0);  // everybody has a copy
        barrier();
        allow_pushes(false);
        trace_events(show);
        switch (example) {
          case 1:
            example_1(process);
            break;
          case 2:
            example_2(process);
            break;
          default:
            example_3(process);
        }
        trace_events(nullptr);
      },
      nullptr);
}
