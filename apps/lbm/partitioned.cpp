// partitioned: one message for each face, which all threads share. Each adds its part as soon as it has packed it, and unpacks its
// part of a face when that has arrived, whatever the others do.
#include <plait/finepoints.h>
#include <plait/partitioned.h>
#include <sched.h>

#include <vector>

#include "model.hpp"

namespace plait::lbm {
namespace {

class Partitioned final : public Model {
 public:
  explicit Partitioned(const World& world) : Model(world) {
    for (Link& link : world.halo.links()) {
      const auto buffer = link.receive_buffer();
      MPI_Partitioned_Recv_create(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, link.neighbor(), link.receive_tag(),
                                  world.comm, &requests_.emplace_back());
    }
    for (Link& link : world.halo.links()) {
      const auto buffer = link.send_buffer();
      MPI_Partitioned_Send_create(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, world.threads, link.neighbor(),
                                  link.send_tag(), world.comm, &requests_.emplace_back());
    }
    start();
  }
  ~Partitioned() override {
    // The next exchange has been started: it takes place without anybody looking at it.
    for (std::size_t k = 0; k < faces(); ++k) add(k, 0, 1);
    finish();
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  void step(Phase phase, bool exchange, int thread, StepTimes& times) override {
    Stopwatch watch;
    if (exchange) {
      for (std::size_t k = 0; k < faces(); ++k) {
        world_.halo.links()[k].pack(before(phase), thread, world_.threads);
        add(k, thread, world_.threads);
      }
      watch.lap(times.pack);
      unpack_what_comes(before(phase), thread, times, watch);
#pragma omp barrier
      // The threads pack again after the barrier that ends the update.
      if (thread == 0) {
        finish();
        start();
      }
      watch.lap(times.wait);
    }
    update_all(phase, thread);
    watch.lap(times.compute);
  }

 private:
  [[nodiscard]] std::size_t faces() const { return world_.halo.links().size(); }
  // Open MPI takes no null array of no requests.
  void start() {
    if (!requests_.empty()) MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
  }
  void finish() {
    if (!requests_.empty()) MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  void add(std::size_t face, int piece, int pieces) {
    const auto part = world_.halo.links()[face].send_buffer(piece, pieces);
    if (!part.empty()) MPI_Partitioned_Add_to_buffer(&requests_[faces() + face], part.data(), static_cast<int>(part.size()), MPI_DOUBLE);
  }

  void unpack_what_comes(Direction d, int thread, StepTimes& times, Stopwatch& watch) {
    std::vector<char> unpacked(faces());
    for (std::size_t left = faces(); left > 0;) {
      bool any = false;
      for (std::size_t k = 0; k < faces(); ++k) {
        int arrived = 0;
        if (!unpacked[k]) MPI_Parrived(requests_[k], 0, &arrived);
        if (!arrived) continue;
        watch.lap(times.wait);
        world_.halo.links()[k].unpack(d, thread, world_.threads);
        watch.lap(times.unpack);
        unpacked[k] = 1;
        any = true;
        --left;
      }
      if (!any) sched_yield();
    }
  }

  std::vector<MPI_Request> requests_;  // of all faces: those that receive, then those that send
};

}  // namespace

std::unique_ptr<Model> make_partitioned(const World& world) { return std::make_unique<Partitioned>(world); }

}  // namespace plait::lbm
