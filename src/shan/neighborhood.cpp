#include "shan/neighborhood.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "lane/peer_heaps.hpp"
#include "layout/cache.hpp"
#include "progress/helper.hpp"
#include "progress/wait.hpp"
#include "shan/failure.hpp"

namespace plait::shan {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t lines(std::size_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

std::string number(std::int64_t n) { return std::to_string(n); }

}  // namespace

Duplicate::Duplicate(MPI_Comm comm) {
  const progress::Blocking blocking;
  check(PMPI_Comm_dup(comm, &comm_));
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

Duplicate::~Duplicate() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized || comm_ == MPI_COMM_NULL) return;
  const progress::Blocking blocking;
  PMPI_Comm_free(&comm_);
}

/// Where those sleep that wait: on the bell, or for a moment where the MPI has to be asked, too.
class Neighborhood::Bell final : public progress::Waiter {
 public:
  Bell(EventCount& bell, bool polls) noexcept : bell_(bell), polls_(polls) {}
  [[nodiscard]] EventCount* event() noexcept override { return polls_ ? nullptr : &bell_; }

 private:
  EventCount& bell_;
  bool polls_;
};

// ---- its making

Neighborhood::Shown& Neighborhood::shown(std::byte* block, int neighbors, int type, int neighbor) noexcept {
  auto* const first = reinterpret_cast<Shown*>(block + lines(sizeof(Head)));
  return first[static_cast<std::size_t>(type) * static_cast<std::size_t>(neighbors) + static_cast<std::size_t>(neighbor)];
}

Neighborhood::Lists Neighborhood::lists_in(std::byte* block, std::size_t at, int neighbors, const Limits& limits) noexcept {
  const auto n = static_cast<std::size_t>(neighbors);
  auto* const offsets = reinterpret_cast<long*>(block + at);
  long* const receive_offsets = offsets + n * static_cast<std::size_t>(limits.send_elements);
  auto* const counts = reinterpret_cast<int*>(receive_offsets + n * static_cast<std::size_t>(limits.receive_elements));
  return {counts, counts + n, counts + 2 * n, counts + 3 * n, offsets, receive_offsets};
}

/// Where each type's lists lie in the block of a process with so many neighbours; and the block's end.
std::size_t Neighborhood::place_lists(const std::vector<Limits>& limits, int neighbors, std::vector<std::size_t>& list_at) {
  const auto n = static_cast<std::size_t>(neighbors);
  std::size_t at = lines(sizeof(Head)) + limits.size() * n * sizeof(Shown);
  for (const Limits& l : limits) {
    list_at.push_back(at);
    const std::size_t offsets = static_cast<std::size_t>(l.send_elements) + static_cast<std::size_t>(l.receive_elements);
    at += lines((offsets * sizeof(long) + 4 * sizeof(int)) * n);
  }
  return at;
}

Neighborhood::Neighborhood(const std::vector<int>& neighbors, std::vector<Limits> limits, MPI_Comm node, MPI_Comm all)
    : comm_(all), node_(node), limits_(std::move(limits)) {
  event_count_begin();
  meet(neighbors);
  block_ = std::make_unique<SharedBlock>(place_lists(limits_, this->neighbors(), list_at_), node_.get());
  ways_.resize(limits_.size() * neighbors_.size());
  for (int t = 0; t < types(); ++t) {
    for (int i = 0; i < this->neighbors(); ++i) {
      if (neighbors_[static_cast<std::size_t>(i)].local >= 0) continue;
      any_far_ = true;
      const Limits& l = limits_[static_cast<std::size_t>(t)];
      way(t, i).outgoing.resize(static_cast<std::size_t>(l.send_bytes));
      way(t, i).incoming.resize(static_cast<std::size_t>(l.receive_bytes));
      post(t, i);
    }
  }
}

