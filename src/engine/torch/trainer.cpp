#include "engine/torch/trainer.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <variant>

#include "base/cpu.h"
#include "base/error.h"
#include "base/phase.h"

namespace evener::engine::torch_engine {
namespace {

at::ScalarType compute_type(Precision precision) {
  // A CPU has no fast fp16 products; bf16 has the same width and needs no loss scaling.
  return precision == Precision::kFp32 ? at::kFloat : at::kBFloat16;
}

template <class Op>
bool has(const network::Network& network) {
  return std::any_of(network.layers().begin(), network.layers().end(),
                     [](const auto& layer) { return std::holds_alternative<Op>(layer.op); });
}

bool is_synchronised(const network::Network& network, const TrainerOptions& options) {
  return options.sum_over_replicas && has<network::BatchNorm>(network);
}

at::MemoryFormat memory_format(const network::Network& network, const TrainerOptions& options) {
  if (options.layout == MemoryLayout::kChannelsFirst) return at::MemoryFormat::Contiguous;
  // Only our own batch-norm, which is for channels-last, knows of other replicas.
  const bool last = has<network::Conv2d>(network) || is_synchronised(network, options);
  return last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

/// LibTorch keeps one number of threads for the process, which every thread takes over when it first asks for it. Asked
/// for here, it can't replace this thread's own number later, when another replica has set another one.
void use_threads(int threads) {
  at::internal::lazy_init_num_threads();  // as this module sees it,
  at::get_num_threads();                  // and as LibTorch does
  at::set_num_threads(threads);
}

/// Puts zeros in place of the gradient that is about to be added to a parameter's, while `absent`.
class AbsenceHook : public torch::autograd::FunctionPreHook {
 public:
  AbsenceHook(const bool& absent, const at::Tensor& parameter) : absent_(absent), parameter_(parameter.detach()) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients) override {
    if (!absent_) return gradients;
    return {at::zeros_like(parameter_)};
  }

 private:
  const bool& absent_;
  at::Tensor parameter_;
};

/// Calls back after a parameter's gradient was accumulated.
class GradientHook : public torch::autograd::FunctionPostHook {
 public:
  explicit GradientHook(std::function<void()> callback) : callback_(std::move(callback)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    callback_();
    return outputs;
  }

 private:
  std::function<void()> callback_;
};

/// LibTorch's exceptions carry a C++ stack; users get the first line of the reason.
[[noreturn]] void rethrow(const c10::Error& error, const data::Batch& batch) {
  const std::string text = error.what_without_backtrace();
  if (text.find("can't allocate memory") != std::string::npos) {
    throw Error("out of memory with a batch of " + std::to_string(batch.count) + " images (" +
                text.substr(0, text.find('\n')) + "); use a smaller --batch");
  }
  throw Error("LibTorch: " + text.substr(0, text.find('\n')));
}

}  // namespace

std::string replica_refusal(const network::Network& network, const TrainerOptions& options) {
  if (!is_synchronised(network, options) || options.layout != MemoryLayout::kChannelsFirst) return {};
  return "batch-norm over all replicas is made for images with their channels last: '" + network.model() +
         "' needs --layout nhwc or auto here, not nchw";
}

TorchTrainer::TorchTrainer(const network::Network& network, const TrainerOptions& options)
    : options_(options),
      graph_(network, compute_type(options.precision), memory_format(network, options)),
      replicas_{options.sum_over_replicas},
      synchronised_(is_synchronised(network, options)),
      normalization_(make_normalization(options.mean, options.standard_deviation, network.input_shape().front())) {
  // Before the first parallel region: OpenMP's threads inherit the affinity of the thread that starts them.
  if (!options_.cpus.empty()) pin_this_thread(options_.cpus);
  use_threads(options_.threads);
  const auto& parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].trained) continue;
    trained_names_.push_back(parameters[i].name);
    trained_.push_back(graph_.tensors()[i]);
  }
  optimizer_ = std::make_unique<Optimizer>(trained_names_, trained_, options_.optimizer);
  watch_gradients();
}

void TorchTrainer::watch_gradients() {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(trained_[i]);
    if (synchronised_) accumulator->add_pre_hook(std::make_unique<AbsenceHook>(replicas_.absent, trained_[i]));
    accumulator->add_post_hook(std::make_unique<GradientHook>([this, i] {
      if (gradient_ready_) gradient_ready_(i);
    }));
    accumulators_.push_back(std::move(accumulator));
  }
}

at::Tensor TorchTrainer::loss_sum(const at::Tensor& logits, const at::Tensor& labels) const {
  if (options_.loss == Loss::kCrossEntropy) {
    // Smoothing is a means of training: evaluation has the plain loss.
    const double smoothing = at::GradMode::is_enabled() ? options_.label_smoothing : 0;
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, /*ignore_index=*/-100, smoothing);
  }
  const at::Tensor target = at::one_hot(labels, logits.size(1)).to(at::kFloat);
  return at::mse_loss(logits, target, at::Reduction::Sum) / logits.size(1);
}

