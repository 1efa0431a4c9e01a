#include "cluster/children.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/fatal.hpp"
#include "cluster/carrier.hpp"
#include "cluster/exit.hpp"
#include "cluster/heap.hpp"
#include "cluster/job.hpp"
#include "cluster/pages.hpp"
#include "cluster/protocol.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {
namespace {

Child child_is = Child::none;

/// Room below the stack's pointer for what libc calls between the handlers.
constexpr std::size_t kMargin = std::size_t{1} << 20;

/// What is under way: one at a time, under the engine's lock.
std::optional<Guard> guard;
sigset_t signals_before;
std::array<int, 2> until_copied{-1, -1};

/// Main's stack from some address to its end.
struct Stack {
  std::byte* begin = nullptr;  ///< null: the thread has another stack
  std::byte* end = nullptr;
  std::byte* copy = nullptr;
};
Stack stack;
/// A stack on which main's can be exchanged.
alignas(64) std::array<std::byte, 16384> own_stack;

// Neither these nor what they call may use main's stack or thread-local variables, which lie on it. All changes between a copy and the
// exchange would be lost.

[[gnu::always_inline]] inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

struct Exchange {
  std::byte* begin;  ///< of the part that is exchanged
  std::byte* used;   ///< from here on it has something
  std::byte* end;
  std::byte* other;  ///< private memory of that size; or the same part, as the engine has it
  long file;
  long offset;
  long result;
};

[[gnu::optimize("no-stack-protector")]] void make_private(void* pointer) noexcept {
  auto& x = *static_cast<Exchange*>(pointer);
  const auto bytes = static_cast<std::size_t>(x.end - x.begin);
  copy_bytes(x.other + (x.used - x.begin), x.used, static_cast<std::size_t>(x.end - x.used));
  constexpr long kMremap = 25;
  x.result = system_call(kMremap, reinterpret_cast<long>(x.other), static_cast<long>(bytes), static_cast<long>(bytes),
                         MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<long>(x.begin), 0);
}
[[gnu::optimize("no-stack-protector")]] void make_shared_again(void* pointer) noexcept {
  auto& x = *static_cast<Exchange*>(pointer);
  copy_bytes(x.other + (x.used - x.begin), x.used, static_cast<std::size_t>(x.end - x.used));
  constexpr long kMmap = 9;
  x.result = system_call(kMmap, reinterpret_cast<long>(x.begin), x.end - x.begin, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE | MAP_FIXED, x.file, x.offset);
}

/// The exchange lies in private memory.
Exchange exchange;

[[gnu::noinline]] void on_own_stack(void (*function)(void*) noexcept) {
  std::byte* const top = own_stack.data() + own_stack.size();
  void* argument = &exchange;
  __asm__ volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[function]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(argument)
      : [top] "r"(top), [function] "r"(function)
      : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
        "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/// From here on the stack has something that counts: with what a function may have below its stack's pointer.
[[gnu::always_inline]] inline std::byte* used_from() noexcept {
  constexpr std::size_t kRedZone = 128;
  std::byte* pointer = nullptr;
  __asm__ volatile("movq %%rsp, %0" : "=r"(pointer));
  return pointer - kRedZone - 1024;  // and what this one calls until the stack is another
}

[[gnu::noinline]] void leave_shared_stack() {
  stack = {};
  const PageId here = page_of(__builtin_frame_address(0));
  if (here == kNoPage || !watched(here)) return;
  std::byte* const used = used_from();
  std::byte* const first = program_view(watched_first);
  stack.end = program_view(watched_end - 1) + kPage;
  std::byte* const low = static_cast<std::size_t>(used - first) > kMargin ? used - kMargin : first;
  stack.begin = first + static_cast<std::size_t>(low - first) / kPage * kPage;
  const auto bytes = static_cast<std::size_t>(stack.end - stack.begin);
  void* const other = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (other == MAP_FAILED) fatal("OpenMP over several nodes: no memory is left for the copy of main's stack that a child gets");
  exchange = {stack.begin, used, stack.end, static_cast<std::byte*>(other), -1, 0, 0};
  on_own_stack(make_private);
  if (exchange.result < 0) fatal("OpenMP over several nodes: no memory is left for the copy of main's stack that a child gets");
}

[[gnu::noinline]] void return_to_shared_stack() {
  if (!stack.begin) return;
  const PageId page = page_of(stack.begin);
  exchange = {stack.begin, used_from(), stack.end, service_view(page), space_file(), static_cast<long>(std::size_t{page} * kPage), 0};
  on_own_stack(make_shared_again);
  if (exchange.result < 0)
    fatal("the memory that all processes share cannot be mapped: %s", std::strerror(static_cast<int>(-exchange.result)));
}

void let_go() {
  unlock_heap();
  guard.reset();
  pthread_sigmask(SIG_SETMASK, &signals_before, nullptr);
}

/// Of the process whose child this is.
PageId own_first = 0;
PageId own_end = 0;

bool is_here(PageId id) noexcept {
  if (const Page* const page = known_page(id)) return page->state != State::absent && page->state != State::invalid;
  return id >= kRangePages ? child_is == Child::of_first : id >= own_first && id < own_end;
}

void make_accessible(std::byte* begin, const std::byte* end) {
  if (begin != end) protect(page_of(begin), static_cast<std::size_t>(end - begin) / kPage, Access::write);
}

/// What was here is writable now.
void make_own() {
  std::byte* const begin = area(the_job.process);
  std::byte* const end = begin + area_bytes();
  own_first = page_of(begin);
  own_end = own_first + static_cast<PageId>(area_bytes() / kPage);
  copy_space(stack.begin, stack.end);
  const HeapParts heap = heap_parts();
  make_accessible(begin, heap.used_end);
  make_accessible(heap.pieces, end);
  if (child_is == Child::of_first) protect_segments(Access::write);
  Protections protections;
  for (const Page* const page : known_pages()) protections.add(page->id, is_here(page->id) ? Access::write : Access::none);
}

bool leads() noexcept { return the_job.processes > 1 && !ended && child_is == Child::none && is_process_of_job() && guard.has_value(); }

void before_fork() {
  if (the_job.processes == 1 || ended || child_is != Child::none || !is_process_of_job() || !has_pages()) return;
  if (the_job.threads > 1 && the_job.process == 0 && page_of(__builtin_frame_address(0)) != kNoPage && !in_serial_part()) {
    fatal("OpenMP over several nodes: fork() by the first thread of a parallel region is not carried: call it in a serial part");
  }
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  guard.emplace();
  signals_before = before;
  fetch_copies();
  lock_heap();
  if (pipe2(until_copied.data(), O_CLOEXEC) != 0)
    fatal("OpenMP over several nodes: fork() cannot wait for its child: %s", std::strerror(errno));
  leave_shared_stack();
}

void in_parent() {
  if (!leads()) return;
  close(until_copied[1]);
  // Its end, or that there is none: fork() has failed, or the child is gone.
  for (char none = 0; read(until_copied[0], &none, 1) < 0 && errno == EINTR;) {
  }
  close(until_copied[0]);
  return_to_shared_stack();
  let_go();
}

void in_child() {
  if (!guard.has_value() || child_is != Child::none) return;
  close(until_copied[0]);
  child_is = the_job.process == 0 ? Child::of_first : Child::of_other;
  set_fatal_end(nullptr);  // of this process only
  make_own();
  end_as_child();
  close(until_copied[1]);
  let_go();
}

}  // namespace

Child is_child() noexcept { return child_is; }

bool access_in_child(PageId id) {
  if (is_here(id)) return false;
  fatal(
      "OpenMP over several nodes: a child made by fork() wants memory that its parent's process has no copy of: use it in the parent "
      "before, or have the parent do what it is for");
}

void lead_children() { pthread_atfork(before_fork, in_parent, in_child); }

}  // namespace plait::cluster
