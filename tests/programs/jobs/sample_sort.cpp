// Sample sort: splitters from a sample of all ranks, one all-to-all of what belongs elsewhere.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "jobs.hpp"

void jobs::sample_sort(MPI_Comm world) {
  const int rank = rank_of(world);
  const auto size = static_cast<std::size_t>(size_of(world));
  constexpr std::size_t kEach = 20000;
  std::vector<std::uint32_t> keys(kEach);
  std::uint32_t state = 12345U + static_cast<std::uint32_t>(rank);
  for (std::uint32_t& k : keys) k = state = state * 1664525U + 1013904223U;
  std::ranges::sort(keys);

  std::vector<std::uint32_t> sample;
  for (std::size_t i = 0; i < size; ++i) sample.push_back(keys[i * kEach / size]);
  std::vector<std::uint32_t> samples(size * size);
  MPI_Allgather(sample.data(), static_cast<int>(size), MPI_UINT32_T, samples.data(), static_cast<int>(size), MPI_UINT32_T, world);
  std::ranges::sort(samples);

  std::vector<int> out(size);
  std::vector<int> in(size);
  std::size_t begin = 0;
  for (std::size_t r = 0; r < size; ++r) {
    const auto end = r + 1 == size ? keys.end() : std::ranges::lower_bound(keys, samples[(r + 1) * size]);
    const auto until = static_cast<std::size_t>(end - keys.begin());
    out[r] = static_cast<int>(until - begin);
    begin = until;
  }
  MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, world);
  std::vector<int> out_at(size);
  std::vector<int> in_at(size);
  std::exclusive_scan(out.begin(), out.end(), out_at.begin(), 0);
  std::exclusive_scan(in.begin(), in.end(), in_at.begin(), 0);
  std::vector<std::uint32_t> mine(static_cast<std::size_t>(in_at.back() + in.back()));
  MPI_Alltoallv(keys.data(), out.data(), out_at.data(), MPI_UINT32_T, mine.data(), in.data(), in_at.data(), MPI_UINT32_T, world);
  std::ranges::sort(mine);

  // In order here, after what the ranks before have, and none is lost.
  const std::uint32_t last = mine.empty() ? 0 : mine.back();
  std::uint32_t before = 0;
  MPI_Exscan(&last, &before, 1, MPI_UINT32_T, MPI_MAX, world);
  const int wrong = rank > 0 && !mine.empty() && mine.front() < before ? 1 : 0;
  std::uint64_t numbers[3] = {static_cast<std::uint64_t>(wrong), mine.size(), 0};
  for (std::size_t i = 0; i < mine.size(); ++i) numbers[2] += mine[i] * (i % 7 + 1);
  std::uint64_t all[3] = {};
  MPI_Reduce(numbers, all, 3, MPI_UINT64_T, MPI_SUM, 0, world);
  if (rank == 0)
    std::printf("sample sort: %llu keys, %llu out of order, sum %llu\n", static_cast<unsigned long long>(all[1]),
                static_cast<unsigned long long>(all[0]), static_cast<unsigned long long>(all[2]));
}
