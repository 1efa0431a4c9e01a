#include "cluster/protocol.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "base/fatal.hpp"
#include "base/settings.hpp"
#include "cluster/children.hpp"
#include "cluster/diff.hpp"
#include "cluster/heap.hpp"
#include "cluster/job.hpp"
#include "cluster/pages.hpp"

namespace plait::cluster {
namespace {

/// Pages after one that is missing are asked for with it, if the ones before were: twice as many each time, up to this.
constexpr PageId kMostAhead = 64;
/// Twins and diffs of a process above which all give theirs up at the next barrier.
std::size_t most_bytes = std::size_t{256} << 20;

/// Pages that a thread waits for.
struct Fetch {
  std::size_t outstanding = 0;  ///< pages whose answers have not come
  std::vector<Received> answers;
  Page* in_background = nullptr;  ///< no thread waits for this page: a handler wants it
};
std::map<std::uint64_t, Fetch*> fetches;
std::uint64_t next_fetch = 0;
PageId expected_page = kNoPage;
PageId ahead = 1;

/// Barriers and forks that have come, by sender. One may be early by one.
std::vector<std::deque<Received>> arrived;

/// What is asked of one process about one page.
struct Question {
  PageId page;
  std::uint32_t since;
  std::uint32_t upto;   ///< the last interval that the asking process has notice of
  std::uint32_t whole;  ///< the page itself, there is no copy
};

bool is_sent(const Diff& diff, const Question& question) noexcept { return diff.upto > question.since && diff.first <= question.upto; }

void put_diffs(Message& message, const Page& page, const Question& question) {
  std::uint32_t count = 0;
  std::uint32_t upto = question.upto;
  for (const Diff& diff : page.diffs) {
    if (!is_sent(diff, question)) continue;
    ++count;
    upto = std::max(upto, diff.upto);
  }
  message.put(upto);
  message.put(count);
  for (const Diff& diff : page.diffs) {
    if (!is_sent(diff, question)) continue;
    message.put(diff.stamp);
    message.put(static_cast<std::uint32_t>(diff.bytes.size()));
    message.bytes(diff.bytes.data(), diff.bytes.size());
  }
}

/// The page has changes that a question is for and no diff has.
bool must_settle(const Page& page, const Question& question) noexcept {
  return has_noticed_twin(page) && (question.whole || page.first <= question.upto);
}

/// Somebody asks for changes of pages, or for whole pages.
void on_fetch(Received message) {
  const Head head = message.head();
  const int from = static_cast<int>(head.small);
  std::vector<Question> questions(message.left() / sizeof(Question));
  for (Question& question : questions) question = message.get<Question>();
  {
    // Changes end here: what is written from now on makes a new twin.
    Protections protections;
    for (const Question& question : questions) {
      const Page& page = page_at(question.page);
      if ((question.whole && page.state == State::exclusive) || must_settle(page, question)) protections.add(page.id, Access::read);
    }
  }
  Message answer(Kind::pages, 0, head.token);
  std::size_t answered = 0;
  for (const Question& question : questions) {
    Page& page = page_at(question.page);
    if (question.whole && page.state == State::absent) {
      Message on_its_way(Kind::fetch, head.small, head.token);
      on_its_way.put(question);
      send(page.source, std::move(on_its_way));
      continue;
    }
    if (must_settle(page, question)) settle(page);
    if (page.state == State::exclusive) end_exclusive(page);
    if (from < 64) page.asked |= std::uint64_t{1} << from;
    ++answered;
    answer.put(question.page);
    answer.put(question.whole);
    if (question.whole) {
      for (int n = 0; n < the_job.processes; ++n) answer.put(n == the_job.process ? closed() : page.applied[n]);
      // With a twin: the page as it was before the changes that have no notice yet. A diff would not put back what the program does.
      answer.bytes(page.twin ? page.twin : service_view(page.id), kPage);
    } else {
      put_diffs(answer, page, question);
    }
  }
  if (answered > 0) {
    answer.set(offsetof(Head, small), static_cast<std::uint32_t>(answered));
    send(from, std::move(answer));
  }
}

struct Change {
  Page* page;
  std::uint64_t stamp;
  std::span<const std::byte> bytes;
};

/// Puts what has come into the pages; nothing is left of it.
void install(std::vector<Received>& answers) {
  std::vector<Change> changes;
  for (Received& answer : answers) {
    while (answer.left() > 0) {
      Page& page = page_at(answer.get<PageId>());
      if (answer.get<std::uint32_t>()) {
        for (int n = 0; n < the_job.processes; ++n) {
          const auto upto = answer.get<std::uint32_t>();
          if (n != the_job.process) page.applied[n] = upto;
        }
        std::memcpy(service_view(page.id), answer.bytes(kPage), kPage);
        page.state = State::invalid;
        page.changed_at = meetings;
        traced(Event::apply, page.id, answer.from());
        continue;
      }
      const auto upto = answer.get<std::uint32_t>();
      traced(Event::apply, page.id, answer.from(), page.applied[answer.from()], upto);
      page.applied[answer.from()] = std::max(page.applied[answer.from()], upto);
      const auto count = answer.get<std::uint32_t>();
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto stamp = answer.get<std::uint64_t>();
        const auto bytes = answer.get<std::uint32_t>();
        changes.push_back({&page, stamp, {answer.bytes(bytes), bytes}});
      }
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.stamp < b.stamp; });
  for (const Change& change : changes) {
    change.page->changed_at = meetings;
    if (watched(change.page->id)) {
      apply_diff_to_page_in_use(change.bytes, service_view(change.page->id));
    } else {
      apply_diff(change.bytes, service_view(change.page->id));
    }
    if (change.page->twin) apply_diff(change.bytes, change.page->twin);
  }
  answers.clear();
}

/// A page after one that is missing, which may be asked for with it.
bool goes_along(PageId id, const Page& first) {
  if (home_of(id) != home_of(first.id) || watched(id) || watched(first.id) ||
      program_view(id) != program_view(first.id) + std::size_t{id - first.id} * kPage) {
    return false;
  }
  if (id >= kRangePages ? page_of(program_view(id)) != id : false) return false;
  const Page& page = page_at(id);
  return !page.busy && (page.state == State::absent || page.state == State::invalid);
}

/// Asks for what pages lack. False if they lack nothing.
bool ask_for(std::span<Page* const> pages, Fetch& fetch) {
  std::map<int, std::vector<Question>> questions;
  for (const Page* const page : pages) {
    if (page->state == State::absent) {
      questions[page->source].push_back({page->id, 0, 0, 1});
      continue;
    }
    for (int n = 0; n < the_job.processes; ++n) {
      if (page->pending[n] > page->applied[n]) questions[n].push_back({page->id, page->applied[n], page->pending[n], 0});
    }
  }
  if (questions.empty()) return false;
  const std::uint64_t token = ++next_fetch;
  fetches[token] = &fetch;
  for (const auto& [process, list] : questions) {
    Message message(Kind::fetch, static_cast<std::uint32_t>(the_job.process), token);
    for (const Question& question : list) {
      message.put(question);
      traced(Event::ask, question.page, process, question.since, known_page(question.page)->pending[process]);
    }
    fetch.outstanding += list.size();
    send(process, std::move(message));
  }
  return true;
}

/// Pages that cannot wait for a fault, and that are being fetched.
int watched_under_way = 0;

/// Goes on with a page that a handler wants. `fetch` ends with it.
void fetch_in_background(Fetch* fetch) {
  Page& page = *fetch->in_background;
  install(fetch->answers);
  if (ask_for({&fetch->in_background, 1}, *fetch)) return;
  delete fetch;
  page.busy = false;
  if (watched(page.id)) {
    --watched_under_way;
  } else {
    page.state = State::clean;
    protect(page.id, 1, Access::read);
  }
}

void on_pages(Received message) {
  const Head head = message.head();
  const auto found = fetches.find(head.token);
  if (found == fetches.end()) fatal("OpenMP over several nodes: pages that nobody has asked for");
  Fetch& fetch = *found->second;
  fetch.outstanding -= head.small;
  fetch.answers.push_back(std::move(message));
  if (fetch.outstanding > 0) return;
  fetches.erase(found);
  if (!fetch.in_background) return;  // the thread that waits goes on
  fetch_in_background(&fetch);
  if (when_pages_come) when_pages_come();
}

void begin_in_background(Page& page) {
  page.busy = true;
  if (watched(page.id)) ++watched_under_way;
  auto* const fetch = new Fetch;
  fetch->in_background = &page;
  fetch_in_background(fetch);
}

/// Asks for what a page and those behind it lack, until they lack nothing.
void fetch(Page& wanted, bool write) {
  std::vector<Page*> pages{&wanted};
  ahead = wanted.id == expected_page ? std::min(ahead * 2, kMostAhead) : 1;
  while (pages.size() < ahead && goes_along(wanted.id + static_cast<PageId>(pages.size()), wanted)) {
    pages.push_back(&page_at(wanted.id + static_cast<PageId>(pages.size())));
  }
  expected_page = wanted.id + static_cast<PageId>(pages.size());
  for (Page* const page : pages) page->busy = true;
  for (Fetch fetch; ask_for(pages, fetch);) {
    wait_until([&fetch] { return fetch.outstanding == 0; });
    install(fetch.answers);
  }
  Protections protections;
  for (Page* const page : pages) {
    page->busy = false;
    if (watched(page->id)) continue;
    page->state = State::clean;
    protections.add(page->id, Access::read);
  }
  protections.apply();
  if (write && wanted.state == State::clean) {
    make_twin(wanted);
    protect(wanted.id, 1, Access::write);
  }
  // It may heed notices that make these pages invalid again.
  if (when_pages_come) when_pages_come();
}

}  // namespace

