// halo STEPS THREADS even-odd|straight: the halo exchange of Ludwig in the x-direction with finepoints, as the report on finepoints in
// Ludwig prints it. Sends are started and never waited for, receives are waited for and never started; the shares of the threads are
// rounded up, so that the last one's leaves the buffer where they do not divide it. The report makes the requests in an order of even
// and odd processes, because its library needs that; "straight": all make them in one order. Every value of the halo is checked.
#include <assert.h>
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <plait/finepoints.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

enum { X, Y, Z };
enum { FORWARD, BACKWARD };
enum { NVEL = 19, NDIST = 2 };
enum { tagXR = 900, tagXL = 901 };

typedef struct {
  double *sendforwYZ, *sendbackYZ, *recvforwYZ, *recvbackYZ;
  MPI_Request sendforwYZReq, sendbackYZReq, recvforwYZReq, recvbackYZReq;
} Halo;

typedef struct {
  int ndist, nsite;
  double* f;
  Halo hl;
} Lb;

static int nlocal[3] = {4, 5, 7};
static int rank, size;

static int pe_rank(void) { return rank; }
static int cart_size(int d) { return d == X ? size : 1; }
static int cart_neighb(int way, int d) { return d == X ? (rank + (way == FORWARD ? 1 : size - 1)) % size : rank; }
static int coords_index(int ic, int jc, int kc) { return (ic * (nlocal[Y] + 2) + jc) * (nlocal[Z] + 2) + kc; }
static int LB_ADDR(int nsite, int ndist, int nvel, int index, int n, int p) {
  (void)nsite;
  return (index * ndist + n) * nvel + p;
}

// What a site has in a step; sites are counted over all processes.
static double value(int step, int ic, int jc, int kc, int n, int p) { return step * 1e7 + ic * 1e5 + jc * 1e4 + kc * 1e3 + n * 100 + p; }

static void create(Lb* lb, int nsendYZ, int numThreads, int even_odd, MPI_Comm comm) {
  const int Ysize = 1, Zsize = 1;
  const int pforwX = cart_neighb(FORWARD, X), pbackX = cart_neighb(BACKWARD, X);
  int rc;
  // Twice: the neighbour of the same pair, then that of the other one.
  for (int pair = 0; pair < 2; ++pair) {
    if ((even_odd ? pe_rank() / (Ysize * Zsize) + pair : pair) % 2 == 0) {
      /* forward */
      rc = MPI_Partitioned_Send_create(lb->hl.sendforwYZ, nsendYZ, MPI_DOUBLE, numThreads, pforwX, tagXR, comm, &lb->hl.sendforwYZReq);
      assert(rc == MPI_SUCCESS);
      rc = MPI_Partitioned_Recv_create(lb->hl.recvforwYZ, nsendYZ, MPI_DOUBLE, pforwX, tagXL, comm, &lb->hl.recvforwYZReq);
      assert(rc == MPI_SUCCESS);
    } else {
      /* backward */
      rc = MPI_Partitioned_Recv_create(lb->hl.recvbackYZ, nsendYZ, MPI_DOUBLE, pbackX, tagXR, comm, &lb->hl.recvbackYZReq);
      assert(rc == MPI_SUCCESS);
      rc = MPI_Partitioned_Send_create(lb->hl.sendbackYZ, nsendYZ, MPI_DOUBLE, numThreads, pbackX, tagXL, comm, &lb->hl.sendbackYZReq);
      assert(rc == MPI_SUCCESS);
    }
  }
  CHECK(rc == MPI_SUCCESS);
}

