// What a process needs of the others' parts of x, and what they need of its own.
#pragma once

#include <mpi.h>

#include <vector>

#include "storage.hpp"

namespace plait::spmv {

/// One neighbour. Both sides know both numbers, so that a piece of nothing is no message.
struct Link {
  int process;
  int send, sends;        ///< its part of the list of what is sent
  int receive, receives;  ///< its part of the places behind x's own
};

class Halo {
 public:
  /// Processes tell each other what they need. Collective over comm; reports.
  Halo(const Rows& rows, const Order& order, MPI_Comm comm);

  /// Where x has what each nonzero of the rows is multiplied by.
  [[nodiscard]] std::vector<int> places(const Rows& rows, const Order& order) const;
  /// How many numbers come from others.
  [[nodiscard]] int slots() const { return static_cast<int>(needed_.size()); }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }

  /// Copies one of `pieces` equal pieces of what each neighbour needs. Threads may pack different pieces.
  void pack(const double* x, int piece, int pieces);
  [[nodiscard]] const double* packed() const { return buffer_.data(); }

 private:
  std::vector<long> needed_;  // columns, in order: so they are by the process that has them
  std::vector<int> list_;     // positions, by the process that needs them
  std::vector<double> buffer_;
  std::vector<Link> links_;
};

/// The messages of a piece with all neighbours, on one communicator. What comes lies where it is needed. One thread at a time. MPI errors
/// abort (the default handler).
class Messages {
 public:
  Messages(Halo& halo, MPI_Comm comm, int piece = 0, int pieces = 1);
  /// Of what has been packed; into `slots`, those behind x.
  void exchange(double* slots);
  [[nodiscard]] int piece() const { return piece_; }
  [[nodiscard]] int pieces() const { return pieces_; }

 private:
  Halo& halo_;
  MPI_Comm comm_;
  int piece_, pieces_;
  std::vector<MPI_Request> requests_;
};

}  // namespace plait::spmv
