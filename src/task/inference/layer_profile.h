// What each layer of a network takes, and what it has to do at least: a pass of its own, after the work.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "engine/engine.h"
#include "engine/layer_times.h"
#include "network/network.h"
#include "parallel/pipeline_schedule.h"
#include "task/inference/infer.h"
#include "task/inference/inference_model.h"

namespace evener::task {

struct LayerProfile {
  engine::LayerTime time;  // medians over the passes
  // Of one pass; absent where the network is not known, or where the work belongs to no layer of it.
  std::optional<std::int64_t> flops;
  /// What is read and written at least, once each, in the number format that is computed in: what the layers take from
  /// others, what they give, parameters (in float32). Backward reads and writes that again, and the gradients.
  std::optional<std::int64_t> bytes;
};

struct NetworkProfile {
  std::vector<LayerProfile> layers;  // in the order in which they are computed; empty: see `reason`
  std::string reason;                // why there are none
  std::string engine;
  std::int64_t batch = 1;  // images of each pass
  std::int64_t passes = 0;
  int threads = 0;  // of the CPU; 0: another device computed
  Precision precision = Precision::kFp32;
  bool in_int8 = false;  // a quantised network: its layers compute in int8, whatever the precision of what is left
};

/// Times of some passes, a second of them in all, after one that warms up. Throws Interrupted between two.
std::vector<std::vector<engine::LayerTime>> repeated_passes(
    const std::function<std::vector<engine::LayerTime>()>& pass);

/// The medians of passes that did the same work in the same order.
std::vector<engine::LayerTime> median_times(const std::vector<std::vector<engine::LayerTime>>& passes);

/// Fills in the layers and passes of `profile`, of which batch, precision and in_int8 are known: the medians, and what
/// the layers of `network` cost; null: it isn't known.
void fill_profile(const std::vector<std::vector<engine::LayerTime>>& passes, const network::Network* network,
                  Device device, NetworkProfile& profile);
/// The same of runners, which fold batch normalisations into convolutions where they can.
void fill_inference_profile(const std::vector<std::vector<engine::LayerTime>>& passes, const network::Network& network,
                            Device device, NetworkProfile& profile);

/// What each layer of `network` takes, by its index. What is computed as one counts where the first of it stands; what
/// belongs to no layer comes before all, as the images do, or after all, as the loss does.
std::vector<parallel::StageTimes> times_by_layer(const NetworkProfile& profile, const network::Network& network);

/// Calls on the first replica's device with all its threads, one at a time.
NetworkProfile profile_inference(const InferenceModel& model, const InferSetup& setup, const data::Samples& samples,
                                 const InferOptions& options);

}  // namespace evener::task
