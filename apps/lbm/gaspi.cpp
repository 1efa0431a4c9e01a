// gaspi: a segment for each face and edge, as Ludwig had it (Iakymchuk, Cebamanos et al., 2017). Each thread packs its share of each face
// into the segment, writes it into the neighbour's with a notification, on a queue of its own, updates its share of the interior, which
// nobody has to wait for, and unpacks its share of those that have come.
//
// A segment holds what is sent, and twice what comes, for rounds in turn: a neighbour may be a round ahead, but not two. What it writes in
// round r + 2 it writes after it has unpacked round r + 1, which is sent after round r has been unpacked here.
#include <plait/GASPI.h>

#include <cstdio>
#include <vector>

#include "error.hpp"
#include "model.hpp"

namespace plait::lbm {
namespace {

/// Within the time loop there is no way on.
void must(gaspi_return_t result, const char* call) {
  if (result == GASPI_SUCCESS) return;
  gaspi_string_t why = nullptr;
  gaspi_print_error(result, &why);
  std::fprintf(stderr, "plait-lbm: %s: %s\n", call, why ? why : "failed");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class Gaspi final : public Model {
 public:
  explicit Gaspi(const World& world) : Model(world), rounds_(static_cast<std::size_t>(world.threads)) {
    collectively(world.comm, [] { require(gaspi_proc_init(GASPI_BLOCK), "GASPI cannot start"); });
    try {
      collectively(world.comm, [&] { make_segments(); });
    } catch (...) {
      gaspi_proc_term(GASPI_BLOCK);
      throw;
    }
  }
  ~Gaspi() override { gaspi_proc_term(GASPI_BLOCK); }

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (!exchange) {
      update_all(phase, thread);
    } else {
      const unsigned turn = rounds_[static_cast<std::size_t>(thread)].count++ % 2;
      send(before(phase), turn, thread, times, watch);
      update_interior(phase, thread);
      watch.lap(times.compute);
      receive(before(phase), turn, thread, times, watch);
#pragma omp barrier
      watch.lap(times.unpack);
      update_boundary(phase, thread);
    }
    watch.lap(times.compute);
  }

 private:
  struct Face {
    Link& link;
    gaspi_rank_t rank;
    gaspi_segment_id_t id, id_there;
    double* memory;     // of the segment: to send, received in even rounds, in odd ones
    std::size_t count;  // of each, numbers
  };

  static void require(gaspi_return_t result, const char* what) {
    if (result == GASPI_SUCCESS) return;
    gaspi_string_t why = nullptr;
    gaspi_print_error(result, &why);
    throw Error(std::string(what) + ": " + (why ? why : "no reason is known"));
  }

  /// A segment's number is the tag of the link: so the neighbour's is known.
  void make_segments() {
    MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    MPI_Comm_group(world_.comm, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    gaspi_number_t queues = 0;
    require(gaspi_queue_num(&queues), "GASPI's queues");
    queues_ = static_cast<int>(queues);
    for (Link& link : world_.halo.links()) {
      const int neighbor = link.neighbor();
      int rank = 0;
      MPI_Group_translate_ranks(here, 1, &neighbor, world, &rank);
      Face face{link,
                static_cast<gaspi_rank_t>(rank),
                static_cast<gaspi_segment_id_t>(link.send_tag()),
                static_cast<gaspi_segment_id_t>(link.receive_tag()),
                nullptr,
                link.extent().count};
      require(gaspi_segment_alloc(face.id, 3 * face.count * sizeof(double) + kLine, GASPI_MEM_UNINITIALIZED),
              "no memory for a segment of GASPI's");
      gaspi_pointer_t memory = nullptr;
      require(gaspi_segment_ptr(face.id, &memory), "a segment of GASPI's");
      face.memory = static_cast<double*>(memory);
      require(gaspi_segment_register(face.id, face.rank, GASPI_BLOCK), "a segment of GASPI's cannot be shown to a neighbour");
      faces_.push_back(face);
    }
    MPI_Group_free(&here);
    MPI_Group_free(&world);
  }

  [[nodiscard]] gaspi_queue_id_t queue_of(int thread) const { return static_cast<gaspi_queue_id_t>(thread % queues_); }
  [[nodiscard]] gaspi_notification_id_t notification(unsigned turn, int thread) const {
    return turn * static_cast<unsigned>(world_.threads) + static_cast<unsigned>(thread);
  }
  [[nodiscard]] static std::size_t received(const Face& face, unsigned turn) { return (1 + turn) * face.count; }

  void send(Direction d, unsigned turn, int thread, StepTimes& times, Stopwatch& watch) {
    for (const Face& face : faces_) {
      const auto [first, count] = face.link.extent(thread, world_.threads);
      if (count == 0) continue;
      face.link.pack(d, face.memory, thread, world_.threads);
      watch.lap(times.pack);
      must(gaspi_write_notify(face.id, first * sizeof(double), face.rank, face.id_there, (received(face, turn) + first) * sizeof(double),
                              count * sizeof(double), notification(turn, thread), 1, queue_of(thread), GASPI_BLOCK),
           "gaspi_write_notify");
      watch.lap(times.wait);
    }
  }

  void receive(Direction d, unsigned turn, int thread, StepTimes& times, Stopwatch& watch) {
    for (const Face& face : faces_) {
      if (face.link.extent(thread, world_.threads).count == 0) continue;
      gaspi_notification_id_t id = 0;
      gaspi_notification_t value = 0;
      must(gaspi_notify_waitsome(face.id, notification(turn, thread), 1, &id, GASPI_BLOCK), "gaspi_notify_waitsome");
      must(gaspi_notify_reset(face.id, id, &value), "gaspi_notify_reset");
      watch.lap(times.wait);
      face.link.unpack(d, face.memory + received(face, turn), thread, world_.threads);
      watch.lap(times.unpack);
    }
    // Before the update rather than before the next round: while this process computes, what it sends to another node waits for it to be
    // seen that the neighbour is ready.
    must(gaspi_wait(queue_of(thread), GASPI_BLOCK), "gaspi_wait");
    watch.lap(times.wait);
  }

  static constexpr std::size_t kLine = 64;
  struct alignas(kLine) Round {
    unsigned count = 0;
  };
  std::vector<Round> rounds_;  // of each thread: how many exchanges it has made
  std::vector<Face> faces_;
  int queues_ = 1;
};

}  // namespace

std::unique_ptr<Model> make_gaspi(const World& world) { return std::make_unique<Gaspi>(world); }

}  // namespace plait::lbm
