// Adds up the results of an evaluation on the device and reads them once at its end, so that no batch waits for the
// results of another.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "engine/sums.h"
#include "engine/torch/criterion.h"

namespace evener::engine::torch_engine {

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
