// Copies, which go on after the call where CUDA's do: within the card, and between the card and pinned memory if they
// were asked not to block. A copy from pinned memory reads it when its turn has come.
#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

/// Without an order to change or a type to convert.
bool is_plain_copy(const at::Tensor& to, const at::Tensor& from) {
  return to.scalar_type() == from.scalar_type() && to.sizes() == from.sizes() && to.strides() == from.strides() &&
         to.is_non_overlapping_and_dense();
}

void queue_copy(Stream& stream, const at::Tensor& to, const at::Tensor& from) {
  stream.queue([to, from] {
    const at::AutoDispatchBelowADInplaceOrView below;
    to.copy_(from);
  });
}

/// Between cards both of their streams wait for each other, as CUDA's do.
void copy_within(const at::Tensor& to, const at::Tensor& from) {
  Stream& reader = stream_now(from.device().index());
  Stream& writer = stream_now(to.device().index());
  const bool other_card = &reader != &writer;
  if (other_card) {
    Event free;
    free.record(writer);
    free.hold_back(reader);
  }
  queue_copy(reader, alias_of(to), alias_of(from));
  if (other_card) {
    Event done;
    done.record(reader);
    done.hold_back(writer);
  }
}

/// A host tensor's memory as it is, for work that happens later. It keeps nothing alive.
at::Tensor unowned(const at::Tensor& host) {
  return at::from_blob(host.mutable_data_ptr(), host.sizes(), host.strides(),
                       at::TensorOptions().dtype(host.scalar_type()));
}

void copy_to_card(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  Stream& stream = stream_now(to.device().index());
  if (non_blocking && is_plain_copy(to, from) && is_pinned(from.const_data_ptr())) {
    use_pinned(from.const_data_ptr(), stream);
    queue_copy(stream, alias_of(to), unowned(from));
    return;
  }
  TORCH_CHECK(!stream.is_recorded(), "a copy from pageable memory can't be recorded");
  queue_copy(stream, alias_of(to), from.to(to.scalar_type(), /*non_blocking=*/false, /*copy=*/true));
  if (!non_blocking) stream.wait();
}

void copy_to_host(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  Stream& stream = stream_now(from.device().index());
  if (is_plain_copy(to, from) && is_pinned(to.const_data_ptr())) {
    use_pinned(to.const_data_ptr(), stream);
    queue_copy(stream, unowned(to), alias_of(from));
    if (!non_blocking) stream.wait();
    return;
  }
  const at::Tensor landed = at::empty_like(to, at::TensorOptions().dtype(from.scalar_type()));
  queue_copy(stream, landed, alias_of(from));
  stream.wait();
  to.copy_(landed);
}

at::Tensor copy_from_late(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  if (to.numel() == 0) return to;
  const at::Tensor from = self.expand(to.sizes());
  asked([&] {
    if (!is_late(to)) {
      copy_to_host(to, from, non_blocking);
    } else if (!is_late(from)) {
      copy_to_card(to, from, non_blocking);
    } else {
      copy_within(to, from);
    }
  });
  return to;
}

at::Tensor copy_from_and_resize_late(const at::Tensor& self, const at::Tensor& to) {
  to.resize_(self.sizes());
  return copy_from_late(self, to, false);
}

/// item(): waits for all that the stream has to do.
at::Scalar local_scalar_late(const at::Tensor& self) {
  const at::Tensor host = at::empty(self.sizes(), at::TensorOptions().dtype(self.scalar_type()));
  copy_from_late(self, host, false);
  return host.item();
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_copy_from", copy_from_late);
  library.impl("_copy_from_and_resize", copy_from_and_resize_late);
  library.impl("_local_scalar_dense", local_scalar_late);
}

}  // namespace made_up::late
