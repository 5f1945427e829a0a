// What makes a classifier's answers honest: a temperature, by which its probabilities hold, and the statistics of its
// features, by which it knows what is like nothing that it was trained on. Kept in a file beside the weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "infer/model/class_output.h"
#include "network/network.h"

namespace evener::inference {

/// The output that says how far an image is from all classes, as a share of the distance from which on it is unknown:
/// above 1 it is called unknown.
inline constexpr const char* kUnknownOutput = "unknown";
/// The output that has what the last linear layer reads.
inline constexpr const char* kFeaturesOutput = "features";
/// The largest number of features: the statistics take the square of it in memory, 64 MB.
inline constexpr std::int64_t kMostFeatures = 4096;

/// The distance of an image to the nearest class: that of Mahalanobis, with one covariance for all classes (Lee et al.
/// 2018), of features brought to length 1 (Mueller and Hein 2025). With u = x / |x|, W the inverse of the Cholesky
/// factor of the covariance, and m_c the mean of class c in these coordinates: min over c of |W u - m_c|^2.
struct FeatureStatistics {
  std::int64_t features = 0;
  std::vector<float> whitening;  // W, (features, features), row-major, lower triangular
  std::vector<float> centres;    // m_c, (classes, features), row-major; only classes that had training images
  double threshold = 0;          // the distance above which an image is unknown

  std::int64_t classes() const { return static_cast<std::int64_t>(centres.size()) / features; }
};

/// The distances of `count` images from their nearest classes, by features (count, features).
class ClassDistance {
 public:
  explicit ClassDistance(const FeatureStatistics& statistics);
  std::vector<float> of(const float* features, std::int64_t count) const;

 private:
  std::size_t features_, classes_;
  std::vector<float> columns_;       // W transposed: row j is what feature j adds
  std::vector<float> centres_;       // m transposed, (features, classes)
  std::vector<float> centre_norms_;  // |m_c|^2
};

struct ClassifierCalibration {
  double temperature = 1;  // logits are divided by it before they become probabilities (Guo et al. 2017)
  std::optional<FeatureStatistics> unknown = {};
};

/// "runs/a/best.calibration.safetensors" for "runs/a/best.safetensors".
std::filesystem::path calibration_file(const std::filesystem::path& weights);

/// Writes the file beside `weights`, which it then belongs to, whole or not at all. Throws Error.
void write_calibration(const std::filesystem::path& weights, const ClassifierCalibration& calibration);

struct FoundCalibration {
  std::optional<ClassifierCalibration> calibration;
  std::string note;  // why a file that is there isn't used; "" = there is none, or it is used
};
/// Reads the file beside `weights`. One that was made of other weights isn't used. Throws Error naming a file that is
/// damaged.
FoundCalibration read_calibration(const std::filesystem::path& weights);

/// Divides logits (images, classes) by the temperature, in place. Rows that are probabilities already (`holds`, see
/// are_probabilities()) become those of the temperature: p^(1/T), brought to the sum 1.
void apply_temperature(HostTensor& scores, double temperature, OutputType holds = OutputType::kAuto);

/// The linear layer that makes the scores of a classifier.
struct LinearHead {
  std::string layer;     // its name
  std::string features;  // the layer whose result it reads, apart from a dropout between them
  int input = 0;         // the index of what it reads
  std::int64_t values = 0, classes = 0;
  bool has_bias = true, is_quantized = false;
};
/// The head of `network`, which has no outputs but the scores and perhaps the features that the head reads; absent
/// where the scores are made in another way, or there are other outputs.
std::optional<LinearHead> linear_head(const network::Network& network);

/// Divides the weights and biases of the network's head by the temperature, so that its logits are calibrated in all
/// software. Throws Error where it has no linear head.
void fold_temperature(const network::Network& network, TensorMap& state, double temperature);

}  // namespace evener::inference
