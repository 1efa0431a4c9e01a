// System calls into shared memory. The kernel does not take faults for us: it says EFAULT. So pages are made present before. Should
// another process ask for one just then, it is protected again, and the call is made once more.
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cluster/engine.hpp"
#include "cluster/next.hpp"

#define PLAIT_EXPORT extern "C" [[gnu::visibility("default")]]

namespace plait::cluster {
namespace {

/// Calls `call` until it does not fail for want of pages.
template <class Call>
auto with(const void* buffer, std::size_t bytes, bool write, Call call) {
  if (!shared(buffer)) return call();
  for (int tries = 0;; ++tries) {
    touch(buffer, bytes, write);
    const auto result = call();
    if (result != -1 || errno != EFAULT || tries > 100) return result;
  }
}

template <class Call>
auto with_all(const iovec* parts, int count, bool write, Call call) {
  for (int tries = 0;; ++tries) {
    touch(parts, static_cast<std::size_t>(count) * sizeof *parts, false);
    for (int i = 0; i < count; ++i) touch(parts[i].iov_base, parts[i].iov_len, write);
    const auto result = call();
    if (result != -1 || errno != EFAULT || tries > 100 || job().processes == 1) return result;
  }
}

}  // namespace
}  // namespace plait::cluster

using namespace plait::cluster;

// gcc 12 takes shared(), which looks at an address only, for a reader of the memory that a read is to fill.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

PLAIT_EXPORT ssize_t read(int file, void* to, std::size_t bytes) {
  static constinit Next<ssize_t(int, void*, std::size_t)> real("read");
  return with(to, bytes, true, [&] { return real(file, to, bytes); });
}
PLAIT_EXPORT ssize_t pread(int file, void* to, std::size_t bytes, off_t at) {
  static constinit Next<ssize_t(int, void*, std::size_t, off_t)> real("pread");
  return with(to, bytes, true, [&] { return real(file, to, bytes, at); });
}
PLAIT_EXPORT ssize_t readv(int file, const iovec* parts, int count) {
  static constinit Next<ssize_t(int, const iovec*, int)> real("readv");
  return with_all(parts, count, true, [&] { return real(file, parts, count); });
}
PLAIT_EXPORT ssize_t write(int file, const void* from, std::size_t bytes) {
  static constinit Next<ssize_t(int, const void*, std::size_t)> real("write");
  return with(from, bytes, false, [&] { return real(file, from, bytes); });
}
PLAIT_EXPORT ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t at) {
  static constinit Next<ssize_t(int, const void*, std::size_t, off_t)> real("pwrite");
  return with(from, bytes, false, [&] { return real(file, from, bytes, at); });
}
PLAIT_EXPORT ssize_t writev(int file, const iovec* parts, int count) {
  static constinit Next<ssize_t(int, const iovec*, int)> real("writev");
  return with_all(parts, count, false, [&] { return real(file, parts, count); });
}
PLAIT_EXPORT ssize_t recv(int socket, void* to, std::size_t bytes, int flags) {
  static constinit Next<ssize_t(int, void*, std::size_t, int)> real("recv");
  return with(to, bytes, true, [&] { return real(socket, to, bytes, flags); });
}
PLAIT_EXPORT ssize_t send(int socket, const void* from, std::size_t bytes, int flags) {
  static constinit Next<ssize_t(int, const void*, std::size_t, int)> real("send");
  return with(from, bytes, false, [&] { return real(socket, from, bytes, flags); });
}
PLAIT_EXPORT std::size_t fread(void* to, std::size_t size, std::size_t count, FILE* file) {
  static constinit Next<std::size_t(void*, std::size_t, std::size_t, FILE*)> real("fread");
  touch(to, size * count, true);
  return real(to, size, count, file);
}
PLAIT_EXPORT std::size_t fwrite(const void* from, std::size_t size, std::size_t count, FILE* file) {
  static constinit Next<std::size_t(const void*, std::size_t, std::size_t, FILE*)> real("fwrite");
  touch(from, size * count, false);
  return real(from, size, count, file);
}
