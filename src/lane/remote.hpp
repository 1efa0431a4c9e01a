// What the network between nodes and the endpoints have in common.
#pragma once

#include <cstdint>

#include "transport/network.hpp"

namespace plait::lane {

/// Where the network puts what has come.
extern const transport::Sink remote_sink;

/// The sender of a message that does not wait for its match.
inline constexpr std::uint32_t kNoAnswer = ~std::uint32_t{0};

/// Tells a sender on another node that its message has been matched, or will never be.
void answer_remote(std::int32_t process, std::uint32_t operation) noexcept;

}  // namespace plait::lane
