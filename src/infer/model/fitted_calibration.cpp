#include "infer/model/fitted_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/files.h"
#include "base/numbers.h"
#include "weights/safetensors.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCalibrationFormat = "evener-calibration-1";

std::string fingerprint_of(const fs::path& weights) {
  return fmt::format("{:016x}", content_hash(read_file(weights)));
}

[[noreturn]] void throw_damaged(const fs::path& file, const std::string& what) {
  throw Error(
      fmt::format("'{}' is damaged: {}; remove it, and 'evener calibrate' writes it anew", file.string(), what));
}

double positive_number(const weights::Metadata& metadata, const char* key, const fs::path& file) {
  const auto found = metadata.find(key);
  const auto value = found == metadata.end() ? std::nullopt : to_number<double>(found->second);
  if (!value || !std::isfinite(*value) || *value <= 0) {
    throw_damaged(file, fmt::format("its {} is no number above 0", key));
  }
  return *value;
}

std::vector<float> finite_floats(const HostTensor& tensor, const fs::path& file) {
  std::vector<float> values(tensor.floats(), tensor.floats() + element_count(tensor.shape));
  const bool are_finite = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  if (!are_finite) throw_damaged(file, "it has values that are no numbers");
  return values;
}

FeatureStatistics statistics_in(const weights::SafetensorsFile& read, const fs::path& file) {
  const auto whitening = read.tensors.find("whitening"), centres = read.tensors.find("centres");
  if (whitening == read.tensors.end() || centres == read.tensors.end()) throw_damaged(file, "a tensor is missing");
  const HostTensor &w = whitening->second, &m = centres->second;
  const bool fits = w.dtype == DType::kF32 && m.dtype == DType::kF32 && w.shape.size() == 2 && m.shape.size() == 2 &&
                    w.shape[0] == w.shape[1] && m.shape[1] == w.shape[1] && m.shape[0] > 0 && w.shape[0] > 0 &&
                    w.shape[0] <= kMostFeatures;
  if (!fits) throw_damaged(file, "its tensors have shapes that don't fit each other");
  return {.features = w.shape[0],
          .whitening = finite_floats(w, file),
          .centres = finite_floats(m, file),
          .threshold = positive_number(read.metadata, "threshold", file)};
}

}  // namespace

ClassDistance::ClassDistance(const FeatureStatistics& statistics)
    : features_(static_cast<std::size_t>(statistics.features)),
      classes_(static_cast<std::size_t>(statistics.classes())),
      columns_(features_ * features_),
      centres_(features_ * classes_),
      centre_norms_(classes_) {
  for (std::size_t i = 0; i < features_; ++i) {
    for (std::size_t j = 0; j <= i; ++j) columns_[j * features_ + i] = statistics.whitening[i * features_ + j];
  }
  for (std::size_t c = 0; c < classes_; ++c) {
    double norm = 0;
    for (std::size_t j = 0; j < features_; ++j) {
      const float value = statistics.centres[c * features_ + j];
      centres_[j * classes_ + c] = value;
      norm += static_cast<double>(value) * value;
    }
    centre_norms_[c] = static_cast<float>(norm);
  }
}

std::vector<float> ClassDistance::of(const float* features, std::int64_t count) const {
  std::vector<float> found;
  std::vector<float> whitened(features_), distances(classes_);
  for (std::int64_t image = 0; image < count; ++image) {
    const float* const x = features + static_cast<std::size_t>(image) * features_;
    double squares = 0;
    for (std::size_t j = 0; j < features_; ++j) squares += static_cast<double>(x[j]) * x[j];
    const auto scale = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
    // Feature by feature, not row by row: sums of rows would not be computed by vectors.
    std::ranges::fill(whitened, 0.0F);
    for (std::size_t j = 0; j < features_; ++j) {
      const float u = x[j] * scale;
      if (u == 0) continue;
      const float* const column = columns_.data() + j * features_;
      for (std::size_t i = j; i < features_; ++i) whitened[i] += u * column[i];
    }
    double length = 0;
    std::ranges::copy(centre_norms_, distances.begin());
    for (std::size_t j = 0; j < features_; ++j) {
      length += static_cast<double>(whitened[j]) * whitened[j];
      const float z = -2 * whitened[j];
      const float* const centres = centres_.data() + j * classes_;
      for (std::size_t c = 0; c < classes_; ++c) distances[c] += z * centres[c];
    }
    const float nearest = *std::ranges::min_element(distances);
    found.push_back(static_cast<float>(std::max(0.0, length + nearest)));
  }
  return found;
}

fs::path calibration_file(const fs::path& weights) {
  return fs::path(weights).replace_extension(".calibration.safetensors");
}

