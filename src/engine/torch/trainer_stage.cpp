// The trainer of one stage of a network: activations go from each stage to the next, gradients the other way.
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "engine/torch/device.h"
#include "engine/torch/host_memory.h"
#include "engine/torch/trainer.h"

namespace evener::engine::torch_engine {
namespace {

/// A tensor (N, shape) that views the memory of `values`.
at::Tensor tensor_on(const StageValues& values, const network::Shape& shape, std::int64_t samples) {
  std::vector<std::int64_t> sizes = {samples};
  const bool image = shape.size() == 3;
  if (image) {
    sizes.insert(sizes.end(), {shape[1], shape[2], shape[0]});
  } else {
    sizes.insert(sizes.end(), shape.begin(), shape.end());
  }
  if (element_count(sizes) != static_cast<std::int64_t>(values.values.size())) {
    throw Error("a stage was sent " + std::to_string(values.values.size()) + " values for " + shape_text(sizes));
  }
  at::Tensor tensor = at::from_blob(
      values.values.data(), sizes, [owner = values.owner](void*) {}, at::TensorOptions().dtype(at::kFloat));
  return image ? tensor.permute({0, 3, 1, 2}) : tensor;
}

/// The values of a tensor in host memory: the tensor's own memory if that has the right order, otherwise a copy. Waits
/// for the device.
StageValues stage_values_of(const at::Tensor& tensor) {
  const bool image = tensor.dim() == 4;
  const at::Tensor ordered = image ? tensor.detach().permute({0, 2, 3, 1}) : tensor.detach();
  auto kept = std::make_shared<at::Tensor>(ordered.to(at::kFloat).contiguous());
  if (!kept->is_cpu()) {
    const at::Tensor host = at::empty(kept->sizes(), at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    *kept = host.copy_(*kept);
  }
  return {{kept->mutable_data_ptr<float>(), static_cast<std::size_t>(kept->numel())}, kept};
}

std::vector<StageValues> values_of_all(const std::vector<at::Tensor>& tensors) {
  std::vector<StageValues> values;
  for (const at::Tensor& tensor : tensors) values.push_back(stage_values_of(tensor));
  return values;
}

void bring(at::Tensor& tensor, at::Device device) {
  if (tensor.defined()) tensor = tensor.to(device);
}

}  // namespace

/// The input of the first stage, made of a part's images.
at::Tensor TorchTrainer::stage_input(const data::Batch& part) const {
  if (!ahead_) return to_input(part, pixel_scale_, graph_.format());
  const auto pixels = at::from_blob(const_cast<std::uint8_t*>(part.images.data()),
                                    {part.count, part.shape.channels, part.shape.height, part.shape.width}, at::kByte);
  return normalized_images(pixels.to(graph_.device()), scale_, shift_, graph_.format());
}

/// The targets of a part, for the last stage's criterion.
TargetTensors TorchTrainer::stage_targets(const data::Batch& part) const {
  TargetTensors targets = class_targets(part);
  for (at::Tensor* each : {&targets.labels, &targets.second_labels, &targets.label_weights})
    bring(*each, graph_.device());
  return targets;
}

TorchTrainer::StagePass TorchTrainer::pass_stage(const data::Batch& part, std::vector<StageValues> received,
                                                 bool training) {
  const network::Network& network = graph_.network();
  StagePass pass;
  if (options_.stage.is_first()) {
    pass.outputs.push_back(stage_input(part));
  } else {
    const std::vector<int> inputs = network.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const network::Shape& shape = network.layers()[static_cast<std::size_t>(inputs[i])].shape;
      at::Tensor input = tensor_on(received.at(i), shape, part.count).to(graph_.device());
      if (shape.size() == 3) input = input.contiguous(graph_.format());
      pass.inputs.push_back(input.set_requires_grad(training));
    }
    pass.outputs = pass.inputs;
  }
  DropoutMasks masks = training ? draw_masks(dropout_, {options_.seed, part.epoch, part.samples}) : DropoutMasks();
  for (auto& [layer, mask] : masks) bring(mask, graph_.device());
  if (training && options_.stage.splits_backward) pass.later = c10::make_intrusive<LaterGradients>();
  pass.outputs = graph_.forward_outputs(std::exchange(pass.outputs, {}), training, masks,
                                        synchronised_ ? &replicas_ : nullptr, step_watch_, pass.later.get());
  if (options_.stage.is_last()) pass.found = criterion_->compute(pass.outputs, stage_targets(part), training);
  return pass;
}

TrainsStage::Passed TorchTrainer::forward_stage(int micro_batch, const data::Batch& part,
                                                std::vector<StageValues> received) {
  const PhaseMark mark(Phase::kForward);
  const WorkingIn compute(streams_.compute());
  return with_trainer_errors(graph_.network(), options_, part.count, [&] {
    StagePass pass = pass_stage(part, std::move(received), /*training=*/true);
    Passed passed;
    if (options_.stage.is_last()) {
      passed.sums = read(pass.found, part.count, part);
      pass.outputs.clear();
    } else {
      passed.sent = values_of_all(pass.outputs);
    }
    under_way_.insert_or_assign(micro_batch, std::move(pass));
    return passed;
  });
}

std::vector<StageValues> TorchTrainer::backward_stage(int micro_batch, std::vector<StageValues> gradients,
                                                      double weight) {
  const PhaseMark mark(Phase::kBackward);
  const WorkingIn compute(streams_.compute());
  const StagePass pass = std::move(under_way(micro_batch, "backward"));
  under_way_.erase(micro_batch);
  if (pass.later) under_way_[micro_batch].later = pass.later;
  return with_trainer_errors(graph_.network(), options_, 0, [&] {
    std::vector<at::Tensor> roots, of_roots;
    if (options_.stage.is_last()) {
      roots.push_back(pass.found.loss);
      of_roots.push_back(at::scalar_tensor(weight, pass.found.loss.options()));
    }
    for (std::size_t i = 0; i < pass.outputs.size(); ++i) {
      const at::Tensor& output = pass.outputs[i];
      if (!output.requires_grad()) continue;  // nothing before it is trained
      network::Shape shape(output.sizes().begin() + 1, output.sizes().end());
      roots.push_back(output);
      of_roots.push_back(tensor_on(gradients.at(i), shape, output.size(0)).to(graph_.device()));
    }
    if (!roots.empty() && roots.front().requires_grad()) torch::autograd::backward(roots, of_roots);
    tell_ready();
    std::vector<at::Tensor> of_inputs;
    for (const at::Tensor& input : pass.inputs) {
      of_inputs.push_back(input.grad().defined() ? input.grad() : at::zeros_like(input));
    }
    return values_of_all(of_inputs);
  });
}

void TorchTrainer::weights_stage(int micro_batch) {
  const PhaseMark mark(Phase::kBackward);
  const WorkingIn compute(streams_.compute());
  const StagePass pass = std::move(under_way(micro_batch, "weights' gradients"));
  under_way_.erase(micro_batch);
  with_trainer_errors(graph_.network(), options_, 0, [&] {
    pass.later->add_up();
    tell_ready();
  });
}

void TorchTrainer::wait_for_stage() {
  if (!streams_.asynchronous()) return;
  Moment now(streams_);
  now.record(streams_.compute());
  now.wait();
}

TorchTrainer::StagePass& TorchTrainer::under_way(int micro_batch, const char* what) {
  const auto found = under_way_.find(micro_batch);
  if (found != under_way_.end()) return found->second;
  throw Error(std::string(what) + " of micro-batch " + std::to_string(micro_batch) + ", which has not passed forward");
}

std::int64_t TorchTrainer::peak_bytes() const {
  const std::optional<std::uint64_t> of_device = peak_memory_bytes(graph_.device());
  return of_device ? static_cast<std::int64_t>(*of_device) : peak_host_memory_bytes() - host_bytes_before_;
}

TrainsStage::Passed TorchTrainer::evaluate_stage(const data::Batch& part, std::vector<StageValues> received,
                                                 std::vector<std::int32_t>* predicted) {
  const PhaseMark mark(Phase::kEvaluate);
  const WorkingIn compute(streams_.compute());
  const c10::NoGradGuard no_grad;
  return with_trainer_errors(graph_.network(), options_, part.count, [&] {
    const StagePass pass = pass_stage(part, std::move(received), /*training=*/false);
    Passed passed;
    if (!options_.stage.is_last()) {
      passed.sent = values_of_all(pass.outputs);
      return passed;
    }
    if (predicted != nullptr) append_classes(pass.found.found, *predicted);
    passed.sums = criterion_->read(pass.found, part.count);
    return passed;
  });
}

}  // namespace evener::engine::torch_engine