void (*when_pages_come)() = nullptr;
std::uint32_t meetings = 0;

bool is_current(Page& page) {
  for (; !watched_lacking.empty(); watched_lacking.pop_back()) {
    Page& lacking = *watched_lacking.back();
    if (!lacking.busy && lacks(lacking)) begin_in_background(lacking);
  }
  if (watched_under_way > 0 || page.busy) return false;
  if (page.state != State::absent && page.state != State::invalid) return true;
  begin_in_background(page);
  return !page.busy && watched_under_way == 0;
}

void fetch_watched() {
  for (;;) {
    if (!watched_lacking.empty()) {
      Page* const page = watched_lacking.back();
      watched_lacking.pop_back();
      if (page->busy || !lacks(*page)) continue;  // who fetches it looks again itself
      ++watched_under_way;
      fetch(*page, false);
      --watched_under_way;
      if (when_pages_come) when_pages_come();
    } else if (watched_under_way > 0) {
      // Another thread got the notices that this one builds on, and does not have the pages yet.
      wait_until([] { return watched_under_way == 0 || !watched_lacking.empty(); });
    } else {
      return;
    }
  }
}

namespace {

// --- Barrier and fork

/// A diff that goes along with a barrier or a fork.
struct Push {
  PageId page;
  std::uint32_t since;
  std::uint32_t upto;
  std::uint32_t bytes;
  std::uint64_t stamp;
};

/// Own intervals before this one have been looked through for pages to push.
std::size_t pushed_from = 0;

/// Ends the interval, and makes the diffs that others get without asking: those of pages that have changed since the last barrier.
std::vector<Page*> release() {
  close_interval(true);
  auto& own = intervals[static_cast<std::size_t>(the_job.process)];
  std::vector<Page*> pages;
  for (; pushed_from < own.size(); ++pushed_from) {
    for (const PageId id : own[pushed_from].pages) {
      Page& page = *known_page(id);
      if (page.pushed && !page.marked) {
        page.marked = true;
        pages.push_back(&page);
      }
    }
  }
  for (Page* const page : pages) {
    page->marked = false;
    if (has_noticed_twin(*page)) refresh(*page);
  }
  return pages;
}

/// After the messages with them were made.
void end_release(const std::vector<Page*>& pages) {
  for (Page* const page : pages) page->pushed_upto = page->last_upto;
}

/// With the intervals of other processes as well: locks and atomic operations may have made them after these came to the barrier.
void put_release(Message& message, int to, const std::vector<Page*>& pages) {
  for (int n = 0; n < the_job.processes; ++n) put_intervals(message, n, n == to ? kNoIntervals : 0);
  const std::size_t at = message.size();
  std::uint32_t count = 0;
  message.put(count);
  if (to >= 64) return;
  for (const Page* const page : pages) {
    if (!(page->pushed >> to & 1)) continue;
    const auto later = [page](const Diff& diff) { return diff.upto > page->pushed_upto; };
    for (auto diff = std::find_if(page->diffs.begin(), page->diffs.end(), later); diff != page->diffs.end(); ++diff) {
      traced(Event::push, page->id, to, diff->since, diff->upto);
      message.put(Push{page->id, diff->since, diff->upto, static_cast<std::uint32_t>(diff->bytes.size()), diff->stamp});
      message.bytes(diff->bytes.data(), diff->bytes.size());
      ++count;
    }
  }
  message.set(at, count);
}

struct Arrived {
  Push push;
  int from;
  const std::byte* bytes;
};

/// Heeds notices and takes diffs that came along, while no thread of this process runs the program. `told` gets the last intervals of which
/// the messages tell, by process.
void acquire(std::vector<Received>& messages, std::vector<std::uint32_t>& told) {
  static std::vector<Page*> noticed;  // under the engine's lock
  noticed.clear();
  // OpenMP's threads have written nothing since their changes were told; a handler of a signal, or another thread, may have.
  close_stray_interval();
  std::vector<Arrived> pushes;
  for (Received& message : messages) {
    for (std::uint32_t& last : told) {
      last = std::max(last, get_intervals(message, [](int process, const Interval& interval) {
                        for (const PageId id : interval.pages) {
                          Page& page = page_at(id);
                          page.pending[process] = interval.number;
                          page.source = process;
                          if (!page.marked) noticed.push_back(&page);
                          page.marked = true;
                        }
                      }));
    }
    const auto count = message.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto push = message.get<Push>();
      pushes.push_back({push, message.from(), message.bytes(push.bytes)});
    }
  }
  std::sort(pushes.begin(), pushes.end(), [](const Arrived& a, const Arrived& b) {
    return a.push.page != b.push.page ? a.push.page < b.push.page : a.push.stamp < b.push.stamp;
  });
  Protections protections;
  for (std::size_t i = 0, end = 0; i < pushes.size(); i = end) {
    for (end = i; end < pushes.size() && pushes[end].push.page == pushes[i].push.page; ++end) {
    }
    Page& page = page_at(pushes[i].push.page);
    if (page.busy || page.state == State::absent || page.state == State::exclusive) continue;
    // All that the page lacks, or nothing: the order of changes would be lost.
    std::vector<std::uint32_t> reached(page.applied, page.applied + the_job.processes);
    for (std::size_t k = i; k < end; ++k) {
      std::uint32_t& there = reached[static_cast<std::size_t>(pushes[k].from)];
      if (there >= pushes[k].push.since) there = std::max(there, pushes[k].push.upto);
    }
    bool all = true;
    for (std::size_t n = 0; n < reached.size(); ++n) all = all && page.pending[n] <= reached[n];
    if (!all) continue;
    if (page.state == State::dirty && !page.predicted) {
      settle(page);
      protections.add(page.id, Access::read);
    }
    const auto apply = watched(page.id) ? apply_diff_to_page_in_use : apply_diff;
    for (std::size_t k = i; k < end; ++k) {
      // Asked for before it came: it may have been written over since.
      if (pushes[k].push.upto <= page.applied[pushes[k].from]) continue;
      const std::span<const std::byte> bytes(pushes[k].bytes, pushes[k].push.bytes);
      apply(bytes, service_view(page.id));
      if (page.twin) apply_diff(bytes, page.twin);
      traced(Event::apply, page.id, pushes[k].from, page.applied[pushes[k].from], pushes[k].push.upto);
    }
    std::copy(reached.begin(), reached.end(), page.applied);
    if (page.state == State::invalid) {
      page.state = State::clean;
      protections.add(page.id, Access::read);
    }
  }
  for (Page* const page : noticed) {
    page->marked = false;
    if (!lacks(*page)) continue;
    if (page->state == State::dirty) settle(*page);
    if (watched(page->id)) watched_lacking.push_back(page);
    if (page->state != State::clean) continue;
    page->state = State::invalid;
    protections.add(page->id, Access::none);
  }
  protections.apply();
  fetch_watched();
  ++meetings;
  if (when_pages_come) when_pages_come();
}

