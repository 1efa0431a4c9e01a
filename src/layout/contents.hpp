// What a datatype was made of: MPI_Type_get_envelope and MPI_Type_get_contents with the differences between the MPIs
// and between int and MPI_Count forms taken out. Any thread that may call MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace plait::layout {

/// The arguments of the call that made a datatype. Arguments of one sort are read in the order of the standard's
/// tables (MPI-4.1, 5.1.13).
class Contents {
 public:
  explicit Contents(MPI_Datatype datatype);
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  [[nodiscard]] int combiner() const { return combiner_; }

  /// The next argument that is an int in both forms of the call, such as an order or a process rank.
  int next_int() { return integers_[next_integer_++]; }
  /// The next argument that is an int in one form and an MPI_Count in the other.
  std::int64_t next_count() { return large_ ? next_large() : integers_[next_integer_++]; }
  /// The next argument that is an MPI_Aint in one form and an MPI_Count in the other.
  std::int64_t next_address() { return large_ ? next_large() : addresses_[next_address_++]; }

  std::vector<std::int64_t> next_counts(std::int64_t n);
  std::vector<std::int64_t> next_addresses(std::int64_t n);
  std::vector<int> next_ints(std::int64_t n);

  [[nodiscard]] const std::vector<MPI_Datatype>& datatypes() const { return datatypes_; }

 private:
  std::int64_t next_large() { return counts_[next_count_++]; }
  void read(MPI_Datatype datatype);

  int combiner_ = MPI_COMBINER_NAMED;
  bool large_ = false;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Datatype> datatypes_;
  std::size_t next_integer_ = 0, next_address_ = 0, next_count_ = 0;
};

/// True for the datatypes that MPI itself brings, which have no contents and are not to be freed.
[[nodiscard]] bool is_predefined(int combiner);

/// The combiner alone.
[[nodiscard]] int combiner_of(MPI_Datatype datatype);

}  // namespace plait::layout
