/* MPI-4.1's partitioned communication on every MPI: docs/partitioned.md. Include it after or instead of mpi.h; C and C++.
 *
 * Where mpi.h declares the calls itself, its declarations stand and plait's functions take their place at link time. */
#ifndef PLAIT_PARTITIONED_H
#define PLAIT_PARTITIONED_H

#include <mpi.h>

/* Info key: bytes of a message that travel together between nodes, as a decimal number. */
#define PLAIT_CHUNK_BYTES "plait_chunk_bytes"
/* A request has no more partitions than this. */
#define PLAIT_MOST_PARTITIONS 1048576

/* Open MPI 5 declares them and says that it is of MPI-3.1. */
#if MPI_VERSION < 4 && (!defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION < 5)

#ifdef __cplusplus
extern "C" {
#endif

int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request);
int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request);
int MPI_Pready(int partition, MPI_Request request);
int MPI_Pready_range(int partition_low, int partition_high, MPI_Request request);
int MPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request);
int MPI_Parrived(MPI_Request request, int partition, int* flag);

#ifdef __cplusplus
}
#endif

#endif

#endif
