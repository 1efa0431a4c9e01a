// The exported functions of GASPI: set-up, processes, groups and collective calls, limits, run time, statistics, and what GPI-2 has beside
// them. Those on segments are in gaspi_segments.cpp.
#include "mpi/gaspi.hpp"

#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/relax.hpp"
#include "gaspi/group.hpp"
#include "gaspi/runtime.hpp"
#include "gaspi/statistics.hpp"
#include "mpi/init.hpp"

#pragma GCC visibility push(default)

using plait::gaspi::config;
using plait::gaspi::Job;
using plait::gaspi::Reducer;
using plait::mpi::gaspi_give;
using plait::mpi::gaspi_guarded;
using plait::mpi::in_job;
namespace statistics = plait::gaspi::statistics;
namespace runtime = plait::gaspi::runtime;

// ---- set-up

extern "C" gaspi_return_t pgaspi_config_get(gaspi_config_t* c) { return gaspi_give(c, config()); }

extern "C" gaspi_return_t pgaspi_config_set(gaspi_config_t c) {
  if (plait::gaspi::current()) return GASPI_ERR_INITED;
  if (!plait::gaspi::is_right(c)) return GASPI_ERR_CONFIG;
  config() = c;
  return GASPI_SUCCESS;
}

extern "C" gaspi_return_t pgaspi_version(gaspi_float* version) { return gaspi_give(version, 17.1F); }

extern "C" gaspi_return_t pgaspi_proc_init(gaspi_timeout_t /*timeout_ms*/) {
  if (plait::gaspi::current()) return GASPI_ERR_INITED;
  return gaspi_guarded([] {
    if (!plait::mpi::start_for_gaspi()) return GASPI_ERROR;
    plait::gaspi::start();
    return GASPI_SUCCESS;
  });
}

extern "C" gaspi_return_t pgaspi_proc_term(gaspi_timeout_t /*timeout_ms*/) {
  if (plait::mpi::gaspi_has_ended()) return GASPI_SUCCESS;
  return in_job([](Job&) {
    plait::gaspi::stop();
    return plait::mpi::end_for_gaspi() ? GASPI_SUCCESS : GASPI_ERROR;
  });
}

// ---- processes

extern "C" gaspi_return_t pgaspi_proc_rank(gaspi_rank_t* rank) {
  return in_job([&](Job& job) { return gaspi_give(rank, job.rank); });
}
extern "C" gaspi_return_t pgaspi_proc_num(gaspi_rank_t* num) {
  return in_job([&](Job& job) { return gaspi_give(num, job.size); });
}
extern "C" gaspi_return_t pgaspi_proc_kill(gaspi_rank_t rank, gaspi_timeout_t /*timeout_ms*/) {
  return in_job([&](Job& job) {
    if (rank >= job.size || rank == job.rank) return GASPI_ERR_INV_RANK;
    plait::gaspi::Peer& peer = job.peers[rank];
    if (!peer.control) {
      plait::gaspi::far::kill(job, peer);
      return GASPI_SUCCESS;
    }
    return kill(peer.pid, SIGKILL) == 0 ? GASPI_SUCCESS : GASPI_ERROR;
  });
}
extern "C" gaspi_return_t pgaspi_connect(gaspi_rank_t rank, gaspi_timeout_t /*timeout_ms*/) {
  return in_job([&](Job& job) {
    if (rank >= job.size) return GASPI_ERR_INV_RANK;
    return has_died(job.peers[rank]) ? GASPI_ERROR : GASPI_SUCCESS;
  });
}
extern "C" gaspi_return_t pgaspi_disconnect(gaspi_rank_t rank, gaspi_timeout_t /*timeout_ms*/) {
  return in_job([&](Job& job) { return rank < job.size ? GASPI_SUCCESS : GASPI_ERR_INV_RANK; });
}

// ---- groups

