// The random program and the sequential model of it. No MPI here: everything follows from the seed, so sender and
// receiver agree on a pair's messages without a word between them, and each generates only the pairs it takes part in.
//
// Words: a *pair* is (communicator, source endpoint, destination endpoint); an *inbox* is all that is sent to one
// endpoint on one communicator in one round. What the two sides must agree on is decided per round, per inbox and per
// pair; what only one side sees (which call posts an operation, how it is completed) that side decides alone.
//
// Why no round can deadlock. A round has three phases, early, middle and late. Early and late post nonblocking
// operations only. A blocking send (middle) is for a message whose receive is posted early; a blocking receive or probe
// (middle) is for a message that was sent early. So whatever blocks depends on early operations only, and those never
// block. All requests are completed after the late phase.
//
// Why exact-source matching is determined. Receives prefer earlier messages and messages prefer earlier receives, so
// the first message of a pair and the first receive that fits it prefer each other: remove both, repeat. Hence going
// through the receives in posting order, each taking the first message left that fits, gives the only possible outcome.
// With any source the same holds for the receives that turned out to be matched to one source.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features.hpp"
#include "rng.hpp"

namespace random_p2p {

struct EndpointId {
  int process = 0;
  int index = 0;
  bool operator==(const EndpointId&) const = default;
};

enum class Element : std::uint8_t { byte, integer, real, pair };
constexpr int element_kinds = 4;
constexpr std::uint32_t packed_bytes(Element e) { return e == Element::byte ? 1 : e == Element::integer ? 4 : e == Element::real ? 8 : 12; }
constexpr int basic_elements(Element e) { return e == Element::pair ? 2 : 1; }

/// Elements in one instance of each datatype family of types.hpp.
constexpr std::uint32_t family_elements[] = {1, 3, 6, 6, 3, 1024};
constexpr int families = 6;

/// What the whole run is about. Communicator k < endpoints joins endpoint k of every process (a stream communicator);
/// endpoints + k is an ordinary communicator of the same members; the last one, if there, joins all endpoints.
struct Shape {
  std::uint64_t seed = 0;
  int processes = 1;
  int endpoints = 1;
  bool streams = false;  ///< communicator k < endpoints is a stream communicator, not an ordinary one
  bool multiplex = false;
  bool ranks = false;  ///< what is called a process here is a thread
  std::uint32_t max_bytes = 4 << 20;
  int tag_ub = 32767;
  Features features;

