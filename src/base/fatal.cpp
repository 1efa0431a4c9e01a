#include "base/fatal.hpp"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace plait {
namespace {

constinit std::atomic<void (*)() noexcept> end_job{nullptr};

}  // namespace

void set_fatal_end(void (*end)() noexcept) noexcept { end_job.store(end, std::memory_order_relaxed); }

void fatal(const char* format, ...) noexcept {
  std::array<char, 512> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "plait: %s\n", text.data());
  if (void (*const end)() noexcept = end_job.load(std::memory_order_relaxed)) end();
  std::abort();
}

}  // namespace plait
