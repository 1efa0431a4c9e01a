/* The MPIX_ extensions, on every MPI. Include it after or instead of mpi.h; C and C++.
 *
 * Where mpi.h declares them itself (MPICH from 4.1 on), its declarations stand and plait's functions take their place
 * at link time. */
#ifndef PLAIT_MPIX_H
#define PLAIT_MPIX_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION < 40100000 || defined(I_MPI_NUMVERSION)

/* Laid out like struct iovec of <sys/uio.h>. */
typedef struct MPIX_Iov {
  void* iov_base;
  MPI_Aint iov_len;
} MPIX_Iov;

int MPIX_Type_iov_len(MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count* iov_len, MPI_Count* actual_iov_bytes);
int MPIX_Type_iov(MPI_Datatype datatype, MPI_Count iov_offset, MPIX_Iov* iov, MPI_Count max_iov_len, MPI_Count* actual_iov_len);

#endif

#ifdef __cplusplus
}
#endif

#endif