  [[nodiscard]] int communicators() const { return 2 * endpoints + (multiplex ? 1 : 0); }
  [[nodiscard]] bool is_multiplex(int communicator) const { return communicator == 2 * endpoints; }
  [[nodiscard]] bool is_ordinary(int communicator) const { return communicator >= endpoints && communicator < 2 * endpoints; }
  [[nodiscard]] int members(int communicator) const { return is_multiplex(communicator) ? processes * endpoints : processes; }
  [[nodiscard]] EndpointId member(int communicator, int i) const {
    return is_multiplex(communicator) ? EndpointId{i / endpoints, i % endpoints} : EndpointId{i, communicator % endpoints};
  }
  [[nodiscard]] int member_of(int communicator, EndpointId e) const {
    return is_multiplex(communicator) ? e.process * endpoints + e.index : e.process;
  }
};

constexpr int any = -1;          ///< any tag
constexpr int slot_tag = 32;     ///< messages of the persistent requests that live as long as the program
constexpr int stream_tag = 64;   ///< + source's index: messages too short to carry their identity
constexpr int nobody_tag = 999;  ///< no message has it

/// Who waits for whom at the end of a round: nobody, the endpoints with the same index, or all.
enum class Fence : std::uint8_t { none, group, all };

struct Round {
  std::uint32_t number = 0;
  Fence fence = Fence::none;
  bool ready = false;  ///< a fence after the early phase too, so that ready sends are right in the middle phase
};

/// Rounds without a fence let fast senders run ahead into receivers still busy with earlier rounds; how far is bounded
/// here, since unexpected messages cost memory.
inline Round plan_round(const Shape& shape, std::uint32_t number) {
  Rng rng(hash(shape.seed, 1, number));
  const std::uint32_t draw = rng.below(16);
  Round round{.number = number, .fence = draw < 3 ? Fence::all : draw < 8 ? Fence::group : Fence::none, .ready = rng.one_in(8)};
  if (number % 8 == 7 && round.fence == Fence::none) round.fence = Fence::group;
  if (number % 32 == 31) round.fence = Fence::all;
  return round;
}

/// exact: every receive names its source. wild_tags: messages of some tags are received from any source, in between
/// the exact ones of other tags. wild_last: first exact receives, then (any source, tag), then (any source, any tag).
/// All three let every receive find a message whatever the order of arrival.
enum class Mode : std::uint8_t { exact, wild_tags, wild_last };

/// In a wild inbox nobody knows which receive a message will find, so what may block is decided for all at once.
enum class Promise : std::uint8_t { none, receives_early, sends_early };

struct Inbox {
  Mode mode = Mode::exact;
  Promise promise = Promise::none;
  Element element = Element::byte;  ///< wild only: any receive must agree with any message's type signature
  std::uint32_t limit = 0;          ///< bytes of the longest message
  std::uint32_t most = 0;           ///< messages from one source
  bool same_process = false;        ///< multiplex, wild: the source's process is named, its stream is not
};

inline Element draw_element(const Shape& shape, Rng& rng) {
  return static_cast<Element>(rng.below(shape.features.has(Feature::derived) ? element_kinds : 3));
}

/// Any source is allowed only where a fence ends the round: else a message of the next round could be taken by a
/// receive of this one.
inline Inbox plan_inbox(const Shape& shape, const Round& round, int communicator, EndpointId destination) {
  Rng rng(hash(shape.seed, 2, round.number, communicator, destination.process, destination.index));
  const bool multiplex = shape.is_multiplex(communicator);
  Inbox inbox;
  const bool wildcards = shape.features.has(Feature::wildcard);
  if (wildcards && (round.fence == Fence::all || (round.fence == Fence::group && !multiplex)) && rng.below(4) != 0) {
    inbox.mode = rng.one_in(2) ? Mode::wild_tags : Mode::wild_last;
    inbox.promise = static_cast<Promise>(rng.below(3));
    inbox.element = draw_element(shape, rng);
    inbox.same_process = multiplex && rng.one_in(3);
  }
  const std::uint32_t draw = rng.below(64);
  if (draw == 0) {
    inbox.limit = multiplex ? 1U << 18 : shape.max_bytes;
    inbox.most = 2;
  } else if (draw < 6) {
    inbox.limit = 1 << 16;
    inbox.most = 3;
  } else {
    inbox.limit = 512;
    inbox.most = draw < 10 ? 40 : 6;
  }
  inbox.limit = std::min(inbox.limit, shape.max_bytes);
  return inbox;
}

enum class Phase : std::uint8_t { early, middle, late };

struct Message {
  std::uint64_t id = 0;
  int tag = 0;
  std::uint32_t elements = 0;
  Element element = Element::byte;
  Phase phase = Phase::early;
  bool blocking = false;
  bool ready = false;  ///< its receive is surely posted
  bool slot = false;
  bool taken = false;  ///< by a receive of the model
  [[nodiscard]] std::uint32_t bytes() const { return elements * packed_bytes(element); }
};

/// A message's identity fits its first eight bytes, so a receiver can tell what came instead of what it expected.
constexpr std::uint64_t message_id(std::uint32_t round, int communicator, EndpointId from, EndpointId to, int sequence) {
  return (std::uint64_t{0xA} << 60) | (std::uint64_t(round & 0xfffffU) << 40) | (std::uint64_t(sequence & 0xfff) << 28) |
         (std::uint64_t(communicator & 0x3f) << 22) | (std::uint64_t(from.process & 0xff) << 14) | (std::uint64_t(from.index & 0x3f) << 8) |
         (std::uint64_t(to.process & 0x1f) << 3) | std::uint64_t(to.index & 7);
}
constexpr bool has_identity(std::uint64_t word) { return word >> 60 == 0xA; }
constexpr EndpointId source_of(std::uint64_t id) { return {int(id >> 14 & 0xff), int(id >> 8 & 0x3f)}; }

struct Receive {
  EndpointId source;
  bool wild = false;  ///< from any source, or from any stream of the source's process
  int tag = any;
  int pair = -1;     ///< the member that sends; unknown if wild
  int message = -1;  ///< what the model says it gets; unknown if wild until the round is over
  Phase phase = Phase::early;
  bool blocking = false;
};

struct Pair {
  std::vector<Message> messages;
  std::vector<Receive> receives;  ///< in posting order; empty if the inbox is wild
};

/// The model: a receive takes the first message that fits and that no earlier receive has taken. -1: none.
inline int take(std::vector<Message>& messages, int tag) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].taken || (tag != any && messages[i].tag != tag)) continue;
    messages[i].taken = true;
    return static_cast<int>(i);
  }
  return -1;
}

