#include "engine/native/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "engine/native/naive_mlp.h"
#include "engine/native/simd_mlp.h"
#include "engine/native/team.h"

namespace evener::engine::native {
namespace {

// Names as the torch engine has them: a checkpoint of one can be gone on with by the other.
constexpr const char* kMomentum = ".momentum";
constexpr const char* kAverage = ".average";
constexpr const char* kSteps = "optimizer.steps";

/// Arrays that are shared and not one for each replica.
constexpr int kSharedOnce = 2;

Normalization normalization_of(const TrainerOptions& options, std::int64_t channels) {
  Normalization map;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const float mean = c < options.mean.size() ? options.mean[c] : 0.0f;
    const float deviation = c < options.standard_deviation.size() ? options.standard_deviation[c] : 1.0f;
    map.scale.push_back(1.0f / (255.0f * deviation));
    map.shift.push_back(-mean / deviation);
  }
  return map;
}

Layout layout_of(const TrainerOptions& options) {
  return options.kernels == KernelChoice::kNaive ? Layout::kRowMajor : Layout::kPanels;
}

std::unique_ptr<Mlp> make_mlp(const network::Network& network, const std::vector<Dense>& layers,
                              const Parameters& parameters, Arrays& arrays, const TrainerOptions& options) {
  // A vector counts as pixels of one channel.
  const std::int64_t channels = network.input_shape().size() == 3 ? network.input_shape().front() : 1;
  Normalization normalization = normalization_of(options, channels);
  if (options.kernels == KernelChoice::kNaive) {
    return std::make_unique<NaiveMlp>(layers, parameters, arrays, options, std::move(normalization));
  }
  return std::make_unique<SimdMlp>(layers, parameters, arrays, options, std::move(normalization));
}

}  // namespace

std::string why_not(const network::Network& network, const TrainerOptions& options) {
  if (options.device.kind != DeviceKind::kCpu) {
    return "the native engine of this build computes on the CPU only, not on " + device_text(options.device);
  }
  if (std::string why = why_no_mlp(network); !why.empty()) return why;
  if (options.optimizer.kind != OptimizerKind::kSgd) {
    return std::string("the native engine has the optimiser sgd, not ") + optimizer_name(options.optimizer.kind) +
           "; use --optimizer sgd or --engine torch";
  }
  if (!uses_bfloat16(options.precision)) return {};
  const std::string precision = precision_name(options.precision);
  if (options.kernels == KernelChoice::kNaive) {
    return "--kernels naive computes in fp32 only, not in " + precision + "; use --kernels simd or --precision fp32";
  }
  if (bfloat16_kernels() == nullptr) {
    return "this processor has no dot products of bfloat16 (AVX512-BF16), which the native engine needs for " +
           precision + "; use --precision fp32 or --engine torch";
  }
  return {};
}

std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas) {
  const auto is_frozen = [](const network::Parameter& parameter) { return !parameter.trained; };
  const OptimizerOptions& optimizer = options.optimizer;
  if (optimizer.clip_norm != 0 || optimizer.average_decay != 0) return 0;
  if (std::ranges::any_of(network.parameters(), is_frozen)) return 0;
  const Parameters parameters(network, dense_layers(network), layout_of(options));
  return parameters.size() * sizeof(float) * static_cast<std::size_t>(kSharedOnce + replicas);
}

NativeTrainer::NativeTrainer(const network::Network& network, const TrainerOptions& options)
    : options_(options),
      inputs_(dense_layers(network).front().inputs),
      classes_(network.output_shape().front()),
      layers_(dense_layers(network)),
      parameters_(network, layers_, layout_of(options)) {
  make_arrays();
  for (std::size_t i = 0; i < parameters_.entries().size(); ++i) {
    if (!parameters_.entries()[i].trained) continue;
    trained_.push_back(i);
    trained_names_.push_back(parameters_.entries()[i].name);
  }
  layer_ready_ = [this](std::size_t layer) { layer_ready(layer); };
  mlp_ = make_mlp(network, layers_, parameters_, arrays_, options_);
}

