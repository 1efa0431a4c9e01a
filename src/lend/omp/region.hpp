// One parallel region that gets the cores that are lent. OpenMP's own threads stay where they are; one for each borrowed core comes on top,
// and is bound to that core for the region. By the thread that begins the region, as long as it lasts.
#pragma once

#include <array>

namespace plait::lend::omp {

/// OpenMP's function of that name, behind this library; null where there is none (yet).
[[nodiscard]] void* find(const char* name) noexcept;
/// Ends the program where there is none.
[[nodiscard]] void* next(const char* name) noexcept;
template <class Function>
[[nodiscard]] Function* next_of(Function*, const char* name) noexcept {
  return reinterpret_cast<Function*>(next(name));
}

/// How many threads a region has that says nothing, as OpenMP has it; 1 where there is no OpenMP.
[[nodiscard]] int own_threads() noexcept;
/// The program or its user has chosen that number, wants it to be exact, or binds threads to places: nothing is borrowed.
[[nodiscard]] bool is_fixed() noexcept;
/// The caller is in a region: one that it begins is as OpenMP has it.
[[nodiscard]] bool is_nested() noexcept;

class Region {
 public:
  /// `open`: the region leaves the number of its threads to OpenMP.
  explicit Region(bool open) noexcept;
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// Of the region, where there are more than OpenMP's own; else 0: as it was told.
  [[nodiscard]] unsigned threads() const noexcept { return borrowed_ > 0 ? static_cast<unsigned>(own_ + borrowed_) : 0; }
  /// By each thread of the region, first.
  void enter(int thread) const noexcept;

 private:
  static constexpr int kMost = 1024;

  int own_;
  int borrowed_;
  std::array<int, kMost> cpus_;
};

}  // namespace plait::lend::omp