Received take(int from, Kind kind) {
  auto& queue = arrived[static_cast<std::size_t>(from)];
  wait_until([&queue] { return !queue.empty(); });
  Received message = std::move(queue.front());
  queue.pop_front();
  if (message.head().kind != kind) {
    fatal(
        "OpenMP over several nodes: process %d is at a barrier where process %d is not: all threads of the team must come to the same ones",
        kind == Kind::barrier ? the_job.process : from, kind == Kind::barrier ? from : the_job.process);
  }
  return message;
}

void on_arrival(Received message) { arrived[static_cast<std::size_t>(message.from())].push_back(std::move(message)); }

/// All give up twins and diffs. Whoever is the last process that gave notice of a page gets all of its changes; copies that lack some are
/// dropped. After the barrier all know the same notices, so all agree on who that is.
void repossess() {
  const std::vector<Page*> pages = known_pages();  // NOLINT(performance-unnecessary-copy-initialization): more may become known
  for (Page* const page : pages) {
    for (int n = 0; n < the_job.processes; ++n) {
      if (page->pending[n] > 0) page->source = n;
    }
    if (page->state == State::invalid && page->source == the_job.process) fetch(*page, false);
  }
  meet();
  Protections protections;
  for (Page* const page : pages) {
    // Its changes are nobody's: that nobody has asked for them means that all other copies lack them.
    const bool alone = has_noticed_twin(*page);
    if (alone) settle(*page);
    for (const Diff& diff : page->diffs) protocol_bytes -= diff.bytes.size();
    page->diffs.clear();
    page->last_upto = page->pushed_upto = 0;
    if (page->state == State::invalid) page->state = State::absent;
    if (alone) make_exclusive(*page);
    if (alone) traced(Event::repossess, page->id);
    std::fill_n(page->pending, 2 * the_job.processes, 0U);
  }
  meet();
}

}  // namespace

