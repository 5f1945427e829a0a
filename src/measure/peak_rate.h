// The peak rates of a device, with which measured speeds are compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/precision.h"

namespace evener::measure {

struct PeakRate {
  std::optional<double> gflops;           // of multiply-adds, which count as two
  std::optional<double> memory_gb_per_s;  // of reading memory that lies in no cache
  std::string of;                         // "AVX-512 multiply-adds on 2 threads"
  std::string reason;                     // why `gflops` is absent; empty where it isn't
};

/// Measures the processor for about two seconds, with `threads` threads on `cpus` (empty: any). Other devices are not
/// measured.
PeakRate peak_rate(Device device, int threads, const std::vector<int>& cpus, Precision precision);

/// "236 GFLOP/s".
std::string gflops_text(double gflops);

}  // namespace evener::measure
