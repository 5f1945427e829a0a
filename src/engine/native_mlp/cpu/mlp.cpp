#include "engine/native_mlp/cpu/mlp.h"

#include <algorithm>
#include <variant>

#include "base/simd_level.h"

namespace evener::engine::native_mlp {
namespace {

ClassLoss loss_of(const network::CrossEntropy& op) {
  return {false, static_cast<float>(op.label_smoothing)};
}

ClassLoss loss_of(const network::MeanSquaredError&) {
  return {true, 0};
}

/// Never called: why_no_class_loss() refuses this criterion.
ClassLoss loss_of(const network::MultiBox&) {
  return {};
}

}  // namespace

const MlpKernels& float_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::table : baseline::table;
}

const MlpKernels* bfloat16_kernels() {
  return has_bfloat16_products() ? &avx512_bf16::table : nullptr;
}

Range Portion::of(std::int64_t count, std::int64_t unit) const {
  const std::int64_t units = (count + unit - 1) / unit;
  return {std::min(count, units * begin / whole * unit), std::min(count, units * end / whole * unit)};
}

Portion Portion::part(int index, int parts) const {
  const std::int64_t length = end - begin;
  return {begin * parts + length * index, begin * parts + length * (index + 1), whole * parts};
}

std::string why_no_class_loss(const network::Criterion& criterion, const network::Network& network) {
  if (std::string why = network::why_unfit(criterion, network); !why.empty()) return why;
  if (criterion.terms.size() > 1) {
    return "the native engine computes criteria of one term, not " + network::criterion_text(criterion);
  }
  if (network::boxes_term(criterion) != nullptr) return "the native engine trains no detectors; use --engine torch";
  if (criterion.terms.front().weight == 1) return {};
  return "the native engine computes a criterion without a weight, not " + network::criterion_text(criterion);
}

ClassLoss class_loss_of(const network::Criterion& criterion) {
  return std::visit([](const auto& op) { return loss_of(op); }, criterion.terms.front().op);
}

}  // namespace evener::engine::native_mlp
