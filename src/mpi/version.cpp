// What a libplait.so says of itself to who has only the file: `plait --version`, and `plait run` before it loads one.
#include <mpi.h>

#define PLAIT_TEXT_OF(X) #X
#define PLAIT_TEXT(X) PLAIT_TEXT_OF(X)

#if defined(OMPI_MAJOR_VERSION)
#define PLAIT_FOR "Open MPI " PLAIT_TEXT(OMPI_MAJOR_VERSION) "." PLAIT_TEXT(OMPI_MINOR_VERSION) "." PLAIT_TEXT(OMPI_RELEASE_VERSION)
#elif defined(I_MPI_VERSION)
#define PLAIT_FOR "Intel MPI " I_MPI_VERSION
#elif defined(MPICH_VERSION)
#define PLAIT_FOR "MPICH " MPICH_VERSION
#else
#error "neither MPICH, Open MPI nor Intel MPI"
#endif

// In the form that what(1) looks for. Nothing refers to it: used keeps it.
[[gnu::used]] static const char stamp[] = "@(#)libplait " PLAIT_VERSION " for " PLAIT_FOR;
