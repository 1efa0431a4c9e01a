// grequest: y = a x + y by a device, behind a generalized request whose poll function asks for the device's event: the example of the
// paper on MPICH's extensions. The device is a thread (host_device.h), and a launch of the kernel is a call that hands it over.
#include <mpi.h>
#include <plait/mpix.h>
#include <stdio.h>

#include "../check.h"
#include "host_device.h"

const size_t N = 1000000;

struct grequest_state {
  cudaEvent_t event;
  MPI_Request request;
};

static void saxpy(int n, float a, float* x, float* y) {
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

static int query_fn(void* extra_state, MPI_Status* status) {
  (void)extra_state;
  (void)status;
  return MPI_SUCCESS;
}
static int free_fn(void* extra_state) {
  (void)extra_state;
  return MPI_SUCCESS;
}
static int cancel_fn(void* extra_state, int complete) {
  (void)extra_state;
  (void)complete;
  return MPI_SUCCESS;
}

static int poll_fn(void* extra_state, MPI_Status* status) {
  (void)status;
  struct grequest_state* p = (struct grequest_state*)extra_state;
  if (cudaEventQuery(p->event) == cudaSuccess) {
    MPI_Grequest_complete(p->request);
  }
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  (void)argc;
  (void)argv;
  MPI_Init(NULL, NULL);

  struct grequest_state state;
  cudaEventCreate(&state.event);
  MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn, NULL, &state, &state.request);

  float a, *x, *y, *d_x, *d_y;
  x = (float*)malloc(N * sizeof(float));
  y = (float*)malloc(N * sizeof(float));
  cudaMalloc(&d_x, N * sizeof(float));
  cudaMalloc(&d_y, N * sizeof(float));

  a = 2.0f;
  for (size_t i = 0; i < N; i++) {
    x[i] = 1.0f;
    y[i] = 2.0f;
  }
  cudaMemcpyAsync(d_x, x, N * sizeof(float), cudaMemcpyHostToDevice, NULL);
  cudaMemcpyAsync(d_y, y, N * sizeof(float), cudaMemcpyHostToDevice, NULL);
  device_enqueue((DeviceTask){saxpy, (int)N, a, d_x, d_y});
  cudaMemcpyAsync(y, d_y, N * sizeof(float), cudaMemcpyDeviceToHost, NULL);
  cudaEventRecord(state.event, NULL);

  MPI_Wait(&state.request, MPI_STATUS_IGNORE);
  CHECK(state.request == MPI_REQUEST_NULL);
  for (size_t i = 0; i < N; i++) CHECK(y[i] == 4.0f);

  cudaFree(d_x);
  cudaFree(d_y);
  cudaEventDestroy(&state.event);
  free(x);
  free(y);
  device_close();

  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("saxpy of %d elements: right\n", (int)N);
  MPI_Finalize();

  return 0;
}
