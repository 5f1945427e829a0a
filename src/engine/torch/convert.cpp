#include "engine/torch/convert.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace evener::engine::torch_engine {
namespace {

constexpr std::pair<DType, at::ScalarType> kTypes[] = {
    {DType::kU8, at::kByte},       {DType::kI8, at::kChar},  {DType::kI32, at::kInt},   {DType::kI64, at::kLong},
    {DType::kBF16, at::kBFloat16}, {DType::kF16, at::kHalf}, {DType::kF32, at::kFloat}, {DType::kF64, at::kDouble}};

at::ScalarType scalar_type(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  throw Error("tensor of an unknown type");
}

DType host_type(at::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  throw Error(std::string("tensor of a type that files can't hold: ") + at::toString(type));
}

/// Normalises one image from planar bytes to planar floats.
void normalize_planar(const std::uint8_t* in, float* out, std::int64_t plane, const PixelScale& map) {
  for (std::size_t c = 0; c < map.scale.size(); ++c) {
    const float scale = map.scale[c], shift = map.shift[c];
    for (std::int64_t i = 0; i < plane; ++i) out[i] = static_cast<float>(in[i]) * scale + shift;
    in += plane;
    out += plane;
  }
}

/// Normalises one image from planar bytes to interleaved floats.
void normalize_interleaved(const std::uint8_t* in, float* out, std::int64_t plane, const PixelScale& map) {
  const std::size_t channels = map.scale.size();
  for (std::size_t c = 0; c < channels; ++c) {
    const float scale = map.scale[c], shift = map.shift[c];
    for (std::int64_t i = 0; i < plane; ++i) {
      out[static_cast<std::size_t>(i) * channels + c] = static_cast<float>(in[i]) * scale + shift;
    }
    in += plane;
  }
}

template <class To, class From>
at::Tensor copied(std::span<const From> values, at::ScalarType type) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, type);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<To>());
  return tensor;
}

}  // namespace

HostTensor to_host(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().to(at::kCPU).contiguous();
  HostTensor host;
  host.dtype = host_type(dense.scalar_type());
  host.shape = dense.sizes().vec();
  host.bytes.resize(dense.nbytes());
  std::memcpy(host.bytes.data(), dense.const_data_ptr(), dense.nbytes());
  return host;
}

void copy_from_host(const HostTensor& host, const std::string& name, at::Tensor& tensor) {
  if (host.shape != tensor.sizes().vec()) {
    throw Error("tensor '" + name + "' is " + shape_text(host.shape) + ", the network needs " +
                shape_text(tensor.sizes().vec()));
  }
  const c10::NoGradGuard no_grad;
  tensor.copy_(at::from_blob(const_cast<std::byte*>(host.bytes.data()), host.shape, scalar_type(host.dtype)));
}

const HostTensor& tensor_of(const TensorMap& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw Error("the weights have no tensor '" + name + "'");
  return found->second;
}

at::Tensor along_channels(const std::vector<float>& values, at::Device device) {
  return at::tensor(values, at::kFloat).view({1, -1, 1, 1}).to(device);
}

at::Tensor to_input(const data::Batch& batch, const PixelScale& pixels, at::MemoryFormat format) {
  const auto& shape = batch.shape;
  at::Tensor input = at::empty({batch.count, shape.channels, shape.height, shape.width},
                               at::TensorOptions().dtype(at::kFloat).memory_format(format));
  const bool interleaved = format == at::MemoryFormat::ChannelsLast && shape.channels > 1;
  const std::int64_t plane = shape.height * shape.width;
  const std::int64_t image = shape.channels * plane;
  float* out = input.mutable_data_ptr<float>();
  const std::uint8_t* in = batch.images.data();
  // 64 Ki values are about the work for which waking another thread pays.
  const std::int64_t grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, image));
  at::parallel_for(0, batch.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      (interleaved ? normalize_interleaved : normalize_planar)(in + n * image, out + n * image, plane, pixels);
    }
  });
  return input;
}

void append_classes(const at::Tensor& found, std::vector<std::int32_t>& predicted) {
  const at::Tensor host = found.to(at::kCPU);
  const std::int64_t* classes = host.const_data_ptr<std::int64_t>();
  predicted.insert(predicted.end(), classes, classes + host.numel());
}

at::Tensor to_labels(const data::Batch& batch) {
  return to_tensor(data::class_labels(batch.targets));
}

at::Tensor to_tensor(std::span<const std::int32_t> labels) {
  return copied<std::int64_t>(labels, at::kLong);
}

at::Tensor to_tensor(std::span<const float> weights) {
  return copied<float>(weights, at::kFloat);
}

}  // namespace evener::engine::torch_engine
