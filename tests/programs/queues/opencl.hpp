// OpenCL as the programs of this folder use it: the first device, kernels on arrays of unsigned numbers, and memory of every kind.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <mpi.h>
#include <plait/mpix.h>
#include <plait/opencl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../check.h"

inline const char* const kSource = R"(
kernel void fill(global uint* a, uint seed) { size_t i = get_global_id(0); a[i] = seed * 2654435761u + (uint)i * 40503u; }
kernel void scale(global uint* a, uint by) { size_t i = get_global_id(0); a[i] = a[i] * by + (uint)i; }
kernel void add(global uint* a, global const uint* b) { size_t i = get_global_id(0); a[i] += b[i]; }
)";
inline cl_uint filled(cl_uint seed, size_t i) { return seed * 2654435761u + static_cast<cl_uint>(i) * 40503u; }
inline cl_uint scaled(cl_uint a, cl_uint by, size_t i) { return a * by + static_cast<cl_uint>(i); }

inline void good(cl_int status) {
  if (status != CL_SUCCESS) std::fprintf(stderr, "OpenCL's error %d: ", status);
  CHECK(status == CL_SUCCESS && "a call of OpenCL's");
}

/// The context, and the kernels.
struct Device {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_kernel fill = nullptr, scale = nullptr, add = nullptr;

  Device() {
    cl_int status = CL_SUCCESS;
    good(clGetPlatformIDs(1, &platform, nullptr));
    good(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr));
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
    good(status);
    const char* source = kSource;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
    good(status);
    good(clBuildProgram(program, 1, &id, "", nullptr, nullptr));
    fill = clCreateKernel(program, "fill", &status);
    scale = clCreateKernel(program, "scale", &status);
    add = clCreateKernel(program, "add", &status);
    good(status);
  }
  ~Device() {
    for (cl_kernel k : {fill, scale, add}) clReleaseKernel(k);
    clReleaseProgram(program);
    clReleaseContext(context);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] cl_command_queue queue(cl_command_queue_properties properties = 0) const {
    cl_int status = CL_SUCCESS;
    cl_command_queue made = clCreateCommandQueue(context, id, properties, &status);
    good(status);
    return made;
  }
};

enum class Kind { buffer, fine, coarse };
inline constexpr Kind kKinds[] = {Kind::buffer, Kind::fine, Kind::coarse};

/// Numbers on the device, and the address by which the MPI's calls know them.
struct Array {
  const Device& device;
  Kind kind;
  size_t n;
  cl_mem mem = nullptr;
  void* address = nullptr;

  Array(const Device& d, Kind k, size_t count) : device(d), kind(k), n(count) {
    if (kind == Kind::buffer) {
      cl_int status = CL_SUCCESS;
      mem = clCreateBuffer(d.context, CL_MEM_READ_WRITE, n * sizeof(cl_uint), nullptr, &status);
      good(status);
      CHECK(plait_cl_address(mem, &address) == MPI_SUCCESS);
    } else {
      const cl_svm_mem_flags grain = kind == Kind::fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0;
      address = clSVMAlloc(d.context, CL_MEM_READ_WRITE | grain, n * sizeof(cl_uint), 0);
      CHECK(address);
      if (kind == Kind::coarse) CHECK(plait_cl_svm(d.context, address, n * sizeof(cl_uint)) == MPI_SUCCESS);
    }
  }
  ~Array() {
    if (kind != Kind::fine) CHECK(plait_cl_release_address(address) == MPI_SUCCESS);
    if (mem) {
      clReleaseMemObject(mem);
    } else {
      clSVMFree(device.context, address);
    }
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] cl_uint* at(size_t i) const { return static_cast<cl_uint*>(address) + i; }
  void set_argument(cl_kernel kernel, cl_uint index) const {
    good(mem ? clSetKernelArg(kernel, index, sizeof(cl_mem), static_cast<const void*>(&mem))
             : clSetKernelArgSVMPointer(kernel, index, address));
  }
  void run(cl_command_queue queue, cl_kernel kernel, size_t count) const {
    set_argument(kernel, 0);
    good(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr));
  }
  void fill(cl_command_queue queue, cl_uint seed) const {
    good(clSetKernelArg(device.fill, 1, sizeof seed, &seed));
    run(queue, device.fill, n);
  }
  void scale(cl_command_queue queue, cl_uint by) const {
    good(clSetKernelArg(device.scale, 1, sizeof by, &by));
    run(queue, device.scale, n);
  }
  void add(cl_command_queue queue, const Array& other, size_t count) const {
    other.set_argument(device.add, 1);
    run(queue, device.add, count);
  }
  /// Behind what is on the queue.
  void read(cl_command_queue queue, cl_uint* to) const {
    good(mem ? clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, n * sizeof *to, to, 0, nullptr, nullptr)
             : clEnqueueSVMMemcpy(queue, CL_FALSE, to, address, n * sizeof *to, 0, nullptr, nullptr));
  }
  void put(cl_command_queue queue, const cl_uint* from) const {
    good(mem ? clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, n * sizeof *from, from, 0, nullptr, nullptr)
             : clEnqueueSVMMemcpy(queue, CL_TRUE, address, from, n * sizeof *from, 0, nullptr, nullptr));
  }
  [[nodiscard]] std::vector<cl_uint> get(cl_command_queue queue) const {
    std::vector<cl_uint> values(n);
    read(queue, values.data());
    good(clFinish(queue));
    return values;
  }
};

inline int create_stream(const void* value, int bytes, MPIX_Stream* stream, const char* type = "cl_command_queue") {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", type);
  CHECK(MPIX_Info_set_hex(info, "value", value, bytes) == MPI_SUCCESS);
  const int error = MPIX_Stream_create(info, stream);
  MPI_Info_free(&info);
  return error;
}

/// A queue, its stream and a communicator of all processes.
struct Line {
  cl_command_queue queue;
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;

  explicit Line(const Device& device, cl_command_queue_properties properties = 0) : queue(device.queue(properties)) {
    CHECK(create_stream(static_cast<const void*>(&queue), sizeof(cl_command_queue), &stream) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm) == MPI_SUCCESS);
  }
  ~Line() {
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&stream);
    clReleaseCommandQueue(queue);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
};
