#include "measure/peak_rate.h"

#include <fmt/format.h>

#include "base/cpu.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/simd_level.h"
#include "measure/peaks.h"

namespace evener::measure {

PeakRate peak_rate(Device device, int threads, const std::vector<int>& cpus, Precision precision) {
  PeakRate rate;
  if (device.kind != DeviceKind::kCpu) {
    rate.reason = "the peak of " + device_text(device) + " is not measured";
    return rate;
  }
  const PinnedTo there(cpus);
  const measure::Peaks peaks = measure::measure_peaks(std::max(1, threads));
  rate.memory_gb_per_s = peaks.all_memory_gb_per_s;
  const bool is_short = activation_bits(computed_precision(precision, device.kind)) == 16;
  if (is_short && has_bfloat16_tiles()) {
    rate.reason = "the peak of this processor's products of bfloat16 tiles (AMX) is not measured";
  } else if (is_short && !peaks.all_bf16_gflops) {
    rate.reason = "this processor has no products of bfloat16";
  } else {
    rate.gflops = is_short ? peaks.all_bf16_gflops : peaks.all_fma_gflops;
    rate.of = (is_short ? "AVX512-BF16" : peaks.instructions) + " multiply-adds on " + counted(peaks.threads, "thread");
  }
  return rate;
}

std::string gflops_text(double gflops) {
  return si_text(gflops * 1e9, "FLOP/s");
}

}  // namespace evener::measure