void start_protocol() {
  arrived.resize(static_cast<std::size_t>(the_job.processes));
  on(Kind::fetch, on_fetch);
  on(Kind::pages, on_pages);
  for (const Kind kind : {Kind::barrier, Kind::fork, Kind::end, Kind::meet}) on(kind, on_arrival);
  if (const auto megabytes = settings::number(settings::Id::cluster_memory)) most_bytes = static_cast<std::size_t>(*megabytes) << 20;
}

namespace {

/// Threads that make pages present; and whether they must not, as all give up what they know of pages.
int accesses = 0;
bool giving_up = false;

bool make_present(PageId id, bool write) {
  Page& page = page_at(id);
  for (;;) {
    if (page.busy) {
      wait_until([&page] { return !page.busy; });
      continue;
    }
    switch (page.state) {
      case State::exclusive:
        return heap_has(id);
      case State::absent:
      case State::invalid:
        fetch(page, write);
        continue;
      case State::clean:
        if (!write) return true;
        make_twin(page);
        protect(id, 1, Access::write);
        return true;
      case State::dirty:
        return true;
    }
  }
}

}  // namespace

void fetch_copies() {
  const std::vector<Page*> pages = known_pages();  // NOLINT(performance-unnecessary-copy-initialization): more may become known
  for (Page* const page : pages) {
    if (page->state == State::invalid) make_present(page->id, false);
  }
  fetch_watched();
}

