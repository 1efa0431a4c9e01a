// bench-barrier: until all threads of all processes have come. collective.hpp says what the threads do in each mode.
#include "collective.hpp"

namespace {

class Barrier : public plait::bench::Collective {
 public:
  static constexpr bool kHasData = false;
  static std::size_t parts(std::size_t, std::size_t) { return 0; }
  Barrier(const plait::bench::Team& team, Way way, std::size_t count) : Collective(team, way, count) {
    reads = false;
    mixes = true;
  }

  void call(int, MPI_Comm comm) override { MPI_Barrier(comm); }
};

}  // namespace

int main(int argc, char** argv) {
  return plait::bench::run_collective<Barrier>(argc, argv, "barrier", "Barrier of all threads of all processes, in every mode");
}
