// CUDA's driver and HIP's: the only file that calls them. Their types are declared here, as the build needs neither.
#include "queue/driver.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace plait::queue {
namespace {

// ---- what both have in common

constexpr int kSuccess = 0;
constexpr int kInvalidHandle = 400;
constexpr int kNotReady = 600;
constexpr int kFirstOfCaptures = 900;  // of the errors that only say that a stream is being captured
constexpr int kLastOfCaptures = 908;
[[nodiscard]] constexpr bool is_of_captures(int code) noexcept { return code >= kFirstOfCaptures && code <= kLastOfCaptures; }

/// The path of a library that is in memory, by how the name of its file begins; empty where there is none.
[[nodiscard]] std::string path_in_memory(std::string_view begin) {
  struct Search {
    std::string_view begin;
    std::string path;
  } search{begin, {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* to) {
    auto& s = *static_cast<Search*>(to);
    const std::string_view path = info->dlpi_name;
    if (!path.substr(path.rfind('/') + 1).starts_with(s.begin)) return 0;
    s.path = path;
    return 1;
  };
  dl_iterate_phdr(look, &search);
  return search.path;
}

/// Finds functions of a library.
class Library {
 public:
  /// The one that the program uses already: its handles are none of another's, which may be there beside it. Else the first of the names
  /// that is there. `why`: what was looked for.
  template <std::size_t N>
  bool open(std::string_view begin, const char* const (&names)[N], std::string& why) {
    if (const std::string path = path_in_memory(begin); !path.empty()) handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle_) return true;
    for (const char* const name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_) return true;
      why += (why.empty() ? "" : ", ") + std::string(name);
    }
    why += " not found by the loader (in LD_LIBRARY_PATH, in the ldconfig cache and in the system's folders)";
    return false;
  }
  /// Takes the first of the names that is there; none: null, and is remembered if it is needed.
  template <class Function>
  void find(Function*& function, std::initializer_list<const char*> names, bool needed = true) {
    function = nullptr;
    for (const char* const name : names) {
      if (!function) function = reinterpret_cast<Function*>(dlsym(handle_, name));
    }
    if (!function && needed && missing_.empty()) missing_ = *names.begin();
  }
  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }

 private:
  void* handle_ = nullptr;
  std::string missing_;
};

/// An address that no memory is at cannot be a stream's; the drivers would look there.
[[nodiscard]] bool can_be_an_object(const void* at) noexcept {
  constexpr std::uintptr_t kSpecial = 16;  // the default streams are small numbers
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (address < kSpecial) return true;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char there = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &there) == 0;  // NOLINT(performance-no-int-to-ptr)
}

/// Says once what the driver says. An error of a kernel is the answer to every call from then on.
class Reasons {
 public:
  void say(const char* driver, const char* call, int code, const char* text) noexcept {
    if (last_.exchange(code, std::memory_order_relaxed) == code) return;
    std::fprintf(stderr, "plait: %s says at %s: %s (error %d)\n", driver, call, text ? text : "no such error", code);
  }

 private:
  std::atomic<int> last_{kSuccess};
};

// ---- CUDA

using CudaDevice = int;
using CudaAddress = unsigned long long;
constexpr int kRelaxed = 2;       // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kCapturing = 1;     // CU_STREAM_CAPTURE_STATUS_ACTIVE
constexpr int kAtLeast = 0;       // CU_STREAM_WAIT_VALUE_GEQ
constexpr int kMemoryType = 2;    // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kIsManaged = 8;     // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr int kOrdinal = 9;       // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr int kHostMemory = 1;    // CU_MEMORYTYPE_HOST
constexpr int kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE
constexpr unsigned kPortableAndMapped = 1 | 2;
constexpr unsigned kNonBlocking = 1;
constexpr unsigned kWithoutTimes = 2;
constexpr unsigned kNoSync = 1;  // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, which has to be given
constexpr unsigned kMove = 1;    // CU_GRAPH_USER_OBJECT_MOVE: the graph has the only reference

/// CUDA_MEMCPY2D.
struct CudaRows {
  struct Side {
    std::size_t x, y;
    int memory;
    const void* host;
    CudaAddress device;
    void* array;
    std::size_t pitch;

    void set(const void* at, bool is_host, std::size_t distance) noexcept {
      memory = is_host ? kHostMemory : kDeviceMemory;
      host = is_host ? at : nullptr;
      device = is_host ? 0 : reinterpret_cast<CudaAddress>(at);
      pitch = distance;
    }
  } from, to;
  std::size_t bytes, count;
};

