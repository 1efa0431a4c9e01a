#include "messages.hpp"

namespace plait::lbm {

Messages::Messages(Halo& halo, MPI_Comm comm, int piece, int pieces) : halo_(halo), comm_(comm), piece_(piece), pieces_(pieces) {}

void Messages::pack(Direction d) {
  for (Link& link : halo_.links()) link.pack(d, piece_, pieces_);
}

void Messages::start() {
  requests_.clear();
  for (Link& link : halo_.links()) {
    const auto buffer = link.receive_buffer(piece_, pieces_);
    MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, link.neighbor(), link.receive_tag(), comm_,
              &requests_.emplace_back());
  }
  for (Link& link : halo_.links()) {
    const auto buffer = link.send_buffer(piece_, pieces_);
    MPI_Isend(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, link.neighbor(), link.send_tag(), comm_,
              &requests_.emplace_back());
  }
}

void Messages::wait() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

void Messages::unpack(Direction d) {
  for (Link& link : halo_.links()) link.unpack(d, piece_, pieces_);
}

Pieces::Pieces(Halo& halo, MPI_Comm comm, int pieces) : comms_(static_cast<std::size_t>(pieces)) {
  messages_.reserve(comms_.size());
  for (MPI_Comm& own : comms_) {
    MPI_Comm_dup(comm, &own);
    messages_.emplace_back(halo, own, static_cast<int>(messages_.size()), pieces);
  }
}

Pieces::~Pieces() {
  for (MPI_Comm& own : comms_) MPI_Comm_free(&own);
}

}  // namespace plait::lbm
