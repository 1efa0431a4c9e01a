// What GASPI's processes tell each other between nodes: a record of the network holds commands, each with its data behind it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::gaspi {

struct Command {
  enum class Code : std::uint8_t {
    // Of a queue, in its order:
    put,        ///< the data goes to `segment`; then, where `value` is not 0, the notification
    put_large,  ///< likewise; the data is the record's load
    notify,
    get,  ///< `number`: of the read. The length follows
    // Back:
    got,        ///< data of read `number`, `offset` in it
    got_large,  ///< all of a large read `number`: the record's load
    refused,    ///< of read `number`: the segment is gone
    dropped,    ///< a large write of queue `number`: likewise
    // In the order of the two processes:
    atomic,     ///< a request, as those that follow: `number` is in its answer. An AtomicCall follows
    register_,  ///< `segment`, of so many bytes as follow
    ping,
    answer,  ///< `value`: it has worked. A word follows
    unregister,
    letter,    ///< of a group; a Letter and its data follow
    passive,   ///< a piece of a message of `number` bytes, `offset` in it
    received,  ///< the passive message has been
    print,
    kill,
  };
  Code code = Code::put;
  std::uint8_t segment = 0;
  std::uint8_t told = 0;  ///< the notification's segment
  std::uint8_t unused = 0;
  std::uint32_t id = 0, value = 0;
  std::uint32_t bytes = 0;  ///< behind this
  std::uint64_t offset = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(Command) == 32);

/// Commands begin at multiples of this.
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

}  // namespace plait::gaspi
