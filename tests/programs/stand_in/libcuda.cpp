// A stand-in for CUDA's driver, for tests where there is no GPU: streams are threads that run what is put on them in order, two devices
// have memory that the host cannot touch but by copies, and kernels are the few functions below, found by their names. What a stream was
// given is written down. It proves in which order plait calls, and what it does with answers; it proves nothing about a GPU.
//
// The streams 0 and 1 are one stream that does not wait for others. Captures take what is put on one stream.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace {

enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

constexpr std::size_t kDevices = 2;
constexpr std::size_t kBytes = std::size_t{1} << 32;  // of a device; pages that are not used cost nothing
constexpr std::size_t kBlock = 512;

/// Its memory twice: where the program sees it, and nobody may touch it, and where the stand-in does.
struct Device {
  std::byte* seen = nullptr;
  std::byte* mine = nullptr;
  std::size_t used = 0;
  std::map<std::size_t, std::size_t> blocks;            // by offset
  std::multimap<std::size_t, std::size_t> free_blocks;  // by size

  [[nodiscard]] bool has(std::uintptr_t at) const {
    return at >= reinterpret_cast<std::uintptr_t>(seen) && at < reinterpret_cast<std::uintptr_t>(seen) + kBytes;
  }
};

struct Context {
  int device;
  std::atomic<unsigned long long> number;
};

using Work = std::function<bool()>;  // false: not yet

struct Operation {
  const char* name;
  Work work;
};

/// What a graph, and what is made of it, has to let go of: the last one calls a function.
using UserObject = std::shared_ptr<void>;

struct Graph {
  std::vector<Operation> operations;
  std::vector<UserObject> objects;
};

struct Stream {
  Context* context = nullptr;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Operation> operations;
  bool running = false, ending = false;
  Graph* capture = nullptr;
  bool invalid = false;  // the capture
  std::string trace;
  std::size_t most = 0;  // operations at a time
  std::thread thread;
};

struct Event {
  std::atomic<bool> occurred{true};
};

struct Function {
  std::string name;
};

struct All {
  std::mutex lock;
  std::array<Device, kDevices> devices;
  std::array<Context, kDevices> contexts{{{0, 1}, {1, 2}}};
  std::set<Stream*> streams;
  std::map<std::uintptr_t, std::size_t> pinned;
  std::atomic<int> failed{kSuccess};
  std::atomic<bool> memory_operations{true}, captured_memory_operations{true};
  bool begun = false;
  Stream* ordinary = nullptr;
  std::atomic<void*> waited_for{nullptr};
};

All& all() {
  static All& all = *new All;
  return all;
}

thread_local std::vector<Context*> current;
thread_local int capture_mode = 0;
thread_local Stream* of_this_thread = nullptr;

void begin() {
  All& a = all();
  const std::lock_guard guard(a.lock);
  if (a.begun) return;
  for (Device& d : a.devices) {
    const int file = memfd_create("stand-in", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, kBytes) != 0) std::abort();
    d.mine = static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0));
    d.seen = static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0));
    if (d.mine == MAP_FAILED || d.seen == MAP_FAILED) std::abort();
    close(file);
  }
  a.begun = true;
}

void run(Stream& s) {
  std::unique_lock guard(s.lock);
  for (;;) {
    s.changed.wait(guard, [&] { return !s.operations.empty() || s.ending; });
    if (s.operations.empty()) return;
    Operation next = std::move(s.operations.front());
    s.operations.pop_front();
    s.running = true;
    guard.unlock();
    // What has failed runs nothing more; a stream that waits for a word ends then, too.
    for (int looks = 0; all().failed == kSuccess && !next.work(); ++looks) {
      if (looks < 100) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
    guard.lock();
    s.running = false;
    s.changed.notify_all();
  }
}

Stream* make_stream(Context* context) {
  auto* const s = new Stream;
  s->context = context;
  const std::lock_guard guard(all().lock);
  s->thread = std::thread([s] { run(*s); });
  s->thread.detach();
  all().streams.insert(s);
  return s;
}

/// Null for what is none (any more).
Stream* find(void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number < 2) {
    Stream* s = nullptr;
    {
      const std::lock_guard guard(all().lock);
      s = all().ordinary;
    }
    if (s || current.empty()) return s;
    s = make_stream(current.back());
    const std::lock_guard guard(all().lock);
    return all().ordinary = s;
  }
  if (number == 2) {
    if (!of_this_thread && !current.empty()) of_this_thread = make_stream(current.back());
    return of_this_thread;
  }
  const std::lock_guard guard(all().lock);
  auto* const s = static_cast<Stream*>(handle);
  return all().streams.contains(s) ? s : nullptr;
}