/// Gives the items, in their order, the phases early, middle, late.
template <class Item>
void spread_over_phases(Rng& rng, std::vector<Item>& items) {
  const std::uint32_t n = static_cast<std::uint32_t>(items.size());
  const std::uint32_t early = rng.one_in(3) ? n : rng.below(n + 1);
  const std::uint32_t middle = early + rng.below(n - early + 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    items[i].phase = i < early ? Phase::early : i < middle ? Phase::middle : Phase::late;
    items[i].blocking = items[i].phase == Phase::middle && rng.below(4) != 0;
  }
}

inline std::uint64_t pair_seed(const Shape& shape, std::uint32_t round, int communicator, EndpointId from, EndpointId to) {
  return hash(shape.seed, 3, round, communicator, from.process, from.index, to.process, to.index);
}

inline std::uint32_t message_count(const Shape& shape, const Inbox& inbox, int communicator, Rng& rng) {
  if (shape.is_ordinary(communicator) && !shape.features.has(Feature::ordinary)) return 0;
  if (rng.below(shape.is_multiplex(communicator) ? 8 : 4) > 1) return 0;
  return 1 + rng.below(inbox.most);
}

/// Messages that one pair sends in all of a round; cheap, so that all processes can count the whole program.
inline std::uint32_t message_count(const Shape& shape, const Round& round, const Inbox& inbox, int communicator, EndpointId from,
                                   EndpointId to) {
  Rng rng(pair_seed(shape, round.number, communicator, from, to));
  return message_count(shape, inbox, communicator, rng);
}

/// Log-uniform up to the limit, with zero often, and often a length that a derived datatype can send.
inline std::uint32_t draw_elements(Rng& rng, std::uint32_t limit, Element element) {
  if (rng.one_in(8)) return 0;
  const std::uint32_t power = std::uint32_t{1} << rng.below(std::bit_width(limit));
  std::uint32_t n = std::min(power + rng.below(power), limit) / packed_bytes(element);
  const std::uint32_t multiple = family_elements[rng.below(families)];
  if (n >= multiple) n -= n % multiple;
  return n;
}

inline bool is_wild_tag(int tag) { return tag < 2 || tag >= stream_tag; }

inline int draw_tag(const Shape& shape, Rng& rng, const Inbox& inbox) {
  const int tag = static_cast<int>(rng.below(6));
  if (inbox.mode == Mode::wild_tags) return tag;
  return tag == 5 ? shape.tag_ub : tag;
}

/// A message that a persistent request can send again and again: the same in every round.
inline Message slot_message(const Shape& shape, int communicator, EndpointId from, EndpointId to) {
  Rng rng(pair_seed(shape, ~0U, communicator, from, to));
  Message m;
  m.element = draw_element(shape, rng);
  m.elements = draw_elements(rng, std::min(shape.max_bytes, rng.one_in(16) ? 1U << 16 : 512U), m.element);
  m.tag = slot_tag;
  m.slot = true;
  return m;
}

inline void generate_exact_receives(const Shape& shape, Rng& rng, EndpointId from, int pair_index, std::size_t n, Pair& pair,
                                    std::vector<Receive>& out) {
  const bool often_any = rng.one_in(2);
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) {
    while (pair.messages[first].taken) ++first;
    int tag = any;
    if (rng.below(4) >= (often_any ? 3U : 1U) || !shape.features.has(Feature::any_tag)) {
      // The tag of a message near the front: far ones would leave the front to the very last receives.
      std::size_t at = std::min(first + rng.below(8), pair.messages.size() - 1);
      while (pair.messages[at].taken) --at;
      tag = pair.messages[at].tag;
    }
    Receive r{.source = from, .tag = tag, .pair = pair_index};
    r.message = take(pair.messages, tag);
    out.push_back(r);
  }
}

