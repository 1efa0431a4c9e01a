#include "cluster/pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/fatal.hpp"
#include "cluster/diff.hpp"
#include "cluster/job.hpp"

namespace plait::cluster {

std::vector<std::vector<Interval>> intervals;
std::vector<std::uint32_t> known;
std::vector<Page*> watched_lacking;
std::size_t protocol_bytes = 0;
Trace trace = nullptr;
std::array<std::uint64_t, static_cast<std::size_t>(Event::kinds)> event_counts{};

namespace {

/// The most that a page's patience grows to: each time that a twin was given up too early it doubles.
constexpr std::uint16_t kMostPatience = 16384;

bool pushes_allowed = true;
Page** table = nullptr;
std::vector<Page*> all;
/// Twinned in the interval that is open.
std::vector<Page*> fresh;
std::vector<Page*> predicted;
std::vector<std::byte*> spare_twins;

std::byte* new_twin(const std::byte* from) {
  std::byte* twin = nullptr;
  if (spare_twins.empty()) {
    twin = static_cast<std::byte*>(std::aligned_alloc(64, kPage));
    if (!twin) fatal("no memory is left for the copies of changed pages");
  } else {
    twin = spare_twins.back();
    spare_twins.pop_back();
  }
  protocol_bytes += kPage;
  std::memcpy(twin, from, kPage);
  return twin;
}

void drop_twin(Page& page) {
  spare_twins.push_back(page.twin);
  page.twin = nullptr;
  page.predicted = false;
  protocol_bytes -= kPage;
}

void add_diff(Page& page, std::uint32_t first, std::vector<std::byte> bytes) {
  const std::uint32_t since = page.last_upto;
  page.last_upto = closed();
  traced(Event::diff, page.id, -1, since, closed());
  // Who gets the page's diffs without asking needs all of them, to know that none is missing.
  if (bytes.empty() && !page.pushed) return;
  protocol_bytes += bytes.size();
  page.diffs.push_back({++lamport, first, since, closed(), std::move(bytes)});
}

}  // namespace

std::uint64_t count_of(Event event) noexcept { return event_counts[static_cast<std::size_t>(event)]; }
void trace_events(Trace wanted) { trace = wanted; }
void allow_pushes(bool allowed) { pushes_allowed = allowed; }

void make_pages() {
  void* const got = mmap(nullptr, kMostPages * sizeof(Page*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) fatal("no address space is left for the table of shared pages");
  table = static_cast<Page**>(got);
  const auto processes = static_cast<std::size_t>(the_job.processes);
  intervals.resize(processes);
  known.resize(processes);
}

Page* known_page(PageId id) noexcept { return table[id]; }
const std::vector<Page*>& known_pages() noexcept { return all; }
bool has_pages() noexcept { return table != nullptr; }

Page& page_at(PageId id) {
  if (table[id]) return *table[id];
  const auto processes = static_cast<std::size_t>(the_job.processes);
  auto* const page = new Page;
  page->id = id;
  page->source = home_of(id);
  page->state = page->source == the_job.process ? State::exclusive : State::absent;
  page->pending = new std::uint32_t[2 * processes]{};
  page->applied = page->pending + processes;
  all.push_back(page);
  return *(table[id] = page);
}

std::uint32_t& closed() noexcept { return known[static_cast<std::size_t>(the_job.process)]; }

bool has_noticed_twin(const Page& page) noexcept { return page.state == State::dirty && !page.predicted && page.first <= closed(); }

bool lacks(const Page& page) noexcept {
  for (int n = 0; n < the_job.processes; ++n) {
    if (page.pending[n] > page.applied[n]) return true;
  }
  return false;
}

void make_twin(Page& page) {
  page.twin = new_twin(service_view(page.id));
  page.state = State::dirty;
  page.first = closed() + 1;
  if (page.unchanged >= page.patience) page.patience = std::min<std::uint16_t>(page.patience * 2, kMostPatience);
  page.unchanged = 0;
  fresh.push_back(&page);
  traced(Event::twin, page.id);
}

void settle(Page& page) {
  if (watched(page.id)) {
    if (!page.predicted) refresh(page);
    return;
  }
  if (!page.predicted) add_diff(page, page.first, encode_diff(service_view(page.id), page.twin));
  drop_twin(page);
  page.state = State::clean;
}

void end_exclusive(Page& page) {
  if (!watched(page.id)) {
    page.state = State::clean;
    return;
  }
  page.twin = new_twin(service_view(page.id));
  page.state = State::dirty;
  page.predicted = true;
  predicted.push_back(&page);
}

void make_exclusive(Page& page) {
  if (page.twin) drop_twin(page);
  page.state = State::exclusive;
}

void refresh(Page& page) {
  const bool was_predicted = page.predicted;
  // The page may be written to meanwhile, if it is watched: what the diff has and what the new twin has must be the same.
  alignas(64) std::array<std::byte, kPage> now;
  std::memcpy(now.data(), service_view(page.id), kPage);
  add_diff(page, page.first, encode_diff(now.data(), page.twin));
  std::memcpy(page.twin, now.data(), kPage);
  page.predicted = true;
  page.unchanged = 0;
  if (!was_predicted) predicted.push_back(&page);
}

void add_change(Page& page, std::size_t offset, std::size_t bytes) {
  const std::byte* const now = service_view(page.id);
  const std::uint32_t next = ++closed();
  add_diff(page, next, diff_of_object(offset, bytes, now));
  // So that it is not the program's change as well.
  if (page.twin) apply_diff(page.diffs.back().bytes, page.twin);
  page.pending[the_job.process] = page.applied[the_job.process] = next;
  intervals[static_cast<std::size_t>(the_job.process)].push_back({next, {page.id}});
  traced(Event::notice, page.id, -1, next, next);
}

void close_interval(bool quiet) {
  const std::uint32_t next = closed() + 1;
  Interval interval{next, {}};
  for (Page* const page : fresh) {
    // Written to, with what was there before: those who get its changes without asking need not hear of it.
    if (quiet && page->pushed && !differs(service_view(page->id), page->twin)) {
      page->predicted = true;
      page->unchanged = 0;
      predicted.push_back(page);
    } else {
      interval.pages.push_back(page->id);
    }
  }
  fresh.clear();
  Protections protections;
  std::erase_if(predicted, [&](Page* page) {
    if (!page->predicted) return true;
    if (differs(service_view(page->id), page->twin)) {
      page->predicted = false;
      page->first = next;
      interval.pages.push_back(page->id);
      return true;
    }
    if (!quiet || watched(page->id) || ++page->unchanged < page->patience) return false;
    protections.add(page->id, Access::read);
    settle(*page);
    return true;
  });
  if (interval.pages.empty()) return;
  for (const PageId id : interval.pages) {
    Page& page = *table[id];
    if (pushes_allowed) page.pushed |= page.asked & page.asked_before;
    page.asked_before = page.asked;
    page.asked = 0;
    page.pending[the_job.process] = page.applied[the_job.process] = next;
    traced(Event::notice, id, -1, next, next);
  }
  closed() = next;
  intervals[static_cast<std::size_t>(the_job.process)].push_back(std::move(interval));
}

void close_stray_interval() {
  if (fresh.empty()) [[likely]]
    return;
  const std::vector<Page*> pages = fresh;
  Protections protections;
  for (const Page* const page : pages) protections.add(page->id, Access::read);
  protections.apply();
  close_interval(false);
  for (Page* const page : pages) {
    if (page->state == State::dirty) settle(*page);
  }
}

void put_known(Message& message, const std::vector<std::uint32_t>& numbers) {
  message.bytes(numbers.data(), numbers.size() * sizeof numbers[0]);
}

std::vector<std::uint32_t> get_known(Received& message) {
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(the_job.processes));
  for (std::uint32_t& number : numbers) number = message.get<std::uint32_t>();
  return numbers;
}

void put_intervals(Message& message, int process, std::uint32_t after) {
  const auto& list = intervals[static_cast<std::size_t>(process)];
  const auto begin = std::find_if(list.begin(), list.end(), [after](const Interval& one) { return one.number > after; });
  message.put(process);
  message.put(static_cast<std::uint32_t>(list.end() - begin));
  for (auto one = begin; one != list.end(); ++one) {
    message.put(one->number);
    const std::size_t at = message.size();
    std::uint32_t runs = 0;
    message.put(runs);
    for (std::size_t i = 0; i < one->pages.size();) {
      std::uint32_t count = 1;
      while (i + count < one->pages.size() && one->pages[i + count] == one->pages[i] + count) ++count;
      message.put(one->pages[i]);
      message.put(count);
      i += count;
      ++runs;
    }
    message.set(at, runs);
  }
}

std::uint32_t get_intervals(Received& message, void (*each)(int process, const Interval& interval)) {
  const int process = message.get<int>();
  const auto count = message.get<std::uint32_t>();
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Interval interval{message.get<std::uint32_t>(), {}};
    last = interval.number;
    const auto runs = message.get<std::uint32_t>();
    for (std::uint32_t run = 0; run < runs; ++run) {
      const auto first = message.get<PageId>();
      const auto pages = message.get<std::uint32_t>();
      for (std::uint32_t page = 0; page < pages; ++page) interval.pages.push_back(first + page);
    }
    if (interval.number <= known[static_cast<std::size_t>(process)]) continue;
    known[static_cast<std::size_t>(process)] = interval.number;
    each(process, interval);
  }
  return last;
}

