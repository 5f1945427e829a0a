#include "engine/torch/trainer.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/phase.h"
#include "base/precision.h"
#include "engine/torch/device.h"
#include "engine/torch/formats.h"
#include "engine/torch/loss.h"

namespace evener::engine::torch_engine {
namespace {

constexpr const char* kLossScale = "optimizer.loss_scale";

/// LibTorch keeps one number of threads for the process, which every thread takes over when it first asks for it. Asked
/// for here, it can't replace this thread's own number later, when another replica has set another one.
void use_threads(int threads) {
  at::internal::lazy_init_num_threads();  // as this module sees it,
  at::get_num_threads();                  // and as LibTorch does
  at::set_num_threads(threads);
}

GraphOptions graph_options(const network::Network& network, const TrainerOptions& options) {
  const at::Device device = torch_device(options.device);
  const at::MemoryFormat format = memory_format(network, options);
  const bool own_kernels = device.is_cpu() && !options.like_accelerator && format == at::MemoryFormat::ChannelsLast;
  return {device, compute_type(options), format, own_kernels};
}

at::Tensor along_channels(const std::vector<float>& values, at::Device device) {
  return at::tensor(values, at::kFloat).view({1, -1, 1, 1}).to(device);
}

/// LibTorch's exceptions carry a C++ stack; users get the first line of the reason.
template <class Body>
auto with_errors(const network::Network& network, const TrainerOptions& options, std::int64_t images,
                 const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
        text.find("can't allocate memory") != std::string::npos) {
      throw OutOfMemory(out_of_memory_text(network, options.precision, torch_device(options.device), images, text));
    }
    throw Error("LibTorch: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace

TorchTrainer::TorchTrainer(const network::Network& network, const TrainerOptions& options)
    : options_(options),
      streams_(torch_device(options.device)),
      ahead_(options.device.kind != DeviceKind::kCpu || options.like_accelerator),
      graph_([&] {
        const WorkingIn compute(streams_.compute());
        return Graph(network, graph_options(network, options));
      }()),
      replicas_{options.sum_over_replicas},
      synchronised_(is_synchronised(network, options)),
      normalization_(make_normalization(options.mean, options.standard_deviation, network.input_shape().front())),
      dropout_(dropout_layers(network)) {
  // Before the first parallel region: OpenMP's threads inherit the affinity of the thread that starts them.
  if (!options_.cpus.empty()) pin_this_thread(options_.cpus);
  use_threads(options_.threads);
  if (options_.device.kind == DeviceKind::kCuda) set_up_cuda(options_.precision);
  // The nodes that gradients are accumulated by work in the stream in which they were made.
  const WorkingIn compute(streams_.compute());
  const auto& parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].trained) continue;
    trained_names_.push_back(parameters[i].name);
    trained_.push_back(graph_.tensors()[i]);
  }
  handed_out_.assign(trained_.size(), 0);
  if (!options_.shared.bytes.empty()) share_parameters();
  optimizer_ = std::make_unique<Optimizer>(trained_names_, trained_, options_.optimizer, shared_.get());
  if (options_.precision == Precision::kFp16) scaler_ = std::make_unique<LossScaler>(graph_.device());
  watch_gradients();
  if (ahead_) drive_device();
}

/// What is under way needs what is about to go.
TorchTrainer::~TorchTrainer() {
  try {
    settle();
  } catch (const Error&) {  // of a device that failed before
  }
}

void TorchTrainer::share_parameters() {
  shared_ = std::make_unique<SharedParameters>(options_.shared, trained_, slot_suffixes(options_.optimizer).size());
  shared_gradients_ = shared_->gradients();
  const std::vector<at::Tensor> values = shared_->values();
  for (std::size_t i = 0; i < trained_.size(); ++i) trained_[i].set_data(values[i]);
}

