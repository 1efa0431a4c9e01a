#include "queue/opencl_api.hpp"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

namespace plait::queue::opencl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

struct Loaded {
  std::mutex lock;
  bool found = false;
  Api api{};
  std::vector<const void*> tables;  ///< of the platforms' functions: each object begins with a pointer to one
};

Loaded& loaded() {
  static auto& it = *new Loaded;  // never destroyed: callbacks of OpenCL's may outlive static objects
  return it;
}

/// Reads a pointer from where there may be none.
bool peek(const void* at, const void*& word) noexcept {
  const iovec here{static_cast<void*>(&word), sizeof(const void*)};
  const iovec there{const_cast<void*>(at), sizeof word};  // NOLINT(cppcoreguidelines-pro-type-const-cast): it is read
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof(const void*))) return true;
  if (errno == EFAULT) return false;
  std::memcpy(static_cast<void*>(&word), at, sizeof(const void*));  // a sandbox that has not this call
  return true;
}

template <class Function>
bool find_function(void* library, const char* name, Function*& to, std::string& why) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  if (to) return true;
  why = std::string(kLibrary) + " has no " + name + ": plait needs OpenCL 1.2 or newer";
  return false;
}

bool find_all(Api& a, std::string& why) {
  dlerror();
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const error = dlerror();
    why = std::string("OpenCL's library was not found: ") + (error ? error : kLibrary) +
          "; plait looked for it as the dynamic linker does: in LD_LIBRARY_PATH, the linker's cache and the system's folders";
    return false;
  }
#define PLAIT_FIND(NAME) find_function(library, #NAME, a.NAME, why)
  const bool found = PLAIT_FIND(clGetPlatformIDs) && PLAIT_FIND(clGetContextInfo) && PLAIT_FIND(clRetainContext) &&
                     PLAIT_FIND(clReleaseContext) && PLAIT_FIND(clCreateCommandQueue) && PLAIT_FIND(clGetCommandQueueInfo) &&
                     PLAIT_FIND(clRetainCommandQueue) && PLAIT_FIND(clReleaseCommandQueue) && PLAIT_FIND(clFlush) && PLAIT_FIND(clFinish) &&
                     PLAIT_FIND(clEnqueueMarkerWithWaitList) && PLAIT_FIND(clEnqueueBarrierWithWaitList) && PLAIT_FIND(clCreateUserEvent) &&
                     PLAIT_FIND(clSetUserEventStatus) && PLAIT_FIND(clSetEventCallback) && PLAIT_FIND(clGetEventInfo) &&
                     PLAIT_FIND(clWaitForEvents) && PLAIT_FIND(clReleaseEvent) && PLAIT_FIND(clGetMemObjectInfo) &&
                     PLAIT_FIND(clRetainMemObject) && PLAIT_FIND(clReleaseMemObject) && PLAIT_FIND(clEnqueueReadBuffer) &&
                     PLAIT_FIND(clEnqueueWriteBuffer);
  std::string ignored;
  if (found) static_cast<void>(find_function(library, "clEnqueueSVMMemcpy", a.clEnqueueSVMMemcpy, ignored));
#undef PLAIT_FIND
  return found;
}

}  // namespace

const Api* load(std::string& why) {
  Loaded& l = loaded();
  const std::lock_guard guard(l.lock);
  if (l.found) return &l.api;
  if (!find_all(l.api, why)) return nullptr;
  std::uint32_t count = 0;
  std::vector<PlatformHandle> platforms;
  if (l.api.clGetPlatformIDs(0, nullptr, &count) == kSuccess) platforms.resize(count);
  if (count == 0 || l.api.clGetPlatformIDs(count, platforms.data(), nullptr) != kSuccess) {
    why = std::string(kLibrary) + " knows no implementation of OpenCL";
    return nullptr;
  }
  for (PlatformHandle const p : platforms) {
    const void* table = nullptr;
    if (peek(p, table)) l.tables.push_back(table);
  }
  l.found = true;
  return &l.api;
}

const Api& api() noexcept { return loaded().api; }

bool is_object(const void* value) noexcept {
  const void* table = nullptr;
  if (!value || reinterpret_cast<std::uintptr_t>(value) % alignof(void*) != 0 || !peek(value, table)) return false;
  return std::ranges::find(loaded().tables, table) != loaded().tables.end();
}

bool is_context_of(ContextHandle context, DeviceHandle device) {
  if (!is_object(context)) return false;
  std::size_t bytes = 0;
  if (api().clGetContextInfo(context, kContextDevices, 0, nullptr, &bytes) != kSuccess) return false;
  // What is no context may give any number here.
  constexpr std::size_t kMost = std::size_t{1} << 16;
  if (bytes == 0 || bytes > kMost || bytes % sizeof(DeviceHandle) != 0) return false;
  std::vector<DeviceHandle> devices(bytes / sizeof(DeviceHandle));
  if (api().clGetContextInfo(context, kContextDevices, bytes, static_cast<void*>(devices.data()), nullptr) != kSuccess) return false;
  return !device ? is_object(devices.front()) : std::ranges::find(devices, device) != devices.end();
}

}  // namespace plait::queue::opencl