extern "C" gaspi_return_t pgaspi_group_create(gaspi_group_t* group) {
  return in_job([&](Job& job) {
    if (!group) return GASPI_ERR_NULLPTR;
    std::uint32_t number = 0;
    const gaspi_return_t result = job.groups->create(number);
    if (result == GASPI_SUCCESS) *group = static_cast<gaspi_group_t>(number);
    return result;
  });
}
extern "C" gaspi_return_t pgaspi_group_delete(gaspi_group_t group) {
  return in_job([&](Job& job) { return job.groups->remove(group); });
}
extern "C" gaspi_return_t pgaspi_group_add(gaspi_group_t group, gaspi_rank_t rank) {
  return in_job([&](Job& job) { return job.groups->add(group, rank); });
}
extern "C" gaspi_return_t pgaspi_group_commit(gaspi_group_t group, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) { return job.groups->commit(group, timeout); });
}
extern "C" gaspi_return_t pgaspi_group_num(gaspi_number_t* num) {
  return in_job([&](Job& job) { return gaspi_give(num, job.groups->count()); });
}
extern "C" gaspi_return_t pgaspi_group_size(gaspi_group_t group, gaspi_number_t* size) {
  return in_job([&](Job& job) {
    if (!size) return GASPI_ERR_NULLPTR;
    std::vector<std::uint16_t> ranks;
    const gaspi_return_t result = job.groups->ranks(group, ranks);
    return result == GASPI_SUCCESS ? gaspi_give(size, ranks.size()) : result;
  });
}
extern "C" gaspi_return_t pgaspi_group_ranks(gaspi_group_t group, gaspi_rank_t* to) {
  return in_job([&](Job& job) {
    if (!to) return GASPI_ERR_NULLPTR;
    std::vector<std::uint16_t> ranks;
    const gaspi_return_t result = job.groups->ranks(group, ranks);
    for (const std::uint16_t r : ranks) *to++ = r;
    return result;
  });
}
extern "C" gaspi_return_t pgaspi_group_max(gaspi_number_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().group_max); });
}

// ---- collective calls

extern "C" gaspi_return_t pgaspi_barrier(gaspi_group_t group, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) { return job.groups->barrier(group, timeout); });
}

extern "C" gaspi_return_t pgaspi_allreduce(const gaspi_pointer_t from, gaspi_pointer_t to, gaspi_number_t num, gaspi_operation_t operation,
                                           gaspi_datatype_t type, gaspi_group_t group, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (!from || !to) return GASPI_ERR_NULLPTR;
    if (num == 0 || num > config().allreduce_elem_max) return GASPI_ERR_INV_NUM;
    const bool known = operation >= GASPI_OP_MIN && operation <= GASPI_OP_SUM && type >= GASPI_TYPE_INT && type <= GASPI_TYPE_ULONG;
    if (!known) return GASPI_ERR_INV_NUM;
    const bool small = type <= GASPI_TYPE_FLOAT;
    const Reducer reducer{nullptr, nullptr, operation, type, num, small ? sizeof(int) : sizeof(long)};
    return job.groups->reduce(group, from, to, reducer, timeout);
  });
}

extern "C" gaspi_return_t pgaspi_allreduce_user(const gaspi_pointer_t from, gaspi_pointer_t to, gaspi_number_t num, gaspi_size_t element,
                                                gaspi_reduce_operation_t operation, gaspi_reduce_state_t state, gaspi_group_t group,
                                                gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (!from || !to || !operation) return GASPI_ERR_NULLPTR;
    if (num == 0 || num > config().allreduce_elem_max) return GASPI_ERR_INV_NUM;
    if (element == 0 || element > config().allreduce_buf_size / num || element > plait::gaspi::kReduction) return GASPI_ERR_INV_SIZE;
    return job.groups->reduce(group, from, to, Reducer{operation, state, GASPI_OP_SUM, GASPI_TYPE_INT, num, element}, timeout);
  });
}

extern "C" gaspi_return_t pgaspi_allreduce_buf_size(gaspi_size_t* size) {
  return in_job([&](Job&) { return gaspi_give(size, config().allreduce_buf_size); });
}
extern "C" gaspi_return_t pgaspi_allreduce_elem_max(gaspi_number_t* max) {
  return in_job([&](Job&) { return gaspi_give(max, config().allreduce_elem_max); });
}

// ---- run time

extern "C" gaspi_return_t pgaspi_network_type(gaspi_network_t* type) {
  return in_job([&](Job&) { return gaspi_give(type, config().network); });
}
extern "C" gaspi_return_t pgaspi_build_infrastructure(gaspi_number_t* build) {
  return in_job([&](Job&) { return gaspi_give(build, config().build_infrastructure); });
}
extern "C" gaspi_return_t pgaspi_time_ticks(gaspi_cycles_t* ticks) { return gaspi_give(ticks, runtime::ticks()); }
extern "C" gaspi_return_t pgaspi_time_get(gaspi_time_t* time) {
  // A float has 24 bits: it counts from the first call on, or it could not tell milliseconds apart.
  static const std::uint64_t begun = plait::now();
  return gaspi_give(time, static_cast<double>(plait::now() - begun) / 1e6);
}
extern "C" gaspi_return_t pgaspi_print_error(gaspi_return_t code, gaspi_string_t* text) {
  if (!text) return GASPI_ERR_NULLPTR;
  *text = pgaspi_error_str(code);
  return GASPI_SUCCESS;
}
extern "C" gaspi_return_t pgaspi_state_vec_get(gaspi_state_vector_t states) {
  return in_job([&](Job& job) {
    if (!states) return GASPI_ERR_NULLPTR;
    for (std::uint32_t r = 0; r < job.size; ++r)
      states[r] = r != job.rank && has_died(job.peers[r]) ? GASPI_STATE_CORRUPT : GASPI_STATE_HEALTHY;
    return GASPI_SUCCESS;
  });
}

