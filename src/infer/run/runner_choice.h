// Which engine runs a trained network on CPUs where the user names none. A rule and no trial, so that it costs nothing
// and a command takes the same engine each time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/precision.h"
#include "base/simd_level.h"
#include "network/network.h"

namespace evener::inference {

/// What Winograd's 3x3 convolutions of the torch engine do for a network in float32.
struct WinogradUse {
  double share = 0;  // of the forward operations, that they shorten clearly
  double gain = 1;   // how many times as fast as OpenVINO the network is expected to be with them
};

/// `batch`: images of a call; `threads`: those that work on one call. A convolution counts where each thread has tiles
/// enough to share the reading of the weights.
WinogradUse winograd_use(const network::Network& network, std::int64_t batch, int threads);

/// What is to be run on one CPU replica.
struct RunnerQuestion {
  const network::Network* network = nullptr;  // null: a file of another program, which only OpenVINO reads
  Precision precision = Precision::kFp32;
  std::int64_t batch = 1;   // images of a call
  std::int64_t images = 1;  // that will be computed
  int threads = 1;
  int streams = 1;  // calls side by side, which share the threads
  SimdLevel level = SimdLevel::kBaseline;
  std::function<bool()> has_torch;  // asked last, as it may have to load LibTorch
};

struct RunnerChoice {
  std::string engine;  // "openvino" or "torch"
  std::string reason;  // in a few words
};

/// Chooses torch for float32 networks that its Winograd convolutions make clearly faster, if there are images enough to
/// make up for the start of LibTorch; otherwise OpenVINO.
RunnerChoice choose_runner_engine(const RunnerQuestion& question);

}  // namespace evener::inference
