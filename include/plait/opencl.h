/* Addresses for OpenCL's memory, so that the calls on a stream of type "cl_command_queue" (plait/mpix.h) can be given it: an MPI call takes
 * an address, and a cl_mem has none. C and C++; docs/queues.md. Includes no header of OpenCL's.
 *
 * Any thread, between MPI_Init and MPI_Finalize or before. They return MPI_SUCCESS or an error class, and call no error handler. */
#ifndef PLAIT_OPENCL_H
#define PLAIT_OPENCL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What cl_mem and cl_context point to. */
struct _cl_mem;
struct _cl_context;

/* An address that stands for the first byte of a buffer. Address arithmetic and datatypes work on it; the host can read and write nothing
 * there. Asked again for the same buffer, it is the same one. Retains the buffer until it is released.
 * MPI_ERR_ARG: no buffer. MPI_ERR_NO_MEM. MPI_ERR_OTHER: OpenCL is not found. */
int plait_cl_address(struct _cl_mem* buffer, void** address);
/* Coarse-grained shared virtual memory, of clSVMAlloc, from `address` on: the host must not touch it while it is not mapped, so plait has
 * OpenCL copy it. Shared memory of a fine grain needs no call. MPI_ERR_ARG: no context, or part of it is known already. */
int plait_cl_svm(struct _cl_context* context, void* address, size_t bytes);
/* One call for each of the two above. When no operation that uses the memory is on a queue any more. MPI_ERR_ARG: no such address. */
int plait_cl_release_address(void* address);

#ifdef __cplusplus
}
#endif

#endif
