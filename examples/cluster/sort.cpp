// Merge sort: threads sort parts of their own, then pairs of parts are merged, half as many each round.
//
//     plait c++ --cluster -O2 -std=c++20 sort.cpp -o sort && plait run -n 4 ./sort 100000
//
// std::vector's memory is shared like all of the program's. Within each part a task sorts either half.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void sort_by_tasks(std::uint64_t* begin, std::uint64_t* end) {
  if (end - begin < 4096) {
    std::sort(begin, end);
    return;
  }
  std::uint64_t* const middle = begin + (end - begin) / 2;
#pragma omp task
  sort_by_tasks(begin, middle);
#pragma omp task
  sort_by_tasks(middle, end);
#pragma omp taskwait
  std::inplace_merge(begin, middle, end);
}

}  // namespace

int main(int argc, char** argv) {
  const long n = argc > 1 ? std::atol(argv[1]) : 30000;
  if (n < 1) {
    std::fprintf(stderr, "sort: usage: sort [NUMBERS, 1 or more]\n");
    return 1;
  }
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(n));
  std::uint64_t state = 1;
  for (auto& number : numbers) number = state = state * 6364136223846793005U + 1442695040888963407U;

  constexpr long kParts = 16;
  const auto at = [&](long part) { return numbers.data() + n * part / kParts; };
#pragma omp parallel for schedule(static)
  for (long part = 0; part < kParts; ++part) sort_by_tasks(at(part), at(part + 1));
  for (long width = 1; width < kParts; width *= 2) {
#pragma omp parallel for schedule(static)
    for (long part = 0; part < kParts; part += 2 * width) std::inplace_merge(at(part), at(part + width), at(part + 2 * width));
  }
  std::uint64_t mixed = 0;
  for (const auto number : numbers) mixed = mixed * 31 + number;
  std::printf("%ld numbers %s, digest %016llx\n", n, std::is_sorted(numbers.begin(), numbers.end()) ? "in order" : "NOT IN ORDER",
              static_cast<unsigned long long>(mixed));
}
