#include "gaspi/runtime.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/clock.hpp"

namespace plait::gaspi::runtime {

const char* text_of(gaspi_return_t code) noexcept {
  switch (code) {
    case GASPI_ERROR:
      return "it has failed: the other rank has died, or the system has refused";
    case GASPI_SUCCESS:
      return "no error";
    case GASPI_TIMEOUT:
      return "the time was over: call again to go on";
    case GASPI_ERR_EMFILE:
      return "too many open files";
    case GASPI_ERR_ENV:
      return "the environment lacks something";
    case GASPI_ERR_SN_PORT:
      return "the port cannot be had";
    case GASPI_ERR_CONFIG:
      return "a value of the configuration cannot be";
    case GASPI_ERR_NOINIT:
      return "gaspi_proc_init has not been called";
    case GASPI_ERR_INITED:
      return "gaspi_proc_init has been called already";
    case GASPI_ERR_NULLPTR:
      return "a pointer is null";
    case GASPI_ERR_INV_SEGSIZE:
      return "a segment cannot have this size";
    case GASPI_ERR_INV_SEG:
      return "there is no such segment, or it is not registered here, or its number is taken";
    case GASPI_ERR_INV_GROUP:
      return "there is no such group, or it is not committed, or it is already";
    case GASPI_ERR_INV_RANK:
      return "there is no such rank, or the group has it already";
    case GASPI_ERR_INV_QUEUE:
      return "there is no such queue, or no more can be made, or it is in use";
    case GASPI_ERR_INV_LOC_OFF:
      return "that is past the end of the local segment";
    case GASPI_ERR_INV_REM_OFF:
      return "that is past the end of the other rank's segment";
    case GASPI_ERR_INV_COMMSIZE:
      return "a message cannot have this size";
    case GASPI_ERR_INV_NOTIF_VAL:
      return "a notification cannot have the value 0";
    case GASPI_ERR_INV_NOTIF_ID:
      return "there is no notification of this number";
    case GASPI_ERR_INV_NUM:
      return "a number is 0 or too large";
    case GASPI_ERR_INV_SIZE:
      return "a size is 0 or too large";
    case GASPI_ERR_MANY_SEG:
      return "there are as many segments as there may be";
    case GASPI_ERR_MANY_GRP:
      return "there are as many groups as there may be";
    case GASPI_QUEUE_FULL:
      return "the queue is full: call gaspi_wait first";
    case GASPI_ERR_UNALIGN_OFF:
      return "the offset is no multiple of 8";
    case GASPI_ERR_ACTIVE_COLL:
      return "another collective call of the group is not over";
    case GASPI_ERR_DEVICE:
      return "the network has failed";
    case GASPI_ERR_SN:
      return "a connection between processes has failed";
    case GASPI_ERR_MEMALLOC:
      return "no memory left";
  }
  return "an unknown error";
}

std::uint64_t ticks() noexcept {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return now();
#endif
}

float cpu_frequency() noexcept try {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("cpu MHz", 0) == 0) return std::strtof(line.c_str() + line.find(':') + 1, nullptr);
  }
  return 0;
} catch (...) {
  return 0;
}

int numa_node() noexcept {
  unsigned cpu = 0;
  unsigned node = 0;
  return syscall(SYS_getcpu, &cpu, &node, nullptr) == 0 ? static_cast<int>(node) : -1;
}

/// The system's list of its cores, like 0-3,8.
bool bind_to_numa_node(unsigned node) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  std::string list;
  if (!std::getline(file, list)) return false;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int first = 0;
    at = std::from_chars(at, end, first).ptr;
    int last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (int core = first; core <= std::min(last, CPU_SETSIZE - 1); ++core) CPU_SET(core, &cores);
    ++at;
  }
  return sched_setaffinity(0, sizeof cores, &cores) == 0;
}

void print_cores() noexcept {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  std::printf("cores:");
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) std::printf(" %d", core);
  }
  std::printf("\n");
}

}  // namespace plait::gaspi::runtime
