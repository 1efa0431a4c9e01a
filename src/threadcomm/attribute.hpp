// Attributes of thread communicators: each rank has its own. The MPI keeps those of a handle, which the threads of a process
// share. Keyvals stay the MPI's; what copies and deletes their values is remembered. Any thread for keyvals, else the rank's.
#pragma once

#include <mpi.h>

#include "threadcomm/threadcomm.hpp"

namespace plait::threadcomm {

void remember_keyval(int keyval, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, void* extra);
/// The program frees it. True where the MPI may do so now; else that happens when the last value is gone.
[[nodiscard]] bool forget_keyval(int keyval);

/// Replaces, deleting what was there. Throw MPIError with what a callback returns.
void set_attribute(Rank& rank, int keyval, void* value);
/// False where the rank has none; the MPI may.
[[nodiscard]] bool get_attribute(const Rank& rank, int keyval, void** value) noexcept;
[[nodiscard]] bool delete_attribute(Rank& rank, int keyval);
void delete_attributes(Rank& rank);
/// To a duplicate.
void copy_attributes(const Rank& from, Rank& to);

}  // namespace plait::threadcomm
