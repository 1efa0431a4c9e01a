#include "contents.hpp"

#include "base/error.hpp"

namespace plait::layout {
namespace {

/// The sizes of the four arrays.
struct Envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
};

Envelope envelope_of(MPI_Datatype datatype) {
  Envelope e;
#if MPI_VERSION >= 4
  check(PMPI_Type_get_envelope_c(datatype, &e.integers, &e.addresses, &e.counts, &e.datatypes, &e.combiner));
#else
  int integers = 0, addresses = 0, datatypes = 0;
  check(PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &e.combiner));
  e.integers = integers;
  e.addresses = addresses;
  e.datatypes = datatypes;
#endif
  return e;
}

template <class T, class From>
std::vector<T> take(const std::vector<From>& from, std::size_t& next, std::int64_t n) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(next);
  next += static_cast<std::size_t>(n);
  return std::vector<T>(first, first + n);
}

}  // namespace

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

int combiner_of(MPI_Datatype datatype) { return envelope_of(datatype).combiner; }

Contents::Contents(MPI_Datatype datatype) {
  const Envelope e = envelope_of(datatype);
  combiner_ = e.combiner;
  large_ = e.counts > 0;
  if (is_predefined(combiner_)) return;
  integers_.resize(static_cast<std::size_t>(e.integers));
  addresses_.resize(static_cast<std::size_t>(e.addresses));
  counts_.resize(static_cast<std::size_t>(e.counts));
  datatypes_.resize(static_cast<std::size_t>(e.datatypes), MPI_DATATYPE_NULL);
  read(datatype);
}

void Contents::read(MPI_Datatype datatype) {
#if MPI_VERSION >= 4
  check(PMPI_Type_get_contents_c(datatype, static_cast<MPI_Count>(integers_.size()), static_cast<MPI_Count>(addresses_.size()),
                                 static_cast<MPI_Count>(counts_.size()), static_cast<MPI_Count>(datatypes_.size()), integers_.data(),
                                 addresses_.data(), counts_.data(), datatypes_.data()));
#else
  check(PMPI_Type_get_contents(datatype, static_cast<int>(integers_.size()), static_cast<int>(addresses_.size()),
                               static_cast<int>(datatypes_.size()), integers_.data(), addresses_.data(), datatypes_.data()));
#endif
}

// MPI hands out references to derived datatypes, which are to be given back.
Contents::~Contents() {
  for (MPI_Datatype d : datatypes_) {
    int combiner = MPI_COMBINER_NAMED;
    try {
      if (d == MPI_DATATYPE_NULL) continue;
      combiner = combiner_of(d);
    } catch (const MPIError&) {
      continue;
    }
    if (!is_predefined(combiner)) PMPI_Type_free(&d);
  }
}

std::vector<std::int64_t> Contents::next_counts(std::int64_t n) {
  return large_ ? take<std::int64_t>(counts_, next_count_, n) : take<std::int64_t>(integers_, next_integer_, n);
}

std::vector<std::int64_t> Contents::next_addresses(std::int64_t n) {
  return large_ ? take<std::int64_t>(counts_, next_count_, n) : take<std::int64_t>(addresses_, next_address_, n);
}

std::vector<int> Contents::next_ints(std::int64_t n) { return take<int>(integers_, next_integer_, n); }

}  // namespace plait::layout
