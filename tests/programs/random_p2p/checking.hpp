// Driver: what came, held against the model.
#pragma once

#include <cstdio>
#include <string>

#include "driver.hpp"

namespace random_p2p {

inline int Driver::expect(Record::Kind kind, const char* call, const Operation* op, const Buffer& buffer) {
  records_.push_back({.kind = kind,
                      .call = call,
                      .in = op != nullptr ? op->in : nullptr,
                      .receive = op != nullptr ? op->receive : nullptr,
                      .buffer = buffer});
  return static_cast<int>(records_.size()) - 1;
}

inline void Driver::completed(int record, const MPI_Status* status) {
  Record& r = records_[record];
  int flag = -1;
  switch (r.kind) {
    case Record::Kind::send:
      return;
    case Record::Kind::from_nobody:
      if (status != nullptr && !r.status_lost) check_nobody(*status);
      return compare_bytes(r, nullptr);
    case Record::Kind::cancelled:
      MPI_Test_cancelled(status, &flag);
      if (flag == 0) fail(where_, "a cancelled receive that nothing can match has source %d tag %d", status->MPI_SOURCE, status->MPI_TAG);
      return compare_bytes(r, nullptr);
    case Record::Kind::receive:
      break;
  }
  ++received_;
  // Which message a wild receive should get is known when all have been matched.
  if (r.receive->wild) {
    r.status = *status;
    return;
  }
  compare(r, r.receive->source, expected(r), r.status_lost ? nullptr : status);
}

/// In posting order. The source is as the library says; of that source's messages it must be the first that fits.
inline void Driver::resolve_wild(Record& r) {
  EndpointId from{r.status.MPI_SOURCE, 0};
  if (!shape_.is_multiplex(r.in->communicator)) {
    from.index = r.in->to.index;
  } else if (r.status.MPI_TAG >= stream_tag && r.status.MPI_TAG < stream_tag + shape_.endpoints) {
    from.index = r.status.MPI_TAG - stream_tag;
  } else {
    std::byte first[8];
    std::size_t have = 0;
    for (std::size_t at = 0; have < 8; at += r.buffer.layout->extent) {
      if (at >= r.buffer.layout->span(r.buffer.count)) fail(where_, "%s: too short for its tag %d", describe(r).c_str(), r.status.MPI_TAG);
      for (const Layout::Piece& p : r.buffer.layout->pieces) {
        for (std::uint32_t i = 0; i < p.length && have < 8; ++i) first[have++] = r.buffer.region.buffer[at + p.offset + i];
      }
    }
    std::uint64_t id = 0;
    std::memcpy(&id, first, 8);
    if (!has_identity(id)) {
      fail(where_, "%s: came from process %d with tag %d, but begins with %016llx, no message's identity", describe(r).c_str(),
           r.status.MPI_SOURCE, r.status.MPI_TAG, static_cast<unsigned long long>(id));
    }
    from.index = source_of(id).index;
  }
  const bool known = from.process >= 0 && from.process < shape_.processes && from.index >= 0 && from.index < shape_.endpoints;
  if (!known || (r.receive->source.process != any && r.receive->source.process != from.process)) {
    fail(where_, "%s: came from process %d endpoint %d", describe(r).c_str(), from.process, from.index);
  }
  std::vector<Message>& messages = r.in->pairs[shape_.member_of(r.in->communicator, from)].messages;
  const int m = take(messages, r.receive->tag);
  if (m < 0) {
    fail(where_, "%s: came from process %d endpoint %d with tag %d, all of whose fitting messages have been received", describe(r).c_str(),
         from.process, from.index, r.status.MPI_TAG);
  }
  compare(r, from, messages[m], &r.status);
}

/// Once, for the fault chosen, at some receive that can show it.
inline bool Driver::inject(Fault fault, bool possible) {
  if (fault_ != fault || !possible || received_ < 100) return false;
  fault_ = Fault::none;
  return true;
}

inline void Driver::compare(const Record& r, EndpointId from, const Message& m, const MPI_Status* status) {
  const Message* expect = &m;
  if (!r.receive->wild) {
    const std::vector<Message>& all = r.in->pairs[r.receive->pair].messages;
    const Message& other = all[(r.receive->message + 1) % all.size()];
    const bool alike = other.element == m.element && other.elements == m.elements && other.tag == m.tag && m.elements > 0;
    if (inject(Fault::order, &other != &m && alike)) expect = &other;
  }
  if (status != nullptr) compare_status(r, *expect, from, *status);
  const Layout& layout = *r.buffer.layout;
  std::byte* const begin = r.buffer.region.buffer;
  if (inject(Fault::payload, m.elements > 0)) begin[layout.pieces[0].offset] ^= std::byte{1};
  if (inject(Fault::gap, m.elements > 0 && layout.pieces.size() > 1))
    begin[layout.pieces[0].offset + layout.pieces[0].length] = std::byte{0};
  if (inject(Fault::guard)) begin[layout.span(r.buffer.count)] = std::byte{0};
  compare_bytes(r, expect);
}

inline void Driver::compare_status(const Record& r, const Message& m, EndpointId from, MPI_Status status, bool probed) {
  if (inject(Fault::source)) ++status.MPI_SOURCE;
  if (inject(Fault::tag)) ++status.MPI_TAG;
  const Layout& layout = *r.buffer.layout;
  if (inject(Fault::count)) MPI_Status_set_elements(&status, layout.type, static_cast<int>(m.elements) * basic_elements(m.element) + 1);
  int count = -1, elements = -1, cancelled = 0;
  MPI_Get_count(&status, layout.type, &count);
  MPI_Get_elements(&status, layout.type, &elements);
  // Nobody can cancel a probe, and Intel MPI 2021 leaves that field of its status as it was.
  if (!probed) MPI_Test_cancelled(&status, &cancelled);
  const int want_count = m.elements % layout.elements == 0 ? static_cast<int>(m.elements / layout.elements) : MPI_UNDEFINED;
  const int want_elements = static_cast<int>(m.elements) * basic_elements(m.element);
  if (status.MPI_SOURCE == from.process && status.MPI_TAG == m.tag && count == want_count && elements == want_elements && cancelled == 0)
    return;
  fail(where_, "%s: expected %s, so source %d tag %d count %d elements %d; came source %d tag %d count %d elements %d%s",
       describe(r).c_str(), describe(m, from).c_str(), from.process, m.tag, want_count, want_elements, status.MPI_SOURCE, status.MPI_TAG,
       count, elements, cancelled != 0 ? ", cancelled" : "");
}

/// The whole region, canaries in the gaps and around it too. No message: none of it may have been touched.
inline void Driver::compare_bytes(const Record& r, const Message* m) {
  const Region& region = r.buffer.region;
  const Layout& layout = *r.buffer.layout;
  const std::size_t bytes = m != nullptr ? m->bytes() : 0;
  if (bytes > r.buffer.elements() * packed_bytes(layout.element)) fail(where_, "%s: a message longer than the buffer", describe(r).c_str());
  image_.resize(region.size);
  std::memset(image_.data(), static_cast<int>(canary), region.size);
  const std::size_t begin = region.buffer - region.base;
  if (bytes > 0 && layout.dense()) {
    fill_payload(m->id, image_.data() + begin, bytes);
  } else if (bytes > 0) {
    packed_.resize(bytes);
    fill_payload(m->id, packed_.data(), bytes);
    scatter(layout, packed_.data(), bytes, image_.data() + begin);
  }
  if (std::memcmp(image_.data(), region.base, region.size) == 0) return;
  std::size_t at = 0, wrong = 0;
  for (std::size_t i = region.size; i-- > 0;) {
    if (image_[i] == region.base[i]) continue;
    at = i;
    ++wrong;
  }
  std::string identity;
  std::uint64_t word = 0;
  if (bytes >= 8 && layout.dense()) std::memcpy(&word, region.buffer, 8);
  if (has_identity(word)) {
    const EndpointId from = source_of(word);
    char text[200];
    std::snprintf(text, sizeof text, "; what came says it is message %d from process %d endpoint %d, communicator %d, round %d",
                  int(word >> 28 & 0xfff), from.process, from.index, int(word >> 22 & 0x3f), int(word >> 40 & 0xfffff));
    identity = text;
  }
  fail(where_, "%s: %zu bytes differ from %zu bytes expected, first at offset %td: expected %02x, came %02x (untouched is %02x)%s",
       describe(r).c_str(), wrong, bytes, static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(begin),
       static_cast<unsigned>(image_[at]), static_cast<unsigned>(region.base[at]), static_cast<unsigned>(canary), identity.c_str());
}

inline void Driver::check_nobody(const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0) return;
  fail(where_, "expected the status of MPI_PROC_NULL (%d, %d, 0), came source %d tag %d count %d", MPI_PROC_NULL, MPI_ANY_TAG,
       status.MPI_SOURCE, status.MPI_TAG, count);
}