void TorchTrainer::drive_device() {
  scale_ = along_channels(normalization_.scale, graph_.device());
  shift_ = along_channels(normalization_.shift, graph_.device());
  feed_ = std::make_unique<Feed>(streams_, options_.resident, dropout_, options_.seed);
  host_gradients_ = std::make_unique<HostGradients>(streams_, trained_, host_memory_format(graph_.network(), options_));
  StepWork work;
  work.forward = [this](const BatchTensors& batch) {
    const Found found = forward(batch, /*training=*/true);
    return StepWork::Found{found.loss, found.logits.detach().argmax(1).eq(found.labels).sum()};
  };
  work.backward = [this](const at::Tensor& loss, const at::Tensor& weight) {
    clear_gradients();
    backward(loss, weight);
  };
  work.update = [this](const at::Tensor& rate, const at::Tensor& stopped) { update_unseen(rate, stopped); };
  const bool cuda = options_.device.kind == DeviceKind::kCuda;
  whole_steps_ = std::make_unique<WholeSteps>(
      streams_, *feed_, std::move(work), step_graph_refusal({options_.step_graph, cuda || options_.like_accelerator}),
      [cuda] { return cuda ? cuda_parts().make_step_graph() : make_repeated_step(); });
}

at::Tensor TorchTrainer::loss_of(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& second_labels,
                                 const at::Tensor& first_part, bool training) const {
  const double smoothing = training ? options_.label_smoothing : 0;
  if (!first_part.defined()) return loss_sum(options_.loss, smoothing, logits, labels);
  return mixed_loss_sum(options_.loss, smoothing, logits, labels, second_labels, first_part);
}

TorchTrainer::Found TorchTrainer::forward(const BatchTensors& batch, bool training) {
  const at::Tensor input = normalized_images(feed_->images_of(batch), scale_, shift_, graph_.format());
  const at::Tensor logits = graph_.forward(input, training, batch.masks, synchronised_ ? &replicas_ : nullptr);
  return {logits, loss_of(logits, batch.labels, batch.second_labels, batch.label_weights, training), batch.labels};
}

TorchTrainer::Found TorchTrainer::forward_on_host(const data::Batch& batch, bool training) {
  DropoutMasks masks;
  if (training) masks = draw_masks(dropout_, {options_.seed, batch.epoch, batch.samples});
  const at::Tensor labels = to_labels(batch);
  const at::Tensor logits = graph_.forward(to_input(batch, normalization_, graph_.format()), training, masks,
                                           synchronised_ ? &replicas_ : nullptr);
  at::Tensor second_labels, first_part;
  if (const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets)) {
    second_labels = to_tensor(mixed->second_labels);
    first_part = to_tensor(mixed->label_weights);
  }
  return {logits, loss_of(logits, labels, second_labels, first_part, training), labels};
}

void TorchTrainer::backward(const at::Tensor& loss, const at::Tensor& weight) {
  torch::autograd::backward({loss}, {scaler_ ? weight * scaler_->scale() : weight.clone()});
}

BatchResult TorchTrainer::add_gradients(const data::Batch& batch, double weight) {
  const WorkingIn compute(streams_.compute());
  replicas_.absent = batch.count == 0;
  if (!replicas_.absent) return train_on(batch, weight);
  synchronised_ ? train_on_nothing(batch.epoch) : add_nothing();
  return {};
}

void TorchTrainer::add_nothing() {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    at::Tensor& gradient = trained_[i].mutable_grad();
    if (!gradient.defined()) gradient = at::zeros_like(trained_[i].detach());
    gradient_computed(i);
  }
  tell_ready();
}

/// Takes part in the sums of a batch that has no samples for this replica. A pass over one blank image meets the
/// batch-norm layers in the order of the other replicas, also where autograd chooses between branches.
void TorchTrainer::train_on_nothing(std::uint64_t epoch) {
  const auto& input = graph_.network().input_shape();
  const data::ImageShape shape{input.at(0), input.at(1), input.at(2)};
  const std::vector<std::uint8_t> image(shape.bytes(), 0);
  const std::vector<std::int32_t> label(1, 0);
  const std::vector<std::uint32_t> sample(1, 0);
  train_on({1, shape, image, data::ClassTargets{label}, sample, epoch}, 0);
}

BatchResult TorchTrainer::train_on(const data::Batch& batch, double weight) {
  return with_errors(graph_.network(), options_, batch.count, [&] {
    if (ahead_) return train_device_on(batch, weight);
    Found found;
    {
      const PhaseMark mark(Phase::kForward);
      found = forward_on_host(batch, /*training=*/true);
    }
    const PhaseMark mark(Phase::kBackward);
    backward(found.loss, at::scalar_tensor(weight, at::kFloat));
    return result_of(found.loss, found.logits.detach().argmax(1), found.labels);
  });
}

