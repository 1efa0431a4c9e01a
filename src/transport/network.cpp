#include "transport/network.hpp"

namespace plait::transport {

constinit std::atomic<Network*> network_in_use{nullptr};

}  // namespace plait::transport
