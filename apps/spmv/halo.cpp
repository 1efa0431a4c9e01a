#include "halo.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "error.hpp"

namespace plait::spmv {
namespace {

std::vector<int> offsets(const std::vector<int>& counts) {
  std::vector<int> at(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), at.begin() + 1);
  return at;
}

bool own(const Rows& rows, long column) { return column >= rows.first && column < rows.first + rows.count(); }

}  // namespace

Halo::Halo(const Rows& rows, const Order& order, MPI_Comm comm) {
  int processes = 1;
  MPI_Comm_size(comm, &processes);
  const auto n = static_cast<std::size_t>(processes);
  std::vector<long> firsts(n);
  MPI_Allgather(&rows.first, 1, MPI_LONG, firsts.data(), 1, MPI_LONG, comm);
  std::vector<int> needs(n), given(n);
  collectively(comm, [&] {
    std::copy_if(rows.column.begin(), rows.column.end(), std::back_inserter(needed_), [&](long c) { return !own(rows, c); });
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
    needed_.shrink_to_fit();
    if (rows.count() + static_cast<long>(needed_.size()) > std::numeric_limits<int>::max())
      throw Error("a process's rows and what they need of others are too many: take more processes");
    for (const long column : needed_)
      ++needs[static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), column) - firsts.begin()) - 1];
  });
  MPI_Alltoall(needs.data(), 1, MPI_INT, given.data(), 1, MPI_INT, comm);
  const auto receive = offsets(needs);
  std::vector<long> columns;
  std::vector<int> send;
  collectively(comm, [&] {
    // What a process gives, it gives to several.
    if (std::accumulate(given.begin(), given.end(), 0L) > std::numeric_limits<int>::max())
      throw Error("what others need of a process's rows is too much: take more processes, or fewer");
    send = offsets(given);
    columns.resize(static_cast<std::size_t>(send.back()));
    list_.resize(columns.size());
    buffer_.resize(columns.size());
  });
  MPI_Alltoallv(needed_.data(), needs.data(), receive.data(), MPI_LONG, columns.data(), given.data(), send.data(), MPI_LONG, comm);
  std::transform(columns.begin(), columns.end(), list_.begin(), [&](long column) { return order.position_of[column - rows.first]; });
  for (int p = 0; p < processes; ++p) {
    const auto i = static_cast<std::size_t>(p);
    if (needs[i] || given[i]) links_.push_back({p, send[i], given[i], receive[i], needs[i]});
  }
}

std::vector<int> Halo::places(const Rows& rows, const Order& order) const {
  std::vector<int> places(rows.column.size());
  std::transform(rows.column.begin(), rows.column.end(), places.begin(), [&](long column) {
    if (own(rows, column)) return order.position_of[column - rows.first];
    return static_cast<int>(rows.count() + (std::lower_bound(needed_.begin(), needed_.end(), column) - needed_.begin()));
  });
  return places;
}

void Halo::pack(const double* x, int piece, int pieces) {
  for (const Link& link : links_) {
    const auto [begin, end] = part_of(link.send, link.send + link.sends, piece, pieces);
    for (long k = begin; k < end; ++k) buffer_[k] = x[list_[k]];
  }
}

Messages::Messages(Halo& halo, MPI_Comm comm, int piece, int pieces) : halo_(halo), comm_(comm), piece_(piece), pieces_(pieces) {
  requests_.reserve(2 * halo.links().size());
}

void Messages::exchange(double* slots) {
  requests_.clear();
  for (const Link& link : halo_.links()) {
    const auto [begin, end] = part_of(link.receive, link.receive + link.receives, piece_, pieces_);
    if (begin < end) MPI_Irecv(slots + begin, static_cast<int>(end - begin), MPI_DOUBLE, link.process, 0, comm_, &requests_.emplace_back());
  }
  for (const Link& link : halo_.links()) {
    const auto [begin, end] = part_of(link.send, link.send + link.sends, piece_, pieces_);
    if (begin < end) {
      MPI_Isend(halo_.packed() + begin, static_cast<int>(end - begin), MPI_DOUBLE, link.process, 0, comm_, &requests_.emplace_back());
    }
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace plait::spmv