bool access(PageId id, bool write) {
  const Guard guard;
  if (is_child() != Child::none) return access_in_child(id);
  if (ended) {
    protect(id, 1, Access::write);
    return true;
  }
  traced(write ? Event::write_fault : Event::read_fault, id);
  // OpenMP's threads are all at the barrier then; a handler of a signal, or another thread, comes here.
  if (giving_up) [[unlikely]]
    wait_until([] { return !giving_up; });
  ++accesses;
  const bool is_there = make_present(id, write);
  --accesses;
  return is_there;
}

void meet() {
  for (int n = 0; n < the_job.processes; ++n) {
    if (n != the_job.process) send(n, Message(Kind::meet));
  }
  for (int n = 0; n < the_job.processes; ++n) {
    if (n != the_job.process) take(n, Kind::meet);
  }
}

void barrier() {
  if (the_job.processes == 1) return;
  const Guard guard;
  const std::vector<Page*> pages = release();
  // By process: its last interval that all hear of in this barrier.
  std::vector<std::uint32_t> told(static_cast<std::size_t>(the_job.processes));
  told[static_cast<std::size_t>(the_job.process)] = closed();
  const bool full = protocol_bytes > most_bytes;
  for (int n = 0; n < the_job.processes; ++n) {
    if (n == the_job.process) continue;
    Message message(Kind::barrier, full);
    put_release(message, n, pages);
    send(n, std::move(message));
  }
  end_release(pages);
  std::vector<Received> messages;
  bool anybody_full = full;
  for (int n = 0; n < the_job.processes; ++n) {
    if (n == the_job.process) continue;
    messages.push_back(take(n, Kind::barrier));
    anybody_full = anybody_full || messages.back().head().small;
  }
  acquire(messages, told);
  // An interval that not all have heard of, of whoever is at work for another process meanwhile. Those who know of it go on telling it: a
  // later one, heard of alone, would hide it.
  for (std::size_t n = 0; n < intervals.size(); ++n) {
    std::erase_if(intervals[n], [&](const Interval& one) { return one.number <= told[n]; });
  }
  pushed_from = 0;
  if (anybody_full) {
    giving_up = true;
    wait_until([] { return accesses == 0; });
    repossess();
    giving_up = false;
  }
}

