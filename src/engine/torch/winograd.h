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

/// Whether they can be faster for images of this type: not for bfloat16 where the processor has products of them, which
/// are at least twice as many at a time, in tiles (AMX) sixteen times.
bool winograd_pays_in(at::ScalarType type);

/// Whether a layer is to take them for `batch` images of `type`. kAuto takes them where winograd_pays_in(type) and they
/// were faster than LibTorch's on every processor tried: 32 to 256 channels, images that fill their tiles well enough
/// to save three multiplications in five, and a hundred tiles in all, for which transforming the weights pays. Fewer
/// channels leave the products too little to do beside the transforms; the transformed weights of more are larger than
/// any second-level cache.
bool takes_winograd(const network::Conv2d& op, const network::Shape& input, std::int64_t batch, at::ScalarType type,
                    ConvolutionChoice choice);

/// `x` (N, C, H, W) in float32 or bfloat16, channels-last, as is the result; `weight` (O, C, 3, 3) in float32.
/// Differentiable; `later`, unless null, is given the gradient of the weight, which is its only parameter.
at::Tensor winograd_convolution(const at::Tensor& x, const at::Tensor& weight, std::int64_t padding,
                                const LaterParametersPtr& later = {});

/// What follows a convolution in the same pass: y = clamp(convolution + bias + residual).
struct WinogradRest {
  at::Tensor bias;           // (O); undefined = none
  at::Tensor residual = {};  // as y, channels-last; undefined = none
  kernels::Clamp clamp;
};

/// `weight` (O, C, 3, 3) as winograd_inference takes it: four times as many values.
at::Tensor winograd_weights(const at::Tensor& weight);
/// A convolution with weights that were transformed before, without gradients; `x` as above.
at::Tensor winograd_inference(const at::Tensor& x, const at::Tensor& transformed, std::int64_t out_channels,
                              std::int64_t padding, const WinogradRest& rest);

}  // namespace evener::engine::torch_engine
