#include "exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

namespace plait::bench {
namespace {

/// One measurement of one mode.
class Exchange {
 public:
  Exchange(const Team& team, const Plan& plan, std::size_t bytes) : team_(team), plan_(plan), count_(bytes / sizeof(Number)) {
    std::size_t most = 0;
    for (const Phase& p : plan) most = std::max({most, p.to.size(), p.from.size()});
    for (std::size_t k = 0; k < most; ++k) {
      out_.push_back(std::make_unique<Numbers>(whole()));
      in_.push_back(std::make_unique<Numbers>(whole()));
    }
    for (const Phase& p : plan) {
      for (std::size_t k = 0; k < p.from.size(); ++k) read_.push_back(std::make_unique<Numbers>(whole()));
    }
    requests_.assign(static_cast<std::size_t>(team.threads), std::vector<MPI_Request>(2 * most, MPI_REQUEST_NULL));
  }

  /// Seconds of so many repeats. Collective.
  double run(Mode mode, std::int64_t repeats) {
    const auto every = [&](auto phase) {
      return [this, phase](int t, std::int64_t r) {
        for (std::size_t p = 0; p < plan_.size(); ++p) phase(p, t, r);
      };
    };
    switch (mode) {
      case Mode::masteronly:
        return team_.outside(repeats, [&](std::int64_t r) {
          for (const Phase& p : plan_) masteronly(p, r);
        });
      case Mode::funneled:
        return team_.inside(mode, repeats, every([this](std::size_t p, int t, std::int64_t r) { funneled(plan_[p], t, r); }));
      case Mode::multiple:
        return team_.inside(mode, repeats,
                            every([this](std::size_t p, int t, std::int64_t r) { apart(plan_[p], t, r, team_.whole(), 1, 0, 2 * t); }));
      case Mode::streams:
        return team_.inside(mode, repeats,
                            every([this](std::size_t p, int t, std::int64_t r) { apart(plan_[p], t, r, team_.stream(t), 1, 0, 0); }));
      case Mode::threadcomm:
        return team_.inside(mode, repeats, every([this](std::size_t p, int t, std::int64_t r) {
                              apart(plan_[p], t, r, team_.threadcomm(), team_.threads, t, 0);
                            }));
      case Mode::partitioned:
        return run_partitioned(repeats);
    }
    return 0;
  }

