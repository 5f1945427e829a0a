// All other operators: the CPU's kernel, given to the current stream, on the card's memory. What a call returns has to
// be known before: the kernel is run on zeros of the same shapes for that.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "made_up/torch_device/late_device.h"

namespace made_up::late {
namespace {

using c10::IValue;
using torch::jit::Stack;

/// `value` with all of its tensors changed by `change`.
template <class Change>
IValue with_tensors(const IValue& value, const Change& change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& each : value.toTensorVector()) list.push_back(change(each));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& each : value.toOptionalTensorVector()) {
      list.push_back(each ? std::optional<at::Tensor>(change(*each)) : std::nullopt);
    }
    return list;
  }
  if (value.isDevice()) return c10::Device(c10::kCPU);
  return value;
}

template <class Change>
Stack with_tensors(const Stack& values, const Change& change) {
  Stack changed;
  for (const IValue& value : values) changed.push_back(with_tensors(value, change));
  return changed;
}

template <class Visit>
void for_each_tensor(const Stack& values, const Visit& visit) {
  for (const IValue& value : values) {
    with_tensors(value, [&](const at::Tensor& tensor) {
      visit(tensor);
      return tensor;
    });
  }
}

/// A number that the host has: a kernel takes it as it is when the call is made.
at::Tensor host_number(const at::Tensor& number) {
  at::Tensor kept = number.clone();
  kept.unsafeGetTensorImpl()->set_wrapped_number(number.unsafeGetTensorImpl()->is_wrapped_number());
  return kept;
}

at::Tensor zeros_as(const at::Tensor& tensor) {
  std::int64_t values = tensor.numel() == 0 ? 0 : 1;
  for (std::int64_t i = 0; i < tensor.dim() && values > 0; ++i) values += (tensor.size(i) - 1) * tensor.stride(i);
  return at::zeros({values}, at::TensorOptions().dtype(tensor.scalar_type()))
      .as_strided(tensor.sizes(), tensor.strides());
}

bool is_index_of_bools(const Stack& arguments) {
  bool found = false;
  for (const IValue& value : arguments) {
    if (!value.isOptionalTensorList()) continue;
    for (const auto& each : value.toOptionalTensorVector()) {
      found =
          found || (each && each->defined() && (each->scalar_type() == at::kBool || each->scalar_type() == at::kByte));
    }
  }
  return found;
}

/// Whether what comes out has a shape, or is a number, that only the values tell.
bool depends_on_values(const c10::OperatorHandle& op, const Stack& arguments) {
  static const std::set<std::string> known = {"aten::nonzero",          "aten::masked_select",      "aten::_unique2",
                                              "aten::unique_dim",       "aten::unique_consecutive", "aten::bincount",
                                              "aten::repeat_interleave"};
  if (known.contains(op.schema().name()) || is_index_of_bools(arguments)) return true;
  return std::ranges::any_of(op.schema().returns(), [](const c10::Argument& each) {
    return !each.type()->isSubtypeOf(*c10::TensorType::get()) && !each.type()->isSubtypeOf(*c10::ListType::ofTensors());
  });
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// The numbers of the out= tensors.
std::vector<std::size_t> outs_of(const c10::OperatorHandle& op, const Stack& arguments) {
  const auto& schema = op.schema().arguments();
  std::vector<std::size_t> outs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (schema[i].kwarg_only() && is_written(schema[i]) && arguments[i].isTensor()) outs.push_back(i);
  }
  return outs;
}

/// Whether there are out= tensors that are to be made as large as what comes out.
bool has_place_to_grow(const c10::OperatorHandle& op, const Stack& arguments) {
  return std::ranges::any_of(outs_of(op, arguments),
                             [&](std::size_t i) { return arguments[i].toTensor().numel() == 0; });
}

void grow(const c10::OperatorHandle& op, const Stack& arguments, const Stack& grown) {
  for (const std::size_t i : outs_of(op, arguments)) {
    const at::Tensor place = arguments[i].toTensor(), like = grown[i].toTensor();
    if (place.numel() != 0) continue;
    place.resize_(like.sizes());
    place.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides());
  }
}

/// The argument that a call hands back, in-place or as out=.
std::size_t argument_of(const c10::OperatorHandle& op, const c10::Argument& returned) {
  const auto& arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(arguments[i]) && *arguments[i].alias_info() == *returned.alias_info()) return i;
  }
  TORCH_CHECK(false, "the late device can't tell what ", op.schema().name(), " returns");
}

