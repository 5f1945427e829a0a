#include "engine/torch/multi_box.h"

#include <cmath>
#include <limits>

#include "engine/box_matching.h"

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

}  // namespace

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

}  // namespace evener::engine::torch_engine
