// The exported calls on OpenCL's memory: plait/opencl.h. They call no error handler, and need no MPI.
#include <mpi.h>

#include <new>
#include <string>

#include "base/error.hpp"
#include "queue/opencl_memory.hpp"

namespace plait::mpi {
namespace {

/// Runs a call once OpenCL is found: its error class.
template <class Body>
int with_opencl(Body body) noexcept {
  try {
    std::string why;
    require(queue::opencl::load(why), MPI_ERR_OTHER);
    body();
    return MPI_SUCCESS;
  } catch (const MPIError& e) {
    return e.code;
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  }
}

}  // namespace
}  // namespace plait::mpi

#pragma GCC visibility push(default)

using plait::mpi::with_opencl;

extern "C" int plait_cl_address(_cl_mem* buffer, void** address) {
  return with_opencl([&] {
    plait::require(address, MPI_ERR_ARG);
    *address = plait::queue::opencl::address_of(buffer);
  });
}

extern "C" int plait_cl_svm(_cl_context* context, void* address, size_t bytes) {
  return with_opencl([&] { plait::queue::opencl::add_shared(context, address, bytes); });
}

extern "C" int plait_cl_release_address(void* address) {
  return with_opencl([&] { plait::queue::opencl::release_address(address); });
}

#pragma GCC visibility pop
