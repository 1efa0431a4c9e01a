// A stand-in for HIP's library, whose streams and memory are those of the stand-in for CUDA's driver. Streams wait for words in signal
// memory only, as HIP says.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "rows.hpp"

#define EXPORTED extern "C" [[gnu::visibility("default")]] int

extern "C" {
int cuCtxGetDevice(int*);
int cuCtxPopCurrent_v2(void**);
int cuCtxPushCurrent_v2(void*);
int cuDevicePrimaryCtxRetain(void**, int);
int cuEventCreate(void**, unsigned);
int cuEventQuery(void*);
int cuEventRecord(void*, void*);
int cuGetErrorString(int, const char**);
int cuGraphDestroy(void*);
int cuGraphRetainUserObject(void*, void*, unsigned, unsigned);
int cuStreamGetCaptureInfo_v2(void*, int*, unsigned long long*, void**, const void**, std::size_t*);
int cuUserObjectCreate(void**, void*, void (*)(void*), unsigned, unsigned);
int cuGraphGetNodes(void*, void**, std::size_t*);
int cuLaunchHostFunc(void*, void (*)(void*), void*);
int cuMemHostAlloc(void**, std::size_t, unsigned);
int cuMemHostRegister_v2(void*, std::size_t, unsigned);
int cuMemcpy2DAsync_v2(const Rows*, void*);
int cuMemcpyDtoHAsync_v2(void*, unsigned long long, std::size_t, void*);
int cuMemcpyHtoDAsync_v2(unsigned long long, const void*, std::size_t, void*);
int cuPointerGetAttribute(void*, int, unsigned long long);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamCreate(void**, unsigned);
int cuStreamEndCapture(void*, void**);
int cuStreamGetCtx(void*, void**);
int cuStreamIsCapturing(void*, int*);
int cuStreamQuery(void*);
int cuStreamWaitValue32_v2(void*, unsigned long long, std::uint32_t, unsigned);
int cuStreamWriteValue32_v2(void*, unsigned long long, std::uint32_t, unsigned);
int cuThreadExchangeStreamCaptureMode(int*);
}

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kInvalidHandle = 400;

struct Pointer {
  int type, device;
  void *on_device, *on_host;
  int managed;
  unsigned flags;
};

std::mutex lock;
std::set<void*> signals;

/// What is no success is the thread's last error until it is asked for.
thread_local int last_error = kSuccess;
int noted(int code) {
  if (code != kSuccess) last_error = code;
  return code;
}

unsigned long long address(const void* at) { return reinterpret_cast<unsigned long long>(at); }

}  // namespace

EXPORTED hipRuntimeGetVersion(int* version) {
  *version = 60200000;
  return kSuccess;
}
extern "C" [[gnu::visibility("default")]] const char* hipGetErrorString(int code) {
  const char* text = nullptr;
  cuGetErrorString(code, &text);
  return text;
}
EXPORTED hipPeekAtLastError() { return last_error; }
EXPORTED hipGetLastError() { return std::exchange(last_error, kSuccess); }
EXPORTED hipGetDevice(int* device) {
  *device = 0;  // as of a thread that has chosen none
  cuCtxGetDevice(device);
  return kSuccess;
}
EXPORTED hipSetDevice(int device) {
  void* context = nullptr;
  void* popped = nullptr;
  if (cuDevicePrimaryCtxRetain(&context, device) != kSuccess) return kInvalidValue;
  cuCtxPopCurrent_v2(&popped);
  return cuCtxPushCurrent_v2(context);
}
namespace {
/// HIP's calls work in a thread that has chosen no device.
void choose() {
  int device = 0;
  if (cuCtxGetDevice(&device) != kSuccess) hipSetDevice(0);
}
}  // namespace
EXPORTED hipStreamGetDevice(void* stream, int* device) {
  void* context = nullptr;
  void* popped = nullptr;
  if (cuStreamGetCtx(stream, &context) != kSuccess) return kInvalidHandle;
  cuCtxPushCurrent_v2(context);
  cuCtxGetDevice(device);
  return cuCtxPopCurrent_v2(&popped);
}
EXPORTED hipStreamCreateWithFlags(void** stream, unsigned flags) {
  choose();
  return cuStreamCreate(stream, flags);
}
EXPORTED hipStreamQuery(void* stream) { return noted(cuStreamQuery(stream)); }
EXPORTED hipStreamIsCapturing(void* stream, int* status) { return cuStreamIsCapturing(stream, status); }
EXPORTED hipStreamBeginCapture(void* stream, int mode) { return cuStreamBeginCapture_v2(stream, mode); }
EXPORTED hipStreamEndCapture(void* stream, void** graph) { return cuStreamEndCapture(stream, graph); }
EXPORTED hipGraphGetNodes(void* graph, void** nodes, std::size_t* count) { return cuGraphGetNodes(graph, nodes, count); }
EXPORTED hipGraphDestroy(void* graph) { return cuGraphDestroy(graph); }
EXPORTED hipStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph, const void** nodes,
                                    std::size_t* count) {
  return cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}
