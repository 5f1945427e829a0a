#include "engine/kernels/block_products.h"

#include "engine/kernels/kernels.h"
#include "engine/kernels/levels.h"

namespace evener::engine::kernels {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

const PanelKernels<float>& kernels_of(const AlignedVector<float>& /*panels*/) {
  return product_kernels().fp32;
}

const PanelKernels<BFloat16>& kernels_of(const AlignedVector<BFloat16>& /*panels*/) {
  return amx::tile_table;
}

}  // namespace

BlockProducts::BlockProducts(std::span<const float> rows, std::int64_t values, Precision precision)
    : values_(values), count_(static_cast<std::int64_t>(rows.size()) / values) {
  if (precision == Precision::kBf16) panels_ = AlignedVector<BFloat16>();
  std::visit(
      [&](auto& panels) {
        const auto& kernels = kernels_of(panels);
        panels.resize(static_cast<std::size_t>(round_up(count_, kernels.columns) * round_up(values, kernels.values)));
        kernels.pack({rows.data(), count_, values}, panels.data());
      },
      panels_);
}

std::int64_t BlockProducts::stride() const {
  return std::visit([&](const auto& panels) { return round_up(count_, kernels_of(panels).columns); }, panels_);
}

void BlockProducts::multiply(std::span<const float> others, std::int64_t columns, AlignedVector<float>& out) const {
  std::visit(
      [&]<class T>(const AlignedVector<T>& panels) {
        const PanelKernels<T>& kernels = kernels_of(panels);
        const std::int64_t count = static_cast<std::int64_t>(others.size()) / values_;
        out.resize(static_cast<std::size_t>(round_up(count, kernels.rows) * stride()));
        AlignedVector<T> scratch(static_cast<std::size_t>(kernels.rows * round_up(values_, kernels.values)));
        kernels.multiply({others.data(), count, values_}, panels.data(),
                         round_up(columns, kernels.columns) / kernels.columns, out.data(), stride(), scratch.data());
      },
      panels_);
}

float BlockProducts::largest_error(Precision precision) {
  // bfloat16 has 8 bits of mantissa, so rounding changes either factor of a product by at most 1/256 of itself; and the
  // absolute values of the products of two rows of length 1 sum to at most 1 (Cauchy, Schwarz).
  constexpr float kOfFp32 = 1e-5F, kOfBf16 = 2.0F / 256 + 1.0F / (256 * 256) + kOfFp32;
  return precision == Precision::kBf16 ? kOfBf16 : kOfFp32;
}

}  // namespace evener::engine::kernels