/// Every process learns whom all others name, and where it stands there.
void Neighborhood::meet(const std::vector<int>& neighbors) {
  const progress::Blocking blocking;
  int size = 0;
  int rank = 0;
  check(PMPI_Comm_size(comm_.get(), &size));
  check(PMPI_Comm_rank(comm_.get(), &rank));
  check(PMPI_Comm_rank(node_.get(), &me_));

  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group here = MPI_GROUP_NULL;
  check(PMPI_Comm_group(comm_.get(), &all));
  check(PMPI_Comm_group(node_.get(), &here));
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) ranks[static_cast<std::size_t>(r)] = r;
  local_of_.resize(ranks.size());
  check(PMPI_Group_translate_ranks(all, size, ranks.data(), here, local_of_.data()));
  for (int& local : local_of_) local = local == MPI_UNDEFINED ? -1 : local;
  PMPI_Group_free(&all);
  PMPI_Group_free(&here);

  // How many each names, and its types; then whom.
  const std::array<int, 2> mine{static_cast<int>(neighbors.size()), types()};
  std::vector<std::array<int, 2>> sizes(ranks.size());
  check(PMPI_Allgather(mine.data(), 2, MPI_INT, sizes.data(), 2, MPI_INT, comm_.get()));
  std::vector<int> counts;
  std::vector<int> begins;
  int total = 0;
  for (const auto& [count, type_count] : sizes) {
    counts.push_back(count);
    begins.push_back(total);
    total += count;
  }
  std::vector<int> named(static_cast<std::size_t>(total));
  check(PMPI_Allgatherv(neighbors.data(), mine[0], MPI_INT, named.data(), counts.data(), begins.data(), MPI_INT, comm_.get()));

  std::string wrong;
  std::vector<int> times(ranks.size());  // how often each has been named here so far
  for (const int r : neighbors) {
    const auto process = static_cast<std::size_t>(r);
    const int* const theirs = named.data() + begins[process];
    int index = -1;
    for (int i = 0, seen = 0; i < counts[process] && index < 0; ++i) {
      if (theirs[i] == rank && seen++ == times[process]) index = i;
    }
    ++times[process];
    if (index < 0 && wrong.empty())
      wrong = "rank " + number(r) + " is named as a neighbour and does not name this process as often: both directions must exist";
    if (sizes[process][1] != types() && wrong.empty()) {
      wrong = "rank " + number(r) + " has " + number(sizes[process][1]) + " types, and this process " + number(types());
    }
    neighbors_.push_back({r, local_of_[process], index, {}, {}, counts[process]});
  }
  // Those it is named by, and does not name itself, find that out; all give up together.
  const int bad = wrong.empty() ? 0 : 1;
  int any = 0;
  check(PMPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm_.get()));
  if (bad) throw Failure(wrong);
  if (any) throw Failure("another process has named neighbours or types that do not fit");

  // Of those on the node: how large their lists are.
  const auto t = limits_.size();
  std::vector<Limits> limits_of(ranks.size() * t);
  if (t > 0) {
    check(PMPI_Allgather(limits_.data(), static_cast<int>(t * sizeof(Limits)), MPI_BYTE, limits_of.data(),
                         static_cast<int>(t * sizeof(Limits)), MPI_BYTE, comm_.get()));
  }
  for (Neighbor& n : neighbors_) {
    const auto first = limits_of.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(n.rank) * t);
    n.limits.assign(first, first + static_cast<std::ptrdiff_t>(t));
    place_lists(n.limits, n.neighbors, n.list_at);
  }
}

Neighborhood::~Neighborhood() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized) return;
  const progress::Blocking blocking;
  for (Way& w : ways_) {
    if (w.send != MPI_REQUEST_NULL) PMPI_Wait(&w.send, MPI_STATUS_IGNORE);
    if (w.receive == MPI_REQUEST_NULL) continue;
    PMPI_Cancel(&w.receive);
    PMPI_Wait(&w.receive, MPI_STATUS_IGNORE);
  }
  // Nobody looks at this block any more.
  PMPI_Barrier(node_.get());
}

// ---- what is sent and received

Neighborhood::Lists Neighborhood::lists(int type) const noexcept {
  const auto t = static_cast<std::size_t>(type);
  return lists_in(block_->at(static_cast<std::size_t>(me_)), list_at_[t], neighbors(), limits_[t]);
}

namespace {

Elements in_memory(const Segment& segment, int local) {
  expect(static_cast<std::size_t>(local) < segment.block.processes(), "the segment is of another communicator than the neighbourhood");
  Elements e;
  e.memory = segment.block.at(static_cast<std::size_t>(local));
  e.memory_bytes = segment.block.bytes(static_cast<std::size_t>(local));
  return e;
}

/// Throws Failure where the program has written nonsense.
void set_list(Elements& e, int count, int length, const long* offset, int most, std::int64_t most_bytes, const char* what) {
  if (count < 0 || count > most)
    throw Failure(std::string(what) + ": " + number(count) + " elements, where there may be 0 to " + number(most));
  if (length < 0 || (count > 0 && length == 0)) throw Failure(std::string(what) + ": elements of " + number(length) + " bytes");
  if (static_cast<std::int64_t>(count) * length > most_bytes)
    throw Failure(std::string(what) + ": " + number(static_cast<std::int64_t>(count) * length) + " bytes, where there may be " +
                  number(most_bytes));
  e.count = count;
  e.length = length;
  e.offset = offset;
}

void set_sent(Elements& e, const Neighborhood::Lists& lists, const Limits& l, int neighbor, const char* what) {
  set_list(e, lists.send_count[neighbor], lists.send_length[neighbor], lists.send_offset + std::ptrdiff_t{neighbor} * l.send_elements,
           l.send_elements, l.send_bytes, what);
}

}  // namespace

