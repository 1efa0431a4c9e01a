// Atomic operations. The process whose memory an object was at the beginning, its home, does all of them: its own threads by the
// processor's instructions, those of others by a message. So the page does not travel, and an operation costs one way there and back.
//
// An operation is a release and an acquire, whatever order the program names: OpenMP's atomics are relaxed, but a flush, which makes of
// them what a program means, is an instruction that gcc writes in place. The question takes along the notices that the home lacks, which
// heeds them before; the answer those that the asking process lacks.
//
// What an operation has changed is a change of the home's, with an interval and a diff of its own, which the asking process gets with the
// answer: it may read the object by a plain instruction next.
#include "cluster/atomics.hpp"

#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

#include "cluster/carrier.hpp"
#include "cluster/diff.hpp"
#include "cluster/engine.hpp"
#include "cluster/job.hpp"
#include "cluster/pages.hpp"
#include "cluster/protocol.hpp"

namespace plait::cluster {
namespace {

struct Question {
  PageId page;
  std::uint32_t offset;
  std::uint32_t bytes;
  Operation operation;
  std::uint64_t value;
  std::uint64_t expected;
  std::uint32_t meetings;  ///< of the asking process
  std::uint32_t applied;   ///< up to here the asking process has the home's changes of the page
};

/// What another process has asked for.
struct Wanted {
  Question question;
  std::vector<std::uint32_t> known;  ///< of the asking process, by process
  Received message;                  ///< its notices
  bool heeded = false;
};

/// In the order in which they came. Those at the front wait for pages.
std::deque<Wanted>& wanted = *new std::deque<Wanted>;

struct Asked {
  bool answered = false;
  std::uint64_t before = 0;
};
std::unordered_map<std::uint64_t, Asked*>& asked = *new std::unordered_map<std::uint64_t, Asked*>;
std::uint64_t next_token = 0;
/// For each home and each process: up to which interval the home was told by this process.
std::vector<std::vector<std::uint32_t>>& told = *new std::vector<std::vector<std::uint32_t>>;

/// Atomic with regard to threads of this process, which use the program's view of the same memory.
template <class T>
T change(std::byte* at, const Question& q) noexcept {
  auto* const object = reinterpret_cast<T*>(at);
  const auto value = static_cast<T>(q.value);
  constexpr int kOrder = __ATOMIC_SEQ_CST;
  switch (q.operation) {
    case Operation::load:
      return __atomic_load_n(object, kOrder);
    case Operation::store:
    case Operation::exchange:
      return __atomic_exchange_n(object, value, kOrder);
    case Operation::compare_exchange: {
      auto expected = static_cast<T>(q.expected);
      __atomic_compare_exchange_n(object, &expected, value, false, kOrder, kOrder);
      return expected;
    }
    case Operation::add:
      return __atomic_fetch_add(object, value, kOrder);
    case Operation::sub:
      return __atomic_fetch_sub(object, value, kOrder);
    case Operation::bit_and:
      return __atomic_fetch_and(object, value, kOrder);
    case Operation::bit_or:
      return __atomic_fetch_or(object, value, kOrder);
    case Operation::bit_xor:
      return __atomic_fetch_xor(object, value, kOrder);
    case Operation::bit_nand:
      return __atomic_fetch_nand(object, value, kOrder);
  }
  return T{};
}

std::uint64_t change(std::byte* at, const Question& q) noexcept {
  switch (q.bytes) {
    case 1:
      return change<std::uint8_t>(at, q);
    case 2:
      return change<std::uint16_t>(at, q);
    case 4:
      return change<std::uint32_t>(at, q);
    default:
      return change<std::uint64_t>(at, q);
  }
}

bool changes(const Question& q, std::uint64_t before) noexcept {
  return q.operation != Operation::load && (q.operation != Operation::compare_exchange || before == q.expected);
}

/// Does what is asked, unless something must come before: the notices of a barrier that the asking process has passed already, or changes
/// of the page.
bool do_operation(Wanted& one) {
  const Question& q = one.question;
  if (meetings < q.meetings) return false;
  if (!one.heeded) heed(one.message, the_job.processes);
  one.heeded = true;
  Page& page = page_at(q.page);
  if (!is_current(page)) return false;
  close_interval(false);
  // Earlier changes have a diff of their own: this one is not theirs.
  if (has_noticed_twin(page)) refresh(page);
  const std::uint64_t before = change(service_view(q.page) + q.offset, q);
  if (page.state != State::exclusive && changes(q, before)) add_change(page, q.offset, q.bytes);

  const int from = one.message.from();
  Message answer(Kind::result, 0, one.message.head().token, before);
  for (int n = 0; n < the_job.processes; ++n) put_intervals(answer, n, n == from ? kNoIntervals : one.known[static_cast<std::size_t>(n)]);
  answer.put(q.page);
  for (const Diff& diff : page.diffs) {
    if (diff.upto <= q.applied) continue;
    answer.put(diff.since);
    answer.put(diff.upto);
    answer.put(static_cast<std::uint32_t>(diff.bytes.size()));
    answer.bytes(diff.bytes.data(), diff.bytes.size());
  }
  send(from, std::move(answer));
  return true;
}

void go_on() {
  while (!wanted.empty() && do_operation(wanted.front())) wanted.pop_front();
}

void on_operate(Received message) {
  const auto question = message.get<Question>();
  std::vector<std::uint32_t> theirs = get_known(message);
  wanted.push_back({question, std::move(theirs), std::move(message)});
  go_on();
}

/// The home's changes of the page, if nothing else is lacking.
void take_changes(Received& message) {
  Page& page = page_at(message.get<PageId>());
  const int from = message.from();
  bool usable = !page.busy && page.state == State::invalid;
  for (int n = 0; n < the_job.processes; ++n) usable = usable && (n == from || page.pending[n] <= page.applied[n]);
  while (message.left() > 0) {
    const auto since = message.get<std::uint32_t>();
    const auto upto = message.get<std::uint32_t>();
    const auto bytes = message.get<std::uint32_t>();
    const std::byte* const diff = message.bytes(bytes);
    if (!usable || page.applied[from] < since || page.applied[from] >= upto) continue;
    apply_diff({diff, bytes}, service_view(page.id));
    page.applied[from] = upto;
    page.changed_at = meetings;
  }
  if (usable && !lacks(page)) {
    page.state = State::clean;
    protect(page.id, 1, Access::read);
  }
}

void on_result(Received message) {
  const Head head = message.head();
  heed(message, the_job.processes);
  take_changes(message);
  Asked& one = *asked.at(head.token);
  one.before = head.more;
  one.answered = true;
}

}  // namespace

void start_atomics() {
  told.assign(static_cast<std::size_t>(the_job.processes), std::vector<std::uint32_t>(static_cast<std::size_t>(the_job.processes)));
  on(Kind::operate, on_operate);
  on(Kind::result, on_result);
  when_pages_come = go_on;
}

int home(const volatile void* object) noexcept {
  const PageId page = page_of(const_cast<const void*>(object));
  return page == kNoPage ? -1 : home_of(page);
}

bool load_of_last_meeting(const volatile void* object, unsigned bytes, std::uint64_t& value) noexcept {
  const Guard guard;
  const Page* const page = known_page(page_of(const_cast<const void*>(object)));
  if (!page || page->changed_at == meetings || (page->state != State::clean && page->state != State::dirty)) return false;
  std::memcpy(&value, service_view(page->id) + reinterpret_cast<std::uintptr_t>(object) % kPage, bytes);
  return true;
}

std::uint64_t operate(volatile void* object, unsigned bytes, Operation operation, std::uint64_t value, std::uint64_t expected) {
  const PageId id = page_of(const_cast<const void*>(object));
  const int to = home_of(id);
  const Guard guard;
  traced(Event::operate, id, to);
  close_interval(false);
  Asked mine;
  const std::uint64_t token = ++next_token;
  asked[token] = &mine;
  Message message(Kind::operate, 0, token);
  const Page& page = page_at(id);
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(object) % kPage);
  const bool has_copy = page.state != State::absent;
  message.put(Question{id, offset, bytes, operation, value, expected, meetings, has_copy ? page.applied[to] : ~0U});
  put_known(message, known);
  std::vector<std::uint32_t>& there = told[static_cast<std::size_t>(to)];
  for (int n = 0; n < the_job.processes; ++n) put_intervals(message, n, n == to ? kNoIntervals : there[static_cast<std::size_t>(n)]);
  there = known;
  send(to, std::move(message));
  wait_until([&mine] { return mine.answered; });
  asked.erase(token);
  fetch_watched();
  return mine.before;
}

}  // namespace plait::cluster
