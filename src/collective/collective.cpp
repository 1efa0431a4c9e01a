#include "collective/collective.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "collective/combine.hpp"
#include "lane/eager.hpp"
#include "p2p/hang.hpp"

namespace plait::collective {

using lane::Endpoint;
using lane::Operation;

Collective::~Collective() {
  // Not reached while messages are pending: a call is over when they are, and an algorithm that fails has them settled.
  if (listed_) rank_.endpoint().remove(*this);
}

Operation& Collective::make(const lane::Memory& data) {
  Operation* const o = rank_.endpoint().make_operation();
  if (!o) throw std::bad_alloc();
  rank_.hidden->adopt(*o);
  o->memory = data;
  return *o;
}

void Collective::send(int to, const lane::Memory& data, int sub) {
  const auto peer = static_cast<std::uint32_t>(to);
  p2p::LocalEndpoint& local = rank_.locals[0];
  lane::LaneOut& lane = rank_.lane(local, peer);
  const std::uint32_t context = rank_.all->hidden[peer];
  if (!data.layout && lane::fits_cell(data.bytes) && Endpoint::send_now(lane, context, local.number, tag_ + sub, data.at, data.bytes))
    return;
  pending_.reserve(pending_.size() + 1);
  Operation& o = make(data);
  o.become_send(lane, context, local.number, tag_ + sub, to);
  rank_.endpoint().start_send(o);
  pending_.push_back(&o);
}

void Collective::receive(int from, const lane::Memory& data, int sub) {
  pending_.reserve(pending_.size() + 1);
  Operation& o = make(data);
  const auto peer = static_cast<std::uint32_t>(from);
  o.become_receive(peer, peer + 1, tag_ + sub);
  rank_.endpoint().start_receive(o);
  pending_.push_back(&o);
}

bool Collective::settle() noexcept {
  while (!pending_.empty()) {
    Operation& o = *pending_.back();
    // acquire: the payload.
    if (!o.complete.load(std::memory_order_acquire)) return false;
    if (o.error != lane::Error::none) error_ = p2p::code_of(o.error);
    rank_.endpoint().retire(o);
    pending_.pop_back();
  }
  return true;
}

void Collective::check() const {
  if (error_ != MPI_SUCCESS) throw MPIError{error_, false};
}

void Collective::begin(Steps algorithm) {
  const lane::EndpointGuard guard(rank_.endpoint());
  algorithm_ = std::move(algorithm);
  algorithm_.handle().resume();
  if (algorithm_.done()) {
    end();
    return;
  }
  rank_.endpoint().add(*this);
  listed_ = true;
}

bool Collective::step() noexcept {
  if (!settle()) return false;
  std::optional<MpiTryLock> serial;
  if (uses_mpi_ && !serial.emplace()) return false;  // whoever is blocked in it may wait for this very call
  at_.resume();
  if (!algorithm_.done()) return true;
  rank_.endpoint().remove(*this);
  listed_ = false;
  end();
  return true;
}

void Collective::end() noexcept {
  try {
    algorithm_.rethrow();
  } catch (const MPIError& e) {
    // Whether or not the MPI has told a handler: that was not the communicator's.
    error_ = e.code;
  } catch (const std::bad_alloc&) {
    error_ = MPI_ERR_NO_MEM;
  } catch (...) {
    error_ = MPI_ERR_INTERN;
  }
  // An algorithm that has failed leaves messages that will never come; they are the endpoint's now.
  for (Operation* const o : pending_) {
    if (o->complete.load(std::memory_order_acquire)) {
      rank_.endpoint().retire(*o);
    } else if (o->is_send) {
      rank_.endpoint().disown(*o);
    } else {
      rank_.endpoint().disown(*o);
      rank_.endpoint().cancel(*o);
    }
  }
  pending_.clear();
  // release: what was received, for whoever asks.
  complete_.store(true, std::memory_order_release);
}

std::string Collective::waits_for() const {
  std::string text;
  for (const Operation* const o : pending_) {
    if (o->complete.load(std::memory_order_relaxed)) continue;
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(o->is_send ? o->to_rank : static_cast<int>(o->first_source));
  }
  return text + " in the same call on " + p2p::name_of(*rank_.hidden);
}

lane::Memory Blocks::block(int i) const {
  const MPI_Aint displacement = displacement_of(i);
  if (types) return memory_of(offset_by(at, displacement), count_of(i), types[i]);
  return memory_of(offset_by(at, displacement * type.extent()), count_of(i), type);
}

void copy(const lane::Memory& from, const lane::Memory& to) {
  const std::uint64_t bytes = std::min(from.bytes, to.bytes);
  if (bytes > 0 && !(from.at == to.at && !from.layout && !to.layout)) lane::copy(from, to, 0, bytes);
  if (from.bytes > to.bytes) throw MPIError{MPI_ERR_TRUNCATE, false};
}

}  // namespace plait::collective