Elements Neighborhood::to_send(const Segment& segment, int type, int neighbor) {
  Elements e = in_memory(segment, me_);
  e.layout = way(type, neighbor).send_layout.get();
  if (!e.layout) set_sent(e, lists(type), limits_[static_cast<std::size_t>(type)], neighbor, "what is sent");
  return e;
}

Elements Neighborhood::to_receive(const Segment& segment, int type, int neighbor) {
  Elements e = in_memory(segment, me_);
  e.layout = way(type, neighbor).receive_layout.get();
  if (!e.layout) {
    const Limits& l = limits_[static_cast<std::size_t>(type)];
    const Lists to = lists(type);
    set_list(e, to.receive_count[neighbor], to.receive_length[neighbor], to.receive_offset + std::ptrdiff_t{neighbor} * l.receive_elements,
             l.receive_elements, l.receive_bytes, "what is received");
  }
  return e;
}

/// What a neighbour on the node sends, which is ready.
Elements Neighborhood::theirs_to_read(const Segment& segment, int type, int neighbor) {
  const Neighbor& n = neighbors_[static_cast<std::size_t>(neighbor)];
  const auto t = static_cast<std::size_t>(type);
  Elements e = in_memory(segment, n.local);
  const Shown& s = theirs(type, n);
  if (s.segment != segment.id) throw Failure("the neighbour sends out of segment " + number(s.segment) + ", not " + number(segment.id));
  Way& w = way(type, neighbor);
  if (s.run_version == 0) {
    const Lists lists = lists_in(block_->at(static_cast<std::size_t>(n.local)), n.list_at[t], n.neighbors, n.limits[t]);
    set_sent(e, lists, n.limits[t], n.index, "what the neighbour sends");
    return e;
  }
  if (w.theirs_version != s.run_version) {
    lane::PeerHeap heap;
    const lane::MappedBuffer mapped = lane::map_buffer(heap, s.run_place);
    expect(mapped.at != nullptr, "the neighbour's datatype cannot be mapped");
    w.theirs = rebuild({reinterpret_cast<const PublishedRun*>(mapped.at), s.runs});
    w.theirs_version = s.run_version;
  }
  e.layout = w.theirs.get();
  return e;
}

void Neighborhood::set_datatypes(int type, int neighbor, MPI_Datatype send, MPI_Datatype receive) {
  const Neighbor& n = neighbors_[static_cast<std::size_t>(neighbor)];
  const Limits& l = limits_[static_cast<std::size_t>(type)];
  Way& w = way(type, neighbor);
  expect((send == MPI_DATATYPE_NULL) == (receive == MPI_DATATYPE_NULL), "one of two datatypes is null");
  expect(has_left(type, neighbor), "a send to that neighbour is under way");
  const auto layout = [](MPI_Datatype d) { return d == MPI_DATATYPE_NULL ? nullptr : layout::layout_of(d); };
  std::shared_ptr<const layout::Layout> to_send = layout(send);
  std::shared_ptr<const layout::Layout> to_receive = layout(receive);
  const auto fits = [](const std::shared_ptr<const layout::Layout>& made, long most, const char* what) {
    if (made && made->bytes() > most)
      throw Failure(std::string(what) + " of " + number(made->bytes()) + " bytes, where there may be " + number(most));
  };
  fits(to_send, l.send_bytes, "a datatype to send");
  fits(to_receive, l.receive_bytes, "a datatype to receive");
  if (n.local >= 0) {
    static std::atomic<std::uint64_t> versions{0};
    Shown& s = own(type, neighbor);
    std::unique_ptr<OwnBlock> runs;
    if (to_send) {
      const std::vector<PublishedRun> list = publish(*to_send);
      runs = std::make_unique<OwnBlock>(std::max<std::size_t>(list.size(), 1) * sizeof(PublishedRun));
      if (!list.empty()) std::memcpy(runs->data(), list.data(), list.size() * sizeof(PublishedRun));
      s.runs = list.size();
      s.run_place = runs->place();
    }
    s.run_version = to_send ? versions.fetch_add(1, std::memory_order_relaxed) + 1 : 0;
    w.runs = std::move(runs);
  }
  w.send_layout = std::move(to_send);
  w.receive_layout = std::move(to_receive);
}

void Neighborhood::post(int type, int neighbor) {
  const Neighbor& n = neighbors_[static_cast<std::size_t>(neighbor)];
  Way& w = way(type, neighbor);
  const MpiLock serial;
  check(PMPI_Irecv(w.incoming.data(), static_cast<int>(w.incoming.size()), MPI_BYTE, n.rank, tag(type, neighbor), comm_.get(), &w.receive));
}

// ---- messages

