#include "engine/torch/trainer.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/phase.h"
#include "engine/torch/device.h"
#include "engine/torch/graph.h"
#include "engine/torch/host_memory.h"

namespace evener::engine::torch_engine {
namespace {

constexpr const char* kLossScale = "optimizer.loss_scale";

std::unique_ptr<const BoxMatcher> make_matcher(const network::Network& network, const network::MultiBox& op) {
  const auto& input = network.input_shape();
  return std::make_unique<const BoxMatcher>(network.anchors(), input[2], input[1], network::detected_classes(network),
                                            op.least_overlap);
}

}  // namespace

TorchTrainer::TorchTrainer(const network::Network& network, const TrainerOptions& options)
    : options_(options),
      host_bytes_before_(host_memory_bytes()),
      streams_(torch_device(options.device)),
      ahead_(options.device.kind != DeviceKind::kCpu || options.torch.like_accelerator),
      waits_(streams_.asynchronous() && is_synchronised(network, options) && options.device_sums == nullptr
                 ? std::make_unique<const WaitingTrainer>(options.device)
                 : nullptr),
      graph_([&] {
        const WorkingIn compute(streams_.compute());
        return Graph(network, graph_options(network, options));
      }()),
      replicas_{.sum = options.sum_over_replicas},
      synchronised_(is_synchronised(network, options)),
      criterion_(options.stage.is_last() ? std::make_unique<TorchCriterion>(options.criterion, network) : nullptr),
      pixel_scale_(options.stage.is_first()
                       ? make_pixel_scale(options.mean, options.standard_deviation, network.input_shape().front())
                       : PixelScale()),
      dropout_(dropout_layers(network)) {
  if (options_.stage.is_part()) begin_peak_of_host_memory();
  if (const auto* boxes = network::boxes_term(options.criterion)) matcher_ = make_matcher(network, *boxes);
  use_threads(options_.threads, options_.cpus);
  if (streams_.asynchronous()) own_cpus_ = cpus_of_this_thread();
  if (options_.device.kind == DeviceKind::kCuda) {
    set_up_cuda(options_.precision, /*search=*/!options_.deterministic, options_.deterministic);
  }
  begin_peak_of_memory(graph_.device());
  // Autograd's accumulation nodes work on the stream on which they were created.
  const WorkingIn compute(streams_.compute());
  const auto& parameters = network.parameters();
  std::vector<double> rates;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].trained) continue;
    trained_names_.push_back(parameters[i].name);
    trained_.push_back(graph_.tensors()[i]);
    rates.push_back(parameters[i].rate);
  }
  handed_out_.assign(trained_.size(), 0);
  fetched_.assign(trained_.size(), 0);
  if (!options_.shared.bytes.empty()) share_parameters();
  optimizer_ = std::make_unique<Optimizer>(trained_names_, trained_, rates, options_.optimizer, shared_.get());
  if (options_.precision == Precision::kFp16) scaler_ = std::make_unique<LossScaler>(graph_.device());
  if (options_.device_sums != nullptr) exchange_by_devices();
  watch_gradients();
  if (ahead_) drive_device();
}

/// Waits for the device, whose work needs the members that are about to be destroyed.
TorchTrainer::~TorchTrainer() {
  try {
    settle_steps();
  } catch (const Error&) {  // the device failed before, and the error was thrown then
  }
}

void TorchTrainer::share_parameters() {
  shared_ = std::make_unique<SharedParameters>(options_.shared, trained_,
                                               static_cast<std::size_t>(optimizer_slots(options_.optimizer)));
  shared_gradients_ = shared_->gradients();
  const std::vector<at::Tensor> values = shared_->values();
  for (std::size_t i = 0; i < trained_.size(); ++i) trained_[i].set_data(values[i]);
}

void TorchTrainer::exchange_by_devices() {
  streams_.look_around_by([this] { options_.device_sums->require_whole(); });
  exchange_ = std::make_unique<DeviceExchange>(streams_, *options_.device_sums, trained_);
  replicas_.on_device = exchange_.get();
}

