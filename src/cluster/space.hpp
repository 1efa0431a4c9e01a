// The memory that all processes of a job share: one range of addresses for the heap and the stack of main, and the writable segments of
// the program. Each process has an anonymous file for it and maps it twice: the program's view, at the same addresses in all processes
// and protected page by page, and the service view, where the engine reads and writes at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plait::cluster {

/// A page's place in the file, in pages.
using PageId = std::uint32_t;
inline constexpr PageId kNoPage = ~PageId{0};
inline constexpr std::size_t kPage = 4096;

/// The range, divided into as many areas as there are processes; a process hands out memory of its own. Below it lie the program and brk's
/// heap, above it what the system maps.
inline constexpr std::uintptr_t kRange = 0x2000'0000'0000;
inline constexpr std::size_t kRangeBytes = std::size_t{1} << 40;
inline constexpr PageId kRangePages = kRangeBytes / kPage;
/// The most that the program's segments have, with its static variables: room in the file behind the range.
inline constexpr std::size_t kSegmentsBytes = std::size_t{1} << 40;
inline constexpr PageId kMostPages = kRangePages + kSegmentsBytes / kPage;

enum class Access : std::uint8_t { none, read, write };

/// Before the program's constructors: makes the range, with the area of process 0 for what they allocate.
void make_space();
/// When the job starts: gives the range and the program's segments to their processes.
void share_space();
/// In a job of one process: what the program's constructors have allocated, up to here, is private, as its segments are.
void keep_private(const std::byte* end);

/// kNoPage where it is not shared.
PageId page_of(const void* address) noexcept;
std::byte* program_view(PageId page) noexcept;
std::byte* service_view(PageId page) noexcept;
/// The process that had the page at the beginning.
int home_of(PageId page) noexcept;
/// Where the area of a process begins, and its size.
std::byte* area(int process) noexcept;
std::size_t area_bytes() noexcept;

/// The stack of process 0's main thread, with its thread-local variables: always writable there, as the engine itself and the kernel use it
/// at any time. Process 0 finds changes of these pages by comparing.
extern PageId watched_first;
extern PageId watched_end;
inline bool watched(PageId page) noexcept { return page - watched_first < watched_end - watched_first; }

void protect_segments(Access access) noexcept;
void protect(PageId first, std::size_t count, Access access) noexcept;

/// Protects many pages with as few calls as can be.
class Protections {
 public:
  Protections() = default;
  Protections(const Protections&) = delete;
  Protections& operator=(const Protections&) = delete;
  ~Protections() { apply(); }
  void add(PageId page, Access access) {
    if (!watched(page)) wanted_.push_back({page, access});
  }
  void apply();

 private:
  struct Wanted {
    PageId page;
    Access access;
  };
  std::vector<Wanted> wanted_;
};

int space_file() noexcept;
/// In a child that has come from fork(): all becomes its own, and nothing accessible, but for main's stack from `kept` to `kept_end`, which
/// is private already. The engine has no view any more.
void copy_space(std::byte* kept, std::byte* kept_end);

/// Addresses at which this process has its libraries, as one number and in words.
std::uint64_t addresses_of_libraries();

/// Whether code at this address belongs to the program or its own libraries, or to a language's library that allocates for it.
bool allocates_shared(const void* code) noexcept;
/// Code or data of the program or its own libraries.
bool belongs_to_program(const void* address) noexcept;

}  // namespace plait::cluster
