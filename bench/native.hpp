// The MPI's own functions, past libplait where that is in the program, linked or preloaded: what `mpi` sides call.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

namespace plait::bench::native {

/// libplait's function that knows them, or null where there is no libplait.
inline auto* asked() noexcept { return reinterpret_cast<void* (*)(const char*)>(dlsym(RTLD_DEFAULT, "plait_native_function")); }

template <class Function>
Function* find(const char* name, Function* without_plait) noexcept {
  void* const found = asked() ? asked()(name) : nullptr;
  return found ? reinterpret_cast<Function*>(found) : without_plait;
}

#define PLAIT_BENCH_NATIVE(NAME) inline auto* const NAME = find("MPI_" #NAME, &PMPI_##NAME)
PLAIT_BENCH_NATIVE(Allgather);
PLAIT_BENCH_NATIVE(Allreduce);
PLAIT_BENCH_NATIVE(Alltoall);
PLAIT_BENCH_NATIVE(Barrier);
PLAIT_BENCH_NATIVE(Bcast);
PLAIT_BENCH_NATIVE(Comm_free);
PLAIT_BENCH_NATIVE(Comm_split_type);
PLAIT_BENCH_NATIVE(Irecv);
PLAIT_BENCH_NATIVE(Isend);
PLAIT_BENCH_NATIVE(Recv);
PLAIT_BENCH_NATIVE(Reduce);
PLAIT_BENCH_NATIVE(Request_free);
PLAIT_BENCH_NATIVE(Send);
PLAIT_BENCH_NATIVE(Start);
PLAIT_BENCH_NATIVE(Test);
PLAIT_BENCH_NATIVE(Wait);
PLAIT_BENCH_NATIVE(Waitall);

}  // namespace plait::bench::native

// For macros that make both sides: what the MPI has, and what a program calls.
#define PLAIT_BENCH_PAST_PLAIT(NAME) plait::bench::native::NAME
#define PLAIT_BENCH_BY_NAME(NAME) MPI_##NAME