void TorchTrainer::drive_device() {
  if (options_.stage.is_first()) {
    scale_ = along_channels(pixel_scale_.scale, graph_.device());
    shift_ = along_channels(pixel_scale_.shift, graph_.device());
  }
  host_gradients_ = std::make_unique<HostGradients>(streams_, trained_, host_memory_format(graph_.network(), options_));
  if (options_.stage.is_part()) return;  // other stages wait for the result of each pass
  std::unique_ptr<const ResidentImages> resident;
  if (options_.resident) {
    resident = std::make_unique<const ResidentImages>(streams_, *options_.resident, options_.resident_threads);
  }
  feed_ = std::make_unique<Feed>(streams_, std::move(resident), dropout_, options_.seed, matcher_.get());
  evaluation_sums_ = std::make_unique<EvaluationSums>(*criterion_, graph_.device());
  StepWork work;
  work.forward = [this](const BatchTensors& batch) { return forward(batch, /*training=*/true); };
  work.backward = [this](const at::Tensor& loss, const at::Tensor& weight) {
    clear_gradients();
    backward(loss, weight);
    if (exchange_) exchange_->finish_gradients();
  };
  work.update = [this](const at::Tensor& rate, const at::Tensor& stopped) { update_unseen(rate, stopped); };
  for (std::size_t i = 0; i < graph_.tensors().size(); ++i) {
    if (graph_.network().parameters()[i].buffer) work.statistics.push_back(graph_.tensors()[i]);
  }
  const bool cuda = options_.device.kind == DeviceKind::kCuda;
  whole_steps_ =
      std::make_unique<WholeSteps>(streams_, *feed_, *criterion_, exchange_.get(), std::move(work),
                                   step_graph_refusal({options_.step_graph, cuda || options_.torch.like_accelerator}),
                                   [cuda] { return cuda ? cuda_parts().make_step_graph() : make_repeated_step(); });
}

CriterionResult TorchTrainer::forward(const BatchTensors& batch, bool training, std::vector<at::Tensor>* outputs) {
  std::vector<at::Tensor> found =
      graph_.forward_outputs(normalized_images(feed_->images_of(batch), scale_, shift_, graph_.format()), training,
                             batch.masks, synchronised_ ? &replicas_ : nullptr, step_watch_);
  if (outputs != nullptr) *outputs = found;
  return criterion_->compute(found, batch, training);
}

TorchTrainer::Pass TorchTrainer::forward_on_host(const data::Batch& batch, bool training) {
  DropoutMasks masks;
  if (training) masks = draw_masks(dropout_, {options_.seed, batch.epoch, batch.samples});
  Pass pass;
  pass.count = batch.count;
  TargetTensors targets;
  if (matcher_) {
    const auto anchors = static_cast<std::int64_t>(matcher_->anchors());
    targets.anchors = {at::empty({batch.count, anchors}, at::kLong), at::empty({batch.count, anchors, 4}, at::kFloat)};
    pass.count = fill_anchors(targets.anchors, batch, *matcher_);
  } else {
    targets = class_targets(batch);
  }
  pass.outputs = graph_.forward_outputs(to_input(batch, pixel_scale_, graph_.format()), training, masks,
                                        synchronised_ ? &replicas_ : nullptr, step_watch_);
  pass.found = criterion_->compute(pass.outputs, targets, training);
  return pass;
}

std::int64_t TorchTrainer::matches(const data::Batch& batch) const {
  std::int64_t count = 0;
  for (const auto& boxes : data::box_lists(batch.targets)) count += matcher_->count(boxes);
  return count;
}

