// The D3Q19 velocity set: 19 discrete velocities of the lattice-Boltzmann method, with their weights.
// Velocity 0 is at rest; after it, opposite velocities stand side by side (1 and 2, 3 and 4, ...).
#pragma once

#include <array>
#include <cstddef>

namespace plait::lbm {

inline constexpr int kVelocities = 19;

/// Components of each velocity, in lattice spacings per step.
inline constexpr std::array<std::array<int, 3>, kVelocities> kVelocity{{{0, 0, 0},
                                                                        {1, 0, 0},
                                                                        {-1, 0, 0},
                                                                        {0, 1, 0},
                                                                        {0, -1, 0},
                                                                        {0, 0, 1},
                                                                        {0, 0, -1},
                                                                        {1, 1, 0},
                                                                        {-1, -1, 0},
                                                                        {1, -1, 0},
                                                                        {-1, 1, 0},
                                                                        {1, 0, 1},
                                                                        {-1, 0, -1},
                                                                        {1, 0, -1},
                                                                        {-1, 0, 1},
                                                                        {0, 1, 1},
                                                                        {0, -1, -1},
                                                                        {0, 1, -1},
                                                                        {0, -1, 1}}};

/// Quadrature weight of velocity i: 1/3 at rest, 1/18 along an axis, 1/36 along a diagonal.
[[nodiscard]] constexpr double weight(int i) { return i == 0 ? 1.0 / 3.0 : i <= 6 ? 1.0 / 18.0 : 1.0 / 36.0; }

/// The velocity that points the other way.
[[nodiscard]] constexpr int opposite(int i) { return i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1; }

/// Bytes a site update has to move: every population read once and written once, in place.
inline constexpr double kBytesPerUpdate = 2.0 * kVelocities * sizeof(double);

}  // namespace plait::lbm