/// Shared: the weights, their momentum, then each replica's gradients.
Array NativeTrainer::shared_array(int index) const {
  auto* first = reinterpret_cast<float*>(options_.shared.bytes.data());
  return {first + static_cast<std::size_t>(index) * parameters_.size(), parameters_.size()};
}

void NativeTrainer::make_arrays() {
  const bool momentum = options_.optimizer.momentum != 0;
  if (shares_arrays()) {
    arrays_.values = shared_array(0);
    if (momentum) arrays_.momentum = shared_array(1);
    arrays_.gradients = shared_array(kSharedOnce + options_.shared.replica);
    return;
  }
  arrays_.values = Array(parameters_.size());
  arrays_.gradients = Array(parameters_.size());
  if (momentum) arrays_.momentum = Array(parameters_.size());
  if (options_.optimizer.average_decay != 0) arrays_.average = Array(parameters_.size());
}

void NativeTrainer::layer_ready(std::size_t layer) {
  if (!gradient_ready_) return;
  // Last ones first, as the torch engine has them.
  for (std::size_t i = trained_.size(); i-- > 0;) {
    const bool of_bias = layers_[layer].bias && trained_[i] == layers_[layer].bias_parameter;
    if (of_bias || trained_[i] == layers_[layer].weight_parameter) gradient_ready_(i);
  }
}

void NativeTrainer::check(const data::Batch& batch) const {
  const auto values = static_cast<std::int64_t>(batch.shape.bytes());
  if (values != inputs_) {
    throw Error("an image of " + std::to_string(values) + " values (" + std::to_string(batch.shape.channels) + "x" +
                std::to_string(batch.shape.height) + "x" + std::to_string(batch.shape.width) +
                ") was given to a network that takes " + std::to_string(inputs_));
  }
  for (const auto& labels : {batch.labels, batch.second_labels}) {
    for (const std::int32_t label : labels) {
      if (label >= 0 && label < classes_) continue;
      throw Error("an image has class " + std::to_string(label) + ", but the network has " + std::to_string(classes_) +
                  " outputs");
    }
  }
}

BatchResult NativeTrainer::add_gradients(const data::Batch& batch, double weight) {
  const bool add = std::exchange(has_gradients_, true);
  if (batch.count == 0) {
    if (!add) std::fill_n(arrays_.gradients.data(), arrays_.gradients.size(), 0.0F);
    for (std::size_t l = layers_.size(); l-- > 0;) layer_ready(l);
    return {};
  }
  check(batch);
  return mlp_->gradients(batch, weight, add, layer_ready_);
}

std::span<float> NativeTrainer::gradient(std::size_t index) {
  const auto& entry = parameters_.entries().at(trained_.at(index));
  if (!has_gradients_) throw Error("no gradient of '" + entry.name + "' yet");
  return {arrays_.gradients.data() + entry.offset, entry.size};
}

TensorMap NativeTrainer::gradients() const {
  TensorMap map;
  if (has_gradients_) parameters_.read(arrays_.gradients, "", /*all=*/false, map);
  return map;
}

UpdateRule NativeTrainer::rule(double learning_rate) const {
  const OptimizerOptions& optimizer = options_.optimizer;
  return {static_cast<float>(learning_rate), static_cast<float>(optimizer.momentum),
          static_cast<float>(optimizer.weight_decay), optimizer.nesterov};
}

/// As torch.nn.utils.clip_grad_norm_: by the norm of all gradients taken as one vector.
void NativeTrainer::clip() {
  if (options_.optimizer.clip_norm == 0) return;
  double squares = 0;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    for (const float value : gradient(i)) squares += static_cast<double>(value) * value;
  }
  const double scale = options_.optimizer.clip_norm / (std::sqrt(squares) + 1e-6);
  if (scale >= 1) return;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    for (float& value : gradient(i)) value *= static_cast<float>(scale);
  }
}

void NativeTrainer::begin_update() {
  if (arrays_.average && steps_ == 0) {  // the first weights came after the constructor
    std::copy_n(arrays_.values.data(), arrays_.values.size(), arrays_.average.data());
  }
  ++steps_;
}