class Cuda final : public Driver {
 public:
  bool open(std::string& why) {
    if (!library_.open("libcuda.so", {"libcuda.so.1", "libcuda.so"}, why)) return false;
    find_functions();
    if (!library_.missing().empty()) {
      why = "libcuda.so.1 has no " + library_.missing() + ": it is older than CUDA 10.1, or no driver";
      return false;
    }
    return true;
  }

  bool find_context(StreamHandle stream, GpuContext& context, std::string& why) override {
    if (!can_be_an_object(stream)) {
      why = "at the address that the info's \"value\" gives there is no memory: it is no cudaStream_t";
      return false;
    }
    const int code = cuStreamGetCtx(stream, &context);
    if (code == kSuccess && context) return true;
    why = "the info's \"value\" is no stream of CUDA's, or no device was chosen in this thread: cuStreamGetCtx says " + text_of(code);
    return false;
  }

  int device_of(GpuContext context) override {
    const Current current(*this, context);
    CudaDevice device = 0;
    check(cuCtxGetDevice(&device), "cuCtxGetDevice");
    return device;
  }
  std::uint64_t number_of(GpuContext context) noexcept override {
    unsigned long long number = 0;
    return cuCtxGetId && cuCtxGetId(context, &number) == kSuccess ? number : 0;
  }

  bool has_memory_operations(GpuContext context, StreamHandle own, Word* arrived, Word* released) noexcept override {
    if (!cuStreamWriteValue32 || !cuStreamWaitValue32) return false;
    const Current current(*this, context);
    // The words are 0.
    return cuStreamWriteValue32(own, address_of(arrived), 0, 0) == kSuccess &&
           cuStreamWaitValue32(own, address_of(released), 0, kAtLeast) == kSuccess;
  }

  bool can_capture_memory_operations(GpuContext context, StreamHandle own, Word* arrived, Word* released) noexcept override {
    if (!cuStreamBeginCapture || !cuStreamEndCapture || !cuGraphGetNodes || !cuGraphDestroy) return false;
    const Current current(*this, context);
    if (cuStreamBeginCapture(own, kRelaxed) != kSuccess) return false;
    const bool taken = cuStreamWriteValue32(own, address_of(arrived), 1, 0) == kSuccess &&
                       cuStreamWaitValue32(own, address_of(released), 1, kAtLeast) == kSuccess;
    void* graph = nullptr;
    std::size_t nodes = 0;
    if (cuStreamEndCapture(own, &graph) != kSuccess || !graph) return false;
    const bool counted = cuGraphGetNodes(graph, nullptr, &nodes) == kSuccess;
    cuGraphDestroy(graph);
    return taken && counted && nodes > 0;
  }

  Answer query(GpuContext context, StreamHandle stream) noexcept override {
    const Current current(*this, context);
    return answer_of(cuStreamQuery(stream), "cuStreamQuery");
  }
  bool is_capturing(GpuContext context, StreamHandle stream) override {
    const Current current(*this, context);
    int status = 0;
    const int code = cuStreamIsCapturing(stream, &status);
    if (is_of_captures(code)) return false;  // another stream is, and this one's next call says what that means
    check(code, "cuStreamIsCapturing");
    require(status <= kCapturing, MPI_ERR_OTHER);
    return status == kCapturing;
  }
  void write(GpuContext context, StreamHandle stream, Word* word, std::uint32_t value) override {
    const Current current(*this, context);
    check(cuStreamWriteValue32(stream, address_of(word), value, 0), "cuStreamWriteValue32");
  }
  void wait(GpuContext context, StreamHandle stream, Word* word, std::uint32_t value) override {
    const Current current(*this, context);
    check(cuStreamWaitValue32(stream, address_of(word), value, kAtLeast), "cuStreamWaitValue32");
  }
  void call(GpuContext context, StreamHandle stream, void (*function)(void*), void* argument) override {
    const Current current(*this, context);
    check(cuLaunchHostFunc(stream, function, argument), "cuLaunchHostFunc");
  }
  bool call_behind_graph(GpuContext context, StreamHandle stream, void (*function)(void*), void* argument) noexcept override {
    if (!cuStreamGetCaptureInfo || !cuUserObjectCreate || !cuGraphRetainUserObject) return false;
    const Current current(*this, context);
    int status = 0;
    unsigned long long id = 0;
    void* graph = nullptr;
    void* object = nullptr;
    if (cuStreamGetCaptureInfo(stream, &status, &id, &graph, nullptr, nullptr) != kSuccess || status != kCapturing || !graph) return false;
    return cuUserObjectCreate(&object, argument, function, 1, kNoSync) == kSuccess &&
           cuGraphRetainUserObject(graph, object, 1, kMove) == kSuccess;
  }

