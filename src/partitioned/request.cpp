#include "partitioned/request.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/backoff.hpp"
#include "base/crowd.hpp"
#include "lane/endpoint.hpp"
#include "layout/contents.hpp"
#include "partitioned/bell.hpp"
#include "partitioned/engine.hpp"
#include "plait/partitioned.h"
#include "stream/handle_bits.hpp"
#include "stream/message.hpp"
#include "stream/types.hpp"

namespace plait::partitioned {
namespace {

using layout::check;
using layout::require;

struct Partitioned : Request {
  Sender* sender = nullptr;  ///< one of the two; the engine's
  Receiver* receiver = nullptr;
  const char* element = nullptr;  ///< of a send whose ranges are added: where the first one begins
  std::int64_t extent = 0;        ///< and how far they are apart
  std::uint64_t size = 0;         ///< bytes of each
  bool attended = false;          ///< a thread has begun to wait; until the round is over

  [[nodiscard]] const Side& side() const noexcept { return sender ? sender->side() : receiver->side(); }
};

Partitioned& as(Request& r) noexcept { return static_cast<Partitioned&>(r); }
const Partitioned& as(const Request& r) noexcept { return static_cast<const Partitioned&>(r); }

/// Requests that are started and not complete. A hint: relaxed.
constinit std::atomic<int> active{0};

constexpr lane::Elsewhere kMessages{
    .neglected = []() noexcept { return active.load(std::memory_order_relaxed) > 0 || Engine::get().has_unsent(); },
    .visit = []() noexcept { return Engine::get().visit(); }};

/// Offers of the core since something last moved, in this thread.
thread_local unsigned idle = 0;

// ---- the kind's functions

bool done(const Request& r) noexcept {
  const Partitioned& p = as(r);
  return !p.active || (p.sender ? p.sender->done() : p.receiver->done());
}

/// Tells the other side whether a thread here will take or give what there is.
void attend(Partitioned& p, bool here) noexcept {
  if (p.attended == here) return;
  p.attended = here;
  if (p.sender) {
    p.sender->attend(here);
  } else {
    p.receiver->attend(here);
  }
}

bool step(Partitioned& p) noexcept { return p.active && (p.sender ? p.sender->step() : p.receiver->step()); }

void progress(Request& r) noexcept {
  /// The other messages of the process are looked at every so many rounds in vain.
  constexpr unsigned kRoundsToOthers = 8;
  thread_local unsigned rounds = 0;
  Partitioned& p = as(r);
  if (step(p) || !p.active) return;
  if (++rounds % kRoundsToOthers == 0) {
    static_cast<void>(Engine::get().visit());
  } else if (p.sender ? !p.sender->matched() : p.receiver->unsure()) {  // the sides have to find each other first
    static_cast<void>(Engine::get().poll());
  }
}

void set_status(const Partitioned& p, MPI_Status* status) noexcept {
  if (!status || status == MPI_STATUS_IGNORE) return;
  stream::set_empty(status);
  if (!p.active || p.sender) return;
  const int error = status->MPI_ERROR;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(p.receiver->received()));
  status->MPI_SOURCE = p.side().rank;
  status->MPI_TAG = p.side().nobody() ? MPI_ANY_TAG : p.side().tag;
  status->MPI_ERROR = error;
}

int peek(Request& r, void* status) noexcept {
  const Partitioned& p = as(r);
  set_status(p, static_cast<MPI_Status*>(status));
  return p.active && p.receiver ? p.receiver->error() : MPI_SUCCESS;
}

int retire(Request& r, void* status) noexcept {
  const int error = peek(r, status);
  idle = 0;
  attend(as(r), false);
  if (r.active) active.fetch_sub(1, std::memory_order_relaxed);
  r.active = false;
  return error;
}

int free_request(Request& r) noexcept {
  Partitioned& p = as(r);
  if (p.active) return MPI_ERR_REQUEST;
  if (p.sender) {
    Engine::get().remove(*p.sender);
  } else {
    Engine::get().remove(*p.receiver);
  }
  request::destroy(p);
  return MPI_SUCCESS;
}

int start(Request& r) {
  Partitioned& p = as(r);
  if (p.active) return MPI_ERR_REQUEST;
  if (p.sender) {
    p.sender->start();
  } else {
    p.receiver->start();
  }
  p.active = true;
  active.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

std::uint64_t communicator(const Request& r) {
  const Side& side = as(r).side();
  return !side.name || side.name->freed.load(std::memory_order_relaxed) ? 0 : stream::to_bits(side.comm);
}

void describe(const Request& r, std::string& text) {
  const Partitioned& p = as(r);
  const Side& side = p.side();
  text += std::string("a partitioned ") + (p.sender ? "send to" : "receive from") + " rank " + std::to_string(side.rank) + " with tag " +
          std::to_string(side.tag);
  if (!(p.sender ? p.sender->matched() : p.receiver->matched())) text += ", which the other side has not initialized";
  if (p.sender) {
    text += ", " + std::to_string(p.sender->readied()) + " of whose " + std::to_string(p.sender->elements()) +
            (p.sender->adds() ? " elements are added" : " partitions are ready");
  }
}

// ---- waiting

/// Rounds of polling before the core is offered to others, some 20 us; where cores are short, about as long as a piece takes. Then
/// so many offers before sleeping.
constexpr int kSpins = 1000;
constexpr int kSpinsInCrowd = 20;
constexpr unsigned kYields = 2000;
/// The other messages of the process are looked at every so many of these.
constexpr unsigned kYieldsToOthers = 4;
/// How long others may sleep who have to be asked, as the MPI has.
constexpr auto kDoze = std::chrono::microseconds(200);

/// A round for all of a group; true if one is done.
bool round(std::span<Request*> group, bool& moved) noexcept {
  bool any = false;
  for (Request* const r : group) {
    moved |= step(as(*r));
    any |= done(*r);
  }
  return any;
}

bool block(std::span<Request*> group, double) noexcept {
  for (Request* const r : group) attend(as(*r), true);
  bool moved = false;
  join_crowd();
  const int spins = is_crowd() ? kSpinsInCrowd : kSpins;
  for (int i = 0; i < spins; ++i) {
    moved = false;
    if (round(group, moved)) {
      idle = 0;
      return true;
    }
    if (moved) {
      i = 0;
      idle = 0;
    } else {
      relax();
    }
  }
  for (Request* const r : group) progress(*r);
  if (++idle % kYieldsToOthers == 0 && Engine::get().visit()) idle = 0;
  if (idle < kYields) {
    sched_yield();
    return true;
  }
  Bell::get().sleep(kDoze, [&] {
    bool found = false;
    return round(group, found) || found;
  });
  return true;
}

constexpr RequestKind kPartitioned{
    .progress = progress,
    .done = done,
    .retire = retire,
    .peek = peek,
    .free = free_request,
    .cancel = [](Request&) -> int { return MPI_ERR_REQUEST; },
    .block = block,
    .start = start,
    .communicator = communicator,
    .describe = describe,
};

// ---- making

/// MPI_Info key "plait_chunk_bytes".
std::uint64_t chunk_in(MPI_Info info) {
  if (info == MPI_INFO_NULL) return 0;
  std::array<char, 32> text{};
  int found = 0;
  check(PMPI_Info_get(info, PLAIT_CHUNK_BYTES, static_cast<int>(text.size()) - 1, text.data(), &found));
  if (!found) return 0;
  std::uint64_t bytes = 0;
  const char* const end = text.data() + std::strlen(text.data());
  const auto [stopped, error] = std::from_chars(text.data(), end, bytes);
  require(error == std::errc() && stopped == end && bytes > 0, MPI_ERR_INFO_VALUE);
  return bytes;
}

Side side_of(const Arguments& a) {
  require(a.comm != MPI_COMM_NULL, MPI_ERR_COMM);
  require(a.partitions >= 0 && a.partitions <= PLAIT_MOST_PARTITIONS, MPI_ERR_ARG);
  require(a.tag >= 0 && a.tag <= Engine::get().tag_limit(), MPI_ERR_TAG);
  Side side;
  side.comm = a.comm;
  side.rank = a.rank;
  side.tag = a.tag;
  side.partitions = a.partitions;
  side.chunk = chunk_in(a.info);
  require(a.count >= 0, MPI_ERR_COUNT);
  side.memory = stream::memory_of(a.buffer, a.count * a.partitions, a.type);
  side.name = name_of(a.comm);
  int inter = 0;
  int size = 0;
  check(PMPI_Comm_test_inter(a.comm, &inter));
  check(inter ? PMPI_Comm_remote_size(a.comm, &size) : PMPI_Comm_size(a.comm, &size));
  if (side.nobody()) return side;
  require(a.rank >= 0 && a.rank < size, MPI_ERR_RANK);
  require(a.buffer || a.type != MPI_BYTE || side.memory.bytes == 0, MPI_ERR_BUFFER);
  require(Engine::get().is_open() && side.name, MPI_ERR_UNSUPPORTED_OPERATION);
  find_processes(a.comm, {&a.rank, 1}, {&side.process, 1});
  require(side.process != MPI_UNDEFINED, MPI_ERR_UNSUPPORTED_OPERATION);  // a process of another MPI_COMM_WORLD
  return side;
}

Partitioned& make() {
  auto* const p = request::make<Partitioned>();
  if (!p) throw std::bad_alloc();
  p->kind = &kPartitioned;
  p->persistent = true;
  p->active = false;
  // release: nothing but the pointer; it is a constant.
  lane::elsewhere.store(&kMessages, std::memory_order_release);
  return *p;
}

/// Owns what is half made.
class Draft {
 public:
  Draft() : made_(&make()) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (made_) request::destroy(*made_);
  }
  [[nodiscard]] Partitioned& get() noexcept { return *made_; }
  Partitioned& release() noexcept { return *std::exchange(made_, nullptr); }

 private:
  Partitioned* made_;
};

Partitioned& make_send(Side side, std::optional<std::uint64_t> elements) try {
  Draft draft;
  auto sender = std::make_unique<Sender>(std::move(side), elements);
  draft.get().sender = sender.get();
  Engine::get().add(std::move(sender));
  return draft.release();
} catch (const std::system_error&) {
  throw layout::MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};  // no shared memory
}

