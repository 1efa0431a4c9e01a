#include "p2p/status.hpp"

namespace plait::p2p {

void set_status(MPI_Status* status, int source, int tag, std::uint64_t bytes, bool cancelled) noexcept {
  const int error = status->MPI_ERROR;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(status, cancelled ? 1 : 0);
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->MPI_ERROR = error;
}

void set_empty(MPI_Status* status) noexcept {
  if (wants(status)) set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

}  // namespace plait::p2p
