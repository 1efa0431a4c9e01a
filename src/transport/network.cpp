#include "transport/network.hpp"

namespace plait::transport {

constinit std::atomic<Network*> network_in_use{nullptr};
constinit std::atomic<int> packets_in_line{0};
constinit std::atomic<const Sink*> one_sided_sink{nullptr};

}  // namespace plait::transport
