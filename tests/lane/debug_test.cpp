// Debug builds catch two threads that use one stream at the same time.
#include <gtest/gtest.h>

#include <thread>

#include "lane/endpoint.hpp"

namespace plait::lane {
namespace {

TEST(EndpointGuard, OneThreadAfterAnotherIsFine) {
  Endpoint endpoint(Use::serial);
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { const EndpointGuard guard(endpoint); }).join();
    const EndpointGuard guard(endpoint);
  }
}

TEST(EndpointGuardDeathTest, TwoThreadsAtOnceEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto two = [] {
    Endpoint endpoint(Use::serial);
    const EndpointGuard guard(endpoint);
    std::thread([&] { const EndpointGuard second(endpoint); }).join();
  };
  EXPECT_DEATH(two(), "two threads use one MPIX_Stream at the same time");
}

}  // namespace
}  // namespace plait::lane