/// A send, started unless `nothing` of it is meant: that may come when the rest has gone.
Partitioned& active_send(Request& r, bool adds, bool nothing) {
  require(is_partitioned(r), MPI_ERR_REQUEST);
  Partitioned& p = as(r);
  require(p.sender && p.sender->adds() == adds && (p.active || nothing), MPI_ERR_REQUEST);
  return p;
}

}  // namespace

void open(MPI_Comm comm, bool serialized) noexcept {
  if (comm != MPI_COMM_NULL) Engine::get().open(comm, serialized);
}

bool used() noexcept { return Engine::get().used(); }
bool move_all() noexcept { return used() && Engine::get().visit(); }

void close() noexcept { Engine::get().close(); }

bool is_partitioned(const Request& r) noexcept { return r.kind == &kPartitioned; }

Request& send_init(const Arguments& a) { return make_send(side_of(a), std::nullopt); }

Request& receive_init(const Arguments& a) try {
  Draft draft;
  auto receiver = std::make_unique<Receiver>(side_of(a));
  draft.get().receiver = receiver.get();
  static_cast<void>(Bell::get());
  Engine::get().add(std::move(receiver));
  return draft.release();
} catch (const std::system_error&) {
  throw layout::MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};
}

Request& send_create(const Arguments& a, int threads) {
  require(threads > 0, MPI_ERR_ARG);
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  Side side = side_of(a);
  check(PMPI_Type_get_extent(a.type, &low, &extent));
  Partitioned& p = make_send(std::move(side), static_cast<std::uint64_t>(a.count));
  p.element = static_cast<const char*>(a.buffer);
  p.extent = extent;
  p.size = a.count > 0 ? p.side().memory.bytes / static_cast<std::uint64_t>(a.count) : 0;
  return p;
}

