// plait-delay: an Ethernet switch that holds every frame for a time, for simulated nodes: `mpinodes shape delay` starts it, as some
// kernels lack netem.
//
//   plait-delay MICROSECONDS PORT PORT...
//
// A PORT is an interface of this network namespace, the near end of a node's cable. "ready" is printed when frames pass. The end is
// SIGTERM, SIGINT, or that fewer than two ports are up; then a line says how many frames were dropped, if any.
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace {

constexpr double kLongest = 1e6;                           // microseconds
constexpr std::size_t kMostHeld = std::size_t{256} << 20;  // bytes of all frames that are held
constexpr int kSocketBuffer = 16 << 20;
constexpr int kBatch = 8;  // frames of one port in a row, before those that are due go out
// A frame comes behind a virtio_net_hdr, whose C header is not C++. It says how to cut the frame, as a node sends up to 64 KB in one piece
// (GSO) and leaves out the checksum; as we send both as they came, the next one does what is left to do.
constexpr std::size_t kHeader = 10;
constexpr std::size_t kLargest = kHeader + ETH_HLEN + (std::size_t{64} << 10) + 256;

using Address = std::array<std::byte, ETH_ALEN>;
using Bytes = std::vector<std::byte>;

[[noreturn]] void fail(const std::string& what, int error = errno) { throw std::system_error(error, std::generic_category(), what); }

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(int descriptor, const char* what) : descriptor_(descriptor) {
    if (descriptor < 0) fail(what);
  }
  ~Descriptor() { close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The near end of a node's cable. One node is behind it, and so one address.
class Port {
 public:
  explicit Port(const char* name)
      : name_(name), index_(if_nametoindex(name)), socket_(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "packet socket") {
    if (index_ == 0) throw std::runtime_error(fmt::format("there is no interface '{}' here", name));
    set(PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
    set(PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");  // what we send must not come back to us
    set(PACKET_ADD_MEMBERSHIP, packet_mreq{static_cast<int>(index_), PACKET_MR_PROMISC, 0, {}}, "PACKET_MR_PROMISC");
    for (const auto& [forced, usual] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}}) {
      // The forced one may go past the system's limit, and only the machine's root may ask for it.
      if (setsockopt(socket_.get(), SOL_SOCKET, forced, &kSocketBuffer, sizeof kSocketBuffer) != 0)
        setsockopt(socket_.get(), SOL_SOCKET, usual, &kSocketBuffer, sizeof kSocketBuffer);
    }
    const int yes = 1;
    if (setsockopt(socket_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes) != 0) fail("SO_TIMESTAMPNS");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(index_);
    if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail(name_);
    int error = 0;  // of a port that is down it waits in the socket
    socklen_t size = sizeof error;
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0) fail(name_, error);
  }

  int descriptor() const { return socket_.get(); }
  const Address& address() const { return address_; }
  /// Or gone with its node.
  bool is_down() const { return is_down_; }

  struct Arrival {
    std::size_t size;      // with the header; 0: no frame is there
    std::uint64_t waited;  // nanoseconds since it came
  };

  /// Puts the next frame that has come into `room`, and learns who sent it.
  Arrival receive(std::span<std::byte> room) {
    iovec part{room.data(), room.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(timespec))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket_.get(), &message, MSG_TRUNC);
    is_down_ = is_down_ || (size < 0 && errno == ENETDOWN);
    if (size < static_cast<ssize_t>(kHeader + ETH_HLEN)) return {};
    std::memcpy(address_.data(), room.data() + kHeader + ETH_ALEN, ETH_ALEN);
    return {static_cast<std::size_t>(size), since(CMSG_FIRSTHDR(&message))};
  }

  /// False: the frame was dropped. What is for a node that is gone does not count.
  bool send(const Bytes& frame) const {
    return ::send(socket_.get(), frame.data(), frame.size(), 0) >= 0 || errno == ENETDOWN || errno == ENXIO || errno == ENODEV;
  }

  /// Frames that have found no room in the socket since the last call.
  std::uint64_t dropped() const {
    tpacket_stats found{};
    socklen_t size = sizeof found;
    return getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &found, &size) == 0 ? found.tp_drops : 0;
  }

 private:
  /// The kernel's stamp is of the wall clock, which may be set meanwhile: then the answer is wrong, by a millisecond at most.
  static std::uint64_t since(const cmsghdr* stamp) {
    if (stamp == nullptr || stamp->cmsg_type != SCM_TIMESTAMPNS) return 0;
    timespec came{}, time{};
    std::memcpy(&came, CMSG_DATA(stamp), sizeof came);
    clock_gettime(CLOCK_REALTIME, &time);
    const std::int64_t waited = (time.tv_sec - came.tv_sec) * std::int64_t{1'000'000'000} + time.tv_nsec - came.tv_nsec;
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(waited, 0, 1'000'000));
  }

  template <class T>
  void set(int option, const T& value, const char* what) {
    if (setsockopt(socket_.get(), SOL_PACKET, option, &value, sizeof value) != 0) fail(fmt::format("{}: {}", name_, what));
  }

  std::string name_;
  unsigned index_;
  Descriptor socket_;
  Address address_{};  // all 0, which nobody has, until its node has sent something
  bool is_down_ = false;
};

