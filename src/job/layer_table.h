// The times of layers (--profile layers), for people and for the record, and the peak rates of a device, with which
// measured speeds are compared.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/precision.h"
#include "job/observer.h"
#include "record/record.h"
#include "task/inference/layer_profile.h"

namespace evener::job {

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

/// Times the layers by `profile`, measures the processor's peak rates, adds both to the record, and writes the record
/// anew into `folder` (empty = nowhere). To be called after the run, so that its times and energy don't include the
/// profile. Where layers can't be timed, a note says why.
void add_layers(const std::filesystem::path& folder, record::Record& record, Observer& line,
                const std::function<task::NetworkProfile()>& profile);

/// A line for each layer, and their sum; "" for a record without layers.
std::string layers_text(const record::Record& record);

}  // namespace evener::job
