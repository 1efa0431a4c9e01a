/* The program of Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH", on messages that are put on a CUDA stream, as printed. Process
 * 0 makes x, and process 1 gets it on its stream and computes there; nobody waits for the stream in between. Beyond print: N and its value, the
 * check that the paper's comment names, and the kernel uses its parameter a.
 *
 *   nvcc -O2 -c saxpy.cu $(pkg-config --cflags plait)
 *   plait c++ saxpy.o -o saxpy -L/usr/local/cuda/lib64 -lcudart
 *   plait run -n 2 ./saxpy
 *
 * nvcc links first with a linker of its own, which takes no linker script, as the libraries of some MPIs are; so the host's compiler links. */
#include <cuda_runtime.h>
#include <plait/mpix.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1000000

const float a_val = 2.0;
const float x_val = 1.0;
const float y_val = 2.0;

__global__ void saxpy(int n, float a, float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main(void) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);

  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  float *x, *y, *d_x, *d_y;

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));

  MPIX_Stream mpi_stream;
  MPIX_Stream_create(info, &mpi_stream);

  MPI_Info_free(&info);

  MPI_Comm stream_comm;
  MPIX_Stream_comm_create(MPI_COMM_WORLD, mpi_stream, &stream_comm);

  int wrong = 0;
  /* Rank 0 sends x data to Rank 1, Rank 1 performs a * x + y and checks result */
  if (rank == 0) {
    x = (float*)malloc(N * sizeof(float));
    for (int i = 0; i < N; i++) {
      x[i] = x_val;
    }
    MPIX_Send_enqueue(x, N, MPI_FLOAT, 1, 0, stream_comm);

    free(x); /* nothing was on the stream: the send has taken x, as cudaMemcpyAsync would have */
  } else if (rank == 1) {
    y = (float*)malloc(N * sizeof(float));
    cudaMalloc(&d_x, N * sizeof(float));
    cudaMalloc(&d_y, N * sizeof(float));

    for (int i = 0; i < N; i++) {
      y[i] = y_val;
    }
    cudaMemcpyAsync(d_y, y, N * sizeof(float), cudaMemcpyHostToDevice, stream);
    MPIX_Recv_enqueue(d_x, N, MPI_FLOAT, 0, 0, stream_comm, MPI_STATUS_IGNORE);
    saxpy<<<(N + 255) / 256, 256, 0, stream>>>(N, a_val, d_x, d_y);

    cudaMemcpyAsync(y, d_y, N * sizeof(float), cudaMemcpyDeviceToHost, stream); /* to memory that is not pinned: over when it returns */

    for (int i = 0; i < N; i++) {
      if (y[i] != a_val * x_val + y_val) wrong++;
    }
    printf("%d of %d elements are wrong\n", wrong, N);

    cudaFree(d_x);
    cudaFree(d_y);
    free(y);
  }

  MPI_Comm_free(&stream_comm);
  MPIX_Stream_free(&mpi_stream);

  cudaStreamDestroy(stream);
  MPI_Finalize();

  return wrong > 0;
}