void heed(Received& message, int senders) {
  const std::size_t at = message.at();
  const std::vector<std::uint32_t> before = known;
  static std::vector<Page*> noticed;  // under the engine's lock
  noticed.clear();
  // Nobody may write to these pages from here on.
  for (int i = 0; i < senders; ++i) {
    get_intervals(message, [](int, const Interval& interval) {
      for (const PageId id : interval.pages) noticed.push_back(&page_at(id));
    });
  }
  Protections protections;
  for (const Page* const page : noticed) {
    if (page->state == State::dirty) protections.add(page->id, Access::read);
  }
  protections.apply();
  close_interval(false);
  const std::uint32_t own = closed();
  known = before;
  closed() = own;
  message.go_to(at);
  for (int i = 0; i < senders; ++i) {
    get_intervals(message, [](int process, const Interval& interval) {
      for (const PageId id : interval.pages) {
        Page& page = page_at(id);
        page.pending[process] = interval.number;
        page.source = process;
      }
      intervals[static_cast<std::size_t>(process)].push_back(interval);
    });
  }
  for (Page* const page : noticed) {
    // Where nothing is lacking it was made read-only for nothing: its next write makes a new twin.
    if (page->state == State::dirty) settle(*page);
    if (!lacks(*page)) continue;
    if (watched(page->id)) watched_lacking.push_back(page);
    if (page->state != State::clean) continue;
    page->state = State::invalid;
    protections.add(page->id, Access::none);
  }
}

}  // namespace plait::cluster