/// The first weights say little: the average forgets faster at the start (as TensorFlow's ExponentialMovingAverage).
void NativeTrainer::end_update() {
  if (!arrays_.average) return;
  const double decay = std::min(options_.optimizer.average_decay, (1 + steps_) / (10 + steps_));
  const auto share = static_cast<float>(1 - decay);
  for (std::size_t i = 0; i < arrays_.values.size(); ++i) {
    float& average = arrays_.average.data()[i];
    average += share * (arrays_.values.data()[i] - average);
  }
}

void NativeTrainer::apply(double learning_rate) {
  clip();
  begin_update();
  mlp_->update(rule(learning_rate));
  end_update();
}

void NativeTrainer::apply_part(double learning_rate, std::span<const int> members) {
  std::vector<const float*>& gradients = member_gradients_;
  gradients.clear();
  int index = 0;
  for (const int member : members) {
    if (member == options_.shared.replica) index = static_cast<int>(gradients.size());
    gradients.push_back(shared_array(kSharedOnce + member).data());
  }
  constexpr std::int64_t kLine = 16;  // values of a cache line, which only one replica writes
  const Range part =
      share_of(static_cast<std::int64_t>(parameters_.size()), index, static_cast<int>(gradients.size()), kLine);
  begin_update();
  mlp_->update_part(rule(learning_rate), gradients, part.begin, part.end);
}

StepReport NativeTrainer::step(const data::Batch& batch, double weight, double learning_rate) {
  const bool all_trained = trained_.size() == parameters_.entries().size();
  if (options_.optimizer.clip_norm != 0 || !all_trained || batch.count == 0) {
    return Trainer::step(batch, weight, learning_rate);
  }
  check(batch);
  has_gradients_ = false;
  begin_update();
  const BatchResult result = mlp_->step(batch, weight, rule(learning_rate));
  if (!std::isfinite(result.loss_sum)) {
    --steps_;
    return {{}, 0, false};
  }
  end_update();
  return {result, 1, true};
}

void NativeTrainer::swap_average() {
  if (!arrays_.average) return;
  std::swap_ranges(arrays_.values.data(), arrays_.values.data() + arrays_.values.size(), arrays_.average.data());
  mlp_->weights_changed();
}

BatchResult NativeTrainer::evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) {
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  check(batch);
  std::int32_t* found = nullptr;
  if (predicted != nullptr) {
    predicted->resize(predicted->size() + static_cast<std::size_t>(batch.count));
    found = predicted->data() + predicted->size() - batch.count;
  }
  return mlp_->evaluate(batch, found);
}

TensorMap NativeTrainer::state() const {
  TensorMap map;
  parameters_.read(arrays_.values, "", /*all=*/true, map);
  return map;
}

void NativeTrainer::load_state(const TensorMap& state) {
  if (follows()) return;
  parameters_.write(state, "", /*all=*/true, "the weights have", arrays_.values);
  mlp_->weights_changed();
}

TensorMap NativeTrainer::optimizer_state() const {
  TensorMap map;
  if (arrays_.momentum) parameters_.read(arrays_.momentum, kMomentum, /*all=*/false, map);
  if (arrays_.average) parameters_.read(arrays_.average, kAverage, /*all=*/false, map);
  if (!map.empty()) map.emplace(kSteps, HostTensor::of_floats({}, {static_cast<float>(steps_)}));
  return map;
}

void NativeTrainer::load_optimizer_state(const TensorMap& state) {
  constexpr const char* kWhat = "the optimiser state has";
  if (follows()) return;
  if (arrays_.momentum) parameters_.write(state, kMomentum, /*all=*/false, kWhat, arrays_.momentum);
  if (arrays_.average) parameters_.write(state, kAverage, /*all=*/false, kWhat, arrays_.average);
  if (!arrays_.momentum && !arrays_.average) return;
  const auto steps = state.find(kSteps);
  if (steps == state.end()) throw Error(std::string(kWhat) + " no '" + kSteps + "'");
  steps_ = steps->second.floats()[0];
}

}  // namespace evener::engine::native