/// With the results at once, for those who exchange them.
BatchResult TorchTrainer::train_device_on(const data::Batch& batch, double weight) {
  Feed::Slot& slot = feed_->put(batch, /*training=*/true, /*learning_rate=*/0, weight);
  const BatchTensors& tensors = slot.batch;
  Found found;
  {
    const PhaseMark mark(Phase::kForward);
    found = forward(tensors, /*training=*/true);
  }
  const PhaseMark mark(Phase::kBackward);
  backward(found.loss, tensors.numbers[1]);
  feed_->release(slot);
  tell_ready();
  return result_of(found.loss, found.logits.detach().argmax(1), found.labels);
}

StepReport TorchTrainer::step(const data::Batch& batch, double weight, double learning_rate) {
  if (!whole_steps_ || gradient_ready_ || synchronised_ || batch.count == 0) {
    return Trainer::step(batch, weight, learning_rate);
  }
  const WorkingIn compute(streams_.compute());
  return with_errors(graph_.network(), options_, batch.count,
                     [&] { return whole_steps_->run(batch, weight, learning_rate); });
}

StepReport TorchTrainer::settle() {
  if (!whole_steps_) return {};
  return with_errors(graph_.network(), options_, 0, [&] { return whole_steps_->settle(); });
}

DeviceReport TorchTrainer::report() const {
  DeviceReport report;
  if (scaler_) report.skipped_steps = scaler_->skipped();
  if (!ahead_) return report;
  report.peak_memory_bytes = peak_memory_bytes(graph_.device());
  report.step_phases_s = whole_steps_->phases_s();
  const std::string refusal =
      step_graph_refusal({options_.step_graph, true, gradient_ready_ != nullptr, synchronised_});
  const std::string note = whole_steps_->note();
  if (!note.empty()) {
    report.notes.push_back(note);
  } else if (!refusal.empty()) {
    report.notes.push_back("steps were started kernel by kernel: " + refusal);
  }
  return report;
}

void TorchTrainer::swap_average() {
  const WorkingIn compute(streams_.compute());
  optimizer_->swap_average();
}

BatchResult TorchTrainer::evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) {
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  const WorkingIn compute(streams_.compute());
  const c10::NoGradGuard no_grad;
  return with_errors(graph_.network(), options_, batch.count, [&] {
    Found found;
    if (ahead_) {
      Feed::Slot& slot = feed_->put(batch, /*training=*/false, 0, 0);
      found = forward(slot.batch, /*training=*/false);
      const BatchResult result = append_found(found.logits, found.loss, found.labels, predicted);
      feed_->release(slot);
      return result;
    }
    found = forward_on_host(batch, /*training=*/false);
    return append_found(found.logits, found.loss, found.labels, predicted);
  });
}

TensorMap TorchTrainer::state() const {
  const WorkingIn compute(streams_.compute());
  TensorMap map;
  const auto& parameters = graph_.network().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) map.emplace(parameters[i].name, to_host(graph_.tensors()[i]));
  return map;
}

void TorchTrainer::load_state(const TensorMap& state) {
  const WorkingIn compute(streams_.compute());
  if (whole_steps_) whole_steps_->restart();
  const auto& parameters = graph_.network().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = state.find(parameters[i].name);
    if (found == state.end()) throw Error("the weights have no tensor '" + parameters[i].name + "'");
    if (shared_ && shared_->follows() && parameters[i].trained) continue;  // others use them, and replica 0 loads them
    copy_from_host(found->second, found->first, graph_.tensors()[i]);
  }
}

TensorMap TorchTrainer::optimizer_state() const {
  const WorkingIn compute(streams_.compute());
  TensorMap map = optimizer_->state();
  if (scaler_) map.emplace(kLossScale, to_host(scaler_->state()));
  return map;
}

void TorchTrainer::load_optimizer_state(const TensorMap& state) {
  const WorkingIn compute(streams_.compute());
  optimizer_->load_state(state);
  const auto found = state.find(kLossScale);
  if (!scaler_ || found == state.end()) return;
  at::Tensor values = at::empty({3}, at::kFloat);
  copy_from_host(found->second, kLossScale, values);
  scaler_->load_state(values);
}

}  // namespace evener::engine::torch_engine