EXPORTED hipUserObjectCreate(void** object, void* argument, void (*function)(void*), unsigned references, unsigned flags) {
  return cuUserObjectCreate(object, argument, function, references, flags);
}
EXPORTED hipGraphRetainUserObject(void* graph, void* object, unsigned count, unsigned flags) {
  return cuGraphRetainUserObject(graph, object, count, flags);
}
EXPORTED hipThreadExchangeStreamCaptureMode(int* mode) { return cuThreadExchangeStreamCaptureMode(mode); }
EXPORTED hipLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  choose();
  return cuLaunchHostFunc(stream, function, argument);
}
EXPORTED hipStreamWriteValue32(void* stream, void* at, std::uint32_t value, unsigned flags) {
  choose();
  return cuStreamWriteValue32_v2(stream, address(at), value, flags);
}
EXPORTED hipStreamWaitValue32(void* stream, void* at, std::uint32_t value, unsigned flags, std::uint32_t mask) {
  choose();
  {
    const std::lock_guard guard(lock);
    if (!signals.contains(at) || mask != 0xFFFFFFFF) return kInvalidValue;
  }
  return cuStreamWaitValue32_v2(stream, address(at), value, flags);
}
EXPORTED hipHostMalloc(void** at, std::size_t bytes, unsigned flags) { return cuMemHostAlloc(at, bytes, flags); }
EXPORTED hipExtMallocWithFlags(void** at, std::size_t bytes, unsigned flags) {
  if (bytes != 8 || flags != 2) return kInvalidValue;
  *at = std::calloc(1, bytes);
  cuMemHostRegister_v2(*at, bytes, 0);
  const std::lock_guard guard(lock);
  signals.insert(*at);
  return kSuccess;
}
EXPORTED hipPointerGetAttributes(Pointer* pointer, const void* at) {
  unsigned type = 0;
  *pointer = {};
  if (cuPointerGetAttribute(&type, 2, address(at)) != kSuccess) return noted(kInvalidValue);  // not registered
  pointer->type = static_cast<int>(type);
  return cuPointerGetAttribute(&pointer->device, 9, address(at));
}
EXPORTED hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  choose();
  if (kind == 1) return cuMemcpyHtoDAsync_v2(address(to), from, bytes, stream);
  return kind == 2 ? cuMemcpyDtoHAsync_v2(to, address(from), bytes, stream) : kInvalidValue;
}
EXPORTED hipMemcpy2DAsync(void* to, std::size_t of_to, const void* from, std::size_t of_from, std::size_t bytes, std::size_t count,
                          int kind, void* stream) {
  choose();
  if (kind != 1 && kind != 2) return kInvalidValue;
  const bool to_device = kind == 1;
  const auto side = [](const void* at, bool is_host, std::size_t distance) {
    return Side{0, 0, is_host ? 1 : 2, is_host ? at : nullptr, is_host ? 0 : address(at), nullptr, distance};
  };
  const Rows rows{side(from, to_device, of_from), side(to, !to_device, of_to), bytes, count};
  return cuMemcpy2DAsync_v2(&rows, stream);
}
EXPORTED hipEventCreateWithFlags(void** event, unsigned flags) { return cuEventCreate(event, flags); }
EXPORTED hipEventRecord(void* event, void* stream) {
  choose();
  return cuEventRecord(event, stream);
}
EXPORTED hipEventQuery(void* event) { return noted(cuEventQuery(event)); }