int put(void* handle, const char* name, Work work) {
  if (all().failed != kSuccess) return all().failed;
  if (current.empty()) return kInvalidContext;
  Stream* const s = find(handle);
  if (!s) return kInvalidHandle;
  const std::lock_guard guard(s->lock);
  s->trace += (s->trace.empty() ? "" : " ") + std::string(name);
  if (s->invalid) return kCaptureInvalidated;
  if (s->capture) {
    s->capture->operations.push_back({name, std::move(work)});
    return kSuccess;
  }
  s->operations.push_back({name, std::move(work)});
  s->most = std::max(s->most, s->operations.size());
  s->changed.notify_all();
  return kSuccess;
}

int put_once(void* handle, const char* name, std::function<void()> work) {
  return put(handle, name, [work = std::move(work)] {
    work();
    return true;
  });
}

/// Where the stand-in finds what the program means by an address.
std::byte* real(const void* at) {
  const auto number = reinterpret_cast<std::uintptr_t>(at);
  for (const Device& d : all().devices) {
    if (d.has(number)) return d.mine + (number - reinterpret_cast<std::uintptr_t>(d.seen));
  }
  return static_cast<std::byte*>(const_cast<void*>(at));
}
std::byte* real(unsigned long long at) { return real(reinterpret_cast<const void*>(at)); }

std::atomic<std::uint32_t>* word(unsigned long long at) { return reinterpret_cast<std::atomic<std::uint32_t>*>(real(at)); }

int copy(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
  return put_once(stream, "copy", [=] { std::memcpy(real(to), real(from), bytes); });
}

/// A copy from memory that is not pinned takes the data at once.
bool is_pinned(const void* at) {
  const auto number = reinterpret_cast<std::uintptr_t>(at);
  const std::lock_guard guard(all().lock);
  auto found = all().pinned.upper_bound(number);
  return found != all().pinned.begin() && number < (--found)->first + found->second;
}

}  // namespace

#define EXPORTED extern "C" [[gnu::visibility("default")]] int

// ---- for the tests

EXPORTED stand_in_without_memory_operations(int in_graphs_only) {
  all().captured_memory_operations = false;
  if (!in_graphs_only) all().memory_operations = false;
  return kSuccess;
}
/// What the stream was given, one word for each.
extern "C" [[gnu::visibility("default")]] const char* stand_in_trace(void* stream) {
  static thread_local std::string text;
  Stream* const s = find(stream);
  if (!s) return "";
  const std::lock_guard guard(s->lock);
  text = s->trace;
  return text.c_str();
}

/// From now on memory is pinned once this stream is idle, as a driver may have it; null: at once.
EXPORTED stand_in_pin_behind(void* stream) {
  all().waited_for = stream;
  return kSuccess;
}

/// Bytes of pinned memory.
extern "C" [[gnu::visibility("default")]] std::size_t stand_in_pinned() {
  const std::lock_guard guard(all().lock);
  std::size_t sum = 0;
  for (const auto& [at, bytes] : all().pinned) sum += bytes;
  return sum;
}

/// How many operations it has had at a time, at most. A driver's has room for some 1000.
EXPORTED stand_in_most(void* stream) {
  Stream* const s = find(stream);
  if (!s) return 0;
  const std::lock_guard guard(s->lock);
  return static_cast<int>(s->most);
}

