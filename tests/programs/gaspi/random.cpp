// Random programs of writes, reads, notifications, atomics and lists, against a model that any process can work out by itself: over several
// queues and threads, mixed with messages of the MPI's. random --seed N --rounds R; 2 processes or more.
//
// A round: each thread of each rank posts some operations into places that are its own, in segments of all kinds, and tells each rank that
// it wrote to by notifications, in whose order it may only be right. Then it takes those that are meant for its own number, from all ranks,
// and compares what has come. Everybody draws the same numbers, so everybody knows what the others do.
#include <GASPI.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "check.h"
}

namespace {

constexpr int kThreads = 3, kSegments = 3;
constexpr std::size_t kPlace = 600 << 10;  ///< of one thread of one rank, in a segment of each rank
constexpr std::size_t kOut = 600 << 10;    ///< where a thread keeps what it sends
constexpr int kQueue = 8;

using Random = std::mt19937_64;

struct Piece {
  gaspi_segment_id_t segment;
  std::size_t from, to, bytes;
};
/// What a thread does to one rank in a round.
struct Deed {
  enum Kind { write_notify, writes_then_notify, list, only_notify } kind;
  std::vector<Piece> pieces;
  std::uint32_t value;
  int adds;
};

std::size_t draw_size(Random& random) {
  static const std::size_t bounds[] = {1, 9, 100, 3000, 20000, 200000};
  return random() % bounds[random() % 6];
}

Deed draw(std::uint64_t seed, int round, int from, int thread, int to) {
  Random random(seed ^ (static_cast<std::uint64_t>(round) << 32) ^
                static_cast<std::uint64_t>(from * 65536 + thread * 4096 + to) * 0x9E3779B97F4A7C15U);
  Deed deed{
      static_cast<Deed::Kind>(random() % 4), {}, static_cast<std::uint32_t>(random() % 0xFFFFFFFF + 1), static_cast<int>(random() % 4)};
  const int n = deed.kind == Deed::only_notify ? 0 : deed.kind == Deed::write_notify ? 1 : 1 + static_cast<int>(random() % 12);
  std::array<std::size_t, kSegments> used{};
  for (int i = 0; i < n; ++i) {
    Piece p{static_cast<gaspi_segment_id_t>(random() % kSegments), 0, 0, draw_size(random)};
    p.from = random() % 1000;
    p.to = used[p.segment] + random() % 9;
    if (p.to + p.bytes > kPlace) continue;
    used[p.segment] = p.to + p.bytes;
    deed.pieces.push_back(p);
  }
  if (deed.pieces.empty()) deed.kind = Deed::only_notify;
  if (deed.kind == Deed::write_notify) deed.pieces.resize(1);
  return deed;
}

std::uint8_t byte_of(int from, int thread, int round, std::size_t i) {
  return static_cast<std::uint8_t>(from * 37 + thread * 11 + round * 101 + i * 7 + i / 253);
}

std::uint64_t seed = 1;
int rounds = 20;
std::array<std::uint8_t*, kSegments> memory;

std::size_t place_of(int from, int thread) { return 4096 + static_cast<std::size_t>(from * kThreads + thread) * kPlace; }
std::size_t out_of(int thread) { return place_of(size, 0) + static_cast<std::size_t>(thread) * 2 * kOut; }
gaspi_notification_id_t notification_of(int from, int thread) {
  return static_cast<gaspi_notification_id_t>(from * kThreads + thread) * 521;
}

void until_posted(gaspi_queue_id_t queue, gaspi_return_t (*post)(const void*), const void* what) {
  for (;;) {
    const gaspi_return_t code = post(what);
    if (code == GASPI_SUCCESS) return;
    if (code == GASPI_QUEUE_FULL)
      OK(gaspi_wait(queue, GASPI_BLOCK));
    else
      CHECK(code == GASPI_TIMEOUT);
  }
}
template <class Post>
void posted(gaspi_queue_id_t queue, Post post) {
  until_posted(queue, [](const void* p) { return (*static_cast<const Post*>(p))(); }, &post);
}

void act(int round, int thread, int to, Random& random) {
  const Deed deed = draw(seed, round, rank, thread, to);
  const auto r = static_cast<gaspi_rank_t>(to);
  const auto queue = static_cast<gaspi_queue_id_t>((thread + round) % kQueue);
  const std::size_t out = out_of(thread);
  const gaspi_notification_id_t id = notification_of(rank, thread);
  const std::array<gaspi_timeout_t, 3> timeouts{GASPI_BLOCK, GASPI_TEST, 1};
  const gaspi_timeout_t timeout = timeouts[random() % 3];
  if (deed.kind == Deed::write_notify) {
    const Piece& p = deed.pieces[0];
    posted(queue, [&] {
      return gaspi_write_notify(0, out + p.from, r, p.segment, place_of(rank, thread) + p.to, p.bytes, id, deed.value, queue, timeout);
    });
  } else if (deed.kind == Deed::list) {
    std::vector<gaspi_segment_id_t> local(deed.pieces.size(), 0), remote;
    std::vector<gaspi_offset_t> from, at;
    std::vector<gaspi_size_t> bytes;
    for (const Piece& p : deed.pieces) {
      remote.push_back(p.segment);
      from.push_back(out + p.from);
      at.push_back(place_of(rank, thread) + p.to);
      bytes.push_back(p.bytes);
    }
    gaspi_segment_id_t told = deed.pieces[0].segment;
    posted(queue, [&] {
      return gaspi_write_list_notify(static_cast<gaspi_number_t>(bytes.size()), local.data(), from.data(), r, remote.data(), at.data(),
                                     bytes.data(), told, id, deed.value, queue, timeout);
    });
  } else {
    for (const Piece& p : deed.pieces) {
      posted(queue, [&] { return gaspi_write(0, out + p.from, r, p.segment, place_of(rank, thread) + p.to, p.bytes, queue, timeout); });
    }
    const gaspi_segment_id_t told = deed.pieces.empty() ? 0 : deed.pieces[0].segment;
    posted(queue, [&] { return gaspi_notify(told, r, id, deed.value, queue, timeout); });
  }
  for (int i = 0; i < deed.adds; ++i) {
    gaspi_atomic_value_t old = 0;
    gaspi_return_t code;
    while ((code = gaspi_atomic_fetch_add(0, 64, r, 3, &old, timeout)) == GASPI_TIMEOUT);
    OK(code);
  }
}

void take(int round, int thread, int from, Random& random) {
  const Deed deed = draw(seed, round, from, thread, rank);
  const gaspi_segment_id_t told = deed.pieces.empty() ? 0 : deed.pieces[0].segment;
  const gaspi_notification_id_t id = notification_of(from, thread);
  gaspi_notification_id_t found = 0;
  gaspi_notification_t value = 0;
  gaspi_return_t code;
  const std::array<gaspi_timeout_t, 3> timeouts{GASPI_BLOCK, GASPI_TEST, 1};
  while ((code = gaspi_notify_waitsome(told, id, 1 + random() % 500, &found, timeouts[random() % 3])) == GASPI_TIMEOUT);
  OK(code);
  CHECK(found == id);
  OK(gaspi_notify_reset(told, id, &value));
  CHECK(value == deed.value);
  for (const Piece& p : deed.pieces) {
    const std::uint8_t* const at = memory[p.segment] + place_of(from, thread) + p.to;
    for (std::size_t i = 0; i < p.bytes; ++i) {
      if (at[i] == byte_of(from, thread, round, p.from + i)) continue;
      std::fprintf(stderr, "rank %d thread %d round %d from %d: byte %zu of %zu to segment %d\n", rank, thread, round, from, i, p.bytes,
                   p.segment);
      CHECK(!"as the model says");
    }
  }
}

/// What that rank's thread sends in this round, read from there, while it waits at the round's end.
void read_back(int round, int thread, int from, Random& random) {
  const auto queue = static_cast<gaspi_queue_id_t>((thread + 3 * round) % kQueue);
  const std::size_t bytes = std::min<std::size_t>(draw_size(random), kOut - 1000), at = random() % 1000;
  posted(queue, [&] {
    return gaspi_read(0, out_of(thread) + kOut, static_cast<gaspi_rank_t>(from), 0, out_of(thread) + at, bytes, queue, GASPI_BLOCK);
  });
  OK(gaspi_wait(queue, GASPI_BLOCK));
  for (std::size_t i = 0; i < bytes; ++i) CHECK(memory[0][out_of(thread) + kOut + i] == byte_of(from, thread, round, at + i));
}

void one_thread(int thread) {
  Random random(seed * 7919 + static_cast<std::uint64_t>(rank * kThreads + thread));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kOut; ++i) memory[0][out_of(thread) + i] = byte_of(rank, thread, round, i);
    for (int i = 0; i < size; ++i) act(round, thread, (rank + i) % size, random);
    for (int i = 0; i < size; ++i) take(round, thread, (rank + size - i) % size, random);
    if (random() % 2) read_back(round, thread, rank, random);
    // To the next round with the same thread of all ranks: what was sent may be overwritten then.
    for (int q = 0; q < kQueue; ++q) OK(gaspi_wait(static_cast<gaspi_queue_id_t>(q), GASPI_BLOCK));
    int mine = round + thread;
    std::vector<int> all(size);
    for (int r = 0; r < size; ++r) {
      const int to = (rank + r) % size, from = (rank + size - r) % size;
      MPI_Sendrecv(&mine, 1, MPI_INT, to, thread, &all[from], 1, MPI_INT, from, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(all[from] == mine);
    }
    if (size > 1) {
      read_back(round, thread, (rank + 1) % size, random);
      MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 100 + thread, &all[0], 1, MPI_INT, (rank + size - 1) % size, 100 + thread,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Sendrecv(&mine, 1, MPI_INT, (rank + size - 1) % size, 200 + thread, &all[0], 1, MPI_INT, (rank + 1) % size, 200 + thread,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--rounds") rounds = std::atoi(argv[i + 1]);
  }
  begin();
  const std::size_t bytes = out_of(kThreads);
  OK(gaspi_segment_create(0, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
  void* shared = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &shared);
  OK(gaspi_segment_use(1, shared, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, 0));
  void* const heap = std::malloc(bytes);
  OK(gaspi_segment_use(2, heap, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, 0));
  for (int s = 0; s < kSegments; ++s)
    memory[static_cast<std::size_t>(s)] = static_cast<std::uint8_t*>(at(static_cast<gaspi_segment_id_t>(s)));
  barrier();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(one_thread, t);
  for (auto& t : threads) t.join();
  barrier();
  long adds = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int r = 0; r < size; ++r) {
      for (int t = 0; t < kThreads; ++t) adds += 3 * draw(seed, round, r, t, rank).adds;
    }
  }
  long found = 0;
  std::memcpy(&found, memory[0] + 64, sizeof found);
  CHECK(found == adds);
  end("all as the model says");
  MPI_Finalized(&rounds);
  return 0;
}
