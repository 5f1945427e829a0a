// Computes a network's criterion on tensors: the loss, the sums that are reported, and the predicted classes. An
// evaluation's results are added up on the device.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "engine/sums.h"
#include "network/criterion.h"

namespace evener::engine::torch_engine {

/// The targets of the anchors of a batch's images (engine/box_matching.h).
struct AnchorTargets {
  at::Tensor classes;  // int64 (N, P), 0 = background, kIgnored
  at::Tensor offsets;  // float32 (N, P, 4)
};

/// The targets of a batch.
struct TargetTensors {
  at::Tensor labels;                        // int64 (N); undefined where there are boxes
  at::Tensor second_labels, label_weights;  // int64 and float32 (N) of mixed images; otherwise undefined
  AnchorTargets anchors;                    // of detectors, in place of all others; otherwise undefined
};

/// The targets of a batch whose samples have classes.
TargetTensors class_targets(const data::Batch& batch);

struct CriterionResult {
  at::Tensor loss;               // float32 (), the sum over the batch; with a gradient
  at::Tensor found;              // int64 (N), the class with the highest score in the first term's output; undefined
                                 // for a detector
  at::Tensor of_images;          // float32 (N), the loss of each image, without a gradient; defined for a detector
  std::vector<at::Tensor> sums;  // one for each of TorchCriterion::names(): (), without a gradient
};

/// Returns int64 (): 1 + the index of the first image whose loss is not finite. 0 where there is none, and where most
/// losses are not finite: then the weights are at fault, not an image. Reads no value on the host. `of_images`: see
/// CriterionResult.
at::Tensor culprit_of(const at::Tensor& of_images);

class TorchCriterion {
 public:
  /// Throws Error where the criterion doesn't fit the network.
  TorchCriterion(const network::Criterion& criterion, const network::Network& network);

  /// `outputs`: (N, ...) float32, in the order of Network::outputs(). Reads no value on the host.
  CriterionResult compute(const std::vector<at::Tensor>& outputs, const TargetTensors& targets, bool training) const;

  /// Whether this is a detector's criterion, whose results have CriterionResult::of_images.
  bool is_of_boxes() const { return network::boxes_term(criterion_) != nullptr; }

  /// The names of the sums: network::sum_names() of the criterion.
  const std::vector<std::string>& names() const { return names_; }
  /// Makes Sums over `count` samples, or matched anchors, from one value for each of names().
  Sums sums_of(const double* values, std::int64_t count) const;
  /// Makes Sums from the values of `result`; waits for the device.
  Sums read(const CriterionResult& result, std::int64_t count) const;

 private:
  CriterionResult compute_boxes(const std::vector<at::Tensor>& outputs, const AnchorTargets& targets) const;

  network::Criterion criterion_;
  std::vector<std::size_t> outputs_;  // that each term reads, or a detector's term, as indices into Network::outputs()
  std::vector<std::string> names_;
};

/// Adds up the results of an evaluation on the device and reads them once at its end, so that no batch waits for the
/// results of another.
class EvaluationSums {
 public:
  /// `criterion` outlives this.
  EvaluationSums(const TorchCriterion& criterion, at::Device device);

  /// Adds a batch whose sums are over `count` samples or anchors; with `with_classes` also its predicted classes, if it
  /// has any.
  void add(const CriterionResult& result, std::int64_t count, bool with_classes);
  /// Waits for the device, returns the sums and starts anew. The classes are appended to `predicted` unless that is
  /// null.
  Sums take(std::vector<std::int32_t>* predicted);

 private:
  const TorchCriterion& criterion_;
  at::Tensor totals_;  // float64, one for each name
  std::int64_t count_ = 0;
  std::vector<at::Tensor> classes_;  // int64, one tensor per batch
};

}  // namespace evener::engine::torch_engine