void Neighborhood::send(const Segment& segment, int type, int neighbor) {
  const Neighbor& n = neighbors_[static_cast<std::size_t>(neighbor)];
  Way& w = way(type, neighbor);
  const Elements e = to_send(segment, type, neighbor);
  wait_for_send(type, neighbor);
  if (n.local < 0) {
    const auto bytes = static_cast<std::size_t>(e.bytes());
    gather(e, {w.outgoing.data(), bytes});
    const MpiLock serial;
    check(PMPI_Isend(w.outgoing.data(), static_cast<int>(bytes), MPI_BYTE, n.rank, tag(type, n.index), comm_.get(), &w.send));
    ++w.sent;
    return;
  }
  Shown& s = own(type, neighbor);
  s.segment = segment.id;
  // release: the data, what is to be read of it, and the line above.
  s.sent.store(++w.sent, std::memory_order_release);
  head(n.local).bell.notify();
}

bool Neighborhood::try_receive(const Segment& segment, int type, int neighbor) {
  const Neighbor& n = neighbors_[static_cast<std::size_t>(neighbor)];
  Way& w = way(type, neighbor);
  if (n.local >= 0) {
    // acquire: see send().
    if (theirs(type, n).sent.load(std::memory_order_acquire) <= w.received) return false;
    const Elements to = to_receive(segment, type, neighbor);
    copy(theirs_to_read(segment, type, neighbor), to);
    // release: what was read. The sender may write it again.
    own(type, neighbor).taken.store(++w.received, std::memory_order_release);
    head(n.local).bell.notify();
    return true;
  }
  if (!w.come) {
    int flag = 0;
    MPI_Status status;
    const MpiTryLock serial;
    if (!serial) return false;
    check(PMPI_Test(&w.receive, &flag, &status));
    if (!flag) return false;
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    w.come = static_cast<std::size_t>(bytes);
  }
  // Where that fails the message stays, and the next call may say it better.
  scatter({w.incoming.data(), *w.come}, to_receive(segment, type, neighbor));
  w.come.reset();
  ++w.received;
  post(type, neighbor);
  return true;
}

bool Neighborhood::has_left(int type, int neighbor) {
  const Neighbor& n = neighbors_[static_cast<std::size_t>(neighbor)];
  Way& w = way(type, neighbor);
  // acquire: what the neighbour has read.
  if (n.local >= 0) return theirs(type, n).taken.load(std::memory_order_acquire) >= w.sent;
  if (w.send == MPI_REQUEST_NULL) return true;
  int flag = 0;
  const MpiTryLock serial;
  if (serial) check(PMPI_Test(&w.send, &flag, MPI_STATUS_IGNORE));
  return flag != 0;
}

// ---- waiting

template <class Done>
void Neighborhood::wait(bool polls, Done done) {
  if (done()) return;
  Bell bell(head(me_).bell, polls);
  std::exception_ptr failure;  // nothing may be thrown through a wait
  const auto done_or_failed = [&] {
    try {
      return done();
    } catch (...) {
      failure = std::current_exception();
      return true;
    }
  };
  progress::wait_until(bell, progress::kForMessage, [] { return false; }, done_or_failed, [] {});
  if (failure) std::rethrow_exception(failure);
}

void Neighborhood::receive(const Segment& segment, int type, int neighbor) {
  wait(neighbors_[static_cast<std::size_t>(neighbor)].local < 0, [&] { return try_receive(segment, type, neighbor); });
}

void Neighborhood::wait_for_send(int type, int neighbor) {
  wait(neighbors_[static_cast<std::size_t>(neighbor)].local < 0, [&] { return has_left(type, neighbor); });
}

void Neighborhood::receive_all(const Segment& segment, int type, bool begin_next) {
  std::uint64_t round = 0;
  for (int i = 0; i < neighbors(); ++i) round = std::max({round, way(type, i).sent, way(type, i).received});
  const auto is_behind = [&](int i) { return way(type, i).received < round; };
  bool outstanding = false;
  for (int i = 0; i < neighbors(); ++i) outstanding = outstanding || is_behind(i);
  if (!outstanding) {
    if (!begin_next) return;
    ++round;
  }
  wait(any_far_, [&] {
    bool all = true;
    for (int i = 0; i < neighbors(); ++i) {
      while (is_behind(i) && try_receive(segment, type, i)) {
      }
      all = all && !is_behind(i);
    }
    return all;
  });
}

void Neighborhood::wait_for_sends(int type) {
  wait(any_far_, [&] {
    bool all = true;
    for (int i = 0; i < neighbors(); ++i) all = has_left(type, i) && all;
    return all;
  });
}

// ---- others

void Neighborhood::barrier() {
  const progress::Blocking blocking;
  check(PMPI_Barrier(node_.get()));
}

int Neighborhood::local_rank(int rank) const {
  expect(rank >= 0 && static_cast<std::size_t>(rank) < local_of_.size(), "no such rank");
  return local_of_[static_cast<std::size_t>(rank)];
}

}  // namespace plait::shan
