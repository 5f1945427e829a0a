// What makes tensors and looks at them in another way: nothing of it is work for a stream, but for memory that grows.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <cstring>
#include <optional>

#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

c10::Device device_or_current(std::optional<c10::Device> device) {
  if (device && device->index() >= 0) return *device;
  return {kType, current_card()};
}

at::Tensor empty_late(c10::IntArrayRef size, std::optional<c10::ScalarType> type, std::optional<c10::Layout> /*layout*/,
                      std::optional<c10::Device> device, std::optional<bool> /*pinned*/,
                      std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(device_or_current(device));
  return at::detail::empty_generic(size, &memory(), kKeys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided_late(c10::IntArrayRef size, c10::IntArrayRef strides, std::optional<c10::ScalarType> type,
                              std::optional<c10::Layout> /*layout*/, std::optional<c10::Device> device,
                              std::optional<bool> /*pinned*/) {
  const c10::DeviceGuard guard(device_or_current(device));
  return at::detail::empty_strided_generic(size, strides, &memory(), kKeys, c10::dtype_or_default(type));
}

const at::Tensor& resize_late(const at::Tensor& self, c10::IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(self.device());
  c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  if (format && *format != c10::MemoryFormat::Preserve) impl->empty_tensor_restride(*format);
  const auto bytes = static_cast<std::size_t>((self.storage_offset() + self.numel()) * self.itemsize());
  const std::size_t before = self.storage().nbytes();
  if (bytes <= before) return self;
  c10::DataPtr grown = memory().allocate(bytes);
  if (before > 0) {
    stream_now(self.device().index())
        .queue([to = for_work(grown.get()), from = for_work(self.storage().data()), before] {
          std::memcpy(to, from, before);
        });
  }
  c10::StorageImpl* const storage = self.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(std::move(grown));
  storage->set_nbytes(bytes);
  return self;
}

void record_stream_late(at::Tensor& self, c10::Stream stream) {
  memory().recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

bool is_late(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kType;
}

at::Tensor alias_of(const at::Tensor& tensor) {
  const auto options = at::TensorOptions().dtype(tensor.scalar_type());
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  return at::from_blob(for_work(tensor.mutable_data_ptr()), tensor.sizes(), tensor.strides(), options);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty_late);
  library.impl("empty_strided", empty_strided_late);
  library.impl("resize_", resize_late);
  library.impl("record_stream", record_stream_late);
  library.impl("view", at::native::view);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("unfold", at::native::unfold);
}

}  // namespace made_up::late
