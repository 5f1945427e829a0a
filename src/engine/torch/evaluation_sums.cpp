#include "engine/torch/evaluation_sums.h"

#include "engine/torch/convert.h"

namespace evener::engine::torch_engine {

EvaluationSums::EvaluationSums(const TorchCriterion& criterion, at::Device device)
    : criterion_(criterion),
      totals_(at::zeros({static_cast<std::int64_t>(criterion.names().size())},
                        at::TensorOptions().dtype(at::kDouble).device(device))) {}

void EvaluationSums::add(const CriterionResult& result, std::int64_t count, bool with_classes) {
  std::vector<at::Tensor> sums;
  for (const at::Tensor& sum : result.sums) sums.push_back(sum.to(at::kDouble));
  totals_.add_(at::stack(sums));
  count_ += count;
  if (with_classes && result.found.defined()) classes_.push_back(result.found);
}

Sums EvaluationSums::take(std::vector<std::int32_t>* predicted) {
  if (count_ == 0 && classes_.empty()) return {};
  const at::Tensor totals = totals_.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
  Sums sums = criterion_.sums_of(totals.const_data_ptr<double>(), count_);
  if (predicted != nullptr && !classes_.empty()) append_classes(at::cat(classes_), *predicted);
  totals_.zero_();
  count_ = 0;
  classes_.clear();
  return sums;
}

}  // namespace evener::engine::torch_engine
