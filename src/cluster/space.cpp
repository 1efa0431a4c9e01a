#include "cluster/space.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/fatal.hpp"
#include "cluster/job.hpp"
#include "cluster/objects.hpp"

namespace plait::cluster {

PageId watched_first = 0;
PageId watched_end = 0;

namespace {

constexpr std::size_t kMaxSegments = 64;

struct Segment {
  std::uintptr_t begin;
  std::uintptr_t end;
  PageId page;
};
struct Code {
  std::uintptr_t begin;
  std::uintptr_t end;
};

int file = -1;
std::byte* service = nullptr;
std::size_t bytes_of_area = kRangeBytes;
std::array<Segment, kMaxSegments> segments;
std::size_t segment_count = 0;
std::array<Code, kMaxSegments> codes;
std::size_t code_count = 0;

constexpr std::uintptr_t down(std::uintptr_t address) { return address / kPage * kPage; }
constexpr std::uintptr_t up(std::uintptr_t address) { return (address + kPage - 1) / kPage * kPage; }

int protection(Access access) noexcept {
  return access == Access::none ? PROT_NONE : access == Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
}

void* map(void* at, std::size_t bytes, int prot, int flags, std::size_t offset) {
  void* const got = mmap(at, bytes, prot, MAP_SHARED | MAP_NORESERVE | flags, file, static_cast<off_t>(offset));
  if (got == MAP_FAILED || (at && got != at)) fatal("the memory that all processes share cannot be mapped: %s", std::strerror(errno));
  return got;
}

bool is_program(const dl_phdr_info& object) { return object.dlpi_name[0] == '\0' || has_mark(object, compiled); }
bool is_language_library(const dl_phdr_info& object) {
  const std::string_view name = object.dlpi_name;
  return name.find("/libstdc++.so") != name.npos || name.find("/libgfortran.so") != name.npos;
}

int note_code(dl_phdr_info* object, std::size_t, void*) {
  if (!is_program(*object) && !is_language_library(*object)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || code_count == codes.size()) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    codes[code_count++] = {begin, begin + header.p_memsz};
  }
  return 0;
}

struct Search {
  std::uintptr_t address;
  bool found;
};
int search_program(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!is_program(*object)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = object->dlpi_phdr[i];
    if (header.p_type == PT_LOAD && search.address - (object->dlpi_addr + header.p_vaddr) < header.p_memsz) search.found = true;
  }
  return search.found;
}

int note_segments(dl_phdr_info* object, std::size_t, void*) {
  if (!is_program(*object)) return 0;
  std::uintptr_t relro_begin = 0;
  std::uintptr_t relro_end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = object->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    relro_begin = down(object->dlpi_addr + header.p_vaddr);
    relro_end = down(object->dlpi_addr + header.p_vaddr + header.p_memsz);  // what ld.so has protected
  }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_W)) continue;
    std::uintptr_t begin = down(object->dlpi_addr + header.p_vaddr);
    const std::uintptr_t end = up(object->dlpi_addr + header.p_vaddr + header.p_memsz);
    if (relro_end > begin && relro_begin <= begin) begin = relro_end;
    if (begin >= end) continue;
    if (segment_count == segments.size()) fatal("the program has more than %zu libraries of its own", kMaxSegments);
    const PageId page = segment_count == 0
                            ? kRangePages
                            : segments[segment_count - 1].page +
                                  static_cast<PageId>((segments[segment_count - 1].end - segments[segment_count - 1].begin) / kPage);
    if (end - begin > kSegmentsBytes - std::size_t{page - kRangePages} * kPage) {
      fatal("OpenMP over several nodes: the program's static variables have more than %zu GB: allocate large ones", kSegmentsBytes >> 30);
    }
    segments[segment_count++] = {begin, end, page};
  }
  return 0;
}

