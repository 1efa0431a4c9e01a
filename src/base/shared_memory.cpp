#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace plait {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void* map_piece(int file, std::size_t piece) {
  void* const at =
      mmap(nullptr, kRegionPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(piece * kRegionPiece));
  return at == MAP_FAILED ? nullptr : at;
}

void unmap(const std::vector<void*>& pieces) noexcept {
  for (void* const piece : pieces) {
    if (piece) munmap(piece, kRegionPiece);
  }
}

}  // namespace

Region::Region() {
  name_.pid = getpid();
  if (getrandom(&name_.nonce, sizeof name_.nonce, 0) != sizeof name_.nonce) fail("getrandom");
  name_.file = memfd_create("plait", MFD_CLOEXEC);
  if (name_.file < 0) fail("memfd_create");
  try {
    *static_cast<std::uint64_t*>(take(64).memory) = name_.nonce;  // at offset 0
  } catch (const std::bad_alloc&) {
    close(name_.file);
    errno = ENOMEM;
    fail("shared memory");
  }
}

Region::~Region() {
  unmap(pieces_);
  close(name_.file);
}

Region::Place Region::take(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > kRegionPiece) throw std::bad_alloc();
  const std::lock_guard guard(lock_);
  if (pieces_.empty() || used_ + bytes > kRegionPiece) {
    if (ftruncate(name_.file, static_cast<off_t>((pieces_.size() + 1) * kRegionPiece)) != 0) throw std::bad_alloc();
    void* const piece = map_piece(name_.file, pieces_.size());
    if (!piece) throw std::bad_alloc();
    pieces_.push_back(piece);
    used_ = 0;
  }
  const Place place{(pieces_.size() - 1) * kRegionPiece + used_, static_cast<std::byte*>(pieces_.back()) + used_};
  used_ += bytes;
  taken_ += bytes;
  return place;
}

void* Region::at(std::uint64_t offset) {
  const std::lock_guard guard(lock_);
  return static_cast<std::byte*>(pieces_[offset / kRegionPiece]) + offset % kRegionPiece;
}

PeerRegion::PeerRegion(const RegionName& name) {
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.file);
  // In another process namespace that may be any file of any process: only one of ours is opened.
  char target[sizeof "/memfd:plait"] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) < 0) fail("finding a peer's memory");
  errno = ESTALE;
  file_ = std::string_view(target) == "/memfd:plait" ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (file_ < 0) fail("opening a peer's memory");
  try {
    if (*static_cast<const std::uint64_t*>(at(0)) != name.nonce) {
      errno = ESTALE;
      fail("a peer's memory is another's");
    }
  } catch (...) {
    unmap(pieces_);
    close(file_);
    throw;
  }
}

PeerRegion::~PeerRegion() {
  unmap(pieces_);
  close(file_);
}

void* PeerRegion::at(std::uint64_t offset) {
  const std::size_t piece = offset / kRegionPiece;
  const std::lock_guard guard(lock_);
  if (pieces_.size() <= piece) pieces_.resize(piece + 1);
  if (!pieces_[piece]) pieces_[piece] = map_piece(file_, piece);
  if (!pieces_[piece]) fail("mapping a peer's memory");
  return static_cast<std::byte*>(pieces_[piece]) + offset % kRegionPiece;
}

}  // namespace plait
