// CUDA's copy of rows, as both stand-ins know it.
#pragma once

#include <cstddef>

/// Of CUDA_MEMCPY2D; one of the addresses counts.
struct Side {
  std::size_t x, y;
  int memory;  ///< 1: the host's, 2: the device's
  const void* host;
  unsigned long long device;
  void* array;
  std::size_t pitch;
};
struct Rows {
  Side from, to;
  std::size_t bytes, count;
};
