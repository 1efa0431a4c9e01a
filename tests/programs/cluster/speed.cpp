// How long the engine's parts take: a barrier, the first touch of pages of another process, a step of a stencil, and its faults.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "spmd.hpp"

using namespace plait::cluster;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double results[16];

void barriers() {
  spmd::parallel(
      [](int process, void*) {
        constexpr int kRounds = 2000;
        for (int turn = 0; turn < 2; ++turn) {
          double start = now();
          for (int i = 0; i < kRounds; ++i) barrier();
          if (process == 0) results[0] = (now() - start) / kRounds;
          start = now();
          for (int i = 0; i < kRounds; ++i) PMPI_Barrier(MPI_COMM_WORLD);
          if (process == 0) results[1] = (now() - start) / kRounds;
          barrier();
        }
      },
      nullptr);
  std::printf("barrier %.2f us, MPI's %.2f us\n", results[0] * 1e6, results[1] * 1e6);
}

/// Process 1 reads pages that process 0 has written, far from each other, while process 0 waits.
void first_touch() {
  constexpr std::size_t kPages = 500;
  constexpr std::size_t kStride = 3 * 4096;
  auto* const memory = static_cast<char*>(std::malloc(kPages * kStride));
  for (std::size_t i = 0; i < kPages * kStride; ++i) memory[i] = static_cast<char>(i);
  spmd::parallel(
      [](int process, void* pointer) {
        auto* const pages = static_cast<char*>(pointer);
        if (process == 1) {
          const double start = now();
          int sum = 0;
          for (std::size_t i = 0; i < kPages; ++i) sum += static_cast<volatile char*>(pages)[i * kStride];
          results[2] = (now() - start) / kPages;
          results[3] = sum;
        }
        barrier();
        constexpr int kRounds = 500;
        const double start = now();
        std::vector<char> bytes(4096);
        MPI_Comm comm = MPI_COMM_WORLD;
        for (int i = 0; i < kRounds && process < 2; ++i) {
          if (process == 1) {
            PMPI_Send(bytes.data(), 8, MPI_BYTE, 0, 5, comm);
            PMPI_Recv(bytes.data(), 4096, MPI_BYTE, 0, 5, comm, MPI_STATUS_IGNORE);
          } else {
            PMPI_Recv(bytes.data(), 8, MPI_BYTE, 1, 5, comm, MPI_STATUS_IGNORE);
            PMPI_Send(bytes.data(), 4096, MPI_BYTE, 1, 5, comm);
          }
        }
        if (process == 1) results[4] = (now() - start) / kRounds;
      },
      memory);
  std::printf("first touch %.2f us a page, MPI's round trip with 4 KB %.2f us\n", results[2] * 1e6, results[4] * 1e6);
  std::free(memory);
}

struct Grid {
  double* a;
  double* b;
  std::size_t size;
};

void step(int process, void* pointer) {
  const Grid grid = *static_cast<Grid*>(pointer);
  const auto processes = static_cast<std::size_t>(job().processes);
  const std::size_t rows = grid.size - 2;
  const std::size_t begin = 1 + rows * static_cast<std::size_t>(process) / processes;
  const std::size_t end = 1 + rows * (static_cast<std::size_t>(process) + 1) / processes;
  const std::size_t size = grid.size;
  for (std::size_t y = begin; y < end; ++y) {
    double* __restrict to = grid.b + y * size;
    const double* __restrict from = grid.a + y * size;
    for (std::size_t x = 1; x < size - 1; ++x) to[x] = 0.25 * (from[x - 1] + from[x + 1] + from[x - size] + from[x + size]);
  }
}

void stencil(std::size_t size, int steps) {
  Grid grid{static_cast<double*>(std::calloc(size * size, 8)), static_cast<double*>(std::calloc(size * size, 8)), size};
  for (std::size_t i = 0; i < size; ++i) grid.a[i] = grid.b[i] = static_cast<double>(i * 2654435761 % 1000);
  const auto faults = [] { return count_of(Event::read_fault) + count_of(Event::write_fault); };
  double start = now();
  std::uint64_t before = faults();
  for (int i = 0; i < 20; ++i) {
    spmd::parallel(step, &grid);
    std::swap(grid.a, grid.b);
  }
  const double first = now() - start;
  std::uint64_t first_faults = faults() - before;
  start = now();
  before = faults();
  for (int i = 0; i < steps; ++i) {
    spmd::parallel(step, &grid);
    std::swap(grid.a, grid.b);
  }
  const double time = (now() - start) / steps;
  const std::uint64_t steady = faults() - before;
  // The same on one process, on memory of its own.
  std::vector<double> own(2 * size * size, 1.0);
  Grid alone{own.data(), own.data() + size * size, size};
  start = now();
  for (int i = 0; i < steps; ++i) {
    for (int part = 0; part < job().processes; ++part) step(part, &alone);
    std::swap(alone.a, alone.b);
  }
  const double time_alone = (now() - start) / steps;
  std::printf("%zu: %.3f ms a step, alone %.3f; %.1f faults a step on process 0; the first 20 took %.1f ms and %llu faults\n", size,
              time * 1e3, time_alone * 1e3, static_cast<double>(steady) / steps, first * 1e3,
              static_cast<unsigned long long>(first_faults));
  std::free(grid.a);
  std::free(grid.b);
}

}  // namespace

int main() {
  barriers();
  first_touch();
  stencil(250, 300);
  stencil(1000, 300);
  stencil(3000, 40);
}
