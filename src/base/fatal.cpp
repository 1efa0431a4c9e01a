#include "base/fatal.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace plait {
namespace {

constinit std::atomic<void (*)() noexcept> end_job{nullptr};

}  // namespace

void set_fatal_end(void (*end)() noexcept) noexcept { end_job.store(end, std::memory_order_relaxed); }

void wait_until_read(int descriptor, int milliseconds) noexcept {
  struct stat what{};
  if (fstat(descriptor, &what) != 0 || !S_ISFIFO(what.st_mode)) return;
  for (int unread = 0; milliseconds > 0 && ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0; --milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void fatal(const char* format, ...) noexcept {
  std::array<char, 512> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "plait: %s\n", text.data());
  wait_until_read(fileno(stderr));
  if (void (*const end)() noexcept = end_job.load(std::memory_order_relaxed)) end();
  std::abort();
}

}  // namespace plait
