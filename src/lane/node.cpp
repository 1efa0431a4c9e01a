#include "lane/node.hpp"

#include <exception>

namespace plait::lane {

Node& Node::get() {
  static Node& node = *new Node;  // never destroyed: peers and exit handlers may still use it
  return node;
}

bool Node::attach(const RegionName& name) noexcept {
  if (name.id() == id_) return name.nonce == own_.name().nonce;
  try {
    const std::lock_guard guard(lock_);
    std::unique_ptr<PeerRegion>& peer = peers_[name.id()];
    if (!peer) peer = std::make_unique<PeerRegion>(name);
    return peer->name().nonce == name.nonce;
  } catch (const std::exception&) {
    return false;
  }
}

PeerRegion& Node::peer(std::int32_t region) noexcept {
  const std::lock_guard guard(lock_);
  return *peers_.find(region)->second;
}

RegionMap& Node::map_of(std::int32_t region) noexcept { return region == id_ ? own_.map() : peer(region).map(); }

std::int32_t Node::pid_of(std::int32_t region) noexcept { return region == id_ ? own_.name().pid : peer(region).name().pid; }

}  // namespace plait::lane
