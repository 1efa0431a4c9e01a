#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/fatal.hpp"

namespace plait {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// A file of this process's own, with its nonce at offset 0.
RegionName make_file() {
  RegionName name;
  name.pid = getpid();
  if (getrandom(&name.nonce, sizeof name.nonce, 0) != sizeof name.nonce) fail("getrandom");
  name.file = memfd_create("plait", MFD_CLOEXEC);
  if (name.file < 0) fail("memfd_create");
  if (pwrite(name.file, &name.nonce, sizeof name.nonce, 0) == sizeof name.nonce) return name;
  const int why = errno;
  close(name.file);
  errno = why;
  fail("shared memory");
}

/// A peer's.
int open_file(const RegionName& name) {
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.file);
  // In another process namespace that may be any file of any process: only one of ours is opened.
  char target[sizeof "/memfd:plait"] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) < 0) fail("finding a peer's memory");
  errno = ESTALE;
  const int file = std::string_view(target) == "/memfd:plait" ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) fail("opening a peer's memory");
  std::uint64_t nonce = 0;
  if (pread(file, &nonce, sizeof nonce, 0) == sizeof nonce && nonce == name.nonce) return file;
  close(file);
  errno = ESTALE;
  fail("a peer's memory is another's");
}

}  // namespace

RegionMap::~RegionMap() {
  for (std::size_t i = 0; const std::atomic<std::byte*>* const piece = pieces_.find(i); ++i) {
    if (std::byte* const at = piece->load(std::memory_order_relaxed)) munmap(at, kRegionPiece);
  }
  close(file_);
}

std::byte* RegionMap::map(std::size_t piece) noexcept {
  const std::lock_guard guard(lock_);
  std::atomic<std::byte*>* const entry = piece < pieces_.kSize ? pieces_.make(piece) : nullptr;
  if (!entry) return nullptr;
  if (std::byte* const known = entry->load(std::memory_order_relaxed)) return known;
  void* const at =
      mmap(nullptr, kRegionPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, static_cast<off_t>(piece * kRegionPiece));
  if (at == MAP_FAILED) return nullptr;
  entry->store(static_cast<std::byte*>(at), std::memory_order_release);
  return static_cast<std::byte*>(at);
}

std::byte* RegionMap::map_or_end(std::size_t piece) noexcept {
  std::byte* const at = map(piece);
  if (!at) fatal("memory that a process of this node shares cannot be mapped: %s", std::generic_category().message(errno).c_str());
  return at;
}

Region::Region() : name_(make_file()), map_(name_.file) {
  try {
    static_cast<void>(take(64));  // the nonce
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    fail("shared memory");
  }
}

Region::Place Region::take(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > kRegionPiece) throw std::bad_alloc();
  const std::lock_guard guard(lock_);
  if (pieces_ == 0 || used_ + bytes > kRegionPiece) {
    if (ftruncate(name_.file, static_cast<off_t>((pieces_ + 1) * kRegionPiece)) != 0 || !map_.map(pieces_)) throw std::bad_alloc();
    ++pieces_;
    used_ = 0;
  }
  const std::uint64_t offset = (pieces_ - 1) * kRegionPiece + used_;
  used_ += bytes;
  taken_ += bytes;
  return {offset, map_.at(offset)};
}

PeerRegion::PeerRegion(const RegionName& name) : name_(name), map_(open_file(name)) {}

// ---- buffers of the program

namespace {

std::size_t page() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

SharedHeap& SharedHeap::get() {
  static SharedHeap& heap = *new SharedHeap;  // never destroyed: programs may free their buffers at exit
  return heap;
}

SharedHeap::~SharedHeap() {
  for (const auto& [at, block] : blocks_) munmap(const_cast<std::byte*>(at), block.bytes);
  if (name_.file >= 0) close(name_.file);
}

bool SharedHeap::has_file() noexcept try {
  if (name_.file < 0) {
    name_ = make_file();
    end_ = page();
  }
  return true;
} catch (const std::system_error&) {
  return false;
}

/// The first that is large enough, else behind the end.
std::uint64_t SharedHeap::room_for(std::size_t bytes) {
  for (auto at = room_.begin(); at != room_.end(); ++at) {
    if (at->second < bytes) continue;
    const auto [offset, size] = *at;
    if (size > bytes) room_.emplace_hint(std::next(at), offset + bytes, size - bytes);
    room_.erase(at);
    return offset;
  }
  if (ftruncate(name_.file, static_cast<off_t>(end_ + bytes)) != 0) throw std::bad_alloc();
  end_ += bytes;
  return end_ - bytes;
}

void SharedHeap::add_room(std::uint64_t offset, std::size_t bytes) {
  auto at = room_.emplace(offset, bytes).first;
  if (const auto next = std::next(at); next != room_.end() && offset + bytes == next->first) {
    at->second += next->second;
    room_.erase(next);
  }
  if (at == room_.begin()) return;
  if (const auto before = std::prev(at); before->first + before->second == offset) {
    before->second += at->second;
    room_.erase(at);
  }
}

void* SharedHeap::take(std::size_t bytes) noexcept try {
  if (bytes > PTRDIFF_MAX - page()) return nullptr;
  bytes = (std::max<std::size_t>(bytes, 1) + page() - 1) / page() * page();
  const std::lock_guard guard(lock_);
  if (!has_file()) return nullptr;
  const std::uint64_t offset = room_for(bytes);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, name_.file, static_cast<off_t>(offset));
  if (at == MAP_FAILED) {
    add_room(offset, bytes);
    return nullptr;
  }
  madvise(at, bytes, MADV_HUGEPAGE);  // where the system grants it
  blocks_[static_cast<const std::byte*>(at)] = {offset, bytes};
  return at;
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool SharedHeap::give(void* block) noexcept try {
  const std::lock_guard guard(lock_);
  const auto found = blocks_.find(static_cast<const std::byte*>(block));
  if (found == blocks_.end()) return false;
  const Block b = found->second;
  blocks_.erase(found);
  munmap(block, b.bytes);
  // Gives the memory back, and the next one finds zeros. Where that cannot be done the room is not used again.
  if (fallocate(name_.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(b.offset), static_cast<off_t>(b.bytes)) == 0)
    add_room(b.offset, b.bytes);
  return true;
} catch (const std::bad_alloc&) {
  return true;  // its room is not used again
}

SharedHeap::Place SharedHeap::find(const void* at, std::size_t bytes) noexcept {
  const auto* const first = static_cast<const std::byte*>(at);
  const std::lock_guard guard(lock_);
  const auto behind = blocks_.upper_bound(first);
  if (behind == blocks_.begin()) return {};
  const auto& [begin, block] = *std::prev(behind);
  const auto distance = static_cast<std::size_t>(first - begin);
  if (distance > block.bytes || bytes > block.bytes - distance) return {};
  return {name_, block.offset + distance};
}

PeerWindow::PeerWindow(const SharedHeap::Place& place, std::size_t bytes) {
  const int file = open_file(place.heap);
  const std::size_t before = place.offset % page();
  bytes_ = before + bytes;
  pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(place.offset - before));
  const int why = errno;
  close(file);
  errno = why;
  if (pages_ == MAP_FAILED) fail("mapping a peer's memory");
  data_ = static_cast<std::byte*>(pages_) + before;
}

PeerWindow::~PeerWindow() { munmap(pages_, bytes_); }

}  // namespace plait