// ---- statistics

namespace {

constexpr auto kCounters = static_cast<gaspi_statistic_counter_t>(statistics::Counter::count);
char* text(const char* constant) noexcept { return const_cast<char*>(constant); }  // GASPI's strings are not const

}  // namespace

extern "C" gaspi_return_t pgaspi_statistic_verbosity_level(gaspi_number_t level) {
  return in_job([&](Job& job) {
    statistics::set_level(level, job.size);
    return GASPI_SUCCESS;
  });
}
extern "C" gaspi_return_t pgaspi_statistic_counter_max(gaspi_statistic_counter_t* max) { return gaspi_give(max, kCounters); }
extern "C" gaspi_return_t pgaspi_statistic_counter_info(gaspi_statistic_counter_t counter, gaspi_statistic_argument_t* argument,
                                                        gaspi_string_t* name, gaspi_string_t* description, gaspi_number_t* level) {
  if (counter >= kCounters) return GASPI_ERR_INV_NUM;
  if (!argument || !name || !description || !level) return GASPI_ERR_NULLPTR;
  const statistics::Description& d = statistics::describe(static_cast<statistics::Counter>(counter));
  *argument = d.argument;
  *name = text(d.name);
  *description = text(d.text);
  *level = 1;
  return GASPI_SUCCESS;
}
extern "C" gaspi_return_t pgaspi_statistic_counter_get(gaspi_statistic_counter_t counter, gaspi_number_t argument, unsigned long* value) {
  return in_job([&](Job& job) {
    if (counter >= kCounters) return GASPI_ERR_INV_NUM;
    const auto known = static_cast<statistics::Counter>(counter);
    if (statistics::describe(known).argument == GASPI_STATISTIC_ARGUMENT_RANK && argument >= job.size) return GASPI_ERR_INV_RANK;
    return gaspi_give(value, statistics::get(known, argument));
  });
}
extern "C" gaspi_return_t pgaspi_statistic_counter_reset(gaspi_statistic_counter_t counter) {
  return in_job([&](Job&) {
    if (counter >= kCounters) return GASPI_ERR_INV_NUM;
    statistics::reset(static_cast<statistics::Counter>(counter));
    return GASPI_SUCCESS;
  });
}
extern "C" void pgaspi_statistic_print_counters() {
  static_cast<void>(in_job([](Job& job) {
    for (gaspi_statistic_counter_t i = 0; i < kCounters; ++i) {
      const auto counter = static_cast<statistics::Counter>(i);
      const statistics::Description& d = statistics::describe(counter);
      const bool by_rank = d.argument == GASPI_STATISTIC_ARGUMENT_RANK;
      for (gaspi_number_t r = 0; r < (by_rank ? job.size : 1); ++r) {
        const std::uint64_t value = statistics::get(counter, r);
        if (value == 0) continue;
        const std::string of = by_rank ? " " + std::to_string(r) : "";
        pgaspi_printf("%s%s: %llu (%s)\n", d.name, of.c_str(), static_cast<unsigned long long>(value), d.text);
      }
    }
    return GASPI_SUCCESS;
  }));
}

// ---- GPI-2's own

