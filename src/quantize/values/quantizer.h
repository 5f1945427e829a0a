// Post-training quantisation: from a trained network and some images to the same network with 8-bit activations and
// weights of 8 or fewer bits, as parameters of the network that LibTorch and OpenVINO compute with; quantisation-aware
// training begins with it, too.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "network/network.h"
#include "network/passes/quantize.h"
#include "quantize/values/precision.h"
#include "quantize/values/ranges.h"

namespace evener::quantization {

struct QuantizeOptions {
  RangeRule ranges;
  int weight_bits = 8;
  bool bias_correction = true;  // corrects biases for the shift of each channel's mean that rounding the weights causes
  std::size_t images = 300;     // from which the ranges of activations are taken
};

struct QuantizedModel {
  explicit QuantizedModel(network::Network described) : network(std::move(described)) {}

  network::Network network;
  TensorMap state;  // weights in float32, not rounded: the network rounds them to the levels of their scales
  network::QuantizationScheme scheme;
};

/// The error of a layer's results in the quantised network against the float network.
struct LayerError {
  std::string layer;
  double sqnr_db = 0;  // signal to quantisation noise; infinite where there is none
  bool quantized = false;
};

template <typename Visitor>
void describe(Visitor& visitor, Of<LayerError> auto& error) {
  visitor.value("layer", error.layer);
  visitor.value("sqnr_db", error.sqnr_db);
  visitor.value("quantized", error.quantized);
}

class Quantizer {
 public:
  /// Folds batch-norms and looks at the images. Throws UsageError where there are none, or where nothing in the network
  /// can be quantised, and as observe_results() does.
  Quantizer(const inference::Probe& probe, const network::Network& network, const TensorMap& state,
            const data::Samples& samples, const QuantizeOptions& options);

  /// `kept`: layers with weights that stay in float.
  QuantizedModel quantized(const std::set<std::string>& kept) const;

  /// The errors of all layers with weights, in their order, on up to `images` of the samples.
  std::vector<LayerError> layer_errors(const QuantizedModel& model, std::size_t images) const;
  /// The layers with weights, the most sensitive first: those that change the network's outputs most when they
  /// alone are quantised.
  std::vector<std::string> by_sensitivity(std::size_t images) const;

  const network::Network& folded() const { return folded_; }
  const TensorMap& folded_state() const { return state_; }
  std::size_t images() const { return images_; }  // how many were used
  /// Layers whose results were not finite; layers that read them stay in float.
  const std::set<std::string>& not_finite() const { return unusable_; }
  /// What a user should know: ranges that are zero or infinite, few images.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The layers with weights that `pattern` ('*', '?', or "first" or "last") fits, by the convolution's name or that of
  /// the batch-norm that was folded into it. Throws UsageError for a pattern that fits none.
  std::set<std::string> matching(const std::string& pattern) const;

 private:
  struct Seen {
    MagnitudeHistogram magnitudes;
    std::vector<double> channel_sums;
    double values_per_channel = 0;
  };

  void observe(const network::QuantizationScheme& scheme);
  void note_ranges(const network::QuantizationScheme& scheme);
  std::set<std::string> readers_of(const std::string& layer) const;
  float activation_scale(const std::string& layer, bool is_signed) const;
  void correct_bias(const network::Layer& layer, int bits, TensorMap& state) const;

  const inference::Probe probe_;
  const data::Samples& samples_;
  const QuantizeOptions options_;
  network::Network folded_;
  TensorMap state_;
  std::map<std::string, std::string> other_names_;  // of convolutions, by the batch-norms folded into them
  std::map<std::string, Seen> seen_;                // by layer
  std::set<std::string> unusable_;                  // layers whose results were not finite
  std::vector<std::set<std::string>> shared_;       // sets of layers whose results have to have a common scale
  std::size_t images_ = 0;
  std::vector<std::string> notes_;
};

/// The scheme by which `network` (as the zoo builds it) is quantised with weights of `weight_bits` bits.
network::QuantizationScheme scheme_for(const network::Network& network, int weight_bits);

/// The parameters of the network that scheme_for() gives: those of `state` with batch-norms folded, and scales of the
/// ranges that activations reach on up to 300 of `samples`. The engine runs in a child process, with `threads`
/// threads, so that this process can still fork its ranks. Throws Error where a layer gives values that are not finite.
TensorMap calibrated_state(const network::Network& network, const TensorMap& state, int weight_bits,
                           const data::ChannelStatistics& normalization, const data::Samples& samples, int threads);

}  // namespace evener::quantization
