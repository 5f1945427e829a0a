#include "engine/torch/criterion.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/box_matching.h"
#include "engine/torch/convert.h"

namespace evener::engine::torch_engine {
namespace {

/// Logarithms of extents above this are clipped before their exponential is taken, as in torchvision's BoxCoder.
const double kLargestExtent = std::log(1000.0 / 16);

/// The corners of the boxes at these offsets, relative to their anchors' centres and in units of their anchors'
/// extents. Overlaps of boxes of one anchor don't depend on the anchor, so it isn't needed.
struct Corners {
  explicit Corners(const at::Tensor& offsets) {
    const at::Tensor centre = offsets.slice(-1, 0, 2) / kCentreFactor;
    const at::Tensor half = (offsets.slice(-1, 2, 4) / kExtentFactor).clamp_max(kLargestExtent).exp() / 2;
    low = centre - half;
    high = centre + half;
  }
  at::Tensor low, high;  // (..., 2): x and y
};

at::Tensor area(const at::Tensor& extents) {
  return extents.clamp_min(0).prod(-1);
}

/// 1 - generalized intersection over union; as torchvision.ops.generalized_box_iou_loss.
at::Tensor giou_loss(const at::Tensor& found, const at::Tensor& wanted) {
  constexpr double kNoDivisionByZero = 1e-7;
  const Corners a(found), b(wanted);
  const at::Tensor shared = area(at::minimum(a.high, b.high) - at::maximum(a.low, b.low));
  const at::Tensor both = area(a.high - a.low) + area(b.high - b.low) - shared;
  const at::Tensor around = area(at::maximum(a.high, b.high) - at::minimum(a.low, b.low));
  const at::Tensor overlap = shared / (both + kNoDivisionByZero);
  return 1 - overlap + (around - both) / (around + kNoDivisionByZero);
}

/// (N, P)
at::Tensor box_losses(network::BoxLoss kind, const at::Tensor& found, const at::Tensor& wanted) {
  if (kind == network::BoxLoss::kGiou) return giou_loss(found, wanted);
  return at::smooth_l1_loss(found, wanted, at::Reduction::None, /*beta=*/1).sum(-1);
}

/// The hard negatives: marks, for each image, the `wanted` (N, 1) background anchors with the largest losses.
at::Tensor hardest(const at::Tensor& losses, const at::Tensor& background, const at::Tensor& wanted) {
  const at::Tensor of_background =
      losses.masked_fill(background.logical_not(), -std::numeric_limits<float>::infinity());
  const at::Tensor order = of_background.argsort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  const at::Tensor places = at::arange(losses.size(1), order.options()).expand_as(order);
  const at::Tensor rank = at::empty_like(order).scatter_(1, order, places);
  return rank.lt(wanted).logical_and(background);
}

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

/// Sums over each image, float32 (N); with gradients.
struct MultiBoxSums {
  at::Tensor boxes, classes;
};

/// `boxes` (N, P, 4) and `scores` (N, P, classes with the background), float32. Reads no value on the host.
MultiBoxSums multi_box_sums(const network::MultiBox& op, const at::Tensor& boxes, const at::Tensor& scores,
                            const AnchorTargets& targets) {
  const at::Tensor matched = targets.classes.gt(0);
  // Predictions of unmatched anchors are replaced by their targets, so that they have neither a loss nor a gradient,
  // even if they are NaN.
  const at::Tensor found = at::where(matched.unsqueeze(-1), boxes, targets.offsets);
  const at::Tensor losses =
      at::cross_entropy_loss(scores.flatten(0, 1), targets.classes.flatten(), {}, at::Reduction::None, kIgnored)
          .view_as(targets.classes);
  const at::Tensor negative =
      hardest(losses.detach(), targets.classes.eq(0), op.negatives * matched.sum(1, /*keepdim=*/true));
  const at::Tensor none = at::zeros({}, losses.options());
  return {at::where(matched, box_losses(op.box_loss, found, targets.offsets), none).sum(1),
          at::where(matched.logical_or(negative), losses, none).sum(1)};
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