extern "C" gaspi_return_t pgaspi_initialized(gaspi_number_t* initialized) {
  return gaspi_give(initialized, plait::gaspi::current() ? 1 : 0);
}
extern "C" gaspi_return_t pgaspi_proc_local_rank(gaspi_rank_t* rank) {
  return in_job([&](Job& job) { return gaspi_give(rank, job.local); });
}
extern "C" gaspi_return_t pgaspi_proc_local_num(gaspi_rank_t* num) {
  return in_job([&](Job& job) { return gaspi_give(num, job.locals); });
}
extern "C" gaspi_return_t pgaspi_proc_ping(gaspi_rank_t rank, gaspi_timeout_t timeout) {
  return in_job([&](Job& job) {
    if (rank >= job.size) return GASPI_ERR_INV_RANK;
    plait::gaspi::Peer& peer = job.peers[rank];
    if (peer.control) return has_died(peer) ? GASPI_ERROR : GASPI_SUCCESS;
    return plait::gaspi::far::ping(job, peer, plait::gaspi::Deadline(timeout));
  });
}
extern "C" gaspi_return_t pgaspi_cpu_frequency(gaspi_float* mhz) { return gaspi_give(mhz, runtime::cpu_frequency()); }
extern "C" gaspi_return_t pgaspi_numa_socket(gaspi_uchar* socket) {
  const int node = runtime::numa_node();
  return node < 0 ? GASPI_ERROR : gaspi_give(socket, node);
}
extern "C" gaspi_return_t pgaspi_set_socket_affinity(gaspi_uchar socket) {
  return gaspi_guarded([&] { return runtime::bind_to_numa_node(socket) ? GASPI_SUCCESS : GASPI_ERROR; });
}
extern "C" gaspi_string_t pgaspi_error_str(gaspi_return_t code) { return text(runtime::text_of(code)); }

extern "C" void pgaspi_printf(const char* format, ...) {
  const Job* const job = plait::gaspi::current();
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::printf("[Rank %4d]: %s", job ? job->rank : -1, line);
  std::fflush(stdout);
}

extern "C" void pgaspi_printf_to(gaspi_rank_t rank, const char* format, ...) {
  Job* const job = plait::gaspi::current();
  if (!job || rank >= job->size) return;
  char line[1024];
  const int prefix = std::snprintf(line, sizeof line, "[Rank %4d]: ", job->rank);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + prefix, sizeof line - static_cast<std::size_t>(prefix), format, arguments);
  va_end(arguments);
  plait::gaspi::print(*job, job->peers[rank], line);
}

extern "C" void pgaspi_print_affinity_mask() { runtime::print_cores(); }
extern "C" void pgaspi_delay() { plait::relax(); }

PLAIT_GASPI_NAME(config_get);
PLAIT_GASPI_NAME(config_set);
PLAIT_GASPI_NAME(version);
PLAIT_GASPI_NAME(proc_init);
PLAIT_GASPI_NAME(proc_term);
PLAIT_GASPI_NAME(proc_rank);
PLAIT_GASPI_NAME(proc_num);
PLAIT_GASPI_NAME(proc_kill);
PLAIT_GASPI_NAME(connect);
PLAIT_GASPI_NAME(disconnect);
PLAIT_GASPI_NAME(group_create);
PLAIT_GASPI_NAME(group_delete);
PLAIT_GASPI_NAME(group_add);
PLAIT_GASPI_NAME(group_commit);
PLAIT_GASPI_NAME(group_num);
PLAIT_GASPI_NAME(group_size);
PLAIT_GASPI_NAME(group_ranks);
PLAIT_GASPI_NAME(group_max);
PLAIT_GASPI_NAME(barrier);
PLAIT_GASPI_NAME(allreduce);
PLAIT_GASPI_NAME(allreduce_user);
PLAIT_GASPI_NAME(allreduce_buf_size);
PLAIT_GASPI_NAME(allreduce_elem_max);
PLAIT_GASPI_NAME(network_type);
PLAIT_GASPI_NAME(build_infrastructure);
PLAIT_GASPI_NAME(time_ticks);
PLAIT_GASPI_NAME(time_get);
PLAIT_GASPI_NAME(print_error);
PLAIT_GASPI_NAME(state_vec_get);
PLAIT_GASPI_NAME(statistic_verbosity_level);
PLAIT_GASPI_NAME(statistic_counter_max);
PLAIT_GASPI_NAME(statistic_counter_info);
PLAIT_GASPI_NAME(statistic_counter_get);
PLAIT_GASPI_NAME(statistic_counter_reset);
PLAIT_GASPI_NAME(statistic_print_counters);
PLAIT_GASPI_NAME(initialized);
PLAIT_GASPI_NAME(proc_local_rank);
PLAIT_GASPI_NAME(proc_local_num);
PLAIT_GASPI_NAME(proc_ping);
PLAIT_GASPI_NAME(cpu_frequency);
PLAIT_GASPI_NAME(numa_socket);
PLAIT_GASPI_NAME(set_socket_affinity);
PLAIT_GASPI_NAME(error_str);
PLAIT_GASPI_NAME(printf);
PLAIT_GASPI_NAME(printf_to);
PLAIT_GASPI_NAME(print_affinity_mask);
PLAIT_GASPI_NAME(delay);

#pragma GCC visibility pop
