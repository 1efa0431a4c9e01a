/* Process 0 sends x, process 1 computes a x + y on its device: sends, receives, copies and kernels are all put on queues of OpenCL's, and
 * nobody waits before the result is read. docs/queues.md
 *
 *   plait cc examples/queues/saxpy_opencl.c -o saxpy_opencl -lOpenCL
 *   plait run -n 2 ./saxpy_opencl */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <plait/mpix.h>
#include <plait/opencl.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20 };
static const float a = 2, x_value = 1, y_value = 2;
static const char* const source =
    "kernel void saxpy(float a, global const float* x, global float* y) {"
    "  size_t i = get_global_id(0);"
    "  y[i] = a * x[i] + y[i];"
    "}";

static void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL's error %d\n", what, status);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  cl_int status;
  cl_platform_id platform;
  cl_device_id device;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_DEFAULT, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "clCreateCommandQueue");

  /* A stream that stands for the queue, and a communicator of it. */
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cl_command_queue");
  MPIX_Info_set_hex(info, "value", &queue, sizeof queue);
  MPIX_Stream stream;
  MPIX_Stream_create(info, &stream);
  MPI_Info_free(&info);
  MPI_Comm comm;
  MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);

  int wrong = 0;
  if (rank == 0) {
    float* x = malloc(N * sizeof *x);
    for (int i = 0; i < N; ++i) x[i] = x_value;
    MPIX_Send_enqueue(x, N, MPI_FLOAT, 1, 0, comm);
    clFinish(queue); /* x is in use until then */
    free(x);
  } else if (rank == 1) {
    cl_mem device_x = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(float), NULL, &status);
    check(status, "clCreateBuffer");
    cl_mem device_y = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(float), NULL, &status);
    check(status, "clCreateBuffer");
    cl_program program = clCreateProgramWithSource(context, 1, (const char**)&source, NULL, &status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel saxpy = clCreateKernel(program, "saxpy", &status);
    check(status, "clCreateKernel");
    clSetKernelArg(saxpy, 0, sizeof a, &a);
    clSetKernelArg(saxpy, 1, sizeof device_x, &device_x);
    clSetKernelArg(saxpy, 2, sizeof device_y, &device_y);

    float* y = malloc(N * sizeof *y);
    for (int i = 0; i < N; ++i) y[i] = y_value;
    /* A cl_mem has no address: this one stands for it in the MPI's calls. */
    void* x_address;
    plait_cl_address(device_x, &x_address);

    const size_t n = N;
    check(clEnqueueWriteBuffer(queue, device_y, CL_FALSE, 0, N * sizeof *y, y, 0, NULL, NULL), "clEnqueueWriteBuffer");
    MPIX_Recv_enqueue(x_address, N, MPI_FLOAT, 0, 0, comm, MPI_STATUS_IGNORE);
    check(clEnqueueNDRangeKernel(queue, saxpy, 1, NULL, &n, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, device_y, CL_FALSE, 0, N * sizeof *y, y, 0, NULL, NULL), "clEnqueueReadBuffer");
    clFinish(queue); /* y is read now */

    for (int i = 0; i < N; ++i) wrong += y[i] != a * x_value + y_value;
    printf("a x + y: %d of %d elements are wrong\n", wrong, N);
    plait_cl_release_address(x_address);
    clReleaseMemObject(device_x);
    clReleaseMemObject(device_y);
    clReleaseKernel(saxpy);
    clReleaseProgram(program);
    free(y);
  }

  MPI_Comm_free(&comm);
  MPIX_Stream_free(&stream);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  MPI_Finalize();
  return wrong != 0;
}