/// Process 0's variables go on as they are. A page that is all zeros stays a hole of the file: large arrays may never be used in full.
void copy_to_file(const Segment& segment) {
  static constexpr std::array<std::byte, kPage> kZeros{};
  // NOLINTBEGIN(performance-no-int-to-ptr)
  const auto* at = reinterpret_cast<const std::byte*>(segment.begin);
  const auto* const end = reinterpret_cast<const std::byte*>(segment.end);
  // NOLINTEND(performance-no-int-to-ptr)
  for (PageId page = segment.page; at != end; at += kPage, ++page) {
    if (std::memcmp(at, kZeros.data(), kPage) != 0) std::memcpy(service_view(page), at, kPage);
  }
}

int add_address(dl_phdr_info* object, std::size_t, void* sum) {
  auto& hash = *static_cast<std::uint64_t*>(sum);
  const std::string_view name = object->dlpi_name;
  if (name.find("linux-vdso") != name.npos) return 0;
  hash = (hash ^ object->dlpi_addr) * 0x100000001B3;
  return 0;
}

}  // namespace

void make_space() {
  file = memfd_create("plait-cluster", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(kRangeBytes + kSegmentsBytes)) != 0) {
    fatal("the memory that all processes share cannot be made: %s", std::strerror(errno));
  }
  service = static_cast<std::byte*>(map(nullptr, kRangeBytes + kSegmentsBytes, PROT_READ | PROT_WRITE, 0, 0));
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  map(reinterpret_cast<void*>(kRange), kRangeBytes, PROT_NONE, MAP_FIXED_NOREPLACE, 0);
  dl_iterate_phdr(note_code, nullptr);
}

void keep_private(const std::byte* end) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const begin = reinterpret_cast<std::byte*>(kRange);
  if (end == begin) return;
  const auto bytes = static_cast<std::size_t>(end - begin);
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0) == MAP_FAILED) {
    fatal("the memory that all processes share cannot be mapped: %s", std::strerror(errno));
  }
}

void share_space() {
  if (the_job.processes == 1) return;
  bytes_of_area = kRangeBytes / static_cast<std::size_t>(the_job.processes) / kPage * kPage;
  dl_iterate_phdr(note_segments, nullptr);
  for (std::size_t i = 0; i < segment_count; ++i) {
    const Segment& segment = segments[i];
    const std::size_t bytes = segment.end - segment.begin;
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* const at = reinterpret_cast<std::byte*>(segment.begin);
    if (the_job.process == 0) copy_to_file(segment);
    map(at, bytes, the_job.process == 0 ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_FIXED, segment.page * kPage);
  }
  if (the_job.process == 0) return;
  // What this process's constructors have allocated and written is not the program's: process 0's is.
  protect(0, bytes_of_area / kPage, Access::none);
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes_of_area));
}

int space_file() noexcept { return file; }

namespace {

/// What the file has; its holes stay holes.
void copy_file(int to) {
  const auto check = [](bool done) {
    if (!done) fatal("no memory is left for what a child of fork() gets: %s", std::strerror(errno));
  };
  check(ftruncate(to, static_cast<off_t>(kRangeBytes + kSegmentsBytes)) == 0);
  for (off_t at = 0; (at = lseek(file, at, SEEK_DATA)) >= 0;) {
    const off_t end = lseek(file, at, SEEK_HOLE);
    while (at < end) {
      // The system's own: the library's looks for shared memory.
      const long done = syscall(SYS_pwrite64, to, service + at, static_cast<std::size_t>(end - at), at);
      check(done > 0);
      at += done;
    }
  }
}

}  // namespace

void copy_space(std::byte* kept, std::byte* kept_end) {
  const int copy = memfd_create("plait-cluster-child", MFD_CLOEXEC);
  if (copy < 0) fatal("the memory that all processes share cannot be made: %s", std::strerror(errno));
  copy_file(copy);
  const auto put = [copy](std::byte* begin, std::byte* end, std::size_t offset) {
    if (begin == end) return;
    const auto bytes = static_cast<std::size_t>(end - begin);
    if (mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, copy, static_cast<off_t>(offset)) == MAP_FAILED) {
      fatal("the memory that all processes share cannot be mapped: %s", std::strerror(errno));
    }
  };
  // NOLINTBEGIN(performance-no-int-to-ptr)
  auto* const begin = reinterpret_cast<std::byte*>(kRange);
  std::byte* const end = begin + kRangeBytes;
  if (!kept) kept = kept_end = end;
  put(begin, kept, 0);
  put(kept_end, end, static_cast<std::size_t>(kept_end - begin));
  for (std::size_t i = 0; i < segment_count; ++i) {
    put(reinterpret_cast<std::byte*>(segments[i].begin), reinterpret_cast<std::byte*>(segments[i].end), segments[i].page * kPage);
  }
  // NOLINTEND(performance-no-int-to-ptr)
  close(copy);
  munmap(service, kRangeBytes + kSegmentsBytes);
  service = nullptr;
}