// ---- the driver's calls

EXPORTED cuInit(unsigned) {
  begin();
  return kSuccess;
}
EXPORTED cuDriverGetVersion(int* version) {
  *version = 12000;
  return kSuccess;
}
EXPORTED cuDeviceGetCount(int* count) {
  *count = kDevices;
  return kSuccess;
}
EXPORTED cuDeviceGet(int* device, int number) {
  *device = number;
  return number < static_cast<int>(kDevices) ? kSuccess : kInvalidValue;
}
EXPORTED cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "stand-in", static_cast<std::size_t>(length));
  return kSuccess;
}
EXPORTED cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 92 && all().memory_operations ? 1 : 0;
  return kSuccess;
}
EXPORTED cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!all().begun) return kNotInitialized;
  *context = &all().contexts.at(static_cast<std::size_t>(device));
  return kSuccess;
}
EXPORTED cuCtxSetCurrent(void* context) {
  if (!current.empty()) current.pop_back();
  if (context) current.push_back(static_cast<Context*>(context));
  return kSuccess;
}
EXPORTED cuCtxGetId(void* context, unsigned long long* number) {
  *number = static_cast<Context*>(context)->number;
  return kSuccess;
}
/// As cudaDeviceReset has it: streams and pinned memory are gone, and the next context lies where this one did.
EXPORTED cuDevicePrimaryCtxReset_v2(int device) {
  static unsigned long long last = 2;
  Context& context = all().contexts.at(static_cast<std::size_t>(device));
  const std::lock_guard guard(all().lock);
  context.number = ++last;
  std::erase_if(all().streams, [&](const Stream* s) { return s->context == &context; });
  all().pinned.clear();
  return kSuccess;
}
EXPORTED cuCtxPushCurrent_v2(void* context) {
  current.push_back(static_cast<Context*>(context));
  return kSuccess;
}
EXPORTED cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return kSuccess;
}
EXPORTED cuCtxGetDevice(int* device) {
  if (current.empty()) return kInvalidContext;
  *device = current.back()->device;
  return kSuccess;
}
EXPORTED cuGetErrorString(int code, const char** text) {
  switch (code) {
    case kIllegalAddress:
      *text = "an illegal memory access was encountered";
      return kSuccess;
    case kInvalidHandle:
      *text = "invalid resource handle";
      return kSuccess;
    case kNotInitialized:
      *text = "initialization error";
      return kSuccess;
    case kInvalidContext:
      *text = "invalid device context";
      return kSuccess;
    case kCaptureInvalidated:
      *text = "operation failed due to a previous error during capture";
      return kSuccess;
    default:
      *text = nullptr;
      return kInvalidValue;
  }
}

