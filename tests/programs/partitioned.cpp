// partitioned [ROUNDS [SEED [MOST]]]: channels between random pairs of processes, of random sizes, with partitions of the two
// sides that have nothing to do with each other; threads ready partitions in random order, one by one, in ranges or lists, or add
// ranges of any length. Every byte is checked in every round.
#include <mpi.h>
#include <plait/finepoints.h>
#include <plait/partitioned.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using Bytes = std::vector<unsigned char>;
using Random = std::mt19937_64;

/// Drawn by all processes alike.
struct Channel {
  int from, to, tag, comm;
  int bytes;  ///< of the message
  int send_parts, receive_parts;
  int layout_of_send, layout_of_receive;  ///< 0: contiguous; else every second of so many bytes
  bool send_shared, receive_shared;       ///< buffers of MPI_Alloc_mem
  bool adds;
  int threads;
};

int between(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

/// A divisor of n, not above `most`.
int divisor(Random& random, int n, int most) {
  std::vector<int> all;
  for (int d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all[static_cast<std::size_t>(between(random, 0, static_cast<int>(all.size()) - 1))];
}

Channel draw(Random& random, int processes, int comms, int most) {
  Channel c{};
  c.from = between(random, 0, processes - 1);
  c.to = between(random, 0, processes - 1);
  c.tag = between(random, 0, 2);
  c.comm = between(random, 0, comms - 1);
  // Sizes of all magnitudes, that have many divisors.
  const int magnitude = between(random, 0, 20);
  c.bytes = std::min(most, (1 << magnitude) * between(random, 1, 3) * (between(random, 0, 1) ? 5 : 4));
  if (between(random, 0, 15) == 0) c.bytes = 0;
  c.send_parts = c.bytes ? divisor(random, c.bytes, 4096) : between(random, 0, 5);
  c.receive_parts = c.bytes ? divisor(random, c.bytes, 4096) : between(random, 0, 5);
  c.layout_of_send = between(random, 0, 3) == 0 ? between(random, 1, 9) : 0;
  c.layout_of_receive = between(random, 0, 3) == 0 ? between(random, 1, 9) : 0;
  c.send_shared = between(random, 0, 1) == 0;
  c.receive_shared = between(random, 0, 1) == 0;
  c.adds = between(random, 0, 2) == 0;
  if (c.adds) c.layout_of_send = 0;
  c.threads = between(random, 1, 4);
  return c;
}

/// A buffer of `bytes` of payload whose datatype has a gap behind every `unit` of them; those of a partition are whole.
class Buffer {
 public:
  Buffer(int bytes, int parts, int unit, bool shared) : bytes_(bytes), shared_(shared) {
    const int each = parts ? bytes / parts : 0;
    if (unit == 0 || each == 0 || each % unit != 0) {
      count_ = each;
      stride_ = unit_ = 1;
      allocate(static_cast<std::size_t>(std::max(bytes, 1)));
      return;
    }
    unit_ = unit;
    stride_ = unit + 3;
    count_ = each / unit;
    MPI_Datatype some = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(unit, MPI_BYTE, &some);
    MPI_Type_create_resized(some, 0, stride_, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&some);
    allocate(static_cast<std::size_t>(bytes / unit) * static_cast<std::size_t>(stride_));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
    if (shared_) {
      MPI_Free_mem(memory_.data());
    } else {
      std::free(memory_.data());
    }
  }

  void put(const Bytes& payload, int first, int end) {
    for (int i = first; i < end; ++i) memory_[place(i)] = payload[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool holds(const Bytes& payload, int first, int end) const {
    for (int i = first; i < end; ++i) {
      if (memory_[place(i)] != payload[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  }
  void wipe() { std::fill(memory_.begin(), memory_.end(), static_cast<unsigned char>(0xEE)); }
  [[nodiscard]] bool gaps_are_whole() const {
    for (int i = 0; stride_ > unit_ && i < bytes_ / unit_; ++i) {
      for (int k = unit_; k < stride_; ++k) {
        if (memory_[static_cast<std::size_t>(i) * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(k)] != 0xEE) return false;
      }
    }
    return true;
  }
  [[nodiscard]] unsigned char* at() { return memory_.data(); }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  void allocate(std::size_t bytes) {
    void* memory = nullptr;
    if (shared_) {
      CHECK(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void*>(&memory)) == MPI_SUCCESS);
    } else {
      memory = std::malloc(bytes);
    }
    memory_ = {static_cast<unsigned char*>(memory), bytes};
    wipe();
  }
  [[nodiscard]] std::size_t place(int i) const {
    return static_cast<std::size_t>(i / unit_) * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(i % unit_);
  }

  int bytes_, count_ = 0, unit_ = 1, stride_ = 1;
  bool shared_;
  MPI_Datatype type_ = MPI_BYTE;
  std::span<unsigned char> memory_;
};

Bytes payload_of(const Channel& c, int number, int round) {
  Bytes bytes(static_cast<std::size_t>(c.bytes));
  fill(bytes.data(), c.bytes, static_cast<unsigned>(number), static_cast<unsigned>(round));
  return bytes;
}

struct Send {
  const Channel& c;
  int number;
  Buffer buffer;
  MPI_Request request = MPI_REQUEST_NULL;

  Send(const Channel& channel, int n, MPI_Comm comm)
      : c(channel), number(n), buffer(c.bytes, c.adds ? 1 : c.send_parts, c.layout_of_send, c.send_shared) {
    if (c.adds) {
      CHECK(MPI_Partitioned_Send_create(buffer.at(), buffer.count(), MPI_BYTE, c.threads, c.to, c.tag, comm, &request) == MPI_SUCCESS);
    } else {
      CHECK(MPI_Psend_init(buffer.at(), c.send_parts, buffer.count(), buffer.type(), c.to, c.tag, comm, MPI_INFO_NULL, &request) ==
            MPI_SUCCESS);
    }
  }

  /// Some of the threads' work: pieces of the message, in random order.
  void fill_and_ready(int thread, Random random, int round) {
    const Bytes payload = payload_of(c, number, round);
    if (c.adds) {
      add(thread, random, payload);
      return;
    }
    const int each = c.send_parts ? c.bytes / c.send_parts : 0;
    std::vector<int> mine;
    for (int p = thread; p < c.send_parts; p += c.threads) mine.push_back(p);
    std::shuffle(mine.begin(), mine.end(), random);
    for (const int p : mine) buffer.put(payload, p * each, (p + 1) * each);
    if (c.threads == 1 && between(random, 0, 1) && c.send_parts > 0) {
      const int cut = between(random, 0, c.send_parts);
      if (cut < c.send_parts) CHECK(MPI_Pready_range(cut, c.send_parts - 1, request) == MPI_SUCCESS);
      if (cut > 0) CHECK(MPI_Pready_range(0, cut - 1, request) == MPI_SUCCESS);
    } else if (!mine.empty() && between(random, 0, 1)) {
      CHECK(MPI_Pready_list(static_cast<int>(mine.size()), mine.data(), request) == MPI_SUCCESS);
    } else {
      for (const int p : mine) CHECK(MPI_Pready(p, request) == MPI_SUCCESS);
    }
  }

 private:
  /// A thread's share begins and ends anywhere, and is cut anywhere.
  void add(int thread, Random& random, const Bytes& payload) {
    const auto share = [&](int t) { return static_cast<int>(static_cast<long>(c.bytes) * t / c.threads); };
    std::vector<int> cuts{share(thread), share(thread + 1)};
    for (int i = between(random, 0, 20); i > 0; --i) cuts.push_back(between(random, share(thread), share(thread + 1)));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::size_t> order(cuts.size() - 1);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      buffer.put(payload, cuts[i], cuts[i + 1]);
      // A range of nothing may come when the others have all gone.
      CHECK(MPI_Partitioned_Add_to_buffer(&request, buffer.at() + cuts[i], cuts[i + 1] - cuts[i], MPI_BYTE) == MPI_SUCCESS);
    }
  }
};

struct Receive {
  const Channel& c;
  int number;
  Buffer buffer;
  MPI_Request request = MPI_REQUEST_NULL;

  Receive(const Channel& channel, int n, MPI_Comm comm)
      : c(channel), number(n), buffer(c.bytes, c.receive_parts, c.layout_of_receive, c.receive_shared) {
    CHECK(MPI_Precv_init(buffer.at(), c.receive_parts, buffer.count(), buffer.type(), c.from, c.tag, comm, MPI_INFO_NULL, &request) ==
          MPI_SUCCESS);
  }

  /// What has arrived is right, also before the rest has.
  void look(Random& random, int round) {
    if (c.receive_parts == 0) return;
    const int p = between(random, 0, c.receive_parts - 1);
    const int each = c.bytes / c.receive_parts;
    int flag = 0;
    CHECK(MPI_Parrived(request, p, &flag) == MPI_SUCCESS);
    if (flag) CHECK(buffer.holds(payload_of(c, number, round), p * each, (p + 1) * each));
  }
  void check(int round, const MPI_Status& status) const {
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == c.bytes && status.MPI_SOURCE == c.from && status.MPI_TAG == c.tag);
    CHECK(buffer.holds(payload_of(c, number, round), 0, c.bytes));
    CHECK(buffer.gaps_are_whole());
  }
};

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  const int most = argc > 3 ? std::atoi(argv[3]) : 1 << 20;
  int rank = 0;
  int processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  MPI_Comm comms[3] = {MPI_COMM_WORLD};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(comms[1], 0, rank, &comms[2]);

  Random shared(seed);
  constexpr int kChannels = 12;
  std::vector<Channel> channels;
  for (int i = 0; i < kChannels; ++i) channels.push_back(draw(shared, processes, 3, most));
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Receive>> receives;
  // In any order between channels of different envelopes; here processes make them in opposite orders of sides.
  const auto make_sends = [&] {
    for (int i = 0; i < kChannels; ++i) {
      const Channel& c = channels[static_cast<std::size_t>(i)];
      if (c.from == rank) sends.push_back(std::make_unique<Send>(c, i, comms[c.comm]));
    }
  };
  const auto make_receives = [&] {
    for (int i = 0; i < kChannels; ++i) {
      const Channel& c = channels[static_cast<std::size_t>(i)];
      if (c.to == rank) receives.push_back(std::make_unique<Receive>(c, i, comms[c.comm]));
    }
  };
  if (rank % 2) make_sends();
  make_receives();
  if (rank % 2 == 0) make_sends();

  Random own(seed * 31 + static_cast<unsigned long>(rank));
  for (int round = 0; round < rounds; ++round) {
    std::vector<MPI_Request> all;
    for (auto& r : receives) {
      r->buffer.wipe();
      all.push_back(r->request);
    }
    for (auto& s : sends) all.push_back(s->request);
    // Open MPI 5.0.11 refuses none where their address is null.
    if (!all.empty()) CHECK(MPI_Startall(static_cast<int>(all.size()), all.data()) == MPI_SUCCESS);
    std::vector<std::thread> threads;
    for (auto& s : sends) {
      for (int t = 0; t < s->c.threads; ++t) {
        threads.emplace_back([send = s.get(), t, random = Random(own()), round] { send->fill_and_ready(t, random, round); });
      }
    }
    for (auto& r : receives) r->look(own, round);
    std::vector<MPI_Status> statuses(all.size());
    if (between(own, 0, 1)) {
      // The threads are still readying.
      CHECK(MPI_Waitall(static_cast<int>(all.size()), all.data(), statuses.data()) == MPI_SUCCESS);
    } else {
      std::vector<bool> over(all.size());
      for (std::size_t left = all.size(); left > 0;) {
        for (std::size_t i = 0; i < all.size(); ++i) {
          int flag = 0;
          if (!over[i]) MPI_Test(&all[i], &flag, &statuses[i]);
          if (!flag) continue;
          over[i] = true;
          --left;
        }
      }
    }
    for (std::size_t i = 0; i < receives.size(); ++i) receives[i]->check(round, statuses[i]);
    for (std::thread& t : threads) t.join();
  }
  for (auto& s : sends) CHECK(MPI_Request_free(&s->request) == MPI_SUCCESS && s->request == MPI_REQUEST_NULL);
  for (auto& r : receives) CHECK(MPI_Request_free(&r->request) == MPI_SUCCESS);
  sends.clear();
  receives.clear();
  MPI_Comm_free(&comms[2]);
  MPI_Comm_free(&comms[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d rounds on %d channels, seed %lu: right\n", rounds, kChannels, seed);
  MPI_Finalize();
  return 0;
}
