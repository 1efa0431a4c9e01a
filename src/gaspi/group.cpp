#include "gaspi/group.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "gaspi/job.hpp"
#include "gaspi/mailbox.hpp"
#include "lane/node.hpp"

namespace plait::gaspi {

/// One of this process's.
class Group {
 public:
  Group(Job& job, std::uint32_t number) : job_(job), number_(number) {}

  enum class State : std::uint8_t { made, committing, committed };

  std::vector<std::uint16_t> ranks;  ///< ascending
  std::atomic<State> state{State::made};
  std::uint64_t key = 0;
  Mailbox mailbox;
  Region::Place place{0, nullptr};
  std::size_t place_bytes = 0;

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] bool has(std::uint16_t rank) const noexcept { return std::ranges::binary_search(ranks, rank); }

  /// The caller's turn, if it is the only one in a call of this group.
  class Turn {
   public:
    explicit Turn(Group& group) noexcept : group_(group), mine_(!group.busy_.exchange(true, std::memory_order_acquire)) {}
    ~Turn() {
      if (mine_) group_.busy_.store(false, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const noexcept { return mine_; }

   private:
    Group& group_;
    bool mine_;
  };

  /// Finds the mailboxes of near members. True when all are known.
  [[nodiscard]] bool connect() noexcept;
  void begin_barrier() noexcept;
  /// GASPI_TIMEOUT: not yet.
  [[nodiscard]] gaspi_return_t step_barrier() noexcept;
  void begin_reduction(const void* from, const Reducer& reducer);
  [[nodiscard]] gaspi_return_t step_reduction(gaspi_timeout_t timeout) noexcept;
  [[nodiscard]] bool has_dead() const noexcept;

  enum class Call : std::uint8_t { none, commit, barrier, reduction };
  Call call = Call::none;  ///< that has timed out, and is to be taken up
  Reducer whole;           ///< a reduction, which is made in pieces
  std::size_t done = 0;    ///< elements of it
  Reducer reducer;         ///< of the piece
  std::vector<std::byte> sum;

 private:
  void send(std::size_t index, Letter::Kind kind, std::uint8_t slot, const void* data, std::size_t bytes) noexcept;
  [[nodiscard]] std::uint8_t pre() const noexcept { return static_cast<std::uint8_t>(doublings_); }
  [[nodiscard]] std::uint8_t post() const noexcept { return static_cast<std::uint8_t>(doublings_ + 1); }
  [[nodiscard]] bool take(std::uint8_t slot, bool mine_first, gaspi_return_t& result, gaspi_timeout_t timeout) noexcept;

  Job& job_;
  std::uint32_t number_;
  std::atomic<bool> busy_{false};
  std::size_t me_ = 0;
  std::vector<Mailbox> near_;  ///< of all members; without memory where far
  std::vector<EventCount*> bells_;
  std::size_t known_ = 0;

  std::uint64_t barriers_ = 0, reductions_ = 0;
  std::uint8_t round_ = 0;
  bool sent_ = false;
  enum class Phase : std::uint8_t { pre, doubling, post, over } phase_ = Phase::pre;
  std::uint32_t doublings_ = 0;
};

bool Group::connect() noexcept {
  if (near_.empty()) {
    near_.resize(ranks.size());
    bells_.resize(ranks.size());
    me_ = static_cast<std::size_t>(std::ranges::lower_bound(ranks, job_.rank) - ranks.begin());
    doublings_ = static_cast<std::uint32_t>(std::bit_width(ranks.size()) - 1);
  }
  for (; known_ < ranks.size(); ++known_) {
    const Peer& peer = job_.peers[ranks[known_]];
    if (!peer.control) continue;
    const auto at = std::ranges::find_if(peer.control->groups, [&](const GroupEntry& e) {
      // acquire: its mailbox.
      return e.key.load(std::memory_order_acquire) == key;
    });
    if (at == peer.control->groups.end()) return false;
    std::byte* const memory =
        known_ == me_ ? static_cast<std::byte*>(place.memory)
                      : static_cast<std::byte*>(lane::Node::get().at({peer.region, at->offset.load(std::memory_order_relaxed)}));
    near_[known_] = Mailbox(memory, mailbox);
    bells_[known_] = &peer.control->bell;
  }
  return true;
}

bool Group::has_dead() const noexcept {
  return job_.deaths.load(std::memory_order_relaxed) > 0 &&
         std::ranges::any_of(ranks, [&](std::uint16_t r) { return job_.peers[r].dead.load(std::memory_order_relaxed); });
}

void Group::send(std::size_t index, Letter::Kind kind, std::uint8_t slot, const void* data, std::size_t bytes) noexcept {
  Letter letter;
  letter.kind = kind;
  letter.slot = slot;
  letter.key = key;
  letter.number = kind == Letter::Kind::barrier ? barriers_ : reductions_;
  if (near_[index]) {
    near_[index].put(letter, data, bytes);
    bells_[index]->notify();
  } else {
    far::send(job_, job_.peers[ranks[index]], letter, {static_cast<const std::byte*>(data), bytes});
  }
}

void Group::begin_barrier() noexcept {
  ++barriers_;
  round_ = 0;
  sent_ = false;
}

gaspi_return_t Group::step_barrier() noexcept {
  const std::size_t n = ranks.size();
  while (std::size_t{1} << round_ < n) {
    const std::size_t distance = std::size_t{1} << round_;
    if (!std::exchange(sent_, true)) send((me_ + distance) % n, Letter::Kind::barrier, round_, nullptr, 0);
    if (!mailbox.has_come(Letter::Kind::barrier, round_, barriers_)) return has_dead() ? GASPI_ERROR : GASPI_TIMEOUT;
    ++round_;
    sent_ = false;
  }
  return GASPI_SUCCESS;
}

void Group::begin_reduction(const void* from, const Reducer& r) {
  reducer = r;
  const auto* const first = static_cast<const std::byte*>(from);
  sum.assign(first, first + r.bytes());
  ++reductions_;
  round_ = 0;
  sent_ = false;
  phase_ = Phase::pre;
}

/// Combines what has come in a slot; false where nothing has, or it cannot be combined now.
bool Group::take(std::uint8_t slot, bool mine_first, gaspi_return_t& result, gaspi_timeout_t timeout) noexcept {
  if (!mailbox.has_come(Letter::Kind::reduction, slot, reductions_)) {
    result = has_dead() ? GASPI_ERROR : GASPI_TIMEOUT;
    return false;
  }
  void* const other = mailbox.data(slot, reductions_);
  result = mine_first ? reducer.combine(sum.data(), other, sum.data(), timeout) : reducer.combine(other, sum.data(), sum.data(), timeout);
  return result == GASPI_SUCCESS;
}

/// The first ranks in pairs, so that a power of two is left, whose members double; then the pairs tell each other.
gaspi_return_t Group::step_reduction(gaspi_timeout_t timeout) noexcept {
  constexpr auto kKind = Letter::Kind::reduction;
  const std::size_t power = std::size_t{1} << doublings_;
  const std::size_t extra = ranks.size() - power;
  const bool paired = me_ < 2 * extra;
  gaspi_return_t result = GASPI_SUCCESS;
  if (phase_ == Phase::pre && paired && me_ % 2 != 0) {
    if (!std::exchange(sent_, true)) send(me_ - 1, kKind, pre(), sum.data(), sum.size());
    if (!mailbox.has_come(kKind, post(), reductions_)) return has_dead() ? GASPI_ERROR : GASPI_TIMEOUT;
    std::memcpy(sum.data(), mailbox.data(post(), reductions_), sum.size());
    phase_ = Phase::over;
  }
  if (phase_ == Phase::pre) {
    if (paired && !take(pre(), true, result, timeout)) return result;
    phase_ = Phase::doubling;
  }
  const auto rank_of = [&](std::size_t index) { return index < extra ? 2 * index : index + extra; };
  const std::size_t index = paired ? me_ / 2 : me_ - extra;
  while (phase_ == Phase::doubling) {
    if (round_ == doublings_) {
      phase_ = Phase::post;
      break;
    }
    const std::size_t other = index ^ (std::size_t{1} << round_);
    if (!std::exchange(sent_, true)) send(rank_of(other), kKind, round_, sum.data(), sum.size());
    if (!take(round_, index < other, result, timeout)) return result;
    ++round_;
    sent_ = false;
  }
  if (phase_ == Phase::post && paired) send(me_ + 1, kKind, post(), sum.data(), sum.size());
  phase_ = Phase::over;
  return GASPI_SUCCESS;
}

// ---- all of them

Groups::Groups(Job& job) : job_(job) {
  std::uint32_t all = 0;
  static_cast<void>(create(all));
  Group& group = *find(all);
  for (std::uint32_t r = 0; r < job.size; ++r) group.ranks.push_back(static_cast<std::uint16_t>(r));
  prepare(group);
}

Groups::~Groups() {
  for (auto& g : groups_) delete g.load(std::memory_order_relaxed);
}

Group* Groups::find(std::uint32_t number) const noexcept {
  // acquire: as it was made.
  return number < kGroups ? groups_[number].load(std::memory_order_acquire) : nullptr;
}

Group* Groups::committed(std::uint32_t number) const noexcept {
  Group* const group = find(number);
  // acquire: its mailboxes.
  return group && group->state.load(std::memory_order_acquire) == Group::State::committed ? group : nullptr;
}

gaspi_return_t Groups::create(std::uint32_t& number) {
  const std::lock_guard guard(lock_);
  if (count_ >= config().group_max) return GASPI_ERR_MANY_GRP;
  const auto at = std::ranges::find_if(groups_, [](const auto& g) { return !g.load(std::memory_order_relaxed); });
  number = static_cast<std::uint32_t>(at - groups_.begin());
  at->store(new Group(job_, number), std::memory_order_release);
  ++count_;
  return GASPI_SUCCESS;
}

gaspi_return_t Groups::remove(std::uint32_t number) {
  const std::lock_guard guard(lock_);
  Group* const group = find(number);
  if (!group || number == GASPI_GROUP_ALL) return GASPI_ERR_INV_GROUP;
  if (group->call != Group::Call::none) return GASPI_ERR_ACTIVE_COLL;
  job_.control->groups[number].key.store(0, std::memory_order_release);
  groups_[number].store(nullptr, std::memory_order_release);
  if (group->place.memory) unused_.emplace(group->place_bytes, group->place);
  early_.erase(group->key);
  delete group;
  --count_;
  return GASPI_SUCCESS;
}

gaspi_return_t Groups::add(std::uint32_t number, std::uint16_t rank) {
  const std::lock_guard guard(lock_);
  Group* const group = find(number);
  if (!group || group->state.load(std::memory_order_relaxed) != Group::State::made) return GASPI_ERR_INV_GROUP;
  if (rank >= job_.size || group->has(rank)) return GASPI_ERR_INV_RANK;
  group->ranks.insert(std::ranges::lower_bound(group->ranks, rank), rank);
  return GASPI_SUCCESS;
}

std::uint32_t Groups::count() {
  const std::lock_guard guard(lock_);
  return count_;
}

gaspi_return_t Groups::ranks(std::uint32_t number, std::vector<std::uint16_t>& ranks) {
  const std::lock_guard guard(lock_);
  const Group* const group = find(number);
  if (!group) return GASPI_ERR_INV_GROUP;
  ranks = group->ranks;
  return GASPI_SUCCESS;
}

gaspi_return_t Groups::ranks_of_committed(std::uint32_t number, std::vector<std::uint16_t>& ranks) {
  return committed(number) ? this->ranks(number, ranks) : GASPI_ERR_INV_GROUP;
}

/// One that was used before, or new. Zeroed.
Region::Place Groups::take_mailbox(std::size_t bytes) {
  if (const auto known = unused_.find(bytes); known != unused_.end()) {
    const Region::Place place = known->second;
    unused_.erase(known);
    std::memset(place.memory, 0, bytes);
    return place;
  }
  return lane::Node::get().region().take(bytes);
}

/// A mailbox, and a key that all members find alike: of the ranks, and how often these have been a group.
void Groups::prepare(Group& group) {
  const std::lock_guard guard(lock_);
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const std::uint16_t r : group.ranks) hash = ((hash ^ (r & 0xFF)) * 0x100000001B3U ^ (r >> 8)) * 0x100000001B3U;
  const std::uint64_t nth = ++commits_[hash];
  const std::uint64_t key = std::max<std::uint64_t>((hash + nth) * 0x9E3779B97F4A7C15U, 1);
  group.mailbox = Mailbox(group.ranks.size(), config().allreduce_buf_size, config().allreduce_elem_max);
  group.place_bytes = group.mailbox.bytes();
  group.place = take_mailbox(group.place_bytes);
  group.mailbox = Mailbox(static_cast<std::byte*>(group.place.memory), group.mailbox);
  group.key = key;
  group.call = Group::Call::commit;
  group.state.store(Group::State::committing, std::memory_order_release);
  for (const Early& e : early_[key]) group.mailbox.put(e.letter, e.data.data(), e.data.size());
  early_.erase(key);
  GroupEntry& entry = job_.control->groups[group.number()];
  entry.offset.store(group.place.offset, std::memory_order_relaxed);
  // release: the mailbox and where it is.
  entry.key.store(key, std::memory_order_release);
  group.begin_barrier();
}

gaspi_return_t Groups::commit(std::uint32_t number, gaspi_timeout_t timeout) {
  Group* const group = find(number);
  // That of all is committed when the job begins, and programs may do so once more.
  if (number == GASPI_GROUP_ALL && committed(number)) return GASPI_SUCCESS;
  if (!group || group->state.load(std::memory_order_acquire) == Group::State::committed || group->ranks.empty() || !group->has(job_.rank))
    return GASPI_ERR_INV_GROUP;
  const Group::Turn turn(*group);
  if (!turn) return GASPI_ERR_ACTIVE_COLL;
  if (group->state.load(std::memory_order_relaxed) == Group::State::made) prepare(*group);
  for (const std::uint16_t r : group->ranks) {
    if (job_.peers[r].control) job_.peers[r].control->bell.notify();
  }
  const Deadline deadline(timeout);
  gaspi_return_t result = GASPI_TIMEOUT;
  wait_for(job_, deadline, progress::kForArrival, job_.control->bell, [&] {
    if (group->has_dead()) result = GASPI_ERROR;
    if (result == GASPI_TIMEOUT && group->connect()) result = group->step_barrier();
    return result != GASPI_TIMEOUT;
  });
  if (result != GASPI_SUCCESS) return result;
  group->call = Group::Call::none;
  group->state.store(Group::State::committed, std::memory_order_release);
  return GASPI_SUCCESS;
}

gaspi_return_t Groups::barrier(std::uint32_t number, gaspi_timeout_t timeout) noexcept {
  Group* const group = committed(number);
  if (!group) return GASPI_ERR_INV_GROUP;
  const Group::Turn turn(*group);
  if (!turn || (group->call != Group::Call::none && group->call != Group::Call::barrier)) return GASPI_ERR_ACTIVE_COLL;
  if (group->call == Group::Call::none) {
    group->begin_barrier();
    group->call = Group::Call::barrier;
  }
  const Deadline deadline(timeout);
  gaspi_return_t result = GASPI_TIMEOUT;
  wait_for(job_, deadline, progress::kForArrival, job_.control->bell, [&] { return (result = group->step_barrier()) != GASPI_TIMEOUT; });
  if (result != GASPI_TIMEOUT) group->call = Group::Call::none;
  return result;
}

gaspi_return_t Groups::reduce(std::uint32_t number, const void* from, void* to, const Reducer& reducer, gaspi_timeout_t timeout) noexcept
    try {
  Group* const group = committed(number);
  if (!group) return GASPI_ERR_INV_GROUP;
  const Group::Turn turn(*group);
  if (!turn) return GASPI_ERR_ACTIVE_COLL;
  const auto begin_piece = [&] {
    Reducer piece = reducer;
    piece.count = static_cast<gaspi_number_t>(std::min(reducer.count - group->done, kReduction / reducer.element));
    group->begin_reduction(static_cast<const std::byte*>(from) + group->done * reducer.element, piece);
  };
  if (group->call == Group::Call::none) {
    group->done = 0;
    begin_piece();
    group->whole = reducer;
    group->call = Group::Call::reduction;
  } else if (group->call != Group::Call::reduction || group->whole != reducer) {
    return GASPI_ERR_ACTIVE_COLL;
  }
  const Deadline deadline(timeout);
  for (;;) {
    gaspi_return_t result = GASPI_TIMEOUT;
    wait_for(job_, deadline, progress::kForArrival, job_.control->bell,
             [&] { return (result = group->step_reduction(timeout)) != GASPI_TIMEOUT; });
    if (result == GASPI_TIMEOUT) return result;
    if (result == GASPI_SUCCESS) {
      std::memcpy(static_cast<std::byte*>(to) + group->done * reducer.element, group->sum.data(), group->sum.size());
      group->done += group->reducer.count;
      if (group->done < reducer.count) {
        begin_piece();
        continue;
      }
    }
    group->call = Group::Call::none;
    return result;
  }
} catch (const std::bad_alloc&) {
  return GASPI_ERR_MEMALLOC;
}

void Groups::deliver(const Letter& letter, std::span<const std::byte> data) {
  const std::lock_guard guard(lock_);
  const auto at = std::ranges::find_if(groups_, [&](const auto& g) {
    const Group* const group = g.load(std::memory_order_relaxed);
    return group && group->key == letter.key;
  });
  if (at == groups_.end()) {
    early_[letter.key].push_back({letter, {data.begin(), data.end()}});
    return;
  }
  at->load(std::memory_order_relaxed)->mailbox.put(letter, data.data(), data.size());
  job_.control->bell.notify();
}

// ---- combining

namespace {

template <class T>
void combine_all(gaspi_operation_t operation, const T* one, const T* two, T* into, std::size_t n) noexcept {
  switch (operation) {
    case GASPI_OP_MIN:
      for (std::size_t i = 0; i < n; ++i) into[i] = two[i] < one[i] ? two[i] : one[i];
      break;
    case GASPI_OP_MAX:
      for (std::size_t i = 0; i < n; ++i) into[i] = one[i] < two[i] ? two[i] : one[i];
      break;
    case GASPI_OP_SUM:
      for (std::size_t i = 0; i < n; ++i) into[i] = static_cast<T>(one[i] + two[i]);
      break;
  }
}

}  // namespace

gaspi_return_t Reducer::combine(void* one, void* two, void* into, gaspi_timeout_t timeout) const noexcept {
  if (function) return function(one, two, into, state, count, element, timeout);
  const auto all = [&]<class T>(T*) {
    combine_all(operation, static_cast<const T*>(one), static_cast<const T*>(two), static_cast<T*>(into), count);
  };
  switch (type) {
    case GASPI_TYPE_INT:  // sums wrap around, as the processor's do
    case GASPI_TYPE_UINT:
      if (operation == GASPI_OP_SUM || type == GASPI_TYPE_UINT)
        all(static_cast<unsigned*>(nullptr));
      else
        all(static_cast<int*>(nullptr));
      break;
    case GASPI_TYPE_FLOAT:
      all(static_cast<float*>(nullptr));
      break;
    case GASPI_TYPE_DOUBLE:
      all(static_cast<double*>(nullptr));
      break;
    case GASPI_TYPE_LONG:
    case GASPI_TYPE_ULONG:
      if (operation == GASPI_OP_SUM || type == GASPI_TYPE_ULONG)
        all(static_cast<unsigned long*>(nullptr));
      else
        all(static_cast<long*>(nullptr));
      break;
  }
  return GASPI_SUCCESS;
}

}  // namespace plait::gaspi
