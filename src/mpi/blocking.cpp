// The MPI's own blocking calls that plait serves no other way: synchronisation of windows and files, making of
// communicators. What plait has started has to move on while they block.
#include "mpi/communicator.hpp"
#include "mpi/naming.hpp"
#include "mpi/native.hpp"
#include "mpi/threads.hpp"

using plait::mpi::Blocking;
using plait::mpi::refused;

#pragma GCC visibility push(default)

#define PLAIT_BLOCKING(NAME, PARAMETERS, ARGUMENTS) \
  extern "C" int MPI_##NAME PARAMETERS {            \
    const Blocking blocking;                        \
    return PMPI_##NAME ARGUMENTS;                   \
  }

/// The same on a communicator `c`; those of threads have none of it.
#define PLAIT_NOT_BY_THREADS(NAME, PARAMETERS, ARGUMENTS)     \
  extern "C" int MPI_##NAME PARAMETERS {                      \
    if (const int error = refused(c); error != MPI_SUCCESS) { \
      return error;                                           \
    }                                                         \
    const Blocking blocking;                                  \
    return PMPI_##NAME ARGUMENTS;                             \
  }

// ---- communicators

extern "C" int MPI_Comm_create_group(MPI_Comm c, MPI_Group group, int tag, MPI_Comm* made) {
  if (const int no = refused(c); no != MPI_SUCCESS) return no;
  return plait::mpi::naming_apart(c, tag, made, [&] { return PMPI_Comm_create_group(c, group, tag, made); });
}

extern "C" int MPI_Intercomm_create(MPI_Comm c, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm* made) {
  if (const int no = refused(c); no != MPI_SUCCESS) return no;
  return plait::mpi::naming_apart(MPI_COMM_NULL, tag, made, [&] { return PMPI_Intercomm_create(c, leader, peers, remote, tag, made); });
}

extern "C" int MPI_Intercomm_merge(MPI_Comm c, int high, MPI_Comm* made) {
  return plait::mpi::naming_child(c, made, [&] { return PMPI_Intercomm_merge(c, high, made); });
}

// ---- windows

PLAIT_BLOCKING(Win_fence, (int assert, MPI_Win w), (assert, w))
PLAIT_BLOCKING(Win_start, (MPI_Group g, int assert, MPI_Win w), (g, assert, w))
PLAIT_BLOCKING(Win_complete, (MPI_Win w), (w))
PLAIT_BLOCKING(Win_wait, (MPI_Win w), (w))
PLAIT_BLOCKING(Win_lock, (int type, int rank, int assert, MPI_Win w), (type, rank, assert, w))
PLAIT_BLOCKING(Win_lock_all, (int assert, MPI_Win w), (assert, w))
PLAIT_BLOCKING(Win_unlock, (int rank, MPI_Win w), (rank, w))
PLAIT_BLOCKING(Win_unlock_all, (MPI_Win w), (w))
PLAIT_BLOCKING(Win_flush, (int rank, MPI_Win w), (rank, w))
PLAIT_BLOCKING(Win_flush_all, (MPI_Win w), (w))
PLAIT_BLOCKING(Win_flush_local, (int rank, MPI_Win w), (rank, w))
PLAIT_BLOCKING(Win_flush_local_all, (MPI_Win w), (w))

/// The helper looks for accesses from outside while there are windows.
#define PLAIT_MAKES_WINDOW(NAME, PARAMETERS, ARGUMENTS)          \
  extern "C" int MPI_##NAME PARAMETERS {                         \
    if (const int no = refused(c); no != MPI_SUCCESS) return no; \
    const Blocking blocking;                                     \
    const int error = PMPI_##NAME ARGUMENTS;                     \
    if (error == MPI_SUCCESS) plait::progress::count_windows(1); \
    return error;                                                \
  }

