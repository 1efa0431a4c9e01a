#include "lane/node.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace plait::lane {

Node& Node::get() {
  static Node& node = *new Node;  // never destroyed: peers and exit handlers may still use it
  return node;
}

bool Node::attach(const RegionName& name) noexcept {
  if (name.pid == pid()) return name.nonce == own_.name().nonce;
  try {
    const std::lock_guard guard(lock_);
    std::unique_ptr<PeerRegion>& peer = peers_[name.pid];
    if (!peer) peer = std::make_unique<PeerRegion>(name);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void* Node::at(Address address) noexcept {
  try {
    if (address.pid == pid()) return own_.at(address.offset);
    PeerRegion* peer = nullptr;
    {
      const std::lock_guard guard(lock_);
      peer = peers_.at(address.pid).get();
    }
    return peer->at(address.offset);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "plait: the shared memory of process %d is lost: %s\n", static_cast<int>(address.pid), e.what());
    std::abort();
  }
}

bool Node::read(std::int32_t pid, std::uint64_t address, std::byte* to, std::size_t bytes) noexcept {
  while (bytes > 0) {
    iovec mine{to, bytes};
    iovec theirs{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr): of another process
    const ssize_t got = process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
    if (got <= 0) {
      if (got < 0 && errno == EINTR) continue;
      return false;
    }
    to += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace plait::lane
