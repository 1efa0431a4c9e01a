#include "gaspi/config.hpp"

namespace plait::gaspi {
namespace {

constexpr gaspi_config_t initial() noexcept {
  gaspi_config_t c{};
  c.sn_port = 12121;
  c.sn_persistent = 1;
  c.sn_timeout = 30000;
  c.dev_config.network_type = GASPI_ETHERNET;
  c.network = GASPI_ETHERNET;
  c.queue_size_max = 1024;
  c.queue_num = 8;
  c.group_max = 32;
  c.segment_max = kSegments - 1;
  c.transfer_size_max = kTransfer;
  c.notification_num = kNotifications;
  c.passive_queue_size_max = 1024;
  c.passive_transfer_size_max = kPassive;
  c.allreduce_elem_max = 255;
  c.allreduce_buf_size = 255 * sizeof(double);
  c.rw_list_elem_max = 255;
  c.build_infrastructure = GASPI_TOPOLOGY_STATIC;
  return c;
}

constinit gaspi_config_t in_use = initial();

template <class Number>
bool within(Number value, std::size_t most) noexcept {
  return value >= 1 && value <= most;
}

}  // namespace

gaspi_config_t& config() noexcept { return in_use; }

bool is_right(const gaspi_config_t& c) noexcept {
  return within(c.queue_size_max, kQueueSize) && within(c.queue_num, kQueues) && within(c.group_max, kGroups - 1) &&
         within(c.segment_max, kSegments - 1) && within(c.transfer_size_max, std::size_t{1} << 40) &&
         within(c.notification_num, kNotifications) && within(c.passive_transfer_size_max, kPassive) &&
         within(c.allreduce_buf_size, std::size_t{1} << 30) && within(c.allreduce_elem_max, 1 << 24) &&
         within(c.rw_list_elem_max, 1 << 20) && c.network <= GASPI_OFI && c.build_infrastructure <= GASPI_TOPOLOGY_DYNAMIC;
}

}  // namespace plait::gaspi
