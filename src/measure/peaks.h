// What the processor can do at most: multiply-adds from registers and reading from memory, against which kernels are
// held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/cpu.h"

namespace evener::measure {

struct Peaks {
  std::string instructions;  // that the multiply-adds were done with: "AVX-512", "AVX2", "SSE2 without FMA"
  int threads = 1;           // of the figures for all cores together
  /// float32 multiply-adds (two operations each) and products of bfloat16 summed in float32, in GFLOP/s.
  double fma_gflops = 0, all_fma_gflops = 0;
  std::optional<double> bf16_gflops, all_bf16_gflops;  // absent: the processor has no dot products of bfloat16
  /// Reading memory that lies in no cache, in GB/s (10^9 bytes).
  double memory_gb_per_s = 0, all_memory_gb_per_s = 0;
};

/// Measures for about two seconds, on one thread and on `threads`, by default one for each usable core; takes the best
/// of several tries.
Peaks measure_peaks(int threads = usable_cores());

/// What each of `threads` threads reads: 128 MiB, or less where all of it were more than a quarter of the memory that
/// is available, but 1 MiB at least.
std::size_t read_by_each_bytes(int threads, std::uint64_t available_bytes);

}  // namespace evener::measure
