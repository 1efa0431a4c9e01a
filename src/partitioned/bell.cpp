#include "partitioned/bell.hpp"

#include <new>
#include <thread>

namespace plait::partitioned {

using namespace std::chrono_literals;

Bell& Bell::get() {
  static Bell& bell = *new Bell;  // never destroyed: peers may still ring it
  return bell;
}

Bell::Bell() {
  parking_begin();
  lane::Node& node = lane::Node::get();
  const Region::Place place = node.region().take(sizeof(ParkingSpot));
  spot_ = new (place.memory) ParkingSpot;
  address_ = {node.pid(), place.offset};
}

ParkingSpot& Bell::at(lane::Address address) noexcept { return *static_cast<ParkingSpot*>(lane::Node::get().at(address)); }

bool Bell::begin() noexcept {
  // acquire and release: the word is one thread's at a time.
  if (!taken_.exchange(true, std::memory_order_acquire)) return true;
  std::this_thread::sleep_for(50us);
  return false;
}

}  // namespace plait::partitioned