EXPORTED cuMemAlloc_v2(unsigned long long* at, std::size_t bytes) {
  if (current.empty()) return kInvalidContext;
  const std::lock_guard guard(all().lock);
  Device& d = all().devices.at(static_cast<std::size_t>(current.back()->device));
  const std::size_t size = (bytes + kBlock - 1) / kBlock * kBlock;
  std::size_t offset = d.used;
  if (const auto found = d.free_blocks.find(size); found != d.free_blocks.end()) {
    offset = found->second;
    d.free_blocks.erase(found);
  } else if (d.used + size > kBytes) {
    return kOutOfMemory;
  } else {
    d.used += size;
  }
  d.blocks[offset] = size;
  *at = reinterpret_cast<unsigned long long>(d.seen + offset);
  return kSuccess;
}
EXPORTED cuMemFree_v2(unsigned long long at) {
  const std::lock_guard guard(all().lock);
  for (Device& d : all().devices) {
    if (!d.has(at)) continue;
    const auto found = d.blocks.find(at - reinterpret_cast<unsigned long long>(d.seen));
    if (found == d.blocks.end()) return kInvalidValue;
    d.free_blocks.emplace(found->second, found->first);
    d.blocks.erase(found);
    return kSuccess;
  }
  return kInvalidValue;
}
EXPORTED cuStreamSynchronize(void* stream);
static void wait_until_it_may_be_pinned() {
  if (void* const stream = all().waited_for) cuStreamSynchronize(stream);
}
EXPORTED cuMemHostAlloc(void** at, std::size_t bytes, unsigned) {
  wait_until_it_may_be_pinned();
  if (all().failed != kSuccess) return all().failed;
  *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*at == MAP_FAILED) return kOutOfMemory;
  const std::lock_guard guard(all().lock);
  all().pinned[reinterpret_cast<std::uintptr_t>(*at)] = bytes;
  return kSuccess;
}
EXPORTED cuMemHostRegister_v2(void* at, std::size_t bytes, unsigned) {
  wait_until_it_may_be_pinned();
  const std::lock_guard guard(all().lock);
  all().pinned[reinterpret_cast<std::uintptr_t>(at)] = bytes;
  return kSuccess;
}
EXPORTED cuMemHostUnregister(void* at) {
  const std::lock_guard guard(all().lock);
  return all().pinned.erase(reinterpret_cast<std::uintptr_t>(at)) == 1 ? kSuccess : kInvalidValue;
}
EXPORTED cuMemHostGetDevicePointer_v2(unsigned long long* there, void* at, unsigned) {
  *there = reinterpret_cast<unsigned long long>(at);
  return kSuccess;
}
EXPORTED cuMemFreeHost(void* at) {
  const std::lock_guard guard(all().lock);
  const auto found = all().pinned.find(reinterpret_cast<std::uintptr_t>(at));
  if (found == all().pinned.end()) return kInvalidValue;
  munmap(at, found->second);
  all().pinned.erase(found);
  return kSuccess;
}
EXPORTED cuPointerGetAttribute(void* value, int attribute, unsigned long long at) {
  const bool pinned = is_pinned(reinterpret_cast<const void*>(at));
  int device = -1;
  for (std::size_t i = 0; i < kDevices; ++i) {
    if (all().devices.at(i).has(at)) device = static_cast<int>(i);
  }
  if (!pinned && device < 0) return kInvalidValue;
  switch (attribute) {
    case 2:
      *static_cast<unsigned*>(value) = pinned ? 1 : 2;
      return kSuccess;
    case 8:
      *static_cast<unsigned*>(value) = 0;
      return kSuccess;
    case 9:
      *static_cast<int*>(value) = pinned ? 0 : device;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

EXPORTED cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
  if (is_pinned(from)) return copy(to, reinterpret_cast<unsigned long long>(from), bytes, stream);
  const std::shared_ptr<std::byte[]> taken(new std::byte[bytes]);
  std::memcpy(taken.get(), from, bytes);
  return put_once(stream, "copy", [=] { std::memcpy(real(to), taken.get(), bytes); });
}
EXPORTED cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
  return copy(reinterpret_cast<unsigned long long>(to), from, bytes, stream);
}
EXPORTED cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
  return copy(to, from, bytes, stream);
}
EXPORTED cuMemcpy2DAsync_v2(const Rows* given, void* stream) {
  const Rows rows = *given;
  constexpr std::size_t kLongest = 0x7FFFFFFF;
  for (const Side* side : {&rows.from, &rows.to}) {
    if (side->x != 0 || side->y != 0 || side->array || side->pitch < rows.bytes || side->pitch > kLongest) return kInvalidValue;
    if (side->memory != (side->host ? 1 : 2) || (side->host && !is_pinned(side->host))) return kInvalidValue;
  }
  return put_once(stream, "copy", [=] {
    const auto at = [](const Side& side) { return side.host ? real(side.host) : real(side.device); };
    for (std::size_t i = 0; i < rows.count; ++i)
      std::memcpy(at(rows.to) + i * rows.to.pitch, at(rows.from) + i * rows.from.pitch, rows.bytes);
  });
}
EXPORTED cuMemsetD32Async(unsigned long long to, unsigned value, std::size_t count, void* stream) {
  return put_once(stream, "set", [=] {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(real(to) + 4 * i, &value, sizeof value);
  });
}