  /// Messages with wrong contents after so many repeats.
  [[nodiscard]] std::int64_t wrong(std::int64_t repeats) const {
    std::int64_t found = 0;
    for (const Phase& p : plan_) {
      for (std::size_t k = 0; k < p.from.size(); ++k) {
        for (int t = 0; t < team_.threads; ++t) {
          found += differs(was_read(p, k).at(part(t)), count_, seed(p.from[k], k, t, Team::last(repeats)));
        }
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::size_t part(int t) const { return static_cast<std::size_t>(t) * count_; }
  [[nodiscard]] std::size_t whole() const { return part(team_.threads); }
  [[nodiscard]] static Number seed(int process, std::size_t k, int t, std::int64_t repeat) {
    return repeat * 1'000'003 + process * 10'007 + t * 101 + static_cast<Number>(k);
  }

  /// What a phase of the plan reads of its message k: phases share the other buffers.
  [[nodiscard]] const Numbers& was_read(const Phase& p, std::size_t k) const {
    for (const Phase* before = plan_.data(); before != &p; ++before) k += before->from.size();
    return *read_[k];
  }

  void write(const Phase& p, int t, std::int64_t repeat) {
    for (std::size_t k = 0; k < p.to.size(); ++k) fill(out_[k]->at(part(t)), count_, seed(team_.rank, k, t, repeat));
  }
  void read(const Phase& p, int t) {
    for (std::size_t k = 0; k < p.from.size(); ++k) std::memcpy(was_read(p, k).at(part(t)), in_[k]->at(part(t)), count_ * sizeof(Number));
  }

  /// The phase's messages of `count` numbers from place `first` on; rank of process p on `comm`: p x scale + shift.
  void transfer(const Phase& p, std::size_t first, std::size_t count, MPI_Comm comm, int scale, int shift, int tag,
                std::vector<MPI_Request>& requests) {
    const int n = static_cast<int>(count);
    if (p.to.empty() && p.from.size() == 1) {
      MPI_Recv(in_[0]->at(first), n, MPI_INT64_T, p.from[0] * scale + shift, tag, comm, MPI_STATUS_IGNORE);
      return;
    }
    if (p.from.empty() && p.to.size() == 1) {
      MPI_Send(out_[0]->at(first), n, MPI_INT64_T, p.to[0] * scale + shift, tag, comm);
      return;
    }
    int pending = 0;
    const auto next = [&] { return &requests[static_cast<std::size_t>(pending++)]; };
    for (std::size_t k = 0; k < p.from.size(); ++k) {
      MPI_Irecv(in_[k]->at(first), n, MPI_INT64_T, p.from[k] * scale + shift, tag + static_cast<int>(k), comm, next());
    }
    for (std::size_t k = 0; k < p.to.size(); ++k) {
      MPI_Isend(out_[k]->at(first), n, MPI_INT64_T, p.to[k] * scale + shift, tag + static_cast<int>(k), comm, next());
    }
    MPI_Waitall(pending, requests.data(), MPI_STATUSES_IGNORE);
  }
  void transfer_all(const Phase& p) { transfer(p, 0, whole(), team_.whole(), 1, 0, 0, requests_[0]); }

  void masteronly(const Phase& p, std::int64_t repeat) {
    if (!p.to.empty()) {
#pragma omp parallel num_threads(team_.threads) default(shared)
      write(p, omp_get_thread_num(), repeat);
    }
    transfer_all(p);
    if (!p.from.empty()) {
#pragma omp parallel num_threads(team_.threads) default(shared)
      read(p, omp_get_thread_num());
    }
  }

  void funneled(const Phase& p, int t, std::int64_t repeat) {
    write(p, t, repeat);
    if (!p.to.empty()) {
#pragma omp barrier
    }
    if (t == 0) transfer_all(p);
    if (!p.from.empty()) {
#pragma omp barrier
    }
    read(p, t);
  }

  void apart(const Phase& p, int t, std::int64_t repeat, MPI_Comm comm, int scale, int shift, int tag) {
    write(p, t, repeat);
    transfer(p, part(t), count_, comm, scale, shift, tag, requests_[static_cast<std::size_t>(t)]);
    read(p, t);
  }

  double run_partitioned(std::int64_t repeats) {
    struct Requests {
      std::vector<MPI_Request> from, to;
    };
    std::vector<Requests> phases;
    const auto elements = static_cast<MPI_Count>(count_);
    for (const Phase& p : plan_) {
      Requests& made = phases.emplace_back();
      made.from.resize(p.from.size());
      made.to.resize(p.to.size());
      for (std::size_t k = 0; k < p.from.size(); ++k) {
        MPI_Precv_init(in_[k]->at(0), team_.threads, elements, MPI_INT64_T, p.from[k], static_cast<int>(k), team_.whole(), MPI_INFO_NULL,
                       &made.from[k]);
      }
      for (std::size_t k = 0; k < p.to.size(); ++k) {
        MPI_Psend_init(out_[k]->at(0), team_.threads, elements, MPI_INT64_T, p.to[k], static_cast<int>(k), team_.whole(), MPI_INFO_NULL,
                       &made.to[k]);
      }
    }
    const auto all = [](int (*call)(int, MPI_Request*), std::vector<MPI_Request>& of) {
      if (!of.empty()) call(static_cast<int>(of.size()), of.data());
    };
    const auto wait = [](int n, MPI_Request* of) { return MPI_Waitall(n, of, MPI_STATUSES_IGNORE); };
    std::atomic<std::int64_t> started{0}, have_read{0};
    Requests* arrived = nullptr;  // the first thread has not seen that yet
    const double took = team_.inside(Mode::partitioned, repeats, [&](int t, std::int64_t r) {
      for (std::size_t i = 0; i < plan_.size(); ++i) {
        const Phase& p = plan_[i];
        const auto turn = r * static_cast<std::int64_t>(plan_.size()) + static_cast<std::int64_t>(i) + 1;
        if (t == 0) {
          // All have read what the next start may overwrite.
          until([&] { return have_read.load(std::memory_order_acquire) >= (turn - 1) * team_.threads; });
          if (arrived) all(wait, arrived->from);
          all(MPI_Startall, phases[i].from);
          all(MPI_Startall, phases[i].to);
          arrived = &phases[i];
          started.store(turn, std::memory_order_release);
        }
        until([&] { return started.load(std::memory_order_acquire) >= turn; });
        if (!p.to.empty()) {
          write(p, t, r);
          for (MPI_Request& request : phases[i].to) MPI_Pready(t, request);
        }
        for (MPI_Request& request : phases[i].from) {
          until([&] {
            int flag = 0;
            MPI_Parrived(request, t, &flag);
            return flag != 0;
          });
        }
        read(p, t);
        have_read.fetch_add(1, std::memory_order_release);
        if (t == 0) all(wait, phases[i].to);
      }
    });
    if (arrived) all(wait, arrived->from);
    for (Requests& each : phases) {
      for (MPI_Request& request : each.from) MPI_Request_free(&request);
      for (MPI_Request& request : each.to) MPI_Request_free(&request);
    }
    return took;
  }

  const Team& team_;
  const Plan& plan_;
  std::size_t count_;  ///< numbers of a thread
  std::vector<std::unique_ptr<Numbers>> out_, in_, read_;
  std::vector<std::vector<MPI_Request>> requests_;
};

}  // namespace

std::function<double(std::int64_t)> exchange(const Team& team, const Plan& plan, const NamedMode& mode, std::size_t bytes) {
  return [&team, &plan, mode, bytes](std::int64_t repeats) {
    Exchange one(team, plan, bytes);
    const double took = one.run(mode.mode, repeats);
    insist(one.wrong(repeats), mode.name);
    return took;
  };
}

int run_exchange(int argc, char** argv, const char* name, const char* what, Needs needs, Plan (*plan)(int rank, int processes)) {
  MixedOptions o;
  CommandLine line(what, std::string("bench-") + name);
  o.describe_mixed(line);
  return run(
      argc, argv, line,
      [&](const Job& job) {
        o.check();
        Report report(name, job, o, o.threads);
        const Team team(job, o.threads);
        const Plan mine = plan(job.rank, job.processes);
        const auto make = [&](const NamedMode& m, std::size_t bytes) { return exchange(team, mine, m, bytes); };
        measure_modes(report, job, o, "time", make, [](Mode) { return std::string(); });
        report.write();
      },
      needs);
}

}  // namespace plait::bench
