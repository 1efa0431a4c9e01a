// Which queue a value means that MPIX_Stream_create is given.
#include "queue/find.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "queue/driver.hpp"
#include "queue/gpu.hpp"
#include "queue/handles.hpp"
#include "queue/opencl.hpp"
#include "queue/queue.hpp"

namespace plait::queue {
namespace {

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

template <class Handle>
Handle handle_in(std::string_view type, std::string_view value) {
  std::array<unsigned char, sizeof(Handle)> bytes{};
  bool good = value.size() == 2 * bytes.size();
  for (std::size_t i = 0; good && i < bytes.size(); ++i) {
    const int high = digit(value[2 * i]);
    const int low = digit(value[2 * i + 1]);
    good = high >= 0 && low >= 0;
    bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  if (!good) {
    refuse("the info's \"value\" is not the " + std::to_string(sizeof(Handle)) + " bytes of a " + std::string(type) +
           ": give it with MPIX_Info_set_hex(info, \"value\", &queue, sizeof queue)");
  }
  return std::bit_cast<Handle>(bytes);
}

QueuePointer host_queue(std::string_view type, std::string_view value) {
  const auto handle = handle_in<plait_queue>(type, value);
  try {
    return queues().find(handle);
  } catch (const MPIError&) {
    refuse("the info's \"value\" is no plait_queue, or one that is freed: give a handle that plait_queue_create has made");
  }
}

QueuePointer gpu_queue(std::string_view type, std::string_view value, Driver* (*find)(std::string& why)) {
  const auto handle = handle_in<StreamHandle>(type, value);
  std::string why;
  Driver* const driver = find(why);
  if (!driver) refuse("a queue of type " + std::string(type) + " needs its driver: " + why);
  if (QueuePointer made = GpuQueue::make(*driver, handle, why)) return made;
  refuse(why);
}

}  // namespace

void refuse(const std::string& why) {
  std::fprintf(stderr, "plait: MPIX_Stream_create: %s\n", why.c_str());
  throw MPIError{MPI_ERR_INFO_VALUE, false};
}

QueuePointer find_queue(std::string_view type, std::string_view value) {
  if (type == "plait_queue") return host_queue(type, value);
  if (type == "cudaStream_t") return gpu_queue(type, value, find_cuda);
  if (type == "hipStream_t") return gpu_queue(type, value, find_hip);
  if (type == "cl_command_queue") return opencl::find_queue(handle_in<opencl::QueueHandle>(type, value));
  refuse("the info's \"type\" is \"" + std::string(type) + "\"; plait knows cudaStream_t, hipStream_t, cl_command_queue and plait_queue");
}

}  // namespace plait::queue