  std::byte* host_memory(GpuContext context, std::size_t bytes) override {
    const Current current(*this, context);
    // Ordinary memory, of which the driver is told: other processes can read it, which is not said of the driver's own.
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    madvise(at, bytes, MADV_DONTFORK);  // the GPU's pages stay this process's
    CudaAddress there = 0;
    if (cuMemHostRegister && cuMemHostRegister(at, bytes, kPortableAndMapped) == kSuccess) {
      if (cuMemHostGetDevicePointer(&there, at, 0) == kSuccess && there == reinterpret_cast<CudaAddress>(at))
        return static_cast<std::byte*>(at);
      cuMemHostUnregister(at);
    }
    munmap(at, bytes);
    check(cuMemHostAlloc(&at, bytes, kPortableAndMapped), "cuMemHostAlloc");
    return static_cast<std::byte*>(at);
  }
  Word* waited_word(GpuContext context) override {
    // A page of words, each in lines of its own.
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kApart = 128;
    const std::pair key{context, number_of(context)};
    const auto cut = [](Page& page) { return new (page.at + (page.left -= kApart)) Word(0); };
    {
      const std::lock_guard guard(lock_);
      if (Page& page = pages_[key]; page.left > 0) return cut(page);
    }
    // Without the lock: the driver may wait for a stream here. What is left of a page that another thread has brought meanwhile is not
    // used.
    std::byte* const taken = host_memory(context, kPage);
    const std::lock_guard guard(lock_);
    Page& page = pages_[key];
    page = {taken, kPage};
    return cut(page);
  }
  GpuPlace place(GpuContext context, const void* at) noexcept override {
    const Current current(*this, context);
    const auto address = reinterpret_cast<CudaAddress>(at);
    unsigned type = 0;
    unsigned managed = 0;
    int device = 0;
    if (cuPointerGetAttribute(&type, kMemoryType, address) != kSuccess || type == 0) return {};
    if (cuPointerGetAttribute(&managed, kIsManaged, address) == kSuccess && managed != 0) {
      return {GpuPlace::Kind::device, device_number(context), true};  // wherever it is: the driver's copies find it
    }
    if (type == kHostMemory) return {GpuPlace::Kind::pinned, 0};
    if (cuPointerGetAttribute(&device, kOrdinal, address) != kSuccess) device = -1;
    return {GpuPlace::Kind::device, device};
  }

