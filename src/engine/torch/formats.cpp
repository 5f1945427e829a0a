#include "engine/torch/formats.h"

#include <algorithm>
#include <variant>

#include "base/precision.h"
#include "engine/torch/device.h"

namespace evener::engine::torch_engine {
namespace {

template <class Op>
bool has(const network::Network& network) {
  return std::any_of(network.layers().begin(), network.layers().end(),
                     [](const auto& layer) { return std::holds_alternative<Op>(layer.op); });
}

/// The number type of convolutions and matrix products.
at::ScalarType compute_type(const TrainerOptions& options) {
  switch (computed_precision(options.precision, options.device.kind)) {
    case Precision::kFp32:
    case Precision::kTf32:
      break;
    case Precision::kBf16:
      return at::kBFloat16;
    case Precision::kFp16:
      return at::kHalf;
  }
  return at::kFloat;
}

/// The memory format of images, activations and convolution weights on the trainer's device.
at::MemoryFormat memory_format(const network::Network& network, const TrainerOptions& options) {
  // Tensor cores are fastest with channels last; cuDNN's float32 convolutions with channels first.
  const bool planes = options.device.kind == DeviceKind::kCuda && options.torch.layout == MemoryLayout::kAuto &&
                      options.precision == Precision::kFp32;
  return planes ? at::MemoryFormat::Contiguous : host_memory_format(network, options);
}

}  // namespace

bool is_synchronised(const network::Network& network, const TrainerOptions& options) {
  return options.sum_over_replicas && has<network::BatchNorm>(network);
}

at::MemoryFormat host_memory_format(const network::Network& network, const TrainerOptions& options) {
  if (options.torch.layout == MemoryLayout::kChannelsFirst) return at::MemoryFormat::Contiguous;
  // On the CPU only our own batch-norm can synchronise replicas, and it needs channels last.
  const bool last = has<network::Conv2d>(network) || is_synchronised(network, options);
  return last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

GraphOptions graph_options(const network::Network& network, const TrainerOptions& options) {
  const at::Device device = torch_device(options.device);
  const at::MemoryFormat format = memory_format(network, options);
  const bool own_kernels =
      device.is_cpu() && !options.torch.like_accelerator && format == at::MemoryFormat::ChannelsLast;
  const bool keeps_weights = own_kernels && options.stage.is_part() && options.stage.micro_batches > 1;
  return {device, compute_type(options), format, own_kernels, options.torch.convolution, keeps_weights};
}

std::string replica_refusal(const network::Network& network, const TrainerOptions& options) {
  if (options.device.kind != DeviceKind::kCpu || !is_synchronised(network, options) ||
      options.torch.layout != MemoryLayout::kChannelsFirst) {
    return {};
  }
  return "batch-norm over all replicas is made for images with their channels last: '" + network.model() +
         "' needs --layout nhwc or auto here, not nchw";
}

}  // namespace evener::engine::torch_engine
