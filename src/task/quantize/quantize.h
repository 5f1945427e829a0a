// From a trained network to a file with its quantised weights and scales.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "task/detect/detector.h"
#include "task/inference/inference_model.h"
#include "task/quantize/quantizer.h"

namespace evener::task {

struct QuantizeRequest {
  const InferenceModel& model;       // of ours or described, not quantised
  const data::Samples& calibration;  // of which the first ones are looked at
  /// Labelled samples that accuracy is measured on while layers are looked for that stay in float; null = none are.
  const data::Samples* evaluation = nullptr;
  const Photos* photos = nullptr;  // the same of a detector, whose mAP is measured
  DecodeOptions boxes = {};        // of a detector
  double most_lost = 0;            // a share of accuracy, or of mAP
  QuantizeOptions options = {};
  std::vector<std::string> keep = {};       // patterns of layers that stay in float (Quantizer::matching)
  std::optional<data::CropMode> crop = {};  // what the file says of it; see ModelFacts
  int threads = 1;
};

struct QuantizeOutcome {
  std::size_t images = 0;  // that ranges were taken from
  std::vector<std::string> notes;
  std::vector<LayerError> layers;
  int trials = 0;  // of layers that stay in float
};

template <typename Visitor>
void describe(Visitor& visitor, Of<QuantizeOutcome> auto& outcome) {
  visitor.value("images", outcome.images);
  visitor.value("notes", outcome.notes);
  visitor.value("layers", outcome.layers);
  visitor.value("trials", outcome.trials);
}

/// Writes the file: of our weights, or with the ending ".onnx" one of ONNX, whole with its network. The work is done in
/// a child process, after which this one can still start others. Throws Error.
QuantizeOutcome quantize_to_file(const QuantizeRequest& request, const std::filesystem::path& file);

/// Writes the weights of a network that learnt with quantisation as those of a quantised one. `crop`: see ModelFacts.
void pack_to_file(const InferenceModel& model, std::optional<data::CropMode> crop, const std::filesystem::path& file);

/// Whether a file of weights holds some as int8.
bool is_packed(const std::filesystem::path& file);

/// Bytes of the weights in float32.
std::uint64_t float_bytes(const TensorMap& state);

}  // namespace evener::task
