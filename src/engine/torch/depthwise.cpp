#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <optional>
#include <vector>

#include "engine/kernels/depthwise_walk.h"
#include "engine/torch/batch_norm.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using kernels::DepthwiseShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

DepthwiseShape shape_of(const at::Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const auto extent = [&](std::int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
  return {x.size(0), x.size(1), x.size(2), x.size(3), extent(x.size(2)), extent(x.size(3)), kernel, stride, padding};
}

/// Reorders weights: (C, 1, K, K) -> (K * K, C), so that channels are contiguous.
at::Tensor taps_of(const at::Tensor& weight) {
  return weight.detach().reshape({weight.size(0), -1}).t().contiguous();
}

kernels::ChannelNorm channel_norm(const NormalizationPtr& norm) {
  return norm ? kernels::ChannelNorm{norm->scale.data(), norm->shift.data(), norm->clamp} : kernels::ChannelNorm{};
}

/// The convolution between its normalisations, as it was computed forward; the backward pass keeps it.
struct DepthwiseOrigin : torch::CustomClassHolder {
  DepthwiseShape shape{};
  NormalizationPtr before, after;  // null: there is none
};

/// The number of parts that the groups of output rows are divided into, one for each thread.
std::int64_t depthwise_parts(const DepthwiseShape& s) {
  const std::int64_t groups = kernels::depthwise_groups(s);
  return row_parts(groups, s.batch * s.out_height * s.out_width * s.channels / groups);
}

/// Computes the convolution's result, not yet normalised, and sets origin.before and origin.after.
template <class T>
at::Tensor convolved(const Rows<T>& in, const at::Tensor& x, const at::Tensor& taps, const BatchNormLayer* before,
                     const BatchNormLayer* after, DepthwiseOrigin& origin) {
  const DepthwiseShape& s = origin.shape;
  at::Tensor y = at::empty({s.batch, s.channels, s.out_height, s.out_width},
                           x.options().memory_format(at::MemoryFormat::ChannelsLast));
  if (before != nullptr) origin.before = normalization_of(x, *before);
  const Rows<T> out(y);
  kernels::DepthwiseForward<T> pass{s,        in.data, channel_norm(origin.before), taps.const_data_ptr<float>(),
                                    out.data, nullptr};
  const auto compute = [&](std::int64_t begin, std::int64_t end, double* sum, double* square_sum) {
    kernels::depthwise_forward(kernels_of<T>(), pass, begin, end, sum, square_sum);
  };
  const bool takes_moments = after != nullptr && after->training && !after->frozen;
  std::vector<float> pivot;
  if (takes_moments) {
    compute(0, 1, nullptr, nullptr);  // any value of the channel will do (batch_norm.cpp)
    const auto* const first = y.const_data_ptr<typename Rows<T>::Scalar>();
    pivot.assign(first, first + s.channels);
    pass.pivot = pivot.data();
  }
  const std::int64_t groups = kernels::depthwise_groups(s), parts = depthwise_parts(s);
  std::vector<ChannelSums> sums(static_cast<std::size_t>(parts), ChannelSums(s.channels));
  for_row_parts(groups, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    ChannelSums& own = sums[static_cast<std::size_t>(part)];
    compute(begin, end, own.first.data(), own.second.data());
  });
  if (after == nullptr) return y;
  for (std::size_t part = 1; part < sums.size(); ++part) sums[0] += sums[part];
  origin.after = takes_moments ? batch_normalization(sums[0], pivot, out.rows, *after) : running_normalization(*after);
  return y;
}

struct DepthwiseGradients {
  at::Tensor x, weight;
  NormGradients before, after;
};

/// One part's sums.
struct Part {
  ChannelSums before;
  std::vector<double> weight;
};

