// The examples that Intel's Cluster OpenMP explains its protocol by, on the engine: events EXAMPLE FOLDER, on 2, 3 and 4 processes. Each
// process writes a file by its number: what it does to page A, as ". ACTION", and what the engine does to any page, as
// "PAGE EVENT OTHER FROM TO". tests/python/test_cluster_events.py has the examples as they should be.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "spmd.hpp"

using namespace plait::cluster;

namespace {

alignas(4096) int page_a[1024];

/// The process's file. The number is the same in all processes: the engine traces under its lock, where nothing shared may be touched.
constexpr int kFile = 100;

void open_file(const char* folder, int process) {
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%d", folder, process);
  const int file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
  if (file < 0 || dup2(file, kFile) != kFile) std::abort();
  close(file);
}

void write_line(const char* line, int length) {
  if (write(kFile, line, static_cast<std::size_t>(length)) != length) std::abort();
}

void show(Event event, std::uint32_t page, int other, std::uint32_t from, std::uint32_t to) {
  constexpr const char* kNames[] = {"trap", "trap", "twin", "notice", "ask", "diff", "apply", "push", "repossess", "operate"};
  char line[80];
  write_line(line, std::snprintf(line, sizeof line, "%u %s %d %u %u\n", page, kNames[static_cast<int>(event)], other, from, to));
}

void say(const char* what, int number) {
  char line[80];
  write_line(line, std::snprintf(line, sizeof line, ". %s %d\n", what, number));
}

/// Nobody goes on before all have come, as the examples have one thing after another. It means nothing to memory.
void in_step() { MPI_Barrier(MPI_COMM_WORLD); }

void barrier_number(int number) {
  in_step();
  barrier();
  say("barrier", number);
  in_step();
}

void assign(int index, int value) {
  say("write", index);
  static_cast<volatile int*>(page_a)[index] = value;
  say("written", index);
}

void use(int index, int expected) {
  say("read", index);
  const int value = static_cast<volatile int*>(page_a)[index];
  say(value == expected ? "right" : "wrong", index);
}

void example_1(int process) {
  if (process == 0) {
    assign(1, 10);
    assign(2, 20);
  }
  if (process == 1) {
    assign(5, 50);
    assign(5, 51);
  }
  barrier_number(1);
  if (process == 0) assign(5, 52);
  barrier_number(2);
  if (process == 1) use(5, 52);
  barrier_number(3);
}

void example_2(int process) {
  if (process == 0) assign(1, 10);
  barrier_number(1);
  if (process == 0) assign(2, 20);
  barrier_number(2);
  if (process == 0) assign(3, 30);
  in_step();
  if (process == 1) use(1, 10);
  barrier_number(3);
  if (process == 0) assign(1, 11);
  barrier_number(4);
  if (process == 2) use(1, 11);
  barrier_number(5);
}

void example_3(int process) {
  if (process == 0) assign(1, 10);
  if (process == 1) assign(5, 50);
  barrier_number(1);
  if (process == 0) assign(2, 20);
  if (process == 1) assign(1, 11);
  barrier_number(2);
  if (process == 0) assign(3, 30);
  if (process == 1) assign(6, 60);
  in_step();
  if (process == 2) use(1, 11);
  barrier_number(3);
  if (process == 0) assign(1, 12);
  barrier_number(4);
  if (process == 3) use(1, 12);
  barrier_number(5);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  struct Data {
    int example;
    const char* folder;
  };
  Data data{std::atoi(argv[1]), argv[2]};
  spmd::parallel(
      [](int process, void* pointer) {
        const Data here = *static_cast<Data*>(pointer);
        open_file(here.folder, process);
        allow_pushes(false);
        (void)static_cast<volatile int*>(page_a)[0];  // all have a copy
        barrier();
        in_step();
        trace_events(show);
        if (here.example == 1) example_1(process);
        if (here.example == 2) example_2(process);
        if (here.example == 3) example_3(process);
        trace_events(nullptr);
      },
      &data);
}