void ready(Request& r, int low, int high) {
  join_crowd();
  Partitioned& p = active_send(r, false, false);
  require(low >= 0 && low <= high && high < p.side().partitions, MPI_ERR_ARG);
  require(p.sender->ready(low, high), MPI_ERR_ARG);
}

void ready(Request& r, int count, const int* partitions) {
  join_crowd();
  Partitioned& p = active_send(r, false, count == 0);
  require(count >= 0 && (partitions || count == 0), MPI_ERR_ARG);
  const std::span all(partitions, static_cast<std::size_t>(count));
  require(std::ranges::all_of(all, [&](int i) { return i >= 0 && i < p.side().partitions; }), MPI_ERR_ARG);
  bool once = true;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t n = 1;  // those that follow each other go together
    while (i + n < all.size() && all[i + n] == all[i] + static_cast<int>(n)) ++n;
    once &= p.sender->ready(all[i], all[i + n - 1]);
    i += n;
  }
  require(once, MPI_ERR_ARG);
}

bool arrived(Request& r, int partition) {
  require(is_partitioned(r), MPI_ERR_REQUEST);
  Partitioned& p = as(r);
  require(p.receiver, MPI_ERR_REQUEST);
  require(partition >= 0 && partition < p.side().partitions, MPI_ERR_ARG);
  if (!p.active || p.receiver->arrived(partition)) return true;
  progress(r);
  return p.receiver->arrived(partition);
}

void add(Request& r, const void* buffer, int count, MPI_Datatype type) {
  join_crowd();
  Partitioned& p = active_send(r, true, count == 0);
  require(count >= 0, MPI_ERR_COUNT);
  MPI_Count each = stream::plain_size(type);
  if (each < 0) check(PMPI_Type_size_x(type, &each));
  const auto bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(each);
  if (bytes == 0 && p.size > 0) return;
  require(p.size == 0 || bytes % p.size == 0, MPI_ERR_TYPE);
  const std::uint64_t elements = p.size == 0 ? static_cast<std::uint64_t>(count) : bytes / p.size;
  // By number: the buffer may be MPI_BOTTOM.
  const std::int64_t distance = reinterpret_cast<std::intptr_t>(buffer) - reinterpret_cast<std::intptr_t>(p.element);
  require(distance >= 0 && (p.extent == 0 ? distance == 0 : p.extent > 0 && distance % p.extent == 0), MPI_ERR_BUFFER);
  const auto first = p.extent == 0 ? 0 : static_cast<std::uint64_t>(distance / p.extent);
  require(first <= p.sender->elements() && elements <= p.sender->elements() - first, MPI_ERR_BUFFER);
  require(p.sender->add(first, elements), MPI_ERR_BUFFER);
}

}  // namespace plait::partitioned