inline std::string Driver::describe(const Message& m, EndpointId from) const {
  static constexpr const char* elements[] = {"bytes", "ints", "doubles", "int-double pairs"};
  static constexpr const char* phases[] = {"early", "in the middle", "late"};
  return "message " + std::to_string(m.id >> 28 & 0xfff) + " from process " + std::to_string(from.process) + " endpoint " +
         std::to_string(from.index) + " tag " + std::to_string(m.tag) + " of " + std::to_string(m.elements) + " " +
         elements[static_cast<int>(m.element)] + " sent " + phases[static_cast<int>(m.phase)] + (m.blocking ? ", blocking" : "");
}

inline std::string Driver::describe(const Record& r) const {
  const auto or_any = [](int value) { return value == any ? std::string("any") : std::to_string(value); };
  std::string s = r.call;
  if (r.in == nullptr) return s;
  const int c = r.in->communicator;
  s += shape_.is_multiplex(c)  ? " on the multiplex communicator"
       : shape_.is_ordinary(c) ? " on ordinary communicator " + std::to_string(c - shape_.endpoints)
                               : " on communicator " + std::to_string(c);
  s += ", endpoint " + std::to_string(r.in->to.index) + ", receive from process " + or_any(r.receive->source.process) + " endpoint " +
       or_any(r.receive->source.index) + " tag " + or_any(r.receive->tag);
  if (!r.receive->wild) s += ", which should get " + describe(expected(r), r.receive->source);
  return s;
}

}  // namespace random_p2p
