// From a trained network to a file with its quantised weights and scales.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/described.h"
#include "detect/detector.h"
#include "infer/model/inference_model.h"
#include "infer/model/metadata.h"
#include "quantize/values/quantizer.h"

namespace evener::quantization {

/// Measures a network with its weights: the accuracy of a classifier or the mAP of a detector, from 0 to 1.
using Quality = std::function<double(const network::Network& network, const TensorMap& state)>;

struct KeptLayers {
  std::set<std::string> layers;
  double float_quality = 0, quality = 0;
  int trials = 0;  // quantised networks that were evaluated
};

/// Keeps as few layers in float as are needed for a quality at most `most_lost` below the float network's. Takes them
/// in the order of by_sensitivity(): doubles their number until it suffices, and then finds the least number by
/// bisection. `kept`: layers that stay in float anyway.
KeptLayers keep_sensitive(const Quantizer& quantizer, const Quality& quality, const std::set<std::string>& kept,
                          double most_lost);

struct QuantizeRequest {
  const inference::InferenceModel& model;  // one of ours, or a file of another program; not quantised
  const data::Samples& calibration;        // of which QuantizeOptions::images are used
  /// Labelled samples on which accuracy is measured to choose the layers that stay in float; null = no layers are
  /// sought.
  const data::Samples* evaluation = nullptr;
  const detection::Photos* photos = nullptr;  // the evaluation samples of a detector, whose mAP is measured instead
  detection::DecodeOptions boxes = {};        // of a detector
  double most_lost = 0;                       // how much accuracy or mAP may be lost, as a share
  QuantizeOptions options = {};
  std::vector<std::string> keep = {};       // patterns of layers that stay in float (layers_named())
  std::optional<data::CropMode> crop = {};  // written into the file; see ModelFacts
  int threads = 1;
};

struct QuantizeOutcome {
  std::size_t images = 0;  // that ranges were taken from
  std::vector<std::string> notes;
  std::vector<LayerError> layers;
  int trials = 0;  // quantised networks that were evaluated to choose the layers that stay in float
};

template <typename Visitor>
void describe(Visitor& visitor, Of<QuantizeOutcome> auto& outcome) {
  visitor.value("images", outcome.images);
  visitor.value("notes", outcome.notes);
  visitor.value("layers", outcome.layers);
  visitor.value("trials", outcome.trials);
}

/// Quantises and writes the file: our weights, or where its name ends with ".onnx" an ONNX file with the network. The
/// work is done in a child process, so that this process can still fork others. Throws Error.
QuantizeOutcome quantize_to_file(const QuantizeRequest& request, const std::filesystem::path& file);

/// The same of a file of another program that stays as it is (engine/model_file.h), whose weights are written beside
/// it. Ranges reach to the means of each image's farthest values, with kMinMax to the farthest of all. `facts`: written
/// into the file. Outcome: the number of images, and the layers, whose errors are not measured (infinite). Throws
/// UsageError for a pattern that fits no layer, Error.
QuantizeOutcome quantize_file(const QuantizeRequest& request, const inference::ModelFacts& facts,
                              const std::filesystem::path& xml);

/// Writes the weights of a network after quantisation-aware training in int8, as quantize_to_file does. `crop`: see
/// ModelFacts.
void pack_to_file(const inference::InferenceModel& model, std::optional<data::CropMode> crop,
                  const std::filesystem::path& file);

/// Whether a file of weights holds some as int8.
bool is_packed(const std::filesystem::path& file);

/// Bytes of the weights in float32.
std::uint64_t float_bytes(const TensorMap& state);

}  // namespace evener::quantization
