// One thread that plays the program for the endpoints it drives: posts, completes, and holds every outcome against the
// model.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "communicators.hpp"
#include "model.hpp"
#include "pool.hpp"
#include "quirks.hpp"
#include "report.hpp"
#include "rng.hpp"
#include "types.hpp"

namespace random_p2p {

/// A lie told to the oracle about one receive, to see that the tester can fail.
enum class Fault : std::uint8_t { none, payload, gap, guard, source, tag, count, order };

/// Bytes of MPI_Buffer_attach that the sends of one endpoint may take in one round; see Driver::may_buffer.
constexpr std::size_t buffered_bytes = 32 << 10;
/// An MPI may give buffer space back later than at once.
constexpr std::size_t buffer_slack = 16;

class Driver {
 public:
  Driver(const Shape& shape, const Types& types, const Communicators& comms, std::vector<int> endpoints, Fault fault, const Quirks& quirks,
         Where& where);
  void play(std::uint32_t number);
  /// Nothing is left anywhere, and the long-lived persistent requests are freed.
  void end();
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  /// A buffer and the canaries around it.
  struct Region {
    std::byte* base = nullptr;
    std::size_t size = 0;
    std::byte* buffer = nullptr;
  };
  struct Buffer {
    const Layout* layout = nullptr;
    int count = 0;
    Region region;
    [[nodiscard]] void* data() const { return region.buffer; }
    [[nodiscard]] MPI_Datatype type() const { return layout->type; }
    [[nodiscard]] std::size_t elements() const { return std::size_t(count) * layout->elements; }
  };
  /// A persistent request as old as the program.
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    Buffer buffer;
  };
  struct Incoming {
    int communicator = 0;
    EndpointId to;
    Inbox inbox;
    std::vector<Pair> pairs;
    std::vector<Receive> receives;  ///< wild
    std::vector<Slot> slots;
  };
  struct Outgoing {
    int communicator = 0;
    EndpointId from, to;
    Pair pair;
    Slot slot;
  };
  struct Operation {
    const Outgoing* out = nullptr;
    const Message* message = nullptr;
    Incoming* in = nullptr;
    const Receive* receive = nullptr;
    [[nodiscard]] bool sends() const { return out != nullptr; }
    [[nodiscard]] Phase phase() const { return sends() ? message->phase : receive->phase; }
    [[nodiscard]] bool blocking() const { return sends() ? message->blocking : receive->blocking; }
    [[nodiscard]] int communicator() const { return sends() ? out->communicator : in->communicator; }
  };
  /// What waits for completion or, if a wild receive, for the end of the round.
  struct Record {
    enum class Kind : std::uint8_t { send, receive, cancelled, from_nobody } kind = Kind::send;
    const char* call = "";
    Incoming* in = nullptr;
    const Receive* receive = nullptr;
    Buffer buffer;
    bool status_lost = false;  ///< by the MPI underneath
    MPI_Status status{};
  };

  void prepare(const Round& round);
  void run(Phase phase);
  void perform(const Operation& op);
  bool perform_both(const Operation& send, const Operation& receive);
  void send_blocking(const Operation& op, const Buffer& b);
  void send_nonblocking(const Operation& op, const Buffer& b);
  void send_multiplex(const Operation& op, const Buffer& b);
  void receive_blocking(const Operation& op);
  void receive_nonblocking(const Operation& op);
  void receive_multiplex(const Operation& op);
  void extra();
  void extra_nobody(const Incoming& in);
  void extra_cancel(const Incoming& in);
  void extra_probe(const Incoming& in);

  const Layout& draw_layout(Element element, std::uint32_t elements, bool fits_exactly);
  Region allocate(std::size_t bytes, bool any_alignment);
  Buffer send_buffer(const Message& m);
  Buffer receive_buffer(const Operation& op, std::int64_t known_elements = -1);
  void fill(const Buffer& b, const Message& m);
  bool may_buffer(const Operation& op);
  bool may_free(int communicator) const;

  int expect(Record::Kind kind, const char* call, const Operation* op, const Buffer& buffer);
  int expect_receive(const char* call, const Operation& op, const Buffer& b) { return expect(Record::Kind::receive, call, &op, b); }
  void completed(int record, const MPI_Status* status);
  void resolve_wild(Record& r);
  void compare(const Record& r, EndpointId from, const Message& m, const MPI_Status* status);
  void compare_status(const Record& r, const Message& m, EndpointId source, MPI_Status status, bool probed = false);
  void compare_bytes(const Record& r, const Message* m);
  void check_nobody(const MPI_Status& status);
  std::string describe(const Record& r) const;
  std::string describe(const Message& m, EndpointId from) const;
  const Message& expected(const Record& r) const { return r.in->pairs[r.receive->pair].messages[r.receive->message]; }
  [[nodiscard]] bool has(Feature f) const { return shape_.features.has(f); }
  /// Stream and thread communicators are, whatever the MPI underneath does on its own.
  [[nodiscard]] bool held_to_standard(int communicator) const {
    return shape_.ranks || (shape_.streams && !shape_.is_ordinary(communicator));
  }
  Quirks quirks(int communicator) const { return held_to_standard(communicator) ? Quirks{} : quirks_; }
  /// Hands a request to the pool.
  std::size_t pend(MPI_Request request, int record, int communicator, Pool::After after = Pool::After::gone);
  bool inject(Fault fault, bool possible = true);
  auto on_completion() {
    return [this](int record, const MPI_Status* status) { completed(record, status); };
  }
  MPI_Comm comm(const Operation& op) const { return comms_[op.communicator()]; }
  int source_rank(const Receive& r) const { return r.source.process == any ? MPI_ANY_SOURCE : r.source.process; }
  static int mpi_tag(const Receive& r) { return r.tag == any ? MPI_ANY_TAG : r.tag; }

  const Shape& shape_;
  const Types& types_;
  const Communicators& comms_;
  std::vector<int> endpoints_;
  Where& where_;
  Round round_;
  Rng rng_{0};
  Arena arena_, slot_arena_;
  Pool pool_;
  std::vector<Incoming> incoming_;
  std::vector<Outgoing> outgoing_;
  std::vector<std::vector<Operation>> queues_;
  std::size_t queues_used_ = 0;
  std::vector<std::size_t> next_;      ///< per queue
  std::vector<std::size_t> turns_;     ///< queues in the order in which they may post
  std::vector<Operation> operations_;  ///< of one phase
  std::vector<Record> records_;
  std::vector<std::size_t> cancel_later_;  ///< places in the pool
  std::vector<std::byte> packed_, image_;
  std::size_t buffer_left_ = 0;
  std::uint64_t received_ = 0;
  Fault fault_;
  Quirks quirks_;
};

}  // namespace random_p2p
