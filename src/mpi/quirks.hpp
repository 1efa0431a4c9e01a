// What is peculiar to one MPI library, each with the version and what happens without it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/settings.hpp"
#include "plait/partitioned.h"

namespace plait::mpi {

// Intel MPI 2021.19 declares the requests of MPI_Request_get_status_all, _any and _some without the standard's const; a
// definition with it does not compile.
#ifdef I_MPI_NUMVERSION
using LookedAt = MPI_Request;
#else
using LookedAt = const MPI_Request;
#endif

// Open MPI 5.0.11 and MPICH 4.0.2 declare the list of MPI_Pready_list without the standard's const; a definition with it does not
// compile. So it is as the header has it.
template <class Partition>
std::type_identity<Partition> listed_in(int (*pready_list)(int, Partition*, MPI_Request));
using ListedPartitions = decltype(listed_in(&MPI_Pready_list))::type;

// Open MPI 5.0.11 says that it is MPI 3.1 and has these of MPI 4.0: MPI_Isendrecv, MPI_Isendrecv_replace, MPI_Comm_idup_with_info.
// Were they not plait's too, calls on communicators of plait's would go to the MPI.
// The same of partitioned communication, which plait passes on where it cannot serve a communicator.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PLAIT_MPI_HAS_CALLS_OF_4 1
#else
#define PLAIT_MPI_HAS_CALLS_OF_4 0
#endif

/// Which collective calls refuse one buffer for what is sent and what is received, which the standard forbids? MPICH and Intel MPI: all.
/// Open MPI 5.0.11: these two; programs may rely on the rest.
#ifdef OMPI_MAJOR_VERSION
constexpr bool kOneBufferIsRefused = false;
#else
constexpr bool kOneBufferIsRefused = true;
#endif

/// May partitioned messages be the MPI's own? Those of Open MPI 5.0.11 crash with sessions alone: they want MPI_COMM_WORLD.
inline bool has_own_partitioned() noexcept {
#ifdef OMPI_MAJOR_VERSION
  int initialized = 0;
  return PLAIT_MPI_HAS_CALLS_OF_4 && PMPI_Initialized(&initialized) == MPI_SUCCESS && initialized;
#else
  return PLAIT_MPI_HAS_CALLS_OF_4;
#endif
}

/// Where there is no memory MPI_Alloc_mem of MPICH 5.0.2 says that all is well, and gives an address a few bytes behind null.
inline bool is_nothing(const void* block) noexcept { return reinterpret_cast<std::uintptr_t>(block) < 4096; }

/// With I_MPI_THREAD_SPLIT Intel MPI (2021) grants MPI_THREAD_MULTIPLE and takes the locks away: each of its channels may have
/// one thread at a time, and which channel a communicator of the program's has, and which thread is in it, is not ours to
/// know. Without care it crashes; so will programs that share a communicator there.
inline bool split_threads() noexcept {
#ifdef I_MPI_VERSION
  const std::string_view value = settings::text(settings::Id::intel_thread_split);
  return value == "1" || value == "yes" || value == "on" || value == "enable";
#else
  return false;
#endif
}

}  // namespace plait::mpi