/// All that one pair does in a round. In a wild inbox the receives are generate_wild_receives' business.
inline void generate_pair(const Shape& shape, const Round& round, const Inbox& inbox, int communicator, EndpointId from, EndpointId to,
                          Pair& pair) {
  Rng rng(pair_seed(shape, round.number, communicator, from, to));
  pair.messages.clear();
  pair.receives.clear();
  const std::uint32_t n = message_count(shape, inbox, communicator, rng);
  if (n == 0) return;
  const bool multiplex = shape.is_multiplex(communicator);
  const bool exact = inbox.mode == Mode::exact;
  pair.messages.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    Message& m = pair.messages[i];
    if (exact && !multiplex && i == 0 && shape.features.has(Feature::persistent) && rng.one_in(4)) {
      m = slot_message(shape, communicator, from, to);
    } else {
      m = Message{};
      m.element = exact ? draw_element(shape, rng) : inbox.element;
      m.elements = draw_elements(rng, inbox.limit, m.element);
      m.tag = draw_tag(shape, rng, inbox);
      // The status tells the source's process but not its stream.
      if (multiplex && !exact && m.bytes() < 8) m.tag = stream_tag + from.index;
    }
    m.id = message_id(round.number, communicator, from, to, static_cast<int>(i));
  }
  spread_over_phases(rng, pair.messages);
  if (exact) {
    generate_exact_receives(shape, rng, from, shape.member_of(communicator, from), n, pair, pair.receives);
    spread_over_phases(rng, pair.receives);
    for (Receive& r : pair.receives) {
      Message& m = pair.messages[r.message];
      m.blocking &= r.phase == Phase::early;
      m.ready = round.ready && m.phase != Phase::early && r.phase == Phase::early;
      r.blocking &= m.phase == Phase::early;
    }
    return;
  }
  for (Message& m : pair.messages) {
    if (inbox.promise == Promise::sends_early) m.phase = Phase::early;
    m.blocking &= inbox.promise == Promise::receives_early;
    m.ready = inbox.promise == Promise::receives_early && round.ready && m.phase != Phase::early;
  }
}

/// The receives of a wild inbox in posting order, from all the pairs that send to it.
inline void generate_wild_receives(const Shape& shape, const Round& round, const Inbox& inbox, int communicator, EndpointId to,
                                   std::vector<Pair>& pairs, std::vector<Receive>& out) {
  Rng rng(hash(shape.seed, 4, round.number, communicator, to.process, to.index));
  out.clear();
  const auto wild = [&](std::size_t pair, int tag) {
    const EndpointId from = shape.member(communicator, static_cast<int>(pair));
    return Receive{.source = {inbox.same_process ? from.process : any, any}, .wild = true, .tag = tag};
  };
  if (inbox.mode == Mode::wild_tags) {
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      for (const Message& m : pairs[p].messages) {
        out.push_back(is_wild_tag(m.tag)
                          ? wild(p, m.tag)
                          : Receive{.source = shape.member(communicator, static_cast<int>(p)), .tag = m.tag, .pair = static_cast<int>(p)});
      }
    }
    rng.shuffle(out);
    for (Receive& r : out) {
      if (!r.wild) r.message = take(pairs[r.pair].messages, r.tag);
    }
  } else {
    // Exact receives of several sources may be posted in any order among themselves; each source's keep theirs.
    std::vector<std::vector<Receive>> exact(pairs.size());
    std::vector<std::size_t> order;
    std::vector<Receive> any_tag;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const std::size_t n = rng.below(pairs[p].messages.size() + 1) * rng.below(2);
      generate_exact_receives(shape, rng, shape.member(communicator, static_cast<int>(p)), static_cast<int>(p), n, pairs[p], exact[p]);
      order.insert(order.end(), n, p);
    }
    rng.shuffle(order);
    std::vector<std::size_t> next(pairs.size());
    for (const std::size_t p : order) out.push_back(exact[p][next[p]++]);
    const std::uint32_t with_tag = rng.below(5);
    std::vector<Receive> by_tag;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      for (const Message& m : pairs[p].messages) {
        if (m.taken) continue;
        const bool tagged = rng.below(4) < with_tag || !shape.features.has(Feature::any_tag);
        (tagged ? by_tag : any_tag).push_back(wild(p, tagged ? m.tag : any));
      }
    }
    rng.shuffle(by_tag);
    rng.shuffle(any_tag);
    out.insert(out.end(), by_tag.begin(), by_tag.end());
    out.insert(out.end(), any_tag.begin(), any_tag.end());
  }
  spread_over_phases(rng, out);
  for (Receive& r : out) {
    if (inbox.promise == Promise::receives_early) r.phase = Phase::early;
    r.blocking &= inbox.promise == Promise::sends_early;
  }
}

/// Rounds until at least so many messages have been sent; `messages` becomes how many exactly.
inline std::uint32_t count_rounds(const Shape& shape, std::uint64_t& messages) {
  std::uint64_t sum = 0;
  std::uint32_t number = 0;
  for (; sum < messages; ++number) {
    const Round round = plan_round(shape, number);
    for (int c = 0; c < shape.communicators(); ++c) {
      for (int to = 0; to < shape.members(c); ++to) {
        const Inbox inbox = plan_inbox(shape, round, c, shape.member(c, to));
        for (int from = 0; from < shape.members(c); ++from) {
          sum += message_count(shape, round, inbox, c, shape.member(c, from), shape.member(c, to));
        }
      }
    }
  }
  messages = sum;
  return number;
}

}  // namespace random_p2p
