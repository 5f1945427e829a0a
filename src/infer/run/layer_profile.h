// Times each layer of a network, and counts the operations and bytes that it needs. Done in passes of their own after
// the work, so that timing doesn't slow the work down.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "engine/engine.h"
#include "engine/runner.h"
#include "infer/model/inference_model.h"
#include "infer/run/infer.h"
#include "network/network.h"
#include "parallel/pipeline_schedule.h"

namespace evener::inference {

struct LayerProfile {
  engine::LayerTime time;  // medians over the passes
  // Of one pass; absent where the network is not known, or where the work belongs to no layer of it.
  std::optional<std::int64_t> flops;
  /// The least memory traffic: inputs, outputs (both in the number format that is computed in) and parameters (in
  /// float32), each read or written once. Backward moves all that again, and the gradients.
  std::optional<std::int64_t> bytes;
};

struct NetworkProfile {
  std::vector<LayerProfile> layers;  // in the order in which they are computed; empty: see `reason`
  std::string reason;                // why there are none
  std::string engine;
  std::int64_t batch = 1;  // images of each pass
  std::int64_t passes = 0;
  int threads = 0;  // of the CPU; 0 on another device
  Precision precision = Precision::kFp32;
  bool in_int8 = false;  // the network is quantised: its layers compute in int8, and `precision` is that of the others
};

/// Runs `pass` for about a second, after one pass as a warm-up, and returns the times of each pass. Throws Interrupted
/// between two passes.
std::vector<std::vector<engine::LayerTime>> repeated_passes(
    const std::function<std::vector<engine::LayerTime>()>& pass);

/// The median time of each layer over passes that did the same work in the same order.
std::vector<engine::LayerTime> median_times(const std::vector<std::vector<engine::LayerTime>>& passes);

/// Fills in the layers and passes of `profile`, whose batch, precision and in_int8 are set: the median times, and the
/// operations and bytes of the layers of `network` (null: not known).
void fill_profile(const std::vector<std::vector<engine::LayerTime>>& passes, const network::Network* network,
                  Device device, NetworkProfile& profile);
/// The same for runners, which fold batch-norms into convolutions where they can.
void fill_inference_profile(const std::vector<std::vector<engine::LayerTime>>& passes, const network::Network& network,
                            Device device, NetworkProfile& profile);

/// The time of each layer of `network`, by its index. Layers that are fused into one have their time at the first of
/// them. The loss counts for the last layer, and other work that belongs to no layer, such as that on the images, for
/// the first.
std::vector<parallel::StageTimes> times_by_layer(const NetworkProfile& profile, const network::Network& network);

/// Times calls on the first replica's device with all its threads, one call at a time.
NetworkProfile profile_inference(const InferenceModel& model, const InferSetup& setup, const data::Samples& samples,
                                 const InferOptions& options);

}  // namespace evener::inference