EXPORTED cuStreamCreate(void** stream, unsigned) {
  if (current.empty()) return kInvalidContext;
  *stream = make_stream(current.back());
  return kSuccess;
}
EXPORTED cuStreamDestroy_v2(void* stream) {
  Stream* const s = find(stream);
  if (!s) return kInvalidHandle;
  {
    const std::lock_guard guard(all().lock);
    all().streams.erase(s);
  }
  const std::lock_guard guard(s->lock);
  s->ending = true;  // what is on it runs
  s->changed.notify_all();
  return kSuccess;
}
EXPORTED cuStreamGetCtx(void* stream, void** context) {
  if (!all().begun) return kNotInitialized;
  Stream* const s = find(stream);
  if (!s) return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? kInvalidContext : kInvalidHandle;
  *context = s->context;
  return kSuccess;
}
EXPORTED cuStreamQuery(void* stream) {
  if (all().failed != kSuccess) return all().failed;
  Stream* const s = find(stream);
  if (!s) return kInvalidHandle;
  const std::lock_guard guard(s->lock);
  if (s->capture) {
    s->invalid = true;
    return kCaptureUnsupported;
  }
  return s->operations.empty() && !s->running ? kSuccess : kNotReady;
}
EXPORTED cuStreamSynchronize(void* stream) {
  Stream* const s = find(stream);
  if (!s) return kInvalidHandle;
  std::unique_lock guard(s->lock);
  if (s->capture) {
    s->invalid = true;
    return kCaptureUnsupported;
  }
  s->changed.wait(guard, [&] { return s->operations.empty() && !s->running; });
  return all().failed;
}
EXPORTED cuStreamIsCapturing(void* stream, int* status) {
  Stream* const s = find(stream);
  if (!s) return kInvalidHandle;
  const std::lock_guard guard(s->lock);
  *status = s->invalid ? 2 : (s->capture ? 1 : 0);
  return kSuccess;
}
EXPORTED cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(capture_mode, *mode);
  return kSuccess;
}
EXPORTED cuLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  return put_once(stream, "function", [=] { function(argument); });
}

static bool may(void* stream) {
  Stream* const s = find(stream);
  return all().memory_operations && (all().captured_memory_operations || !s || !s->capture);
}
EXPORTED cuStreamWriteValue32_v2(void* stream, unsigned long long at, std::uint32_t value, unsigned) {
  if (!may(stream)) return kNotSupported;
  if (!is_pinned(reinterpret_cast<const void*>(at))) return kInvalidValue;
  return put_once(stream, "write", [=] { word(at)->store(value, std::memory_order_release); });
}
EXPORTED cuStreamWaitValue32_v2(void* stream, unsigned long long at, std::uint32_t value, unsigned) {
  if (!may(stream)) return kNotSupported;
  if (!is_pinned(reinterpret_cast<const void*>(at))) return kInvalidValue;
  return put(stream, "wait", [=] { return static_cast<std::int32_t>(word(at)->load(std::memory_order_acquire) - value) >= 0; });
}

EXPORTED cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return kSuccess;
}
EXPORTED cuEventDestroy_v2(void*) { return kSuccess; }  // operations may have it still
EXPORTED cuEventRecord(void* event, void* stream) {
  auto* const e = static_cast<Event*>(event);
  e->occurred = false;
  return put_once(stream, "record", [e] { e->occurred = true; });
}
EXPORTED cuEventQuery(void* event) {
  if (all().failed != kSuccess) return all().failed;
  return static_cast<Event*>(event)->occurred ? kSuccess : kNotReady;
}
EXPORTED cuStreamWaitEvent(void* stream, void* event, unsigned) {
  auto* const e = static_cast<Event*>(event);
  return put(stream, "event", [e] { return e->occurred.load(); });
}