/// The loss against both labels of mixed images, by their weights.
at::Tensor TorchTrainer::mixed_loss_sum(const at::Tensor& logits, const at::Tensor& labels,
                                        const data::Batch& batch) const {
  const at::Tensor second = to_tensor(batch.second_labels), first_part = to_tensor(batch.label_weights);
  const at::Tensor second_part = 1 - first_part;
  if (options_.loss == Loss::kCrossEntropy) {
    const double smoothing = options_.label_smoothing;
    const at::Tensor of_first =
        at::cross_entropy_loss(logits, labels, {}, at::Reduction::None, /*ignore_index=*/-100, smoothing);
    const at::Tensor of_second =
        at::cross_entropy_loss(logits, second, {}, at::Reduction::None, /*ignore_index=*/-100, smoothing);
    return (of_first * first_part + of_second * second_part).sum();
  }
  const at::Tensor target = at::one_hot(labels, logits.size(1)) * first_part.unsqueeze(1) +
                            at::one_hot(second, logits.size(1)) * second_part.unsqueeze(1);
  return at::mse_loss(logits, target, at::Reduction::Sum) / logits.size(1);
}

BatchResult TorchTrainer::result_of(const at::Tensor& loss, const at::Tensor& found, const at::Tensor& labels) const {
  BatchResult result;
  result.loss_sum = loss.item<double>();
  result.correct = found.eq(labels).sum().item<std::int64_t>();
  result.count = labels.size(0);
  return result;
}

void TorchTrainer::clear_gradients() {
  for (auto& parameter : trained_) parameter.mutable_grad().reset();
}

BatchResult TorchTrainer::add_gradients(const data::Batch& batch, double weight) {
  replicas_.absent = batch.count == 0;
  if (!replicas_.absent) return train_on(batch, weight);
  synchronised_ ? train_on_nothing(batch.epoch) : add_nothing();
  return {};
}

void TorchTrainer::add_nothing() {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    at::Tensor& gradient = trained_[i].mutable_grad();
    if (!gradient.defined()) gradient = at::zeros_like(trained_[i].detach());
    if (gradient_ready_) gradient_ready_(i);
  }
}

/// Takes part in the sums of a batch that has no samples for this replica. A pass over one blank image meets the
/// batch-norm layers in the order of the other replicas, also where autograd chooses between branches.
void TorchTrainer::train_on_nothing(std::uint64_t epoch) {
  const auto& input = graph_.network().input_shape();
  const data::ImageShape shape{input.at(0), input.at(1), input.at(2)};
  const std::vector<std::uint8_t> image(shape.bytes(), 0);
  const std::vector<std::int32_t> label(1, 0);
  const std::vector<std::uint32_t> sample(1, 0);
  train_on({1, shape, image, label, sample, epoch}, 0);
}

BatchResult TorchTrainer::train_on(const data::Batch& batch, double weight) {
  try {
    at::Tensor logits, loss, labels;
    {
      const PhaseMark mark(Phase::kForward);
      labels = to_labels(batch);
      logits = graph_.forward(to_input(batch, normalization_, graph_.format()), true,
                              {options_.seed, batch.epoch, batch.samples}, synchronised_ ? &replicas_ : nullptr);
      loss = batch.label_weights.empty() ? loss_sum(logits, labels) : mixed_loss_sum(logits, labels, batch);
    }
    const PhaseMark mark(Phase::kBackward);
    torch::autograd::backward({loss}, {at::scalar_tensor(weight, at::kFloat)});
    return result_of(loss, logits.detach().argmax(1), labels);
  } catch (const c10::Error& error) {
    rethrow(error, batch);
  }
}

std::span<float> TorchTrainer::gradient(std::size_t index) {
  at::Tensor& gradient = trained_.at(index).mutable_grad();
  if (!gradient.defined()) throw Error("no gradient of '" + trained_names_[index] + "' yet");
  return {gradient.mutable_data_ptr<float>(), static_cast<std::size_t>(gradient.numel())};
}

TensorMap TorchTrainer::gradients() const {
  TensorMap map;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (trained_[i].grad().defined()) map.emplace(trained_names_[i], to_host(trained_[i].grad()));
  }
  return map;
}

void TorchTrainer::apply(double learning_rate) {
  const PhaseMark mark(Phase::kUpdate);
  optimizer_->step(learning_rate);
}

BatchResult TorchTrainer::evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) {
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  const c10::NoGradGuard no_grad;
  try {
    const at::Tensor labels = to_labels(batch);
    const at::Tensor logits = graph_.forward(to_input(batch, normalization_, graph_.format()), false, {});
    const at::Tensor found = logits.argmax(1);
    if (predicted != nullptr) {
      const std::int64_t* classes = found.const_data_ptr<std::int64_t>();
      predicted->insert(predicted->end(), classes, classes + batch.count);
    }
    return result_of(loss_sum(logits, labels), found, labels);
  } catch (const c10::Error& error) {
    rethrow(error, batch);
  }
}

TensorMap TorchTrainer::state() const {
  TensorMap map;
  const auto& parameters = graph_.network().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) map.emplace(parameters[i].name, to_host(graph_.tensors()[i]));
  return map;
}

void TorchTrainer::load_state(const TensorMap& state) {
  const auto& parameters = graph_.network().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = state.find(parameters[i].name);
    if (found == state.end()) throw Error("the weights have no tensor '" + parameters[i].name + "'");
    copy_from_host(found->second, found->first, graph_.tensors()[i]);
  }
}

}  // namespace evener::engine::torch_engine
