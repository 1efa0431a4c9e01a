// CUDA's driver for test programs, which compile without CUDA: found when they run, be it the driver of a GPU or the stand-in. With three
// kernels, in the driver's own language: add(int* p, int n, int k), spin(ns), and fault(p), which writes where no memory is.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace gpu {

using Address = unsigned long long;
using Stream = void*;
using Graph = void*;

inline const char* const kKernels = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 k) {
  .reg .pred %q; .reg .b32 %r<9>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r3, [n];
  ld.param.u32 %r2, [k];
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ntid.x;
  mov.u32 %r6, %tid.x;
  mad.lo.s32 %r1, %r4, %r5, %r6;
  setp.ge.s32 %q, %r1, %r3;
  @%q bra END;
  cvta.to.global.u64 %d2, %d1;
  mul.wide.s32 %d3, %r1, 4;
  add.s64 %d4, %d2, %d3;
  ld.global.u32 %r7, [%d4];
  add.s32 %r8, %r7, %r2;
  st.global.u32 [%d4], %r8;
END:
  ret;
}
.visible .entry spin(.param .u64 ns) {
  .reg .pred %q; .reg .b64 %d<6>;
  ld.param.u64 %d2, [ns];
  mov.u64 %d3, %globaltimer;
AGAIN:
  mov.u64 %d4, %globaltimer;
  sub.s64 %d5, %d4, %d3;
  setp.lt.u64 %q, %d5, %d2;
  @%q bra AGAIN;
  ret;
}
.visible .entry fault(.param .u64 p) {
  .reg .b32 %r1; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  cvta.to.global.u64 %d2, %d1;
  mov.u32 %r1, 1;
  st.global.u32 [%d2], %r1;
  ret;
}
)";

class Driver {
 public:
  /// With a context of the first device, current in this thread. Ends the program where there is no driver, or no device.
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library_) stop("libcuda.so.1 is not there", 77);
    if (call("cuInit", 0U) != 0) stop("cuInit has failed", 77);
    int device = 0;
    char name[100] = "";
    check(call("cuDeviceGet", &device, 0), "cuDeviceGet");
    check(call("cuDeviceGetName", name, 100, device), "cuDeviceGetName");
    check(call("cuDevicePrimaryCtxRetain", &context, device), "cuDevicePrimaryCtxRetain");
    check(call("cuCtxSetCurrent", context), "cuCtxSetCurrent");
    is_stand_in = std::strcmp(name, "stand-in") == 0;
    void* module = nullptr;
    check(call("cuModuleLoadData", &module, static_cast<const void*>(kKernels)), "cuModuleLoadData");
    check(call("cuModuleGetFunction", &add_, module, "add"), "cuModuleGetFunction");
    check(call("cuModuleGetFunction", &spin_, module, "spin"), "cuModuleGetFunction");
    check(call("cuModuleGetFunction", &fault_, module, "fault"), "cuModuleGetFunction");
    // The first launch of a kernel may wait for what is on the device.
    const Stream s = stream();
    add(0, 0, 0, s);
    spin(1, s);
    synchronize(s);
    check(call("cuStreamDestroy_v2", s), "cuStreamDestroy");
  }

  /// Any call, by the name of its symbol.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(symbol(name))(arguments...);
  }
  [[nodiscard]] void* symbol(const char* name) const {
    void* const found = dlsym(library_, name);
    if (!found) stop((std::string("the driver has no ") + name).c_str(), 1);
    return found;
  }

  [[nodiscard]] Stream stream() const {
    Stream s = nullptr;
    check(call("cuStreamCreate", &s, 1U), "cuStreamCreate");
    return s;
  }
  [[nodiscard]] Address memory(std::size_t bytes) const {
    Address at = 0;
    check(call("cuMemAlloc_v2", &at, bytes), "cuMemAlloc");
    return at;
  }
  [[nodiscard]] void* pinned(std::size_t bytes) const {
    void* at = nullptr;
    check(call("cuMemHostAlloc", &at, bytes, 0U), "cuMemHostAlloc");
    return at;
  }
  void to_device(Address to, const void* from, std::size_t bytes, Stream s) const {
    check(call("cuMemcpyHtoDAsync_v2", to, from, bytes, s), "cuMemcpyHtoDAsync");
  }
  void to_host(void* to, Address from, std::size_t bytes, Stream s) const {
    check(call("cuMemcpyDtoHAsync_v2", to, from, bytes, s), "cuMemcpyDtoHAsync");
  }
  void set(Address to, unsigned value, std::size_t count, Stream s) const {
    check(call("cuMemsetD32Async", to, value, count, s), "cuMemsetD32Async");
  }
  int synchronize(Stream s) const { return call("cuStreamSynchronize", s); }

  /// p[i] += k.
  void add(Address p, int n, int k, Stream s) const {
    void* parameters[] = {&p, &n, &k};
    check(launch(add_, n, s, parameters), "add");
  }
  void spin(unsigned long long ns, Stream s) const {
    void* parameters[] = {&ns};
    check(launch(spin_, 1, s, parameters), "spin");
  }
  void fault(Stream s) const {
    Address nowhere = 64;
    void* parameters[] = {&nowhere};
    check(launch(fault_, 1, s, parameters), "fault");
  }

  void begin_capture(Stream s) const { check(call("cuStreamBeginCapture_v2", s, 0), "cuStreamBeginCapture"); }
  [[nodiscard]] Graph end_capture(Stream s) const {
    void* graph = nullptr;
    void* made = nullptr;
    check(call("cuStreamEndCapture", s, &graph), "cuStreamEndCapture");
    check(call("cuGraphInstantiateWithFlags", &made, graph, 0ULL), "cuGraphInstantiate");
    return made;
  }
  void launch(Graph graph, Stream s) const { check(call("cuGraphLaunch", graph, s), "cuGraphLaunch"); }

  void* context = nullptr;
  bool is_stand_in = false;

 private:
  [[noreturn]] static void stop(const char* why, int status) {
    std::fprintf(stderr, "gpu: %s\n", why);
    std::_Exit(status);
  }
  static void check(int code, const char* what) {
    if (code == 0) return;
    std::fprintf(stderr, "gpu: %s: error %d\n", what, code);
    std::abort();
  }
  int launch(void* function, int n, Stream s, void** parameters) const {
    constexpr unsigned kBlock = 256;
    const unsigned blocks = n > 0 ? (static_cast<unsigned>(n) + kBlock - 1) / kBlock : 1;
    return call("cuLaunchKernel", function, blocks, 1U, 1U, n == 1 ? 1U : kBlock, 1U, 1U, 0U, s, parameters, static_cast<void**>(nullptr));
  }

  void* library_ = nullptr;
  void* add_ = nullptr;
  void* spin_ = nullptr;
  void* fault_ = nullptr;
};

}  // namespace gpu