PageId page_of(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at - kRange < kRangeBytes) return static_cast<PageId>((at - kRange) / kPage);
  for (std::size_t i = 0; i < segment_count; ++i) {
    if (at >= segments[i].begin && at < segments[i].end) return segments[i].page + static_cast<PageId>((at - segments[i].begin) / kPage);
  }
  return kNoPage;
}

std::byte* program_view(PageId page) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (page < kRangePages) return reinterpret_cast<std::byte*>(kRange) + std::size_t{page} * kPage;
  for (std::size_t i = segment_count; i-- > 0;) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (page >= segments[i].page) return reinterpret_cast<std::byte*>(segments[i].begin) + std::size_t{page - segments[i].page} * kPage;
  }
  return nullptr;
}

std::byte* service_view(PageId page) noexcept { return service + std::size_t{page} * kPage; }

int home_of(PageId page) noexcept {
  return page < kRangePages ? std::min(static_cast<int>(page * kPage / bytes_of_area), the_job.processes - 1) : 0;
}

// NOLINTNEXTLINE(performance-no-int-to-ptr)
std::byte* area(int process) noexcept { return reinterpret_cast<std::byte*>(kRange) + static_cast<std::size_t>(process) * bytes_of_area; }
std::size_t area_bytes() noexcept { return bytes_of_area; }

void protect(PageId first, std::size_t count, Access access) noexcept {
  if (mprotect(program_view(first), count * kPage, protection(access)) == 0) return;
  if (errno == ENOMEM) {
    fatal(
        "the system's limit of mappings is reached: pages of different nodes alternate too finely. Raise it (sysctl vm.max_map_count), or "
        "give each thread larger pieces (schedule(static))");
  }
  fatal("a page cannot be protected: %s", std::strerror(errno));
}

void protect_segments(Access access) noexcept {
  for (std::size_t i = 0; i < segment_count; ++i) protect(segments[i].page, (segments[i].end - segments[i].begin) / kPage, access);
}

void Protections::apply() {
  std::stable_sort(wanted_.begin(), wanted_.end(), [](const Wanted& a, const Wanted& b) { return a.page < b.page; });
  for (std::size_t i = 0; i < wanted_.size();) {
    std::size_t last = i;
    PageId end = wanted_[i].page + 1;
    const auto before = reinterpret_cast<std::uintptr_t>(program_view(wanted_[i].page)) - std::uintptr_t{wanted_[i].page} * kPage;
    while (last + 1 < wanted_.size() && wanted_[last + 1].access == wanted_[i].access && wanted_[last + 1].page <= end &&
           reinterpret_cast<std::uintptr_t>(program_view(wanted_[last + 1].page)) - std::uintptr_t{wanted_[last + 1].page} * kPage ==
               before) {
      ++last;
      end = wanted_[last].page + 1;
    }
    protect(wanted_[i].page, end - wanted_[i].page, wanted_[i].access);
    i = last + 1;
  }
  wanted_.clear();
}

std::uint64_t addresses_of_libraries() {
  std::uint64_t hash = 0xCBF29CE484222325;
  dl_iterate_phdr(add_address, &hash);
  return hash;
}

bool allocates_shared(const void* code) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(code);
  for (std::size_t i = 0; i < code_count; ++i) {
    if (at >= codes[i].begin && at < codes[i].end) return true;
  }
  return false;
}

bool belongs_to_program(const void* address) noexcept {
  if (!address) return true;  // atexit of an executable
  Search search{reinterpret_cast<std::uintptr_t>(address), false};
  dl_iterate_phdr(search_program, &search);
  return search.found;
}

}  // namespace plait::cluster
