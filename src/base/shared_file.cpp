#include "base/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace plait::shared_file {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

std::uint64_t largest() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  return std::min<std::uint64_t>(limit.rlim_cur, INT64_MAX);
}

bool set_size(int file, std::uint64_t bytes) noexcept { return bytes <= largest() && ftruncate(file, static_cast<off_t>(bytes)) == 0; }

RegionName make() {
  RegionName name;
  name.pid = getpid();
  if (getrandom(&name.nonce, sizeof name.nonce, 0) != sizeof name.nonce) fail("getrandom");
  errno = EFBIG;
  if (largest() < sizeof name.nonce) fail("shared memory");
  name.file = memfd_create("plait", MFD_CLOEXEC);
  if (name.file < 0) fail("memfd_create");
  if (pwrite(name.file, &name.nonce, sizeof name.nonce, 0) == sizeof name.nonce) return name;
  const int why = errno;
  close(name.file);
  errno = why;
  fail("shared memory");
}

int open(const RegionName& name) {
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.file);
  // In another process namespace that may be any file of any process: only one of ours is opened.
  char target[sizeof "/memfd:plait"] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) < 0) fail("finding a peer's memory");
  errno = ESTALE;
  const int file = std::string_view(target) == "/memfd:plait" ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) fail("opening a peer's memory");
  std::uint64_t nonce = 0;
  if (pread(file, &nonce, sizeof nonce, 0) == sizeof nonce && nonce == name.nonce) return file;
  close(file);
  errno = ESTALE;
  fail("a peer's memory is another's");
}

}  // namespace plait::shared_file