void fork(std::span<const std::byte> region) {
  if (the_job.processes == 1) return;
  const std::vector<std::byte> copy(region.begin(), region.end());  // it may lie in memory that is not here
  const Guard guard;
  const std::vector<Page*> pages = release();
  for (int n = 1; n < the_job.processes; ++n) {
    Message message(Kind::fork, static_cast<std::uint32_t>(copy.size()));
    message.bytes(copy.data(), copy.size());
    put_release(message, n, pages);
    send(n, std::move(message));
  }
  end_release(pages);
  ++meetings;
}

bool await_fork(std::span<std::byte> region) {
  std::vector<std::byte> bytes;
  {
    const Guard guard;
    auto& queue = arrived[0];
    wait_until([&queue] { return !queue.empty(); });
    if (queue.front().head().kind == Kind::end) return false;
    std::vector<Received> messages;
    messages.push_back(take(0, Kind::fork));
    const std::size_t size = messages[0].head().small;
    const std::byte* const start = messages[0].bytes(size);
    bytes.assign(start, start + size);
    std::vector<std::uint32_t> told(static_cast<std::size_t>(the_job.processes));
    acquire(messages, told);
  }
  std::memcpy(region.data(), bytes.data(), std::min(bytes.size(), region.size()));
  return true;
}

void tell_the_end() {
  const Guard guard;
  for (int n = 1; n < the_job.processes; ++n) send(n, Message(Kind::end));
}

void touch(const void* start, std::size_t bytes, bool write) {
  if (the_job.processes == 1 || bytes == 0 || page_of(start) == kNoPage || inside()) return;
  const auto* const begin = static_cast<const std::byte*>(start);
  const auto* const end = begin + bytes;
  for (const std::byte* at = begin; at < end;) {
    const PageId id = page_of(at);
    if (id == kNoPage) return;
    access(id, write);
    at = program_view(id) + kPage;
  }
}

bool shared(const void* address) noexcept { return the_job.processes > 1 && page_of(address) != kNoPage; }

}  // namespace plait::cluster