Stack call_on_cpu(const c10::OperatorHandle& op, Stack arguments) {
  const at::AutoDispatchBelowADInplaceOrView below;
  op.callBoxed(arguments);
  return arguments;
}

/// The tensors that a call's results are to be in, in their order.
std::vector<at::Tensor> tensors_of(const c10::OperatorHandle& op, const Stack& results) {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_written(op.schema().returns()[i])) continue;
    for_each_tensor({results[i]}, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  }
  return tensors;
}

void do_work(const c10::OperatorHandle& op, const Stack& arguments, const std::vector<at::Tensor>& places) {
  try {
    Stack own = arguments;
    const std::vector<std::size_t> outs = outs_of(op, arguments);
    // Some kernels change the size of theirs on the way.
    for (const std::size_t i : outs) own[i] = at::empty({0}, arguments[i].toTensor().options());
    const std::vector<at::Tensor> found = tensors_of(op, call_on_cpu(op, own));
    for (const std::size_t i : outs) arguments[i].toTensor().copy_(own[i].toTensor());
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].defined()) places[i].copy_(found.at(i));
    }
  } catch (const c10::Error& error) {
    const std::string text = "late device: " + op.schema().name() + " failed: " + error.what_without_backtrace() + "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
    std::abort();
  }
}

c10::DeviceIndex card_of_all(const c10::OperatorHandle& op, const Stack& arguments) {
  c10::DeviceIndex card = -1;
  for_each_tensor(arguments, [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (is_late(tensor)) {
      TORCH_CHECK(card < 0 || card == tensor.device().index(), op.schema().name(), ": tensors of two cards");
      card = tensor.device().index();
    } else {
      TORCH_CHECK(tensor.is_cpu() && tensor.dim() == 0, op.schema().name(), ": a tensor of the host among the card's");
    }
  });
  return card < 0 ? current_card() : card;
}

void call_late(const c10::OperatorHandle& op, Stack* stack) {
  const auto& schema = op.schema();
  const Stack arguments = torch::jit::pop(*stack, schema.arguments().size());
  const c10::DeviceIndex card = card_of_all(op, arguments);
  const c10::DeviceGuard guard(c10::Device(kType, card));
  Stream& stream = stream_now(card);
  const auto changed = [&](const auto& change) {
    return with_tensors(arguments, [&](const at::Tensor& tensor) {
      return !tensor.defined() ? tensor : is_late(tensor) ? change(tensor) : host_number(tensor);
    });
  };
  const bool at_once = depends_on_values(op, arguments);
  Stack results;
  const bool grows = has_place_to_grow(op, arguments);
  if (!at_once && (grows || !std::ranges::all_of(schema.returns(), is_written))) {
    const Stack like = changed(zeros_as);
    results = call_on_cpu(op, like);
    if (grows) grow(op, arguments, like);
  }
  const Stack aliases = changed(alias_of);
  if (at_once) {
    asked([&] { stream.wait(); });
    results = call_on_cpu(op, aliases);
  }
  std::vector<at::Tensor> places;
  Stack returned;
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    const c10::Argument& each = schema.returns()[i];
    if (is_written(each)) {
      returned.push_back(arguments[argument_of(op, each)]);
      continue;
    }
    TORCH_CHECK(each.alias_info() == nullptr, "the late device doesn't know ", schema.name(), ", which returns a view");
    returned.push_back(with_tensors(results.at(i), [&](const at::Tensor& found) {
      at::Tensor made;
      if (found.defined()) {
        made = at::empty_strided(found.sizes(), found.strides(),
                                 at::TensorOptions().dtype(found.scalar_type()).device(c10::Device(kType, card)));
      }
      places.push_back(made.defined() ? alias_of(made) : made);
      return made;
    }));
  }
  if (!at_once) {
    stream.queue([op, aliases, places] { do_work(op, aliases, places); });
  } else {
    const std::vector<at::Tensor> found = tensors_of(op, results);
    asked([&] { stream.wait(); });  // new memory is overwritten in the stream's order
    for (std::size_t i = 0; i < places.size(); ++i) places[i].copy_(found[i]);
  }
  for (IValue& value : returned) torch::jit::push_one(*stack, std::move(value));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&call_late>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  // LibTorch takes these apart for devices that it knows.
  library.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&call_late>());
  library.impl("convolution_backward", torch::CppFunction::makeFromBoxedFunction<&call_late>());
}

}  // namespace made_up::late
