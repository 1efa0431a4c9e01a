// One endpoint with one context, as a stream of a communicator is to src/p2p, and payloads that tell where they belong.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "lane/endpoint.hpp"
#include "lane/match_context.hpp"
#include "progress/wait.hpp"

namespace plait::lane::test {

using Bytes = std::vector<std::byte>;

/// Payload of message `number` from `source`.
inline Bytes payload(std::uint32_t source, std::uint32_t number, std::size_t bytes) {
  Bytes all(bytes);
  std::uint32_t state = source * 0x9E3779B9u + number * 0x85EBCA6Bu + 1;
  for (std::byte& b : all) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return all;
}

inline Memory contiguous(std::span<std::byte> bytes) { return {bytes.data(), bytes.size(), 0, nullptr}; }
inline Memory contiguous(const Bytes& bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size(), 0, nullptr}; }

/// The same bytes in pieces of kPiece, kStride apart; their number must be a multiple of kPiece.
struct Gapped {
  static constexpr std::int64_t kPiece = 24;
  static constexpr std::int64_t kStride = 40;
  Bytes bytes;
  Memory memory;

  explicit Gapped(std::size_t packed) {
    const auto count = static_cast<std::int64_t>(packed) / kPiece;
    bytes.resize(static_cast<std::size_t>(count * kStride) + 1, std::byte{0x5A});
    memory = {bytes.data(), packed, count,
              std::make_shared<layout::Layout>(layout::Arena{}, layout::Placed{0, layout::make_run(kPiece)}, kStride)};
  }
  void fill(const Bytes& from) const { unpack(from.data(), memory, 0, from.size()); }
  [[nodiscard]] Bytes packed() const {
    Bytes all(memory.bytes);
    pack(memory, 0, all.data(), all.size());
    return all;
  }
  [[nodiscard]] bool gaps_untouched() const {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i % kStride >= kPiece && bytes[i] != std::byte{0x5A}) return false;
    }
    return true;
  }
};

/// Where another's messages go.
struct Card {
  Address address;
  std::uint32_t context;
};

struct Outcome {
  Error error;
  std::uint32_t from;
  std::int32_t tag;
  std::uint64_t received;
};

inline bool done(const Operation& o) { return o.complete.load(std::memory_order_acquire); }

class Party {
 public:
  explicit Party(std::uint32_t number) : number_(number) {
    event_count_begin();
    endpoint = new Endpoint(Use::serial);  // they stay
    context = &make_context(*endpoint);
  }
  ~Party() { free_context(); }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  /// As when a communicator is freed.
  void free_context() {
    if (!context) return;
    const EndpointGuard guard(*endpoint);
    endpoint->discard(*context);
    context->freed = true;
    if (context->operations == 0) delete_context(*context);
    context = nullptr;
  }

  [[nodiscard]] Card card() const { return {endpoint->address(), context->id}; }

  Operation& send(const Card& to, std::int32_t tag, const Memory& memory, bool synchronous = false) {
    const EndpointGuard guard(*endpoint);
    Operation& o = make(memory);
    o.become_send(endpoint->lane_to(to.address), to.context, number_, tag, 0);
    o.synchronous = synchronous;
    endpoint->start_send(o);
    return o;
  }
  Operation& receive(std::uint32_t first, std::uint32_t end, std::int32_t tag, const Memory& memory) {
    const EndpointGuard guard(*endpoint);
    Operation& o = make(memory);
    o.become_receive(first, end, tag);
    endpoint->start_receive(o);
    return o;
  }
  Operation& receive(std::uint32_t from, std::int32_t tag, const Memory& memory) { return receive(from, from + 1, tag, memory); }

  bool progress() const {
    const EndpointGuard guard(*endpoint);
    return endpoint->progress();
  }
  Outcome finish(Operation& o) {
    progress::wait_until(endpoint->waiter(), progress::kForMessage, [&] { return this->progress(); }, [&] { return done(o); }, [] {});
    return retire(o);
  }
  Outcome retire(Operation& o) const {
    const Outcome outcome{o.error, o.from, o.with_tag, o.received};
    const EndpointGuard guard(*endpoint);
    endpoint->retire(o);
    return outcome;
  }

  Endpoint* endpoint;
  MatchContext* context;

 private:
  Operation& make(const Memory& memory) const {
    Operation* const o = endpoint->make_operation();
    if (!o) std::abort();
    context->adopt(*o);
    o->memory = memory;
    return *o;
  }

  std::uint32_t number_;
};

}  // namespace plait::lane::test