template <class T>
DepthwiseGradients gradients_of(const DepthwiseOrigin& origin, const Rows<T>& in, const at::Tensor& x,
                                const at::Tensor& y, const at::Tensor& dy, const at::Tensor& taps) {
  const DepthwiseShape& s = origin.shape;
  DepthwiseGradients gradients;
  gradients.x = at::empty_like(x);
  const at::Tensor flipped = taps.flip(0);
  const Rows<T> out_gradient(dy), in_gradient(gradients.x);
  kernels::DepthwiseBackward<T> pass{
      .shape = s,
      .x = in.data,
      .before = channel_norm(origin.before),
      .mean = origin.before ? origin.before->mean.data() : nullptr,
      .weight = taps.const_data_ptr<float>(),
      .flipped = flipped.const_data_ptr<float>(),
      .y = nullptr,
      .after = channel_norm(origin.after),
      .slope = nullptr,
      .offset = nullptr,
      .dy = out_gradient.data,
      .dx = in_gradient.data,
  };
  if (origin.after) {
    const Normalization& norm = *origin.after;
    pass.y = Rows<T>(y).data;
    const kernels::NormBackward<T> backward{pass.y,     nullptr,           pass.dy,           out_gradient.rows,
                                            s.channels, norm.scale.data(), norm.shift.data(), norm.clamp};
    gradients.after = gradients_of(norm, gradient_sums<T>(backward, norm, nullptr));
    pass.slope = gradients.after.slope.data();
    pass.offset = gradients.after.offset.data();
  }
  std::vector<Part> parts(static_cast<std::size_t>(depthwise_parts(s)));
  for_row_parts(kernels::depthwise_groups(s), static_cast<std::int64_t>(parts.size()),
                [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
                  Part& own = parts[static_cast<std::size_t>(part)];
                  own = {ChannelSums(s.channels), std::vector<double>(static_cast<std::size_t>(taps.numel()))};
                  kernels::depthwise_backward(kernels_of<T>(), pass, begin, end, own.weight.data(),
                                              own.before.first.data(), own.before.second.data());
                });
  Part& sums = parts.front();
  for (std::size_t part = 1; part < parts.size(); ++part) {
    sums.before += parts[part].before;
    for (std::size_t i = 0; i < sums.weight.size(); ++i) sums.weight[i] += parts[part].weight[i];
  }
  gradients.weight = at::from_blob(sums.weight.data(), {taps.size(0), taps.size(1)}, at::kDouble)
                         .to(at::kFloat)
                         .t()
                         .reshape({s.channels, 1, s.kernel, s.kernel});
  if (origin.before) {  // what its clamp let pass lies in dx
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const Normalization& norm = *origin.before;
    gradients.before = gradients_of(norm, sums.before);
    const kernels::NormBackward<T> backward{in.data,     nullptr,           in_gradient.data,  in.rows,
                                            in.channels, norm.scale.data(), norm.shift.data(), {-kInfinity, kInfinity}};
    input_gradient<T>(backward, norm, gradients.before, in_gradient.data);
  }
  return gradients;
}

class DepthwiseFunction : public torch::autograd::Function<DepthwiseFunction> {
 public:
  /// The tensors after `weight` are those of `before` and `after` that are trained, for autograd.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& /*before_weight*/,
                            const std::optional<at::Tensor>& /*before_bias*/,
                            const std::optional<at::Tensor>& /*after_weight*/,
                            const std::optional<at::Tensor>& /*after_bias*/, const network::Conv2d& op,
                            const BatchNormLayer* before, const BatchNormLayer* after) {
    const at::Tensor taps = taps_of(weight);
    auto origin = c10::make_intrusive<DepthwiseOrigin>();
    origin->shape = shape_of(x, op.kernel.height, op.stride.height, op.padding.height);
    at::Tensor y = with_rows(x, [&](const auto& in) { return convolved(in, x, taps, before, after, *origin); });
    ctx->saved_data["origin"] = at::IValue::make_capsule(origin);
    if (after == nullptr) {
      ctx->save_for_backward({x, at::Tensor(), taps});
      return y;
    }
    ctx->save_for_backward({x, y, taps});
    return normalized(y, {}, *origin->after);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const auto origin = c10::static_intrusive_pointer_cast<DepthwiseOrigin>(ctx->saved_data["origin"].toCapsule());
    const at::Tensor& x = saved[0];
    const at::Tensor dy = as_rows(grads[0], x);
    const DepthwiseGradients found =
        with_rows(x, [&](const auto& in) { return gradients_of(*origin, in, x, saved[1], dy, saved[2]); });
    return {found.x, found.weight, found.before.weight, found.before.bias, found.after.weight, found.after.bias, {}, {},
            {}};
  }
};

}  // namespace

at::Tensor depthwise_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                                 const BatchNormLayer* before, const BatchNormLayer* after) {
  // LibTorch asks an undefined tensor for its device, an absent one not.
  const auto weight_of = [](const BatchNormLayer* norm) {
    return norm != nullptr ? std::optional(norm->weight) : std::nullopt;
  };
  const auto bias_of = [](const BatchNormLayer* norm) {
    return norm != nullptr ? std::optional(norm->bias) : std::nullopt;
  };
  return DepthwiseFunction::apply(x, weight, weight_of(before), bias_of(before), weight_of(after), bias_of(after), op,
                                  before, after);
}

}  // namespace evener::engine::torch_engine
