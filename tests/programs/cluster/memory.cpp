// One memory on several processes: globals, the heap, main's stack, locks, frees from elsewhere, barriers in loops.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "spmd.hpp"

using plait::cluster::barrier;
using plait::cluster::job;
using namespace std::chrono_literals;

namespace {

int failures = 0;  // shared: any process may count

#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "process %d, line %d: %s\n", job().process, __LINE__, #condition); \
      plait::cluster::lock(999);                                                              \
      ++failures;                                                                             \
      plait::cluster::unlock(999);                                                            \
    }                                                                                         \
  } while (false)

int global = 7;
std::vector<int> constructed(1000, 3);
double table[10000];
struct Node {
  Node* next;
  int value;
};
Node* list = nullptr;
unsigned char bytes[3 * 4096];

void globals() {
  global = 8;
  int on_stack = 5;
  struct Data {
    int* on_stack;
    std::vector<int>* numbers;
    std::string* text;
  };
  std::vector<int> numbers(5000, 4);
  std::string text = "written by process 0, long enough for the heap";
  Data data{&on_stack, &numbers, &text};
  spmd::parallel(
      [](int process, void* pointer) {
        const auto& got = *static_cast<Data*>(pointer);
        CHECK(global == 8);
        CHECK(constructed[999] == 3);
        CHECK(*got.on_stack == 5);
        CHECK((*got.numbers)[4999] == 4);
        CHECK(*got.text == "written by process 0, long enough for the heap");
        barrier();
        if (process == job().processes - 1) {
          *got.on_stack = 6;
          (*got.numbers)[100] = 17;
          got.text->append(", and by the last");
          constructed.assign(2000, 9);
        }
      },
      &data);
  CHECK(on_stack == 6);
  CHECK(numbers[100] == 17);
  CHECK(text == "written by process 0, long enough for the heap, and by the last");
  CHECK(constructed.size() == 2000 && constructed[1999] == 9);
}

/// Neighbouring bytes of one page are written by different processes, round after round.
void sharing() {
  spmd::parallel(
      [](int process, void*) {
        const int processes = job().processes;
        for (int round = 0; round < 50; ++round) {
          for (std::size_t i = static_cast<std::size_t>(process); i < sizeof bytes; i += static_cast<std::size_t>(processes)) {
            bytes[i] = static_cast<unsigned char>(round + static_cast<int>(i));
          }
          barrier();
          bool right = true;
          for (std::size_t i = 0; i < sizeof bytes; ++i)
            right = right && bytes[i] == static_cast<unsigned char>(round + static_cast<int>(i));
          CHECK(right);
          barrier();
        }
      },
      nullptr);
}

/// What is written and put back while another process gets its first copy of the page is what it was, there as well.
void there_and_back() {
  alignas(4096) static volatile int page[1024];
  spmd::parallel(
      [](int process, void*) {
        const int last = job().processes - 1;
        int sum = 0;
        // The second has a copy: process 0 needs a twin to write.
        if (process == 1) sum += page[0];
        barrier();
        if (process == 0) {
          page[0] = 1;
          std::this_thread::sleep_for(100ms);
          page[0] = 0;
        } else if (process == last) {
          std::this_thread::sleep_for(50ms);
          sum += page[1];
        }
        barrier();
        CHECK(page[0] == 0 && sum == 0);
      },
      nullptr);
}

/// A ring of writers: in each round a page is written by another.
void wandering() {
  spmd::parallel(
      [](int process, void*) {
        const int processes = job().processes;
        for (int round = 0; round < 60; ++round) {
          for (int i = 0; i < 10000; ++i) {
            if ((i / 700 + round) % processes == process) table[i] = table[i] + i + round;
          }
          barrier();
        }
        bool right = true;
        for (int i = 0; i < 10000; ++i) right = right && table[i] == 60.0 * i + 59 * 30;
        CHECK(right);
      },
      nullptr);
}

void locks() {
  static int counter = 0;
  static long sum[600];
  spmd::parallel(
      [](int process, void*) {
        for (int i = 0; i < 200; ++i) {
          plait::cluster::lock(42);
          ++counter;
          sum[(i * 7 + process) % 600] += counter;
          sum[0] += 1;
          auto* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
          *node = {list, counter};
          list = node;
          plait::cluster::unlock(42);
          if (i % 16 == 0 && plait::cluster::try_lock(43)) {
            sum[1] += 1;
            plait::cluster::unlock(43);
          }
        }
      },
      nullptr);
  CHECK(counter == 200 * job().processes);
  if (counter != 200 * job().processes) std::fprintf(stderr, "counter %d\n", counter);
  int nodes = 0;
  long values = 0;
  while (list) {
    Node* const next = list->next;
    values += list->value;
    ++nodes;
    std::free(list);  // handed out by any process
    list = next;
  }
  CHECK(nodes == counter);
  CHECK(values == static_cast<long>(counter) * (counter + 1) / 2);
}

/// Jacobi's method on a line, halo by halo, against the same in one process.
void stencil() {
  constexpr std::size_t kSize = 100'000;
  constexpr int kSteps = 30;
  struct Data {
    double* a;
    double* b;
  };
  Data data{static_cast<double*>(std::malloc(kSize * 8)), static_cast<double*>(std::malloc(kSize * 8))};
  for (std::size_t i = 0; i < kSize; ++i) data.a[i] = data.b[i] = static_cast<double>(i % 13);
  std::vector<double> a(data.a, data.a + kSize);
  std::vector<double> b = a;
  for (int step = 0; step < kSteps; ++step) {
    spmd::parallel(
        [](int process, void* pointer) {
          const Data now = *static_cast<Data*>(pointer);
          const std::size_t part = (kSize - 2 + static_cast<std::size_t>(job().processes) - 1) / static_cast<std::size_t>(job().processes);
          const std::size_t begin = 1 + static_cast<std::size_t>(process) * part;
          for (std::size_t i = begin; i < begin + part && i < kSize - 1; ++i) now.b[i] = (now.a[i - 1] + now.a[i] + now.a[i + 1]) / 3;
        },
        &data);
    std::swap(data.a, data.b);
    for (std::size_t i = 1; i < kSize - 1; ++i) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
    std::swap(a, b);
  }
  CHECK(std::memcmp(data.a, a.data(), kSize * 8) == 0);
  std::free(data.a);
  std::free(data.b);
}

}  // namespace

int main() {
  globals();
  sharing();
  there_and_back();
  wandering();
  locks();
  stencil();
  if (failures == 0) std::puts("right");
  return failures != 0;
}