  StreamHandle make_stream(GpuContext context) override {
    const Current current(*this, context);
    void* stream = nullptr;
    check(cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
    return stream;
  }
  void copy(GpuContext context, StreamHandle stream, void* to, const void* from, const Rows& rows, bool to_device) override {
    if (rows.bytes == 0) return;
    const Current current(*this, context);
    if (rows.count > 1) {
      CudaRows all{};
      all.bytes = rows.bytes;
      all.count = rows.count;
      all.from.set(from, to_device, to_device ? rows.on_host : rows.on_device);
      all.to.set(to, !to_device, to_device ? rows.on_device : rows.on_host);
      check(cuMemcpy2DAsync(&all, stream), "cuMemcpy2DAsync");
    } else if (to_device) {
      check(cuMemcpyHtoDAsync(reinterpret_cast<CudaAddress>(to), from, rows.bytes, stream), "cuMemcpyHtoDAsync");
    } else {
      check(cuMemcpyDtoHAsync(to, reinterpret_cast<CudaAddress>(from), rows.bytes, stream), "cuMemcpyDtoHAsync");
    }
  }
  void* make_event(GpuContext context) override {
    const Current current(*this, context);
    void* event = nullptr;
    check(cuEventCreate(&event, kWithoutTimes), "cuEventCreate");
    return event;
  }
  void record(GpuContext context, void* event, StreamHandle stream) override {
    const Current current(*this, context);
    check(cuEventRecord(event, stream), "cuEventRecord");
  }
  Answer query_event(GpuContext context, void* event) noexcept override {
    const Current current(*this, context);
    return answer_of(cuEventQuery(event), "cuEventQuery");
  }

 private:
  /// What the calls of this thread are for, and not forbidden while a thread of the program captures.
  class Current {
   public:
    Current(const Cuda& cuda, GpuContext context) noexcept : cuda_(cuda) {
      cuda_.cuCtxPushCurrent(context);
      cuda_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
    ~Current() {
      cuda_.cuThreadExchangeStreamCaptureMode(&mode_);
      void* popped = nullptr;
      cuda_.cuCtxPopCurrent(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Cuda& cuda_;
    int mode_ = kRelaxed;
  };

  void find_functions() {
    library_.find(cuCtxGetDevice, {"cuCtxGetDevice"});
    library_.find(cuCtxGetId, {"cuCtxGetId"}, false);
    library_.find(cuCtxPopCurrent, {"cuCtxPopCurrent_v2"});
    library_.find(cuCtxPushCurrent, {"cuCtxPushCurrent_v2"});
    library_.find(cuEventCreate, {"cuEventCreate"});
    library_.find(cuEventQuery, {"cuEventQuery"});
    library_.find(cuEventRecord, {"cuEventRecord"});
    library_.find(cuGetErrorString, {"cuGetErrorString"});
    library_.find(cuGraphDestroy, {"cuGraphDestroy"}, false);
    library_.find(cuGraphGetNodes, {"cuGraphGetNodes"}, false);
    library_.find(cuGraphRetainUserObject, {"cuGraphRetainUserObject"}, false);
    library_.find(cuLaunchHostFunc, {"cuLaunchHostFunc"});
    library_.find(cuMemHostAlloc, {"cuMemHostAlloc"});
    library_.find(cuMemHostGetDevicePointer, {"cuMemHostGetDevicePointer_v2"});
    library_.find(cuMemHostRegister, {"cuMemHostRegister_v2"}, false);
    library_.find(cuMemHostUnregister, {"cuMemHostUnregister"});
    library_.find(cuMemcpy2DAsync, {"cuMemcpy2DAsync_v2"});
    library_.find(cuMemcpyDtoHAsync, {"cuMemcpyDtoHAsync_v2"});
    library_.find(cuMemcpyHtoDAsync, {"cuMemcpyHtoDAsync_v2"});
    library_.find(cuPointerGetAttribute, {"cuPointerGetAttribute"});
    library_.find(cuStreamBeginCapture, {"cuStreamBeginCapture_v2"}, false);
    library_.find(cuStreamCreate, {"cuStreamCreate"});
    library_.find(cuStreamEndCapture, {"cuStreamEndCapture"}, false);
    library_.find(cuStreamGetCaptureInfo, {"cuStreamGetCaptureInfo_v2"}, false);
    library_.find(cuStreamGetCtx, {"cuStreamGetCtx"});
    library_.find(cuStreamIsCapturing, {"cuStreamIsCapturing"});
    library_.find(cuStreamQuery, {"cuStreamQuery"});
    library_.find(cuThreadExchangeStreamCaptureMode, {"cuThreadExchangeStreamCaptureMode"});
    library_.find(cuUserObjectCreate, {"cuUserObjectCreate"}, false);
    // The second version is there from CUDA 11.7 on; the first wants a switch of the driver's.
    library_.find(cuStreamWriteValue32, {"cuStreamWriteValue32_v2", "cuStreamWriteValue32"}, false);
    library_.find(cuStreamWaitValue32, {"cuStreamWaitValue32_v2", "cuStreamWaitValue32"}, false);
  }

  [[nodiscard]] std::string text_of(int code) const {
    const char* text = nullptr;
    cuGetErrorString(code, &text);
    return (text ? std::string(text) : "no such error") + " (error " + std::to_string(code) + ")";
  }
  void say(int code, const char* call) noexcept {
    const char* text = nullptr;
    cuGetErrorString(code, &text);
    reasons_.say("CUDA", call, code, text);
  }
  void check(int code, const char* call) {
    if (code == kSuccess) return;
    say(code, call);
    throw MPIError{MPI_ERR_OTHER, false};
  }
  [[nodiscard]] Answer answer_of(int code, const char* call) noexcept {
    if (code == kSuccess) return Answer::done;
    if (code == kNotReady || is_of_captures(code)) return Answer::not_yet;
    say(code, call);
    return Answer::failed;
  }
  /// Memory that the driver has given to plait is at the same address for its devices.
  [[nodiscard]] static CudaAddress address_of(Word* word) noexcept { return reinterpret_cast<CudaAddress>(word); }
  [[nodiscard]] int device_number(GpuContext context) const noexcept {
    const Current current(*this, context);
    CudaDevice device = 0;
    return cuCtxGetDevice(&device) == kSuccess ? device : -1;
  }

  Library library_;
  Reasons reasons_;
  /// Of words.
  struct Page {
    std::byte* at = nullptr;
    std::size_t left = 0;
  };
  std::mutex lock_;  // over the next
  std::map<std::pair<GpuContext, std::uint64_t>, Page> pages_;

  // As CUDA calls them.
  // NOLINTBEGIN(readability-identifier-naming)
  int (*cuCtxGetDevice)(CudaDevice*);
  int (*cuCtxGetId)(void*, unsigned long long*);
  int (*cuCtxPopCurrent)(void**);
  int (*cuCtxPushCurrent)(void*);
  int (*cuEventCreate)(void**, unsigned);
  int (*cuEventQuery)(void*);
  int (*cuEventRecord)(void*, void*);
  int (*cuGetErrorString)(int, const char**);
  int (*cuGraphDestroy)(void*);
  int (*cuGraphGetNodes)(void*, void**, std::size_t*);
  int (*cuGraphRetainUserObject)(void*, void*, unsigned, unsigned);
  int (*cuLaunchHostFunc)(void*, void (*)(void*), void*);
  int (*cuMemHostAlloc)(void**, std::size_t, unsigned);
  int (*cuMemHostGetDevicePointer)(CudaAddress*, void*, unsigned);
  int (*cuMemHostRegister)(void*, std::size_t, unsigned);
  int (*cuMemHostUnregister)(void*);
  int (*cuMemcpy2DAsync)(const CudaRows*, void*);
  int (*cuMemcpyDtoHAsync)(void*, CudaAddress, std::size_t, void*);
  int (*cuMemcpyHtoDAsync)(CudaAddress, const void*, std::size_t, void*);
  int (*cuPointerGetAttribute)(void*, int, CudaAddress);
  int (*cuStreamBeginCapture)(void*, int);
  int (*cuStreamCreate)(void**, unsigned);
  int (*cuStreamEndCapture)(void*, void**);
  int (*cuStreamGetCaptureInfo)(void*, int*, unsigned long long*, void**, const void**, std::size_t*);
  int (*cuStreamGetCtx)(void*, void**);
  int (*cuStreamIsCapturing)(void*, int*);
  int (*cuStreamQuery)(void*);
  int (*cuStreamWaitValue32)(void*, CudaAddress, std::uint32_t, unsigned);
  int (*cuStreamWriteValue32)(void*, CudaAddress, std::uint32_t, unsigned);
  int (*cuThreadExchangeStreamCaptureMode)(int*);
  int (*cuUserObjectCreate)(void**, void*, void (*)(void*), unsigned, unsigned);
  // NOLINTEND(readability-identifier-naming)
};

// ---- HIP, whose calls are CUDA's but for how it names a context, what it says of an address, and where a word lies that streams wait for

constexpr int kToDevice = 1;           // hipMemcpyHostToDevice
constexpr int kToHost = 2;             // hipMemcpyDeviceToHost
constexpr unsigned kSignalMemory = 2;  // hipMallocSignalMemory
constexpr int kRocm6 = 60000000;       // from here on memory types are numbered as CUDA's

/// hipPointerAttribute_t.
struct HipPointer {
  int type, device;
  void *on_device, *on_host;
  int managed;
  unsigned flags;
  std::byte more[64];  ///< of later versions
};

class Hip final : public Driver {
 public:
  bool open(std::string& why) {
    if (!library_.open("libamdhip64.so", {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}, why)) return false;
    find_functions();
    if (!library_.missing().empty()) {
      why = "libamdhip64.so has no " + library_.missing() + ": it is older than ROCm 5";
      return false;
    }
    int version = 0;
    cuda_types_ = hipRuntimeGetVersion && hipRuntimeGetVersion(&version) == kSuccess && version >= kRocm6;
    return true;
  }

  bool find_context(StreamHandle stream, GpuContext& context, std::string& why) override {
    if (!can_be_an_object(stream)) {
      why = "at the address that the info's \"value\" gives there is no memory: it is no hipStream_t";
      return false;
    }
    const LastError kept(*this);
    int device = -1;
    const int code = hipStreamGetDevice ? hipStreamGetDevice(stream, &device) : hipGetDevice(&device);
    // It finds a device for a stream that is none.
    if (code == kSuccess && hipStreamQuery(stream) != kInvalidHandle) {
      context = reinterpret_cast<GpuContext>(static_cast<std::intptr_t>(device));  // NOLINT(performance-no-int-to-ptr)
      return true;
    }
    why = "the info's \"value\" is no stream of HIP's: hipStreamGetDevice says " + std::to_string(code);
    return false;
  }
  int device_of(GpuContext context) override { return number(context); }
  std::uint64_t number_of(GpuContext) noexcept override { return 0; }

  bool has_memory_operations(GpuContext context, StreamHandle own, Word* arrived, Word* released) noexcept override {
    if (!hipStreamWriteValue32 || !hipStreamWaitValue32 || !has_signal_memory_.load(std::memory_order_relaxed)) return false;
    const Current current(*this, context);
    // The words are 0.
    return hipStreamWriteValue32(own, arrived, 0, 0) == kSuccess && hipStreamWaitValue32(own, released, 0, kAtLeast, kAllBits) == kSuccess;
  }
  bool can_capture_memory_operations(GpuContext context, StreamHandle own, Word* arrived, Word* released) noexcept override {
    if (!hipStreamBeginCapture || !hipStreamEndCapture || !hipGraphGetNodes || !hipGraphDestroy) return false;
    const Current current(*this, context);
    if (hipStreamBeginCapture(own, kRelaxed) != kSuccess) return false;
    const bool taken =
        hipStreamWriteValue32(own, arrived, 0, 0) == kSuccess && hipStreamWaitValue32(own, released, 0, kAtLeast, kAllBits) == kSuccess;
    void* graph = nullptr;
    std::size_t nodes = 0;
    if (hipStreamEndCapture(own, &graph) != kSuccess || !graph) return false;
    const bool counted = hipGraphGetNodes(graph, nullptr, &nodes) == kSuccess;
    hipGraphDestroy(graph);
    return taken && counted && nodes == 2;  // versions that do not capture them run them at once
  }

  Answer query(GpuContext context, StreamHandle stream) noexcept override {
    const Current current(*this, context);
    return answer_of(hipStreamQuery(stream), "hipStreamQuery");
  }
  bool is_capturing(GpuContext context, StreamHandle stream) override {
    const Current current(*this, context);
    int status = 0;
    const int code = hipStreamIsCapturing(stream, &status);
    if (is_of_captures(code)) return false;
    check(code, "hipStreamIsCapturing");
    require(status <= kCapturing, MPI_ERR_OTHER);
    return status == kCapturing;
  }
  void write(GpuContext context, StreamHandle stream, Word* word, std::uint32_t value) override {
    const Current current(*this, context);
    check(hipStreamWriteValue32(stream, word, value, 0), "hipStreamWriteValue32");
  }
  void wait(GpuContext context, StreamHandle stream, Word* word, std::uint32_t value) override {
    const Current current(*this, context);
    check(hipStreamWaitValue32(stream, word, value, kAtLeast, kAllBits), "hipStreamWaitValue32");
  }
  void call(GpuContext context, StreamHandle stream, void (*function)(void*), void* argument) override {
    const Current current(*this, context);
    check(hipLaunchHostFunc(stream, function, argument), "hipLaunchHostFunc");
  }
  bool call_behind_graph(GpuContext context, StreamHandle stream, void (*function)(void*), void* argument) noexcept override {
    if (!hipStreamGetCaptureInfo || !hipUserObjectCreate || !hipGraphRetainUserObject) return false;
    const Current current(*this, context);
    int status = 0;
    unsigned long long id = 0;
    void* graph = nullptr;
    void* object = nullptr;
    if (hipStreamGetCaptureInfo(stream, &status, &id, &graph, nullptr, nullptr) != kSuccess || status != kCapturing || !graph) return false;
    return hipUserObjectCreate(&object, argument, function, 1, kNoSync) == kSuccess &&
           hipGraphRetainUserObject(graph, object, 1, kMove) == kSuccess;
  }

  std::byte* host_memory(GpuContext context, std::size_t bytes) override {
    const Current current(*this, context);
    void* at = nullptr;
    check(hipHostMalloc(&at, bytes, kPortableAndMapped), "hipHostMalloc");
    return static_cast<std::byte*>(at);
  }
  Word* waited_word(GpuContext context) override {
    const Current current(*this, context);
    constexpr std::size_t kBytes = 8;  // of a signal; others are refused
    void* at = nullptr;
    if (hipExtMallocWithFlags && hipExtMallocWithFlags(&at, kBytes, kSignalMemory) == kSuccess) return new (at) Word(0);
    has_signal_memory_.store(false, std::memory_order_relaxed);
    return new Word(0);  // of no stream, but of host functions
  }
  GpuPlace place(GpuContext context, const void* at) noexcept override {
    const Current current(*this, context);
    HipPointer p{};
    if (hipPointerGetAttributes(&p, at) != kSuccess) return {};
    if (p.managed != 0) return {GpuPlace::Kind::device, number(context), true};
    const int type = cuda_types_ ? p.type : p.type + 1;
    if (type <= 0) return {};
    if (type == kHostMemory) return {GpuPlace::Kind::pinned, 0};
    return {GpuPlace::Kind::device, p.device};
  }

  StreamHandle make_stream(GpuContext context) override {
    const Current current(*this, context);
    void* stream = nullptr;
    check(hipStreamCreateWithFlags(&stream, kNonBlocking), "hipStreamCreateWithFlags");
    return stream;
  }
  void copy(GpuContext context, StreamHandle stream, void* to, const void* from, const Rows& rows, bool to_device) override {
    if (rows.bytes == 0) return;
    const Current current(*this, context);
    const int way = to_device ? kToDevice : kToHost;
    if (rows.count > 1) {
      const std::size_t of_from = to_device ? rows.on_host : rows.on_device;
      const std::size_t of_to = to_device ? rows.on_device : rows.on_host;
      check(hipMemcpy2DAsync(to, of_to, from, of_from, rows.bytes, rows.count, way, stream), "hipMemcpy2DAsync");
    } else {
      check(hipMemcpyAsync(to, from, rows.bytes, way, stream), "hipMemcpyAsync");
    }
  }
  void* make_event(GpuContext context) override {
    const Current current(*this, context);
    void* event = nullptr;
    check(hipEventCreateWithFlags(&event, kWithoutTimes), "hipEventCreateWithFlags");
    return event;
  }
  void record(GpuContext context, void* event, StreamHandle stream) override {
    const Current current(*this, context);
    check(hipEventRecord(event, stream), "hipEventRecord");
  }
  Answer query_event(GpuContext context, void* event) noexcept override {
    const Current current(*this, context);
    return answer_of(hipEventQuery(event), "hipEventQuery");
  }

 private:
  /// The program finds no error of plait's calls in hipGetLastError, as "not ready" is one for HIP; nor one less of its own.
  class LastError {
   public:
    explicit LastError(const Hip& hip) noexcept : hip_(hip), none_(hip.hipPeekAtLastError() == kSuccess) {}
    ~LastError() {
      if (none_) static_cast<void>(hip_.hipGetLastError());
    }
    LastError(const LastError&) = delete;
    LastError& operator=(const LastError&) = delete;

   private:
    const Hip& hip_;
    const bool none_;
  };

  /// As CUDA's; a thread has a device instead of a stack of contexts.
  class Current {
   public:
    Current(const Hip& hip, GpuContext context) noexcept : hip_(hip), kept_(hip) {
      hip_.hipGetDevice(&before_);
      if (before_ != number(context)) hip_.hipSetDevice(number(context));
      hip_.hipThreadExchangeStreamCaptureMode(&mode_);
      context_ = number(context);
    }
    ~Current() {
      hip_.hipThreadExchangeStreamCaptureMode(&mode_);
      if (before_ != context_) hip_.hipSetDevice(before_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Hip& hip_;
    const LastError kept_;
    int before_ = 0;
    int context_ = 0;
    int mode_ = kRelaxed;
  };

  void find_functions() {
    library_.find(hipEventCreateWithFlags, {"hipEventCreateWithFlags"});
    library_.find(hipEventQuery, {"hipEventQuery"});
    library_.find(hipEventRecord, {"hipEventRecord"});
    library_.find(hipExtMallocWithFlags, {"hipExtMallocWithFlags"}, false);
    library_.find(hipGetDevice, {"hipGetDevice"});
    library_.find(hipGetErrorString, {"hipGetErrorString"});
    library_.find(hipGetLastError, {"hipGetLastError"});
    library_.find(hipGraphDestroy, {"hipGraphDestroy"}, false);
    library_.find(hipGraphGetNodes, {"hipGraphGetNodes"}, false);
    library_.find(hipGraphRetainUserObject, {"hipGraphRetainUserObject"}, false);
    library_.find(hipHostMalloc, {"hipHostMalloc"});
    library_.find(hipLaunchHostFunc, {"hipLaunchHostFunc"});
    library_.find(hipMemcpy2DAsync, {"hipMemcpy2DAsync"});
    library_.find(hipMemcpyAsync, {"hipMemcpyAsync"});
    library_.find(hipPeekAtLastError, {"hipPeekAtLastError"});
    library_.find(hipPointerGetAttributes, {"hipPointerGetAttributes"});
    library_.find(hipRuntimeGetVersion, {"hipRuntimeGetVersion"});
    library_.find(hipSetDevice, {"hipSetDevice"});
    library_.find(hipStreamBeginCapture, {"hipStreamBeginCapture"}, false);
    library_.find(hipStreamCreateWithFlags, {"hipStreamCreateWithFlags"});
    library_.find(hipStreamEndCapture, {"hipStreamEndCapture"}, false);
    library_.find(hipStreamGetCaptureInfo, {"hipStreamGetCaptureInfo_v2"}, false);
    library_.find(hipStreamGetDevice, {"hipStreamGetDevice"}, false);
    library_.find(hipStreamIsCapturing, {"hipStreamIsCapturing"});
    library_.find(hipStreamQuery, {"hipStreamQuery"});
    library_.find(hipStreamWaitValue32, {"hipStreamWaitValue32"}, false);
    library_.find(hipStreamWriteValue32, {"hipStreamWriteValue32"}, false);
    library_.find(hipThreadExchangeStreamCaptureMode, {"hipThreadExchangeStreamCaptureMode"});
    library_.find(hipUserObjectCreate, {"hipUserObjectCreate"}, false);
  }

  [[nodiscard]] static int number(GpuContext context) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(context)); }
  void check(int code, const char* call) {
    if (code == kSuccess) return;
    reasons_.say("HIP", call, code, hipGetErrorString(code));
    throw MPIError{MPI_ERR_OTHER, false};
  }
  [[nodiscard]] Answer answer_of(int code, const char* call) noexcept {
    if (code == kSuccess) return Answer::done;
    if (code == kNotReady || is_of_captures(code)) return Answer::not_yet;
    reasons_.say("HIP", call, code, hipGetErrorString(code));
    return Answer::failed;
  }

  static constexpr std::uint32_t kAllBits = 0xFFFFFFFF;

  Library library_;
  Reasons reasons_;
  bool cuda_types_ = false;
  std::atomic<bool> has_signal_memory_{true};

  // NOLINTBEGIN(readability-identifier-naming)
  int (*hipEventCreateWithFlags)(void**, unsigned);
  int (*hipEventQuery)(void*);
  int (*hipEventRecord)(void*, void*);
  int (*hipExtMallocWithFlags)(void**, std::size_t, unsigned);
  int (*hipGetDevice)(int*);
  const char* (*hipGetErrorString)(int);
  int (*hipGetLastError)();
  int (*hipGraphDestroy)(void*);
  int (*hipGraphGetNodes)(void*, void**, std::size_t*);
  int (*hipGraphRetainUserObject)(void*, void*, unsigned, unsigned);
  int (*hipHostMalloc)(void**, std::size_t, unsigned);
  int (*hipLaunchHostFunc)(void*, void (*)(void*), void*);
  int (*hipMemcpy2DAsync)(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int, void*);
  int (*hipMemcpyAsync)(void*, const void*, std::size_t, int, void*);
  int (*hipPeekAtLastError)();
  int (*hipPointerGetAttributes)(HipPointer*, const void*);
  int (*hipRuntimeGetVersion)(int*);
  int (*hipSetDevice)(int);
  int (*hipStreamBeginCapture)(void*, int);
  int (*hipStreamCreateWithFlags)(void**, unsigned);
  int (*hipStreamEndCapture)(void*, void**);
  int (*hipStreamGetCaptureInfo)(void*, int*, unsigned long long*, void**, const void**, std::size_t*);
  int (*hipStreamGetDevice)(void*, int*);
  int (*hipStreamIsCapturing)(void*, int*);
  int (*hipStreamQuery)(void*);
  int (*hipStreamWaitValue32)(void*, void*, std::uint32_t, unsigned, std::uint32_t);
  int (*hipStreamWriteValue32)(void*, void*, std::uint32_t, unsigned);
  int (*hipThreadExchangeStreamCaptureMode)(int*);
  int (*hipUserObjectCreate)(void**, void*, void (*)(void*), unsigned, unsigned);
  // NOLINTEND(readability-identifier-naming)
};

/// Opened once; it stays.
template <class Backend>
Driver* open_once(std::string& why) {
  static std::mutex lock;
  static Backend* opened = nullptr;
  const std::lock_guard guard(lock);
  if (!opened) {
    auto made = std::make_unique<Backend>();
    if (!made->open(why)) return nullptr;
    opened = made.release();
  }
  return opened;
}

}  // namespace

Driver* find_cuda(std::string& why) { return open_once<Cuda>(why); }
Driver* find_hip(std::string& why) { return open_once<Hip>(why); }

}  // namespace plait::queue
