#include "partitioned/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/watchdog.hpp"
#include "p2p/handle_bits.hpp"
#include "p2p/hang.hpp"
#include "p2p/message.hpp"
#include "p2p/types.hpp"
#include "p2p/world.hpp"
#include "partitioned/doorbell.hpp"
#include "partitioned/engine.hpp"
#include "plait/partitioned.h"
#include "progress/source.hpp"

namespace plait::partitioned {
namespace {

struct Partitioned : Request {
  Sender* sender = nullptr;  ///< one of the two; the engine's
  Receiver* receiver = nullptr;
  const char* element = nullptr;  ///< of a send whose ranges are added: where the first one begins
  std::int64_t extent = 0;        ///< and how far they are apart
  std::uint64_t size = 0;         ///< bytes of each
  bool lasting = false;           ///< made by finepoints' calls: starting, waiting and freeing follow docs/partitioned.md, not MPI
  bool polled = false;            ///< a thread has begun to wait; until the round is over

  [[nodiscard]] const Side& side() const noexcept { return sender ? sender->side() : receiver->side(); }
};

Partitioned& as(Request& r) noexcept { return static_cast<Partitioned&>(r); }
const Partitioned& as(const Request& r) noexcept { return static_cast<const Partitioned&>(r); }

/// Requests that are started and not complete. A hint: relaxed.
constinit std::atomic<int> active{0};

/// Rounds that are started and not complete, and what the sides have to tell each other.
class Messages final : public progress::Source {
 public:
  [[nodiscard]] bool pending() const noexcept override {
    return active.load(std::memory_order_relaxed) > 0 || Sender::any_undelivered() || Engine::get().has_unsent();
  }
  bool try_progress() noexcept override { return Engine::get().try_progress(); }
};

// ---- the kind's functions

bool done(const Request& r) noexcept {
  const Partitioned& p = as(r);
  return !p.active || (p.sender ? p.sender->done() : p.receiver->done());
}

/// Tells the other side whether a thread here will take or give what there is.
void set_polled(Request& r, bool here) noexcept {
  Partitioned& p = as(r);
  if (p.polled == here) return;
  p.polled = here;
  if (p.sender) {
    p.sender->set_polled(here);
  } else {
    p.receiver->set_polled(here);
  }
}

bool step(Partitioned& p) noexcept { return p.active && (p.sender ? p.sender->step() : p.receiver->step()); }

bool progress(Request& r, Round& round) noexcept {
  Partitioned& p = as(r);
  if (step(p)) return true;
  // The two sides have to find each other first.
  const bool alone = p.active && (p.sender ? !p.sender->matched() : p.receiver->unsure());
  return alone && round.first(&Engine::get()) && Engine::get().exchange();
}

void set_status(const Partitioned& p, MPI_Status* status) noexcept {
  if (!status || status == MPI_STATUS_IGNORE) return;
  p2p::set_empty(status);
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
  set_polled(r, false);
  if (r.active) active.fetch_sub(1, std::memory_order_relaxed);
  r.active = false;
  return error;
}

int free_request(Request& r) noexcept {
  Partitioned& p = as(r);
  // A send that nobody has waited for may be over; what of it is not delivered goes on without the request.
  if (p.active && !(p.lasting && done(p))) return MPI_ERR_REQUEST;
  if (p.active) static_cast<void>(retire(p, nullptr));
  if (p.sender) {
    Engine::get().remove(*p.sender);
  } else {
    Engine::get().remove(*p.receiver);
  }
  request::destroy(p);
  return MPI_SUCCESS;
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

/// A send that nobody has waited for, or whose last round is not delivered: the next one waits for that.
void end_round(Partitioned& p) {
  const auto round = [&] { return p.sender->step() || (!p.sender->matched() && Engine::get().exchange()); };
  Watchdog watchdog;
  const auto check = [&] {
    if (watchdog.barks())
      p2p::tell_hang({"MPI_Start_part", nullptr}, 1, watchdog.seconds(), [&] {
        std::string text;
        describe(p, text);
        return text + ", the last round of which its receiver has not taken";
      });
  };
  set_polled(p, true);
  progress::wait_until(Doorbell::get(), progress::kForPartition, round, [&] { return p.sender->delivered(); }, check);
  static_cast<void>(retire(p, nullptr));
}

int start(Request& r) {
  Partitioned& p = as(r);
  if (p.active && p.lasting && p.receiver) return MPI_SUCCESS;
  if (p.active && !(p.lasting && done(p))) return MPI_ERR_REQUEST;
  if (p.sender && p.lasting) end_round(p);
  if (p.sender) {
    p.sender->start();
  } else {
    p.receiver->start();
  }
  p.active = true;
  active.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

/// Finepoints' receives are started by whoever waits for them.
void arm(Request& r) {
  const Partitioned& p = as(r);
  if (p.lasting && p.receiver && !p.active) static_cast<void>(start(r));
}

std::uint64_t communicator(const Request& r) {
  const Side& side = as(r).side();
  return !side.comm_id || side.comm_id->freed.load(std::memory_order_relaxed) ? 0 : p2p::to_bits(side.comm);
}

constexpr RequestKind kPartitioned{
    .progress = progress,
    .done = done,
    .retire = retire,
    .peek = peek,
    .free = free_request,
    .cancel = [](Request&) -> int { return MPI_ERR_REQUEST; },
    .waiter = [](Request&) -> progress::Waiter* { return &Doorbell::get(); },
    .patience = &progress::kForPartition,
    .set_polled = set_polled,
    .start = start,
    .arm = arm,
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
  side.memory = p2p::memory_of(a.buffer, a.count * a.partitions, a.type);
  side.comm_id = id_of(a.comm);
  int inter = 0;
  int size = 0;
  check(PMPI_Comm_test_inter(a.comm, &inter));
  check(inter ? PMPI_Comm_remote_size(a.comm, &size) : PMPI_Comm_size(a.comm, &size));
  if (side.nobody()) return side;
  require(a.rank >= 0 && a.rank < size, MPI_ERR_RANK);
  // Of the data: the datatype may hold the address, and the buffer be MPI_BOTTOM.
  const lane::Memory& m = side.memory;
  require(m.bytes == 0 || (m.layout ? m.buffer().at() != 0 : m.at != nullptr), MPI_ERR_BUFFER);
  require(Engine::get().is_open() && side.comm_id, MPI_ERR_UNSUPPORTED_OPERATION);
  p2p::GroupOf(a.comm).processes({&a.rank, 1}, {&side.process, 1});
  require(side.process != MPI_UNDEFINED, MPI_ERR_UNSUPPORTED_OPERATION);  // a process of another MPI_COMM_WORLD
  return side;
}

Partitioned& make() {
  auto* const p = request::make<Partitioned>();
  if (!p) throw std::bad_alloc();
  p->kind = &kPartitioned;
  p->persistent = true;
  p->active = false;
  static Messages messages;
  static const bool added = [] {
    progress::add_source(messages);
    return true;
  }();
  static_cast<void>(added);
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

Partitioned& make_send(Side side, std::optional<Ranges> ranges) try {
  Draft draft;
  auto sender = std::make_unique<Sender>(std::move(side), ranges);
  draft.get().sender = sender.get();
  Engine::get().add(std::move(sender));
  return draft.release();
} catch (const std::system_error&) {
  throw MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};  // no shared memory
}

/// A send, started unless `nothing` of it is meant: that may come when the rest has gone. So may all of a send to nobody, which is over at
/// once, whatever the program's other threads have still to say of it.
Partitioned& active_send(Request& r, bool adds, bool nothing) {
  require(is_partitioned(r), MPI_ERR_REQUEST);
  Partitioned& p = as(r);
  require(p.sender && p.sender->adds() == adds && (p.active || nothing || p.side().nobody()), MPI_ERR_REQUEST);
  return p;
}

}  // namespace

void open(MPI_Comm comm, bool serialized) noexcept {
  if (comm != MPI_COMM_NULL) Engine::get().open(comm, serialized);
}

bool move_all() noexcept {
  const bool moved = Engine::get().used() && Engine::get().try_progress();
  return Engine::get().exchange() || moved;
}

bool serves(MPI_Comm comm, int rank) {
  if (!Engine::get().is_open() || !id_of(comm)) return false;
  const p2p::GroupOf group(comm);
  if (rank < 0 || rank >= group.size()) return true;  // nobody, or a mistake
  int process = MPI_UNDEFINED;
  group.processes({&rank, 1}, {&process, 1});
  return process != MPI_UNDEFINED;
}

bool has_unsent() noexcept { return Engine::get().has_unsent(); }
transport::Traffic traffic() noexcept { return Engine::get().traffic(); }
void close() noexcept { Engine::get().close(); }

bool is_partitioned(const Request& r) noexcept { return r.kind == &kPartitioned; }

Request& send_init(const Arguments& a) { return make_send(side_of(a), std::nullopt); }

namespace {

Partitioned& make_receive(const Arguments& a) try {
  Draft draft;
  auto receiver = std::make_unique<Receiver>(side_of(a));
  draft.get().receiver = receiver.get();
  static_cast<void>(Doorbell::get());
  Engine::get().add(std::move(receiver));
  return draft.release();
} catch (const std::system_error&) {
  throw MPIError{MPI_ERR_UNSUPPORTED_OPERATION, false};
}

}  // namespace

Request& receive_init(const Arguments& a) { return make_receive(a); }

Request& receive_create(const Arguments& a) {
  Partitioned& p = make_receive(a);
  p.lasting = true;
  return p;
}

Request& send_create(const Arguments& a, int threads) {
  require(threads > 0, MPI_ERR_ARG);
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  Side side = side_of(a);
  check(PMPI_Type_get_extent(a.type, &low, &extent));
  Partitioned& p = make_send(std::move(side), Ranges{static_cast<std::uint64_t>(a.count), threads});
  p.lasting = true;
  p.element = static_cast<const char*>(a.buffer);
  p.extent = extent;
  p.size = a.count > 0 ? p.side().memory.bytes / static_cast<std::uint64_t>(a.count) : 0;
  return p;
}

void check_partitions(const Request& r, int low, int high) {
  require(is_partitioned(r) && as(r).sender && !as(r).sender->adds(), MPI_ERR_REQUEST);
  require(low >= 0 && low <= high && high < as(r).side().partitions, MPI_ERR_ARG);
}

void ready(Request& r, int low, int high) {
  progress::count_thread();
  Partitioned& p = active_send(r, false, false);
  require(low >= 0 && low <= high && high < p.side().partitions, MPI_ERR_ARG);
  require(p.sender->ready(low, high), MPI_ERR_ARG);
}

void ready(Request& r, int count, const int* partitions) {
  progress::count_thread();
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
  Round round;
  // A loop of these waits no less than a call that blocks: the MPI's own operations have to move, too.
  if (!progress(r, round) && progress::drive_sometimes()) progress::poll_mpi();
  return p.receiver->arrived(partition);
}

void add(Request& r, const void* buffer, int count, MPI_Datatype type, bool share) {
  progress::count_thread();
  Partitioned& p = active_send(r, true, count == 0 && !share);
  require(count >= 0, MPI_ERR_COUNT);
  MPI_Count each = p2p::plain_size(type);
  if (each < 0) check(PMPI_Type_size_x(type, &each));
  const auto bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(each);
  if (bytes == 0 && p.size > 0 && !share) return;
  require(p.size == 0 || bytes % p.size == 0, MPI_ERR_TYPE);
  std::uint64_t elements = p.size == 0 ? static_cast<std::uint64_t>(count) : bytes / p.size;
  // By number: the buffer may be MPI_BOTTOM.
  const std::int64_t distance = reinterpret_cast<std::intptr_t>(buffer) - reinterpret_cast<std::intptr_t>(p.element);
  require(distance >= 0 && (p.extent == 0 ? distance == 0 : p.extent > 0 && distance % p.extent == 0), MPI_ERR_BUFFER);
  const auto first = p.extent == 0 ? 0 : static_cast<std::uint64_t>(distance / p.extent);
  // Parts that are rounded up leave the buffer; of those only what lies in it is meant.
  const Ranges& ranges = p.sender->ranges();
  const std::uint64_t room = ranges.share() * static_cast<unsigned>(ranges.threads);
  require(first <= room && elements <= room - first, MPI_ERR_BUFFER);
  elements = first < ranges.elements ? std::min(elements, ranges.elements - first) : 0;
  require(share ? p.sender->add_share(first, elements) : p.sender->add(first, elements), MPI_ERR_BUFFER);
}

}  // namespace plait::partitioned
