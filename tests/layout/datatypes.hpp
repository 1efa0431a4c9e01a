// Random datatypes of every constructor together with their type maps, written out by hand from the standard's
// definitions (MPI-4.1, 5.1). Extents of inner datatypes are asked of the MPI.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "naive.hpp"

namespace plait::layout::test {

/// Owns a datatype.
class Datatype {
 public:
  Datatype() = default;
  Datatype(MPI_Datatype type, bool derived) : type_(type), derived_(derived) {}
  Datatype(Datatype&& other) noexcept { *this = std::move(other); }
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(derived_, other.derived_);
    return *this;
  }
  ~Datatype() {
    if (derived_) MPI_Type_free(&type_);
  }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool derived_ = false;
};

struct Sample {
  Datatype type;
  TypeMap map;
  std::string name;  ///< how it was made, for messages

  [[nodiscard]] std::int64_t extent() const {
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type.get(), &lower, &extent);
    return extent;
  }
};

Sample random_basic(Random& random);

/// Up to `depth` constructors around a basic datatype; not committed.
Sample random_datatype(Random& random, int depth);

}  // namespace plait::layout::test
