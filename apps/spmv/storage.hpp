// A process's rows as they lie in memory. Positions are rows in the order in which they are stored; columns are positions, too, and behind
// them the places of what other processes have.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "rows.hpp"
#include "work.hpp"

namespace plait::spmv {

enum class StorageKind { crs, jds };
/// Throws Error for an unknown name.
[[nodiscard]] StorageKind find_storage(std::string_view name);
[[nodiscard]] std::string_view name_of(StorageKind kind);

/// In which order rows are stored: first those that need nothing of other processes, then those that do. CRS keeps each group as it is;
/// JDS sorts it by the number of nonzeros, most first, and leaves rows of as many as they are.
struct Order {
  std::vector<int> row_at;       ///< local row at each position
  std::vector<int> position_of;  ///< position of each local row
  int inner = 0;                 ///< the positions before this one need nothing
};
[[nodiscard]] Order order_rows(const Rows& rows, StorageKind kind);

/// Arrays that are first written by the threads that read them later.
template <class T>
class Untouched {
 public:
  Untouched() = default;
  explicit Untouched(std::size_t size) : values_(new T[size]) {}
  [[nodiscard]] T* data() { return values_.get(); }
  [[nodiscard]] const T* data() const { return values_.get(); }
  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }

 private:
  std::unique_ptr<T[]> values_;
};

class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;

  /// y[p] = factor * (row at position p) x, for p from begin to end - 1. The sum of a row begins with 0 and goes in the order of the
  /// columns of the whole matrix, in each storage. Threads may call it for different positions.
  virtual void multiply(long begin, long end, const double* x, double* y, double factor) const = 0;
};

/// `place[k]` is where x has what nonzero k of `rows` is multiplied by; `threads` fill the arrays, by `work`, which is in positions.
[[nodiscard]] std::unique_ptr<Storage> store(const Rows& rows, const Order& order, const std::vector<int>& place, const Work& work,
                                             StorageKind kind, int threads);

/// Nonzeros of the rows in the order of their positions, as they would lie in CRS.
[[nodiscard]] std::vector<long> starts_by_position(const Rows& rows, const Order& order);

}  // namespace plait::spmv
