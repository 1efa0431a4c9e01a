#include "gaspi/job.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/mpi_lock.hpp"
#include "gaspi/group.hpp"
#include "gaspi/passive.hpp"
#include "gaspi/segments.hpp"
#include "lane/node.hpp"
#include "p2p/world.hpp"
#include "progress/cores.hpp"
#include "progress/helper.hpp"

namespace plait::gaspi {
namespace {

constexpr std::uint64_t kBetweenDeathChecks = 10'000'000;  // ns

constinit std::atomic<Job*> job_in_use{nullptr};

/// What each process tells all others.
struct Card {
  RegionName region;
  std::uint64_t node;
};

template <class T>
std::vector<T> exchange(const T& mine, std::uint32_t size) {
  std::vector<T> all(size);
  check(PMPI_Allgather(&mine, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, MPI_COMM_WORLD));
  return all;
}

/// Which ranks share memory with this one, both ways.
std::vector<char> find_near(const std::vector<Card>& cards, const Card& mine) {
  std::vector<char> here(cards.size());
  for (std::size_t r = 0; r < here.size(); ++r) here[r] = cards[r].node == mine.node && lane::Node::get().attach(cards[r].region) ? 1 : 0;
  std::vector<char> there(here.size());
  check(PMPI_Alltoall(here.data(), 1, MPI_CHAR, there.data(), 1, MPI_CHAR, MPI_COMM_WORLD));
  for (std::size_t r = 0; r < here.size(); ++r) here[r] = here[r] && there[r] ? 1 : 0;
  return here;
}

void know_peers(Job& job) {
  lane::Node& node = lane::Node::get();
  const Card mine{node.region().name(), p2p::node_hash()};
  const std::vector<Card> cards = exchange(mine, job.size);
  job.peers = std::make_unique<Peer[]>(job.size);
  job.locals = 0;
  for (std::uint32_t r = 0; r < job.size; ++r) {
    job.peers[r].rank = static_cast<std::uint16_t>(r);
    if (cards[r].node == mine.node) job.peers[r].local = static_cast<std::int32_t>(job.locals++);
  }
  job.local = job.self().local;
  const std::vector<char> near = find_near(cards, mine);
  const Region::Place place = node.region().take(Control::bytes(job.locals));
  job.control = static_cast<Control*>(place.memory);
  const std::vector<std::uint64_t> offsets = exchange(place.offset, job.size);
  for (std::uint32_t r = 0; r < job.size; ++r) {
    Peer& peer = job.peers[r];
    if (near[r]) {
      peer.control = static_cast<Control*>(node.at({cards[r].region.id(), offsets[r]}));
      peer.pid = cards[r].region.pid;
      peer.region = cards[r].region.id();
    } else {
      job.spans_nodes = true;
    }
  }
}

/// A duplicate of MPI_COMM_WORLD to send on, where PLAIT_COMMUNICATORS=none has kept libplait from making one. Collective.
void need_world() {
  if (p2p::world() != MPI_COMM_NULL) return;
  int level = MPI_THREAD_SINGLE;
  check(PMPI_Query_thread(&level));
  const MPI_Comm made = p2p::make_channel();
  require(made != MPI_COMM_NULL, MPI_ERR_OTHER);
  p2p::set_world({made}, level < MPI_THREAD_MULTIPLE);
}

}  // namespace

Peer::~Peer() {
  forget_views(*this);
  delete sizes.load(std::memory_order_relaxed);
  if (const int fd = pidfd.load(std::memory_order_relaxed); fd >= 0) close(fd);
}

Job::Job() = default;
Job::~Job() = default;

Job* current() noexcept { return job_in_use.load(std::memory_order_acquire); }

void start() {
  event_count_begin();
  auto job = std::make_unique<Job>();
  int rank = 0;
  int size = 1;
  check(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(PMPI_Comm_size(MPI_COMM_WORLD, &size));
  require(size <= 65535, MPI_ERR_UNSUPPORTED_OPERATION);  // ranks are unsigned short
  job->rank = static_cast<std::uint16_t>(rank);
  job->size = static_cast<std::uint32_t>(size);
  know_peers(*job);
  for (std::uint32_t q = 0; q < config().queue_num; ++q) job->queues[q].exists.store(true, std::memory_order_relaxed);
  job->groups = std::make_unique<Groups>(*job);
  job->passive = std::make_unique<Passive>(*job);
  progress::set_processes_here(static_cast<int>(job->locals));
  need_world();
  far::open(*job);
  Job* const made = job.release();
  job_in_use.store(made, std::memory_order_release);
  {
    const MpiLock lock;                   // the helper may be in the MPI by now
    check(PMPI_Barrier(MPI_COMM_WORLD));  // nobody sends to one that is not ready
  }
  require(made->groups->commit(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, MPI_ERR_OTHER);
}

void stop() noexcept {
  Job* const job = current();
  if (!job) return;
  job->control->ended.store(1, std::memory_order_release);
  remove_all(*job);  // drives what is under way
  far::close(*job);
  job_in_use.store(nullptr, std::memory_order_release);
  // Whatever drives the network meanwhile has found it before or finds none.
  try {
    when_unused([job] {
      if (job->pins.give_up()) delete job;
    });
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it stays
  }
}

namespace {

bool note_death(Peer& peer) noexcept {
  if (!peer.dead.exchange(true, std::memory_order_relaxed)) {
    if (Job* const job = current()) job->deaths.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace

bool has_died(Peer& peer) noexcept {
  if (peer.dead.load(std::memory_order_relaxed)) return true;
  if (!peer.control || peer.control->ended.load(std::memory_order_relaxed) != 0) return false;
  int fd = peer.pidfd.load(std::memory_order_relaxed);
  if (fd == -1) {
#ifdef SYS_pidfd_open
    fd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0));
#endif
    if (fd < 0) {
      return errno == ESRCH && note_death(peer);
    }
    int none = -1;
    if (!peer.pidfd.compare_exchange_strong(none, fd, std::memory_order_relaxed)) {
      ::close(fd);
      fd = none;
    }
  }
  pollfd ended{fd, POLLIN, 0};
  // Readable when it has ended, whether or not its parent has asked.
  return poll(&ended, 1, 0) == 1 && note_death(peer);
}

/// A near rank's output can be opened as its memory can; where it cannot, the text comes out here.
void print(Job& job, Peer& peer, const char* text) noexcept {
  const std::size_t bytes = std::strlen(text);
  if (!peer.control) {
    far::print(job, peer, {text, bytes});
    return;
  }
  const std::string path = "/proc/" + std::to_string(peer.pid) + "/fd/1";
  const int file = &peer == &job.self() ? -1 : open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0 || ::write(file, text, bytes) != static_cast<ssize_t>(bytes)) {
    std::fputs(text, stdout);
    std::fflush(stdout);
  }
  if (file >= 0) ::close(file);
}

void look_for_deaths(Job& job) noexcept {
  const std::uint64_t t = now();
  std::uint64_t next = job.next_death_check.load(std::memory_order_relaxed);
  if (t < next || !job.next_death_check.compare_exchange_strong(next, t + kBetweenDeathChecks, std::memory_order_relaxed)) return;
  for (std::uint32_t r = 0; r < job.size; ++r) {
    if (job.peers[r].control && r != job.rank) static_cast<void>(has_died(job.peers[r]));
  }
}

}  // namespace plait::gaspi