void write_calibration(const fs::path& weights, const ClassifierCalibration& calibration) {
  weights::Metadata metadata = {{"format", kCalibrationFormat},
                                {"weights", fingerprint_of(weights)},
                                {"temperature", fmt::format("{:.17g}", calibration.temperature)}};
  TensorMap tensors;
  if (const auto& unknown = calibration.unknown) {
    metadata["threshold"] = fmt::format("{:.17g}", unknown->threshold);
    tensors = {{"whitening", HostTensor::of_floats({unknown->features, unknown->features}, unknown->whitening)},
               {"centres", HostTensor::of_floats({unknown->classes(), unknown->features}, unknown->centres)}};
  }
  weights::write_safetensors(calibration_file(weights), tensors, metadata);
}

FoundCalibration read_calibration(const fs::path& weights) {
  const fs::path file = calibration_file(weights);
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || !fs::is_regular_file(weights, ignored)) return {};
  const weights::Metadata metadata = weights::read_safetensors_metadata(file);
  const auto format = metadata.find("format");
  if (format == metadata.end() || format->second != kCalibrationFormat) {
    throw_damaged(file, fmt::format("it doesn't say that its format is {}", kCalibrationFormat));
  }
  const auto of = metadata.find("weights");
  if (of == metadata.end() || of->second != fingerprint_of(weights)) {
    FoundCalibration other;
    other.note = fmt::format(
        "'{}' was made for other weights and is not used: probabilities are as the network gives them; 'evener "
        "calibrate' writes it anew",
        file.string());
    return other;
  }
  const weights::SafetensorsFile read = weights::read_safetensors(file);
  ClassifierCalibration calibration{.temperature = positive_number(read.metadata, "temperature", file)};
  if (!read.tensors.empty()) calibration.unknown = statistics_in(read, file);
  FoundCalibration found;
  found.calibration = std::move(calibration);
  return found;
}

void apply_temperature(HostTensor& scores, double temperature, OutputType holds) {
  if (temperature == 1 || scores.shape.empty() || scores.shape.front() < 1) return;
  const auto rows = static_cast<std::size_t>(scores.shape.front());
  const auto classes = static_cast<std::size_t>(element_count(scores.shape)) / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<float> values(scores.floats() + row * classes, classes);
    if (!are_probabilities(values, holds)) {
      for (float& value : values) value = static_cast<float>(value / temperature);
      continue;
    }
    std::vector<double> powers(classes);
    std::ranges::transform(values, powers.begin(), [&](float value) { return std::pow(value, 1 / temperature); });
    const double sum = std::accumulate(powers.begin(), powers.end(), 0.0);
    if (!(sum > 0)) continue;
    std::ranges::transform(powers, values.begin(), [&](double power) { return static_cast<float>(power / sum); });
  }
}

std::optional<LinearHead> linear_head(const network::Network& network) {
  const auto& layers = network.layers();
  const auto layer_at = [&](int index) { return &layers[static_cast<std::size_t>(index)]; };
  const network::Layer& last = *layer_at(network.outputs().front().layer);
  const auto* linear = std::get_if<network::Linear>(&last.op);
  if (linear == nullptr || !network.anchors().empty()) return std::nullopt;
  const int input = last.inputs.front();
  const bool has_others = std::ranges::any_of(std::span(network.outputs()).subspan(1),
                                              [&](const network::Output& other) { return other.layer != input; });
  if (has_others) return std::nullopt;
  const network::Layer* before = layer_at(input);
  while (std::holds_alternative<network::Dropout>(before->op)) before = layer_at(before->inputs.front());
  return LinearHead{.layer = last.name,
                    .features = before->name,
                    .input = input,
                    .values = element_count(before->shape),
                    .classes = linear->out_features,
                    .has_bias = linear->bias,
                    .is_quantized = linear->weight_bits != 0};
}

void fold_temperature(const network::Network& network, TensorMap& state, double temperature) {
  const std::optional<LinearHead> head = linear_head(network);
  if (!head) {
    throw Error(fmt::format("the output of {} is not made by a linear layer, into whose weights a temperature could go",
                            network.model()));
  }
  // A layer of whole-numbered weights keeps these numbers, and their scale changes.
  for (const char* part : {".weight", ".bias", ".weight_scale"}) {
    const auto found = state.find(head->layer + part);
    if (found == state.end()) continue;
    HostTensor& tensor = found->second;
    tensor = tensor.to_floats();
    for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
      tensor.floats()[i] = static_cast<float>(tensor.floats()[i] / temperature);
    }
  }
}

}  // namespace evener::inference