static void exchange(Lb* lb, int numThreads) {
  double* fptr = lb->f;
  /* The x-direction (YZ plane) */
  const int nsend = NVEL * lb->ndist * nlocal[Y] * nlocal[Z];
  const size_t threadPart = (size_t)ceil((double)nsend / (double)numThreads);
  int rc, p, n, jc, kc, index, count, indexreal, indexhalo;

  // Not default(none), as the report has it: MPI_DOUBLE is a variable in Open MPI.
#pragma omp parallel num_threads(numThreads) private(rc, p, n, jc, kc, index, count, indexreal, indexhalo) \
    shared(lb, nsend, nlocal, fptr, threadPart, numThreads)
  {
    int tid = omp_get_thread_num();

#pragma omp for nowait collapse(4)
    for (p = 0; p < NVEL; p++)
      for (n = 0; n < lb->ndist; n++)
        for (jc = 1; jc <= nlocal[Y]; jc++)
          for (kc = 1; kc <= nlocal[Z]; kc++) {
            count = (kc - 1) + nlocal[Z] * ((jc - 1) + nlocal[Y] * (n + lb->ndist * p));
            index = coords_index(nlocal[X], jc, kc);
            indexreal = LB_ADDR(lb->nsite, lb->ndist, NVEL, index, n, p);
            lb->hl.sendforwYZ[count] = fptr[indexreal];

            index = coords_index(1, jc, kc);
            indexreal = LB_ADDR(lb->nsite, lb->ndist, NVEL, index, n, p);
            lb->hl.sendbackYZ[count] = fptr[indexreal];
          }

    if (cart_size(X) == 1) {
#pragma omp barrier

      /* Master thread copies buffers */
#pragma omp master
      {
        memcpy(lb->hl.recvbackYZ, lb->hl.sendforwYZ, (size_t)nsend * sizeof(double));
        memcpy(lb->hl.recvforwYZ, lb->hl.sendbackYZ, (size_t)nsend * sizeof(double));
      }
    } else {
#pragma omp master
      {
        rc = MPI_Start_part(&lb->hl.sendforwYZReq);
        CHECK(rc == MPI_SUCCESS);
        rc = MPI_Start_part(&lb->hl.sendbackYZReq);
        CHECK(rc == MPI_SUCCESS);
      }

#pragma omp barrier

      rc =
          MPI_Partitioned_Add_to_buffer(&lb->hl.sendforwYZReq, lb->hl.sendforwYZ + (threadPart * (size_t)tid), (int)threadPart, MPI_DOUBLE);
      CHECK(rc == MPI_SUCCESS);
      rc =
          MPI_Partitioned_Add_to_buffer(&lb->hl.sendbackYZReq, lb->hl.sendbackYZ + (threadPart * (size_t)tid), (int)threadPart, MPI_DOUBLE);
      CHECK(rc == MPI_SUCCESS);

#pragma omp master
      {
        rc = MPI_Wait_part(&lb->hl.recvforwYZReq, MPI_STATUS_IGNORE);
        CHECK(rc == MPI_SUCCESS);
        rc = MPI_Wait_part(&lb->hl.recvbackYZReq, MPI_STATUS_IGNORE);
        CHECK(rc == MPI_SUCCESS);
      }
    }

#pragma omp barrier

#pragma omp for collapse(4)
    for (p = 0; p < NVEL; p++)
      for (n = 0; n < lb->ndist; n++)
        for (jc = 1; jc <= nlocal[Y]; jc++)
          for (kc = 1; kc <= nlocal[Z]; kc++) {
            count = (kc - 1) + nlocal[Z] * ((jc - 1) + nlocal[Y] * (n + lb->ndist * p));
            index = coords_index(0, jc, kc);
            indexhalo = LB_ADDR(lb->nsite, lb->ndist, NVEL, index, n, p);
            fptr[indexhalo] = lb->hl.recvbackYZ[count];

            index = coords_index(nlocal[X] + 1, jc, kc);
            indexhalo = LB_ADDR(lb->nsite, lb->ndist, NVEL, index, n, p);
            fptr[indexhalo] = lb->hl.recvforwYZ[count];
          }
  }
}

/// The sites of the process, or what its halo has to have then.
static void each_site(Lb* lb, int step, int check) {
  for (int ic = 0; ic <= nlocal[X] + 1; ++ic)
    for (int jc = 1; jc <= nlocal[Y]; ++jc)
      for (int kc = 1; kc <= nlocal[Z]; ++kc)
        for (int n = 0; n < NDIST; ++n)
          for (int p = 0; p < NVEL; ++p) {
            const int all = size * nlocal[X];
            double* const at = &lb->f[LB_ADDR(lb->nsite, lb->ndist, NVEL, coords_index(ic, jc, kc), n, p)];
            const double right = value(step, (rank * nlocal[X] + ic - 1 + all) % all, jc, kc, n, p);
            if (check) CHECK(*at == right);
            *at = ic == 0 || ic == nlocal[X] + 1 ? -1 : right;
          }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("ERROR: The MPI library does not have full thread support\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  CHECK(argc == 4);
  const int steps = atoi(argv[1]), numThreads = atoi(argv[2]), even_odd = strcmp(argv[3], "even-odd") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int nsend = NVEL * NDIST * nlocal[Y] * nlocal[Z];
  Lb lb = {.ndist = NDIST, .nsite = (nlocal[X] + 2) * (nlocal[Y] + 2) * (nlocal[Z] + 2)};
  lb.f = calloc((size_t)(lb.nsite * NDIST * NVEL), sizeof(double));
  double** const buffers[4] = {&lb.hl.sendforwYZ, &lb.hl.sendbackYZ, &lb.hl.recvforwYZ, &lb.hl.recvbackYZ};
  for (int i = 0; i < 4; ++i) *buffers[i] = calloc((size_t)nsend, sizeof(double));
  MPI_Request* const requests[4] = {&lb.hl.sendforwYZReq, &lb.hl.sendbackYZReq, &lb.hl.recvforwYZReq, &lb.hl.recvbackYZReq};
  if (cart_size(X) != 1) create(&lb, nsend, numThreads, even_odd, MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    each_site(&lb, step, 0);
    exchange(&lb, numThreads);
    each_site(&lb, step, 1);
  }
  for (int i = 0; i < 4; ++i) {
    if (cart_size(X) != 1) CHECK(MPI_Partitioned_free(requests[i]) == MPI_SUCCESS && *requests[i] == MPI_REQUEST_NULL);
    free(*buffers[i]);
  }
  free(lb.f);
  if (rank == 0) printf("%d steps of %d threads in each of %d processes: right\n", steps, numThreads, size);
  MPI_Finalize();
  return 0;
}
