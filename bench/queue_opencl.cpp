// bench-queue-opencl: messages between command queues of OpenCL's on 2 processes, with kernels before and after them.
//
//   cycle  kernel, send, receive, kernel (and on process 1 kernel, receive, send, kernel), again and again
//   halo   kernel, exchange in a ring, a kernel that does not need what comes, one that does
//
//   enqueued         the messages are put on the queue; the program waits once, at the end
//   usual            clFinish, MPI_Send and MPI_Recv, and the next kernels
//   enqueued-buffer  as the first, with a buffer (cl_mem) in the place of shared virtual memory
//
// What comes is compared at the end of each measurement.
#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <plait/mpix.h>
#include <plait/opencl.h>

#include <algorithm>
#include <memory>

#include "common.hpp"

namespace plait::bench {
namespace {

const char* const kSource = "kernel void add(global uint* a, uint by) { a[get_global_id(0)] += by; }";

void good(int status) {
  if (status != CL_SUCCESS) throw Error("OpenCL: error " + std::to_string(status));
}

/// A queue with the kernel, and its communicator.
class Queue {
 public:
  Queue() {
    cl_int status = CL_SUCCESS;
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    good(clGetPlatformIDs(1, &platform, nullptr));
    good(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    good(status);
    queue_ = clCreateCommandQueue(context_, device, 0, &status);
    good(status);
    const char* source = kSource;
    program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &status);
    good(status);
    good(clBuildProgram(program_, 1, &device, "", nullptr, nullptr));
    add_ = clCreateKernel(program_, "add", &status);
    good(status);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cl_command_queue");
    MPIX_Info_set_hex(info, "value", static_cast<const void*>(&queue_), sizeof(cl_command_queue));
    MPIX_Stream_create(info, &stream_);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream_, &comm_);
  }
  ~Queue() {
    MPI_Comm_free(&comm_);
    MPIX_Stream_free(&stream_);
    clReleaseKernel(add_);
    clReleaseProgram(program_);
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] cl_context context() const { return context_; }
  [[nodiscard]] cl_command_queue get() const { return queue_; }
  [[nodiscard]] cl_kernel add() const { return add_; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  void finish() const { good(clFinish(queue_)); }

 private:
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel add_ = nullptr;
  MPIX_Stream stream_ = MPIX_STREAM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Numbers in memory that the host sees, too, or in a buffer.
class Numbers {
 public:
  Numbers(const Queue& queue, std::size_t n, bool buffer) : queue_(queue), n_(n) {
    if (buffer) {
      cl_int status = CL_SUCCESS;
      buffer_ = clCreateBuffer(queue.context(), CL_MEM_READ_WRITE, n * sizeof(cl_uint), nullptr, &status);
      good(status);
      if (plait_cl_address(buffer_, &at_) != MPI_SUCCESS) throw Error("plait_cl_address has failed");
    } else {
      at_ = clSVMAlloc(queue.context(), CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, n * sizeof(cl_uint), 0);
      if (!at_) throw Error("this device has no shared virtual memory of a fine grain");
    }
    set(0);
  }
  ~Numbers() {
    queue_.finish();
    if (buffer_) {
      plait_cl_release_address(at_);
      clReleaseMemObject(buffer_);
    } else {
      clSVMFree(queue_.context(), at_);
    }
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  [[nodiscard]] void* at() const { return at_; }
  [[nodiscard]] int count() const { return static_cast<int>(n_); }
  void set(cl_uint to) const {
    const std::vector<cl_uint> all(n_, to);
    if (buffer_) {
      good(clEnqueueWriteBuffer(queue_.get(), buffer_, CL_TRUE, 0, n_ * sizeof(cl_uint), all.data(), 0, nullptr, nullptr));
    } else {
      std::copy(all.begin(), all.end(), static_cast<cl_uint*>(at_));
    }
  }
  [[nodiscard]] bool are(cl_uint what) const {
    std::vector<cl_uint> all(n_);
    if (buffer_) {
      good(clEnqueueReadBuffer(queue_.get(), buffer_, CL_TRUE, 0, n_ * sizeof(cl_uint), all.data(), 0, nullptr, nullptr));
    } else {
      std::copy_n(static_cast<const cl_uint*>(at_), n_, all.begin());
    }
    return std::ranges::all_of(all, [&](cl_uint x) { return x == what; });
  }
  void add(cl_uint by) const {
    good(buffer_ ? clSetKernelArg(queue_.add(), 0, sizeof(cl_mem), static_cast<const void*>(&buffer_))
                 : clSetKernelArgSVMPointer(queue_.add(), 0, at_));
    good(clSetKernelArg(queue_.add(), 1, sizeof by, &by));
    good(clEnqueueNDRangeKernel(queue_.get(), queue_.add(), 1, nullptr, &n_, nullptr, 0, nullptr, nullptr));
  }

 private:
  const Queue& queue_;
  std::size_t n_;
  cl_mem buffer_ = nullptr;
  void* at_ = nullptr;
};

/// On a communicator of the queue the same calls put the messages there.
void cycle(const Job& job, const Queue& queue, const Numbers& a, MPI_Comm comm) {
  const int other = 1 - job.rank;
  a.add(1);
  if (comm == MPI_COMM_WORLD) queue.finish();
  if (job.rank == 0) MPI_Send(a.at(), a.count(), MPI_UNSIGNED, other, 0, comm);
  MPI_Recv(a.at(), a.count(), MPI_UNSIGNED, other, 0, comm, MPI_STATUS_IGNORE);
  if (job.rank == 1) MPI_Send(a.at(), a.count(), MPI_UNSIGNED, other, 0, comm);
  a.add(1);
}

void halo(const Job& job, const Queue& queue, const Numbers& out, const Numbers& in, const Numbers& inside, MPI_Comm comm) {
  const int other = 1 - job.rank;
  std::array<MPI_Request, 2> requests{};
  out.add(1);
  if (comm == MPI_COMM_WORLD) queue.finish();
  MPI_Irecv(in.at(), in.count(), MPI_UNSIGNED, other, 1, comm, requests.data());
  MPI_Isend(out.at(), out.count(), MPI_UNSIGNED, other, 1, comm, &requests[1]);
  inside.add(1);
  if (comm == MPI_COMM_WORLD) {
    clFlush(queue.get());
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  } else {
    MPIX_Waitall_enqueue(2, requests.data(), MPI_STATUSES_IGNORE);
  }
  in.add(1);
}

void benchmark(const Job& job, const Options& o) {
  Report report("queue-opencl", job, o, 1);
  const Queue queue;
  for (const std::size_t bytes : o.sizes) {
    const std::size_t n = std::max<std::size_t>(1, bytes / sizeof(cl_uint));
    const Numbers shared(queue, n, false), out(queue, n, false), in(queue, n, false), inside(queue, n, false);
    const Numbers buffer(queue, n, true);
    const auto cycles = [&](const char* name, const Numbers& a, MPI_Comm comm) {
      return Side{name, 1, [&, comm](std::int64_t times) {
                    a.set(0);
                    const double begin = seconds();
                    for (std::int64_t i = 0; i < times; ++i) cycle(job, queue, a, comm);
                    queue.finish();
                    const double took = seconds() - begin;
                    // Process 1 sends on what it has got: each cycle adds 1 before, and 1 after on the side that is asked.
                    insist(a.are(static_cast<cl_uint>(2 * times)) ? 0 : 1, name);
                    return took;
                  }};
    };
    const auto halos = [&](const char* name, MPI_Comm comm) {
      return Side{name, 1, [&, comm](std::int64_t times) {
                    for (const Numbers* a : {&out, &in, &inside}) a->set(0);
                    const double begin = seconds();
                    for (std::int64_t i = 0; i < times; ++i) halo(job, queue, out, in, inside, comm);
                    queue.finish();
                    const double took = seconds() - begin;
                    insist(in.are(static_cast<cl_uint>(times + 1)) && inside.are(static_cast<cl_uint>(times)) ? 0 : 1, name);
                    return took;
                  }};
    };
    std::vector<Side> sides{cycles("enqueued", shared, queue.comm()), cycles("usual", shared, MPI_COMM_WORLD),
                            cycles("enqueued-buffer", buffer, queue.comm())};
    measure(sides, o.time, o.rounds);
    report.add("cycle", {{"bytes", bytes}}, sides);
    std::vector<Side> exchanges{halos("enqueued", queue.comm()), halos("usual", MPI_COMM_WORLD)};
    measure(exchanges, o.time, o.rounds);
    report.add("halo", {{"bytes", bytes}}, exchanges);
  }
  report.write();
}

}  // namespace
}  // namespace plait::bench

int main(int argc, char** argv) {
  plait::bench::Options o;
  o.time = 0.05;
  o.sizes = {8, 1024, 65536, 1048576};
  plait::bench::CommandLine line("Messages between command queues of OpenCL's on 2 processes", "bench-queue-opencl");
  o.describe_sizes(line, "Bytes in a message, like 8,1024");
  o.describe(line);
  return plait::bench::run(argc, argv, line, [&](const plait::bench::Job& job) { plait::bench::benchmark(job, o); });
}
