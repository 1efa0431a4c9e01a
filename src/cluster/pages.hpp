// What a process knows of each page, and the consistency protocol's parts that need no waiting: twins, diffs, intervals, write notices.
//
// Words. An interval is a stretch of a process's work between two releases (barrier, fork, a lock given away); a process numbers its own.
// A write notice says that a process has changed a page in an interval. A twin is a copy of a page before its first change; a diff is what
// differs from it. Release consistency: a process may see others' changes late, but after a barrier, or after it got a lock, it sees all
// that came before. So a notice makes the page invalid, and the next access asks for the diffs.
//
// Rules that make this right, for programs without data races:
// - A page with a twin whose notice has been given needs no more notices until its diff is made: all who know of the first know that they
//   have to ask, and the diff will contain the later writes as well.
// - Before a notice of another process is heeded, the own interval ends, and the page's diff is made. So a diff holds nothing that depends
//   on notices which its reader may not know yet.
// - Who asks for changes says which interval of the other's it has notice of, and gets diffs whose twins were made in that one or before:
// of
//   later ones it may not know yet what they overwrite, and would put that over them when it learns of it.
// - Diffs carry Lamport's clock of when they were made, and are applied in its order: who writes what another has written before has
//   asked for that diff first, so that its own is made later.
//
// All of this is used under the engine's lock; the pages themselves are read and written through the service view.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster/carrier.hpp"
#include "cluster/space.hpp"

namespace plait::cluster {

enum class State : std::uint8_t {
  exclusive,  ///< no other process has a copy: writable, without twin and notices
  absent,     ///< no copy
  invalid,    ///< a copy that lacks others' changes
  clean,      ///< readable
  dirty,      ///< writable, with a twin
};

struct Diff {
  std::uint64_t stamp;
  std::uint32_t first;  ///< the own interval in which the twin was made
  std::uint32_t since;  ///< up to which earlier diffs go
  std::uint32_t upto;
  std::vector<std::byte> bytes;
};

struct Page {
  PageId id;
  State state;
  bool busy = false;            ///< a thread is fetching it
  bool marked = false;          ///< in a list of the function at work
  bool predicted = false;       ///< dirty, but its twin was made in advance: may be unchanged
  std::uint16_t unchanged = 0;  ///< so many times in a row
  std::uint16_t patience = 8;   ///< after so many the twin is given up
  std::int32_t source;          ///< who has a copy: its first owner, or the last that gave notice
  std::uint32_t first = 0;      ///< the interval in which the twin was made
  std::uint32_t last_upto = 0;
  std::uint32_t changed_at = 0;   ///< the number of the last meeting before others' changes were put into the page
  std::uint32_t pushed_upto = 0;  ///< diffs up to here were sent along with barriers
  std::byte* twin = nullptr;
  std::uint64_t asked = 0;         ///< processes that have asked for changes since the last notice, as bits
  std::uint64_t asked_before = 0;  ///< between the notice before and the last
  std::uint64_t pushed = 0;        ///< who gets its diffs without asking
  std::vector<Diff> diffs;
  std::uint32_t* pending;  ///< for each process: its last interval with a notice for this page
  std::uint32_t* applied;  ///< and the one up to which its changes are here
};

/// Made at the first call.
Page& page_at(PageId id);
/// Null where nothing has happened yet.
Page* known_page(PageId id) noexcept;
const std::vector<Page*>& known_pages() noexcept;
bool has_pages() noexcept;
void make_pages();

struct Interval {
  std::uint32_t number;
  std::vector<PageId> pages;
};
/// The intervals of each process that are known here and not to all: since the last barrier.
extern std::vector<std::vector<Interval>> intervals;
/// The last interval of each process that is known here; the own entry is the last that has ended.
extern std::vector<std::uint32_t> known;
std::uint32_t& closed() noexcept;

/// Ends the own interval, if it has changes. `quiet`: no thread of this process runs the program.
void close_interval(bool quiet);
/// Ends the own interval and makes the diffs of its new twins, whose pages are read-only then. Nothing where there are none.
void close_stray_interval();
/// Makes a clean page writable, with a twin; does not protect.
void make_twin(Page& page);
/// Ends the page's twin; the page must be read-only by now, and its notice given. Then it is clean. One that is watched gets a new twin.
void settle(Page& page);
/// The page is exclusive again.
void make_exclusive(Page& page);
/// True if the page has changes that others know of and no diff has.
bool has_noticed_twin(const Page& page) noexcept;
/// The page lacks changes that it has notice of.
bool lacks(const Page& page) noexcept;
/// Makes the diff of a dirty page and a new twin at once: it stays writable.
void refresh(Page& page);
/// An object of the page was changed here for another process, which gets an interval and a diff of its own. Earlier changes have theirs.
void add_change(Page& page, std::size_t offset, std::size_t bytes);

/// Intervals that a process knows, as they lie in messages: by process.
void put_known(Message& message, const std::vector<std::uint32_t>& numbers);
std::vector<std::uint32_t> get_known(Received& message);
/// After this one a process has no intervals.
inline constexpr std::uint32_t kNoIntervals = ~0U;
/// Notices of intervals, as they lie in messages.
void put_intervals(Message& message, int process, std::uint32_t after);
/// Of one process: calls `each(process, interval)` for those not yet known, which become known. Returns the last one's number, 0 if none.
std::uint32_t get_intervals(Received& message, void (*each)(int process, const Interval& interval));
/// Heeds notices while threads of this process run: those of a lock.
void heed(Received& message, int senders);

/// Another process gets a copy of an exclusive page; it is read-only by now, or watched.
void end_exclusive(Page& page);
/// Pages that cannot wait for a fault, and lack changes.
extern std::vector<Page*> watched_lacking;

/// Twins and diffs, in bytes.
extern std::size_t protocol_bytes;

extern Trace trace;
extern std::array<std::uint64_t, static_cast<std::size_t>(Event::kinds)> event_counts;
inline void traced(Event event, PageId page, int other = -1, std::uint32_t from = 0, std::uint32_t to = 0) {
  ++event_counts[static_cast<std::size_t>(event)];
  if (trace) [[unlikely]]
    trace(event, page, other, from, to);
}

}  // namespace plait::cluster
