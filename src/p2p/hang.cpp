#include "p2p/hang.hpp"

#include <mpi.h>

#include <cstdio>
#include <new>

#include "base/symbol.hpp"
#include "lane/endpoint.hpp"
#include "p2p/handle_bits.hpp"
#include "p2p/start.hpp"
#include "p2p/status.hpp"
#include "transport/packets.hpp"

namespace plait::p2p {
namespace {

/// So many unexpected messages are named.
constexpr int kNamed = 8;

std::string rank_text(const lane::MatchContext& context, std::uint32_t source) {
  return "rank " + std::to_string(rank_of(context, source));
}

std::string tag_text(int tag) { return tag == lane::kAnyTag ? "any tag" : "tag " + std::to_string(tag); }

/// Another thread may visit the endpoint, and bring messages.
std::string unexpected(const lane::MatchContext& context) {
  const lane::EndpointGuard guard(*context.endpoint);
  std::string text;
  int n = 0;
  for (const lane::Unexpected* u = context.first_unexpected(); u; u = lane::MatchContext::next_unexpected(*u), ++n) {
    if (n >= kNamed) continue;
    text += (n ? ", " : "") + rank_text(context, u->source) + " with " + tag_text(u->tag) + " (" + std::to_string(u->bytes) + " bytes)";
  }
  if (n == 0) return "no unexpected message is queued";
  if (n > kNamed) text += " and " + std::to_string(n - kNamed) + " more";
  return "unexpected messages queued: from " + text;
}

}  // namespace

std::string name_of(std::uint64_t communicator) {
  if (!communicator) return "a communicator that was freed";
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Comm_get_name(from_bits<MPI_Comm>(communicator), name, &length);
  if (length > 0) return std::string("communicator ") + name;
  char number[32];
  std::snprintf(number, sizeof number, "communicator %#jx", static_cast<std::uintmax_t>(communicator));
  return number;
}

void describe(const lane::Operation& o, std::string& text) {
  const lane::MatchContext& context = *o.context;
  if (o.is_send) {
    text += "a send of " + std::to_string(o.memory.bytes) + " bytes to rank " + std::to_string(o.to_rank) + " with " + tag_text(o.tag);
  } else {
    const bool one = o.end_source - o.first_source == 1;
    text += "a receive from " + (one ? rank_text(context, o.first_source) : "any source") + " with " + tag_text(o.tag);
  }
  text += " on " + name_of(context);
}

void tell_hang(Call call, int requests, double limit, const std::function<std::string()>& waits_for) noexcept {
  try {
    std::string who = "a process";
    if (int rank = 0; transport::world_exists() && PMPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS)
      who = "rank " + std::to_string(rank);
    const std::string from = call.caller ? std::string(", called at ") + symbol_of(call.caller) : "";

    const std::string on = requests == 0 ? "" : " on " + std::to_string(requests) + (requests == 1 ? " request" : " requests");
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", limit);
    const std::string text =
        "plait: " + who + " has been in " + call.name + on + from + ", for more than " + seconds + " s; it waits for " + waits_for() + "\n";
    std::fputs(text.c_str(), stderr);  // in one piece, so that the words of several processes stay apart
  } catch (const std::bad_alloc&) {
    std::fputs("plait: a wait takes long, and there is no memory to say which\n", stderr);
  }
}

void Hang::bark(Call call) const noexcept {
  if (text_) {
    tell_hang(call, 0, watchdog_->seconds(), *text_);
    return;
  }
  tell_hang(call, 0, watchdog_->seconds(), [this] {
    std::string what;
    if (operation_) {
      describe(*operation_, what);
    } else {
      what = "a message from " + (envelope_->rank == MPI_ANY_SOURCE ? "any source" : "rank " + std::to_string(envelope_->rank)) + " with " +
             tag_text(tag_of(envelope_->tag)) + " on " + name_of(*context_);
    }
    return what + "; " + unexpected(*context_);
  });
}

}  // namespace plait::p2p
