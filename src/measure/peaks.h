// Measures the CPU's peaks, to which kernels are compared: multiply-adds on registers and reads from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/cpu.h"

namespace evener::measure {

struct Peaks {
  std::string instructions;  // used for the multiply-adds: "AVX-512", "AVX2", "SSE2 without FMA"
  int threads = 1;           // threads of the all_ figures
  /// float32 multiply-adds, and bfloat16 products summed in float32, in GFLOP/s (a multiply-add is two operations).
  /// Without all_: on one thread.
  double fma_gflops = 0, all_fma_gflops = 0;
  std::optional<double> bf16_gflops, all_bf16_gflops;  // absent: the CPU has no bfloat16 instructions
  /// Reading memory that is in no cache, in GB/s (10^9 bytes).
  double memory_gb_per_s = 0, all_memory_gb_per_s = 0;
};

/// Measures for about two seconds, on one thread and on `threads` threads (by default one per usable core), and takes
/// the best of several tries.
Peaks measure_peaks(int threads = usable_cores());

/// The bytes that each of `threads` threads reads: 128 MiB, or less if together that would exceed a quarter of the
/// available memory, but at least 1 MiB.
std::size_t read_by_each_bytes(int threads, std::uint64_t available_bytes);

}  // namespace evener::measure