EXPORTED cuStreamBeginCapture_v2(void* stream, int) {
  Stream* const s = find(stream);
  if (!s) return kInvalidHandle;
  const std::lock_guard guard(s->lock);
  if (s->capture) return kCaptureUnsupported;
  s->capture = new Graph;
  return kSuccess;
}
EXPORTED cuStreamEndCapture(void* stream, void** graph) {
  Stream* const s = find(stream);
  if (!s) return kInvalidHandle;
  const std::lock_guard guard(s->lock);
  if (!s->capture) return kInvalidValue;
  if (s->invalid) delete std::exchange(s->capture, nullptr);
  *graph = std::exchange(s->capture, nullptr);
  return std::exchange(s->invalid, false) ? kCaptureInvalidated : kSuccess;
}
EXPORTED cuGraphGetNodes(void* graph, void**, std::size_t* count) {
  *count = static_cast<Graph*>(graph)->operations.size();
  return kSuccess;
}
EXPORTED cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  *exec = new Graph(*static_cast<Graph*>(graph));
  return kSuccess;
}
EXPORTED cuGraphLaunch(void* exec, void* stream) {
  const auto& graph = *static_cast<Graph*>(exec);
  for (const Operation& o : graph.operations) {
    // A launch needs the objects until it is over.
    if (const int code = put(stream, o.name, [work = o.work, objects = graph.objects] { return work(); }); code != kSuccess) return code;
  }
  return kSuccess;
}
EXPORTED cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}
EXPORTED cuGraphExecDestroy(void* exec) {
  delete static_cast<Graph*>(exec);
  return kSuccess;
}

EXPORTED cuStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph, const void**, std::size_t*) {
  const int code = cuStreamIsCapturing(stream, status);
  if (code != kSuccess || *status == 0) return code;
  Stream* const s = find(stream);
  const std::lock_guard guard(s->lock);
  *id = 1;
  *graph = s->capture;
  return kSuccess;
}
EXPORTED cuUserObjectCreate(void** object, void* argument, void (*function)(void*), unsigned references, unsigned flags) {
  if (references != 1 || flags != 1) return kInvalidValue;
  *object = new UserObject(argument, function);
  return kSuccess;
}
EXPORTED cuGraphRetainUserObject(void* graph, void* object, unsigned count, unsigned flags) {
  if (count != 1 || flags != 1) return kInvalidValue;
  const std::unique_ptr<UserObject> moved(static_cast<UserObject*>(object));
  static_cast<Graph*>(graph)->objects.push_back(*moved);
  return kSuccess;
}

EXPORTED cuModuleLoadData(void** module, const void*) {
  *module = &all();
  return kSuccess;
}
EXPORTED cuModuleGetFunction(void** function, void*, const char* name) {
  for (const char* const known : {"add", "spin", "fault"}) {
    if (std::strcmp(name, known) == 0) {
      *function = new Function{name};
      return kSuccess;
    }
  }
  return kNotFound;
}
EXPORTED cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* stream,
                        void** parameters, void**) {
  const std::string& name = static_cast<Function*>(function)->name;
  if (name == "fault") return put_once(stream, "kernel", [] { all().failed = kIllegalAddress; });
  if (name == "spin") {
    const auto ns = *static_cast<unsigned long long*>(parameters[0]);
    return put(stream, "kernel", [=] {
      // Sleeps: on a GPU it costs no core of the host's either.
      std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
      return true;
    });
  }
  const auto at = *static_cast<unsigned long long*>(parameters[0]);
  const int n = *static_cast<int*>(parameters[1]);
  const int k = *static_cast<int*>(parameters[2]);
  return put_once(stream, "kernel", [=] {
    auto* const p = reinterpret_cast<int*>(real(at));
    for (int i = 0; i < n; ++i) p[i] += k;
  });
}
