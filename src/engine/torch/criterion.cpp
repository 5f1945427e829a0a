#include "engine/torch/criterion.h"

#include <utility>
#include <variant>

#include "base/error.h"
#include "engine/torch/convert.h"

namespace evener::engine::torch_engine {
namespace {

constexpr std::int64_t kIgnoreNone = -100;

/// The loss of a mixed image is the mean of the losses against both of its classes, weighted by their shares of the
/// image.
at::Tensor term_sum(const network::CrossEntropy& op, const at::Tensor& scores, const TargetTensors& targets,
                    bool training) {
  const double smoothing = training ? op.label_smoothing : 0;
  const auto against = [&](const at::Tensor& labels, at::Reduction::Reduction reduction) {
    return at::cross_entropy_loss(scores, labels, {}, reduction, kIgnoreNone, smoothing);
  };
  if (!targets.label_weights.defined()) return against(targets.labels, at::Reduction::Sum);
  const at::Tensor second_part = 1 - targets.label_weights;
  const at::Tensor of_first = against(targets.labels, at::Reduction::None);
  const at::Tensor of_second = against(targets.second_labels, at::Reduction::None);
  return (of_first * targets.label_weights + of_second * second_part).sum();
}

/// The target of a mixed image has each class's share of the image instead of a one.
at::Tensor term_sum(const network::MeanSquaredError& /*op*/, const at::Tensor& scores, const TargetTensors& targets,
                    bool /*training*/) {
  at::Tensor target = at::one_hot(targets.labels, scores.size(1));
  if (targets.label_weights.defined()) {
    target = target * targets.label_weights.unsqueeze(1) +
             at::one_hot(targets.second_labels, scores.size(1)) * (1 - targets.label_weights).unsqueeze(1);
  }
  return at::mse_loss(scores, target.to(at::kFloat), at::Reduction::Sum) / scores.size(1);
}

at::Tensor term_sum(const network::MultiBox& /*op*/, const at::Tensor& /*scores*/, const TargetTensors& /*targets*/,
                    bool /*training*/) {
  throw Error("a criterion for boxes stands beside others");  // which network::why_unfit() refuses
}

}  // namespace

TargetTensors class_targets(const data::Batch& batch) {
  TargetTensors targets;
  targets.labels = to_labels(batch);
  if (const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets)) {
    targets.second_labels = to_tensor(mixed->second_labels);
    targets.label_weights = to_tensor(mixed->label_weights);
  }
  return targets;
}

TorchCriterion::TorchCriterion(const network::Criterion& criterion, const network::Network& network)
    : criterion_(criterion), names_(network::sum_names(criterion)) {
  if (const std::string why = network::why_unfit(criterion, network); !why.empty()) throw Error(why);
  if (network::boxes_term(criterion) != nullptr) {
    outputs_ = network::outputs_of(criterion.terms.front(), network);
    return;
  }
  for (const auto& term : criterion.terms) outputs_.push_back(network::outputs_of(term, network).front());
}

CriterionResult TorchCriterion::compute(const std::vector<at::Tensor>& outputs, const TargetTensors& targets,
                                        bool training) const {
  if (is_of_boxes()) return compute_boxes(outputs, targets.anchors);
  CriterionResult result;
  std::vector<at::Tensor> terms;
  for (std::size_t i = 0; i < criterion_.terms.size(); ++i) {
    const network::CriterionTerm& term = criterion_.terms[i];
    const at::Tensor& scores = outputs[outputs_[i]];
    const at::Tensor sum = std::visit([&](const auto& op) { return term_sum(op, scores, targets, training); }, term.op);
    const at::Tensor weighted = term.weight == 1 ? sum : sum * term.weight;
    result.loss = result.loss.defined() ? result.loss + weighted : weighted;
    terms.push_back(sum.detach());
  }
  result.found = outputs[outputs_.front()].detach().argmax(1);
  result.sums.push_back(result.loss.detach());
  if (terms.size() > 1) result.sums.insert(result.sums.end(), terms.begin(), terms.end());
  result.sums.push_back(result.found.eq(targets.labels).sum());
  return result;
}

at::Tensor culprit_of(const at::Tensor& of_images) {
  const at::Tensor wrong = of_images.isfinite().logical_not();
  const at::Tensor named = wrong.any().logical_and(wrong.sum().mul(2).le(wrong.size(0)));
  return named * (1 + wrong.to(at::kFloat).argmax());  // argmax refuses bools
}

CriterionResult TorchCriterion::compute_boxes(const std::vector<at::Tensor>& outputs,
                                              const AnchorTargets& targets) const {
  const auto [boxes, classes] =
      multi_box_sums(*network::boxes_term(criterion_), outputs[outputs_[0]], outputs[outputs_[1]], targets);
  CriterionResult result;
  result.of_images = (boxes + classes).detach();
  result.loss = (boxes + classes).sum();
  result.sums = {result.loss.detach(), boxes.detach().sum(), classes.detach().sum()};
  return result;
}

Sums TorchCriterion::sums_of(const double* values, std::int64_t count) const {
  std::vector<Sums::Entry> entries;
  for (std::size_t i = 0; i < names_.size(); ++i) entries.push_back({names_[i], values[i], count});
  return Sums(std::move(entries));
}

Sums TorchCriterion::read(const CriterionResult& result, std::int64_t count) const {
  std::vector<double> values;
  for (const at::Tensor& sum : result.sums) values.push_back(sum.item<double>());
  return sums_of(values.data(), count);
}

}  // namespace evener::engine::torch_engine