/// The sums of a training batch; notes the culprit where the loss is not finite.
Sums TorchTrainer::read(const CriterionResult& found, std::int64_t count, const data::Batch& batch) {
  Sums sums = criterion_->read(found, count);
  if (!culprit_ && found.of_images.defined() && !std::isfinite(sums.total("loss"))) {
    const auto number = culprit_of(found.of_images).item<std::int64_t>();
    if (number > 0) culprit_ = batch.samples[static_cast<std::size_t>(number) - 1];
  }
  return sums;
}

void TorchTrainer::backward(const at::Tensor& loss, const at::Tensor& weight) {
  torch::autograd::backward({loss}, {scaler_ ? weight * scaler_->scale() : weight.clone()});
}

Sums TorchTrainer::add_gradients(const data::Batch& batch, double weight) {
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

/// Takes part in the exchanges of a batch that has no samples for this replica: calls `work` with one blank image as a
/// batch. A pass over it visits the batch-norm layers in the same order as the other replicas do, even where autograd
/// chooses the order of branches.
template <class Work>
auto TorchTrainer::with_blank_image(std::uint64_t epoch, const Work& work) {
  const auto& input = graph_.network().input_shape();
  const data::ImageShape shape{input.at(0), input.at(1), input.at(2)};
  const std::vector<std::uint8_t> image(shape.bytes(), 0);
  const std::vector<std::int32_t> label(1, 0);
  const std::vector<std::uint32_t> sample(1, 0);
  const std::vector<std::vector<data::LabelledBox>> no_boxes(1);
  data::Targets targets = data::ClassTargets{label};
  if (matcher_) targets = data::BoxTargets{no_boxes};
  return work(data::Batch{1, shape, image, targets, sample, epoch});
}

void TorchTrainer::train_on_nothing(std::uint64_t epoch) {
  with_blank_image(epoch, [this](const data::Batch& blank) { return train_on(blank, 0); });
}

Sums TorchTrainer::train_on(const data::Batch& batch, double weight) {
  return with_trainer_errors(graph_.network(), options_, batch.count, [&] {
    if (ahead_) return train_device_on(batch, weight);
    Pass pass;
    {
      const PhaseMark mark(Phase::kForward);
      pass = forward_on_host(batch, /*training=*/true);
    }
    const PhaseMark mark(Phase::kBackward);
    pass.outputs.clear();
    backward(pass.found.loss, at::scalar_tensor(weight, at::kFloat));
    return read(pass.found, pass.count, batch);
  });
}

/// Trains on a batch and waits for the results, for replicas that exchange gradients through the host.
Sums TorchTrainer::train_device_on(const data::Batch& batch, double weight) {
  Feed::Slot& slot = feed_->put(batch, /*training=*/true, /*learning_rate=*/0, weight);
  const BatchTensors& tensors = slot.batch;
  CriterionResult found;
  {
    const PhaseMark mark(Phase::kForward);
    found = forward(tensors, /*training=*/true);
  }
  const PhaseMark mark(Phase::kBackward);
  backward(found.loss, tensors.numbers[1]);
  feed_->release(slot);
  tell_ready();
  if (exchange_) {  // reading the sums would wait for ever if a replica was lost
    Moment done(streams_);
    done.record(streams_.compute());
    done.wait();
  }
  return read(found, slot.count, batch);
}

Capabilities TorchTrainer::capabilities() {
  Capabilities capabilities;
  capabilities.exchange = this;
  if (whole_steps_) capabilities.ahead = this;
  if (exchange_ && whole_steps_) capabilities.on_devices = this;
  if (shared_) capabilities.sharing = this;
  if (options_.optimizer.average_decay != 0) capabilities.average = this;
  capabilities.device = this;
  if (matcher_) capabilities.detector = this;
  capabilities.layers = this;
  if (options_.stage.is_part()) capabilities.stage = this;
  return capabilities;
}

StepReport TorchTrainer::step_ahead(const data::Batch& batch, double weight, double learning_rate) {
  if (gradient_ready_ || synchronised_ || batch.count == 0) return step_by_parts(batch, weight, learning_rate);
  const WorkingIn compute(streams_.compute());
  return with_trainer_errors(graph_.network(), options_, batch.count,
                             [&] { return whole_steps_->run(batch, weight, learning_rate); });
}

StepReport TorchTrainer::step_on_devices(const data::Batch& share, const SharedBatch& batch, double learning_rate) {
  const WorkingIn compute(streams_.compute());
  replicas_.absent = share.count == 0;
  replicas_.samples = batch.samples;
  const double weight = replicas_.absent ? 0 : 1 / static_cast<double>(std::max<std::int64_t>(1, batch.counted));
  const auto run = [&](const data::Batch& part) {
    return with_trainer_errors(graph_.network(), options_, part.count, [&] {
      return whole_steps_->run(part, weight, learning_rate, WholeSteps::Shared{batch.counted, replicas_.absent});
    });
  };
  return replicas_.absent ? with_blank_image(share.epoch, run) : run(share);
}

StepReport TorchTrainer::settle_steps() {
  if (!whole_steps_) return {};
  return with_trainer_errors(graph_.network(), options_, 0, [&] { return whole_steps_->settle(); });
}

DeviceReport TorchTrainer::report() const {
  DeviceReport report;
  if (scaler_) report.skipped_steps = scaler_->skipped();
  report.executed = graph_.executed();
  if (!ahead_) return report;
  report.peak_memory_bytes = peak_memory_bytes(graph_.device());
  if (!whole_steps_) return report;
  report.step_phases_s = whole_steps_->phases_s();
  const std::string refusal =
      step_graph_refusal({options_.step_graph, true, gradient_ready_ != nullptr, synchronised_ && !exchange_});
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
  with_trainer_errors(graph_.network(), options_, 0, [&] { optimizer_->swap_average(); });
}

TorchTrainer::Pass TorchTrainer::evaluated(const data::Batch& batch) {
  if (!ahead_) return forward_on_host(batch, /*training=*/false);
  Pass pass;
  Feed::Slot& slot = feed_->put(batch, /*training=*/false, 0, 0);
  pass.count = slot.count;
  pass.found = forward(slot.batch, /*training=*/false, &pass.outputs);
  feed_->release(slot);
  return pass;
}

Sums TorchTrainer::evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) {
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  const WorkingIn compute(streams_.compute());
  const c10::NoGradGuard no_grad;
  return with_trainer_errors(graph_.network(), options_, batch.count, [&] {
    const Pass pass = evaluated(batch);
    if (evaluation_sums_) {
      evaluation_sums_->add(pass.found, pass.count, predicted != nullptr);
      return Sums();
    }
    if (predicted != nullptr && pass.found.found.defined()) append_classes(pass.found.found, *predicted);
    return criterion_->read(pass.found, pass.count);
  });
}

Sums TorchTrainer::end_evaluation(std::vector<std::int32_t>* predicted) {
  if (!evaluation_sums_) return {};
  const PhaseMark mark(Phase::kEvaluate);
  const WorkingIn compute(streams_.compute());
  return with_trainer_errors(graph_.network(), options_, 0, [&] { return evaluation_sums_->take(predicted); });
}

Sums TorchTrainer::evaluate_outputs(const data::Batch& batch, std::vector<HostTensor>& outputs) {
  outputs.clear();
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  const WorkingIn compute(streams_.compute());
  const c10::NoGradGuard no_grad;
  return with_trainer_errors(graph_.network(), options_, batch.count, [&] {
    const Pass pass = evaluated(batch);
    for (const at::Tensor& output : pass.outputs) outputs.push_back(to_host(output));
    return criterion_->read(pass.found, pass.count);
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
  graph_.forget_weights();
  const auto& parameters = graph_.network().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const HostTensor& values = tensor_of(state, parameters[i].name);
    // Shared by all replicas; replica 0 loads them.
    if (shared_ && shared_->follows() && parameters[i].trained) continue;
    copy_from_host(values, parameters[i].name, graph_.tensors()[i]);
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
