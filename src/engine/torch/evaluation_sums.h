// What a device finds in an evaluation: added up there, and read once at its end, so that no batch waits for another's
// results.
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

  /// Adds a batch whose sums are over `count`; its classes too where they are wanted and there are any.
  void add(const CriterionResult& result, std::int64_t count, bool with_classes);
  /// Waits for the device, and forgets what was added. The classes are appended to `predicted` unless that is null.
  Sums take(std::vector<std::int32_t>* predicted);

 private:
  const TorchCriterion& criterion_;
  at::Tensor totals_;  // float64, of each name
  std::int64_t count_ = 0;
  std::vector<at::Tensor> classes_;  // int64, of each batch
};

}  // namespace evener::engine::torch_engine