class Switch {
 public:
  Switch(double microseconds, std::span<char*> names) : delay_(static_cast<std::uint64_t>(microseconds * 1e3)), room_(kLargest) {
    for (const char* name : names) ports_.emplace_back(name);
  }

  /// Until `signals` has one, or fewer than two ports are up.
  void run(int signals) {
    std::vector<pollfd> polled{{signals, POLLIN, 0}};
    for (const Port& port : ports_) polled.push_back({port.descriptor(), POLLIN, 0});
    for (std::size_t left = ports_.size(); left >= 2;) {
      wait(polled);
      if (polled[0].revents != 0) return;
      forward_due();
      for (std::size_t k = 0; k < ports_.size(); ++k) {
        pollfd& one = polled[k + 1];
        if (one.revents != 0) take(k);
        if (ports_[k].is_down() && one.fd >= 0) {
          one.fd = -1;  // poll leaves it out
          --left;
        }
        forward_due();
      }
    }
  }

  std::uint64_t received() const { return received_; }

  std::uint64_t dropped() const {
    std::uint64_t all = dropped_;
    for (const Port& port : ports_) all += port.dropped();
    return all;
  }

 private:
  struct Frame {
    std::uint64_t due;  // when it goes on, in nanoseconds
    std::size_t from;
    Bytes bytes;
  };

  void wait(std::vector<pollfd>& polled) const {
    timespec rest{};
    if (!held_.empty()) {
      const std::uint64_t time = plait::now(), due = held_.front().due, left = due > time ? due - time : 0;
      rest = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    }
    if (ppoll(polled.data(), polled.size(), held_.empty() ? nullptr : &rest, nullptr) < 0 && errno != EINTR) fail("ppoll");
  }

  void take(std::size_t from) {
    for (int k = 0; k < kBatch; ++k) {
      const auto [size, waited] = ports_[from].receive(room_);
      if (size == 0) return;
      ++received_;
      if (size > room_.size() || held_bytes_ + size + sizeof(Frame) > kMostHeld) {
        ++dropped_;
        continue;
      }
      held_bytes_ += size + sizeof(Frame);
      // In the order of arrival, which is that of the times but for what clocks are wrong: a node's frames must not overtake each other.
      held_.push_back({plait::now() - std::min(waited, delay_) + delay_, from, {room_.begin(), room_.begin() + std::ptrdiff_t(size)}});
    }
  }

  void forward_due() {
    while (!held_.empty() && held_.front().due <= plait::now()) {
      forward(held_.front());
      held_bytes_ -= held_.front().bytes.size() + sizeof(Frame);
      held_.pop_front();
    }
  }

  void forward(const Frame& frame) {
    Address to;
    std::memcpy(to.data(), frame.bytes.data() + kHeader, ETH_ALEN);
    const bool to_group = (to[0] & std::byte{1}) != std::byte{0};
    const auto found = std::ranges::find(ports_, to, &Port::address);
    for (std::size_t k = 0; k < ports_.size(); ++k) {
      const bool meant = to_group || found == ports_.end() || &*found == &ports_[k];
      if (meant && k != frame.from && !ports_[k].send(frame.bytes)) ++dropped_;
    }
  }

  std::uint64_t delay_;  // nanoseconds
  std::deque<Port> ports_;
  std::deque<Frame> held_;
  std::size_t held_bytes_ = 0;
  std::uint64_t received_ = 0, dropped_ = 0;
  Bytes room_;
};

double microseconds(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc{} || end != text.end() || !(value >= 0 && value <= kLongest))
    throw std::runtime_error(fmt::format("the delay must be 0 to {:.0f} microseconds, not '{}'", kLongest, text));
  return value;
}

/// Readable when SIGTERM or SIGINT has come. These do nothing else any more.
int ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

/// Processes that poll must not keep us from a core, where the system allows it.
void be_punctual() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  const sched_param least{sched_get_priority_min(SCHED_FIFO)};
  sched_setscheduler(0, SCHED_FIFO, &least);
}

void run(std::span<char*> words) {
  if (words.size() < 3) throw std::runtime_error("usage: plait-delay MICROSECONDS PORT PORT...");
  Switch nodes(microseconds(words[0]), words.subspan(1));
  const Descriptor signals(ending_signals(), "signalfd");
  be_punctual();
  std::puts("ready");
  std::fflush(stdout);
  nodes.run(signals.get());
  if (const std::uint64_t dropped = nodes.dropped(); dropped > 0)
    fmt::print(stderr, "plait-delay: {} of {} frames were dropped\n", dropped, nodes.received());
}

}  // namespace

int main(int count, char** words) {
  try {
    run(std::span(words, static_cast<std::size_t>(count)).subspan(1));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-delay: {}\n", error.what());
    return 2;
  }
}
