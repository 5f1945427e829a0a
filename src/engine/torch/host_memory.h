// The memory of LibTorch's tensors on CPUs: blocks that later tensors of their size take over, and a count of them.
#pragma once

#include <cstdint>

namespace evener::engine::torch_engine {

/// From now on tensors of CPUs get their memory here. LibTorch itself asks glibc for aligned blocks, which before its
/// version 2.38 don't fit where one of the same size was given back, so that a training's memory grows by pieces that
/// nothing fits into: by a sixth for a ResNet-34. Blocks begin at multiples of 64 bytes, as LibTorch's do, so that
/// kernels compute the same. In a Python process that has imported torch it holds for that one's tensors too, where
/// both are the same LibTorch: they are counted with ours.
void use_host_memory();

/// Bytes of tensors that there are, and that there were at most since the count was begun.
std::int64_t host_memory_bytes();
std::int64_t peak_host_memory_bytes();
void begin_peak_of_host_memory();

}  // namespace evener::engine::torch_engine
