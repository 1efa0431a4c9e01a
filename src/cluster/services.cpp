// Questions and messages of the run time's own, which mean nothing to memory.
#include "cluster/services.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "base/fatal.hpp"
#include "cluster/carrier.hpp"

namespace plait::cluster {
namespace {

std::array<Handler, kServices> services{};

struct Asked {
  bool answered = false;
  std::vector<std::byte> bytes;
};
std::map<std::uint64_t, Asked*> asked;
std::uint64_t next_question = 0;

Handler handler_of(std::uint32_t service) {
  if (service >= kServices || !services[service]) fatal("OpenMP over several nodes: nobody serves question %u", service);
  return services[service];
}

/// What is left of a message.
std::span<const std::byte> rest(Received& message) {
  const std::size_t bytes = message.left();
  return {message.bytes(bytes), bytes};
}

}  // namespace

void serve(Service which, Handler handler) { services[static_cast<std::uint32_t>(which)] = handler; }

void start_services() {
  on(Kind::ask, [](Received message) {
    const Head head = message.head();
    handler_of(head.small)(message.from(), rest(message), Answer(message.from(), head.token));
  });
  on(Kind::tell, [](Received message) {
    const Head head = message.head();
    handler_of(head.small)(message.from(), rest(message), Answer());
  });
  on(Kind::answer, [](Received message) {
    const auto found = asked.find(message.head().token);
    if (found == asked.end()) fatal("OpenMP over several nodes: an answer that nobody waits for");
    const std::span<const std::byte> bytes = rest(message);
    found->second->bytes.assign(bytes.begin(), bytes.end());
    found->second->answered = true;
  });
}

void Answer::send(std::span<const std::byte> bytes) const {
  const Guard guard;
  Message message(Kind::answer, 0, question_);
  message.bytes(bytes.data(), bytes.size());
  cluster::send(process_, std::move(message));
}

void ask(int process, Service which, std::span<const std::byte> question, std::span<std::byte> answer) {
  // Question and answer may lie in memory that is not here: they are not touched under the lock.
  Message* message = nullptr;
  Asked mine;
  {
    const Guard guard;
    message = new Message(Kind::ask, static_cast<std::uint32_t>(which), ++next_question);
    asked[message->head().token] = &mine;
  }
  message->bytes(question.data(), question.size());
  {
    const Guard guard;
    const std::uint64_t token = message->head().token;
    send(process, std::move(*message));
    delete message;
    wait_until([&mine] { return mine.answered; });
    asked.erase(token);
  }
  std::memcpy(answer.data(), mine.bytes.data(), std::min(answer.size(), mine.bytes.size()));
}

void tell(int process, Service which, std::span<const std::byte> text) {
  Message message(Kind::tell, static_cast<std::uint32_t>(which));
  message.bytes(text.data(), text.size());
  const Guard guard;
  send(process, std::move(message));
}

}  // namespace plait::cluster
