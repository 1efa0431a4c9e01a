// Loaded before a program: a disk that is full and cannot tell so beforehand. Writing to a file whose name ends with
// ".partial" fails in the first process, as ENOSPC does, and room for it cannot be reserved.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

bool in_first_process() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  }
  return false;
}

bool partial(int fd) {
  std::array<char, 4096> name{};
  const auto length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name.data(), name.size());
  return length > 0 && std::string_view(name.data(), static_cast<std::size_t>(length)).ends_with(".partial");
}

/// -1 with ENOSPC on the full disk, else what the real call of that name says.
template <class Result, class... Args>
Result unless_full(const char* call, int fd, Args... args) {
  if (partial(fd) && in_first_process()) {
    errno = ENOSPC;
    return -1;
  }
  return reinterpret_cast<Result (*)(int, Args...)>(dlsym(RTLD_NEXT, call))(fd, args...);
}

}  // namespace

extern "C" {

int fallocate(int fd, int mode, off_t at, off_t bytes) {
  if (partial(fd)) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return reinterpret_cast<int (*)(int, int, off_t, off_t)>(dlsym(RTLD_NEXT, "fallocate"))(fd, mode, at, bytes);
}
int fallocate64(int fd, int mode, off64_t at, off64_t bytes) { return fallocate(fd, mode, at, bytes); }
ssize_t write(int fd, const void* data, size_t n) { return unless_full<ssize_t>("write", fd, data, n); }
ssize_t writev(int fd, const iovec* parts, int n) { return unless_full<ssize_t>("writev", fd, parts, n); }
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) { return unless_full<ssize_t>("pwrite", fd, data, n, at); }
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) { return unless_full<ssize_t>("pwrite64", fd, data, n, at); }
ssize_t pwritev(int fd, const iovec* parts, int n, off_t at) { return unless_full<ssize_t>("pwritev", fd, parts, n, at); }
ssize_t pwritev64(int fd, const iovec* parts, int n, off64_t at) { return unless_full<ssize_t>("pwritev64", fd, parts, n, at); }

}  // extern "C"