PLAIT_MAKES_WINDOW(Win_create, (void* base, MPI_Aint n, int unit, MPI_Info info, MPI_Comm c, MPI_Win* w), (base, n, unit, info, c, w))
PLAIT_MAKES_WINDOW(Win_allocate, (MPI_Aint n, int unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* w), (n, unit, info, c, base, w))
PLAIT_MAKES_WINDOW(Win_allocate_shared, (MPI_Aint n, int unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* w),
                   (n, unit, info, c, base, w))
PLAIT_MAKES_WINDOW(Win_create_dynamic, (MPI_Info info, MPI_Comm c, MPI_Win* w), (info, c, w))
#if MPI_VERSION >= 4
PLAIT_MAKES_WINDOW(Win_create_c, (void* base, MPI_Aint n, MPI_Aint unit, MPI_Info info, MPI_Comm c, MPI_Win* w),
                   (base, n, unit, info, c, w))
PLAIT_MAKES_WINDOW(Win_allocate_c, (MPI_Aint n, MPI_Aint unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* w),
                   (n, unit, info, c, base, w))
PLAIT_MAKES_WINDOW(Win_allocate_shared_c, (MPI_Aint n, MPI_Aint unit, MPI_Info info, MPI_Comm c, void* base, MPI_Win* w),
                   (n, unit, info, c, base, w))
#endif

extern "C" int MPI_Win_free(MPI_Win* w) {
  const Blocking blocking;
  const int error = PMPI_Win_free(w);
  if (error == MPI_SUCCESS) plait::progress::count_windows(-1);
  return error;
}

// ---- files and other jobs

PLAIT_NOT_BY_THREADS(File_open, (MPI_Comm c, const char* name, int mode, MPI_Info info, MPI_File* f), (c, name, mode, info, f))
PLAIT_BLOCKING(File_close, (MPI_File * f), (f))
PLAIT_BLOCKING(File_set_size, (MPI_File f, MPI_Offset n), (f, n))
PLAIT_BLOCKING(File_set_view, (MPI_File f, MPI_Offset d, MPI_Datatype e, MPI_Datatype t, const char* rep, MPI_Info info),
               (f, d, e, t, rep, info))
PLAIT_BLOCKING(File_sync, (MPI_File f), (f))
PLAIT_BLOCKING(File_read_all, (MPI_File f, void* b, int n, MPI_Datatype t, MPI_Status* s), (f, b, n, t, s))
PLAIT_BLOCKING(File_write_all, (MPI_File f, const void* b, int n, MPI_Datatype t, MPI_Status* s), (f, b, n, t, s))
PLAIT_BLOCKING(File_read_at_all, (MPI_File f, MPI_Offset o, void* b, int n, MPI_Datatype t, MPI_Status* s), (f, o, b, n, t, s))
PLAIT_BLOCKING(File_write_at_all, (MPI_File f, MPI_Offset o, const void* b, int n, MPI_Datatype t, MPI_Status* s), (f, o, b, n, t, s))
PLAIT_BLOCKING(File_read_ordered, (MPI_File f, void* b, int n, MPI_Datatype t, MPI_Status* s), (f, b, n, t, s))
PLAIT_BLOCKING(File_write_ordered, (MPI_File f, const void* b, int n, MPI_Datatype t, MPI_Status* s), (f, b, n, t, s))
PLAIT_NOT_BY_THREADS(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm c, MPI_Comm* made), (port, info, root, c, made))
PLAIT_NOT_BY_THREADS(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm c, MPI_Comm* made), (port, info, root, c, made))

PLAIT_NOT_BY_THREADS(Comm_spawn,
                     (const char* command, char* argv[], int n, MPI_Info info, int root, MPI_Comm c, MPI_Comm* made, int errors[]),
                     (command, argv, n, info, root, c, made, errors))
PLAIT_NOT_BY_THREADS(Comm_spawn_multiple,
                     (int count, char* commands[], char** argvs[], const int ns[], const MPI_Info infos[], int root, MPI_Comm c,
                      MPI_Comm* made, int errors[]),
                     (count, commands, argvs, ns, infos, root, c, made, errors))

#pragma GCC visibility pop
