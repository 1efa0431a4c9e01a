// The functions that this library stands in front of: libc's, libgomp's, libatomic's.
#pragma once

#include <dlfcn.h>

#include <atomic>

#include "base/fatal.hpp"

namespace plait::cluster {

/// The next library's function of a name, found at its first call. A static one needs no guard, as it is constant-initialized: guards are
/// among the functions that this library replaces.
template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) noexcept : name_(name) {}

  [[nodiscard]] Function* get() noexcept {
    // relaxed: whoever finds it finds the same.
    if (void* const known = found_.load(std::memory_order_relaxed)) return reinterpret_cast<Function*>(known);
    void* const found = dlsym(RTLD_NEXT, name_);
    if (!found) fatal("OpenMP over several nodes: no library has %s", name_);
    found_.store(found, std::memory_order_relaxed);
    return reinterpret_cast<Function*>(found);
  }
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return get()(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace plait::cluster
