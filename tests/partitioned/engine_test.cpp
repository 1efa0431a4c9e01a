// Messages of a process to itself, as its engine has them: for these no MPI is started. 1 x 1.
#include "partitioned/engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace plait::partitioned {
namespace {

constexpr std::uint64_t kBytes = 100;
using Buffer = std::array<std::byte, kBytes>;

/// A round of finepoints', of which all is added.
class Message {
 public:
  Message() {
    from_.fill(std::byte{7});
    auto sender = std::make_unique<Sender>(side_of(from_), Ranges{kBytes, 1});
    auto receiver = std::make_unique<Receiver>(side_of(to_));
    sender_ = sender.get();
    receiver_ = receiver.get();
    Engine::get().add(std::move(sender));
    Engine::get().add(std::move(receiver));
    receiver_->start();
    sender_->start();
    EXPECT_TRUE(sender_->add(0, kBytes));
    EXPECT_TRUE(sender_->done());
    EXPECT_TRUE(Sender::any_undelivered());
  }
  ~Message() { Engine::get().remove(*receiver_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void receive() {
    while (!receiver_->done()) static_cast<void>(receiver_->step());
    EXPECT_EQ(from_, to_);
  }
  void free_send() { Engine::get().remove(*sender_); }

 private:
  Side side_of(Buffer& buffer) {
    Side side;
    side.comm_id = id_;
    side.rank = 0;
    side.partitions = 1;
    side.memory.at = buffer.data();
    side.memory.bytes = kBytes;
    return side;
  }

  std::shared_ptr<const CommunicatorId> id_ = std::make_shared<CommunicatorId>(1);
  Buffer from_{}, to_{};
  Sender* sender_ = nullptr;
  Receiver* receiver_ = nullptr;
};

TEST(Engine, ASendThatIsFreedWhenItIsDeliveredIsNotPending) {
  Message message;
  message.receive();
  message.free_send();
  EXPECT_FALSE(Sender::any_undelivered());
}

TEST(Engine, ASendThatIsFreedBeforeIsPendingUntilItIsDelivered) {
  Message message;
  message.free_send();
  EXPECT_TRUE(Sender::any_undelivered());
  message.receive();
  static_cast<void>(Engine::get().try_progress());
  EXPECT_FALSE(Sender::any_undelivered());
}

}  // namespace
}  // namespace plait::partitioned
