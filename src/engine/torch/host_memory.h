// The allocator of LibTorch's tensors on CPUs: it reuses freed blocks for later tensors of the same size, and counts
// bytes.
#pragma once

#include <cstdint>

namespace evener::engine::torch_engine {

/// Makes LibTorch's tensors on CPUs use this allocator from now on. LibTorch itself asks glibc for aligned blocks,
/// which before glibc 2.38 don't fit into the gap left by a freed block of the same size, so that the memory of a
/// training grows by fragments: by a sixth for a ResNet-34. Blocks begin at multiples of 64 bytes, as LibTorch's do, so
/// that kernels compute the same bits. In a Python process that has imported the same LibTorch as torch, torch's own
/// tensors use it too and are counted with ours.
void use_host_memory();

/// Bytes of all tensors now, and their peak since begin_peak_of_host_memory().
std::int64_t host_memory_bytes();
std::int64_t peak_host_memory_bytes();
void begin_peak_of_host_memory();

}  // namespace evener::engine::torch_engine
