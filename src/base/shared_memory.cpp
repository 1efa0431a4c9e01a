#include "base/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "base/fatal.hpp"

namespace plait {

namespace {

void* map_piece(int file, std::size_t piece) noexcept {
  return mmap(nullptr, kRegionPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(piece * kRegionPiece));
}

}  // namespace

bool shared_memory_works() noexcept try {
  const int file = shared_file::make().file;
  const bool large_enough = shared_file::set_size(file, kRegionPiece);
  close(file);
  return large_enough;
} catch (const std::system_error&) {
  return false;
}

RegionMap::~RegionMap() {
  pieces_.free([](const std::atomic<std::byte*>& piece) {
    if (std::byte* const at = piece.load(std::memory_order_relaxed)) munmap(at, kRegionPiece);
  });
  if (file_ >= 0) close(file_);
}

void RegionMap::close_file() noexcept {
  close(file_);
  file_ = -1;
}

/// As a second mapping of a piece before it, made long enough, of which only the end stays.
void* RegionMap::map_like_another(std::size_t piece) noexcept {
  std::size_t before = piece;
  std::byte* there = nullptr;
  while (before > 0 && !there) {
    const std::atomic<std::byte*>* const entry = pieces_.find(--before);
    there = entry ? entry->load(std::memory_order_relaxed) : nullptr;
  }
  const std::size_t skipped = (piece - before) * kRegionPiece;
  void* const at = there ? mremap(there, 0, skipped + kRegionPiece, MREMAP_MAYMOVE) : MAP_FAILED;
  if (at == MAP_FAILED) return at;
  munmap(at, skipped);
  return static_cast<std::byte*>(at) + skipped;
}

/// By its file once more: where the system does not let mappings be doubled, or there is no address space for one of such a length.
void* RegionMap::map_opened(std::size_t piece) noexcept try {
  const int file = shared_file::open(name_);
  void* const at = map_piece(file, piece);
  const int why = errno;
  close(file);
  errno = why;
  return at;
} catch (const std::system_error& e) {
  errno = e.code().value();
  return MAP_FAILED;
}

std::byte* RegionMap::map(std::size_t piece) noexcept {
  const std::lock_guard guard(lock_);
  std::atomic<std::byte*>* const entry = piece < pieces_.kSize ? pieces_.make(piece) : nullptr;
  if (!entry) return nullptr;
  if (std::byte* const known = entry->load(std::memory_order_relaxed)) return known;
  void* at = file_ >= 0 ? map_piece(file_, piece) : map_like_another(piece);
  if (at == MAP_FAILED && file_ < 0) at = map_opened(piece);
  if (at == MAP_FAILED) return nullptr;
  entry->store(static_cast<std::byte*>(at), std::memory_order_release);
  return static_cast<std::byte*>(at);
}

std::byte* RegionMap::map_or_end(std::size_t piece) noexcept {
  std::byte* const at = map(piece);
  if (!at) fatal("memory that a process of this node shares cannot be mapped: %s", std::generic_category().message(errno).c_str());
  return at;
}

Region::Region() : name_(shared_file::make()), map_(name_, name_.file) {
  try {
    static_cast<void>(take(64));  // the nonce
  } catch (const std::bad_alloc&) {
    throw std::system_error(ENOMEM, std::generic_category(), "shared memory");
  }
}

Region::Place Region::take(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > kRegionPiece) throw std::bad_alloc();
  const std::lock_guard guard(lock_);
  if (pieces_ == 0 || used_ + bytes > kRegionPiece) {
    if (!shared_file::set_size(name_.file, (pieces_ + 1) * kRegionPiece) || !map_.map(pieces_)) throw std::bad_alloc();
    ++pieces_;
    used_ = 0;
  }
  const std::uint64_t offset = (pieces_ - 1) * kRegionPiece + used_;
  used_ += bytes;
  taken_ += bytes;
  return {offset, map_.at(offset)};
}

PeerRegion::PeerRegion(const RegionName& name) : name_(name), map_(name, shared_file::open(name)) {
  if (!map_.map(0)) throw std::system_error(errno, std::generic_category(), "mapping a peer's memory");
  map_.close_file();
}

}  // namespace plait
