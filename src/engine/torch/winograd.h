// 3x3 convolutions on our own Winograd kernels (engine/kernels/winograd.h), for channels-last images in float32 or
// bfloat16; weights, and all between reading and writing images, are float32.
#pragma once

#include <ATen/ATen.h>

#include "engine/kernels/kernels.h"
#include "engine/torch/later_gradients.h"
#include "engine/trainer_options.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// Whether winograd_convolution can compute a layer that reads images of this shape (C, H, W): 3x3, stride 1, the same
/// padding of at most 2 along all edges, neither groups nor a bias, channels in multiples of 16.
bool winograd_supported(const network::Conv2d& op, const network::Shape& input);

/// Whether Winograd's kernels can be faster for images of this type. They can't for bfloat16 where the processor has
/// instructions for its products, which do at least twice as many at a time as those of float32, in tiles (AMX) sixteen
/// times.
bool winograd_pays_in(at::ScalarType type);

/// Whether a layer uses Winograd's kernels for `batch` images of `type`. kAuto uses them where winograd_pays_in(type)
/// and they were faster than LibTorch's on every processor tried: with 32 to 256 channels, images that fill their tiles
/// well enough to save three multiplications in five, and at least a hundred tiles, to make up for transforming the
/// weights. With fewer channels the transforms outweigh the products; with more the transformed weights exceed any
/// second-level cache.
bool takes_winograd(const network::Conv2d& op, const network::Shape& input, std::int64_t batch, at::ScalarType type,
                    ConvolutionChoice choice);

/// `x` (N, C, H, W) in float32 or bfloat16, channels-last, as is the result; `weight` (O, C, 3, 3) in float32.
/// Differentiable; `later`, unless null, is given the gradient of the weight, which is its only parameter.
at::Tensor winograd_convolution(const at::Tensor& x, const at::Tensor& weight, std::int64_t padding,
                                const LaterParametersPtr& later = {});

/// The operations fused after a convolution: y = clamp(convolution + bias + residual).
struct WinogradRest {
  at::Tensor bias;           // (O); undefined = none
  at::Tensor residual = {};  // as y, channels-last; undefined = none
  kernels::Clamp clamp;
};

/// Transforms `weight` (O, C, 3, 3) for winograd_inference(): the result has four times as many values.
at::Tensor winograd_weights(const at::Tensor& weight);
/// A convolution with weights that were transformed before, without gradients; `x` as above.
at::Tensor winograd_inference(const at::Tensor& x, const at::Tensor& transformed, std::int64_t out_channels,
                              std::int64_t padding, const WinogradRest& rest);

}  // namespace evener::engine::torch_engine
