#include "engine/native_mlp/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/phase.h"
#include "base/precision.h"
#include "engine/native_mlp/cpu/class_loss.h"
#include "engine/native_mlp/cpu/naive_mlp.h"
#include "engine/native_mlp/cpu/simd_mlp.h"
#include "engine/native_mlp/device/trainer.h"

namespace evener::engine::native_mlp {
namespace {

std::unique_ptr<Mlp> make_mlp(const network::Network& network, const std::vector<Dense>& layers,
                              const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
                              Arena* shared) {
  PixelScale pixel_scale = pixel_scale_of(network, options);
  if (options.native.kernels == KernelChoice::kNaive) {
    return std::make_unique<NaiveMlp>(layers, parameters, arrays, options, std::move(pixel_scale));
  }
  return std::make_unique<SimdMlp>(layers, parameters, arrays, options, std::move(pixel_scale), shared);
}

/// Takes the arrays that replicas share from `arena`; members of Arrays that they don't share stay empty.
Arrays take_shared(const Parameters& parameters, Arena& arena) {
  Arrays arrays;
  arrays.values = arena.take(static_cast<std::int64_t>(parameters.size()));
  arrays.momentum = arena.take(static_cast<std::int64_t>(parameters.size()));
  return arrays;
}

}  // namespace

std::string why_not(const network::Network& network, const TrainerOptions& options) {
  const std::string remedy = options.device.kind == DeviceKind::kOpencl ? "--on cpu" : "--engine torch";
  if (options.stage.is_part()) {
    return "the native engine computes whole networks, not stages of one ('..'); use --engine torch";
  }
  if (std::string why = why_no_mlp(network); !why.empty()) return why + "; use " + remedy;
  if (std::string why = why_no_class_loss(options.criterion, network); !why.empty()) return why + "; use " + remedy;
  if (options.optimizer.kind != OptimizerKind::kSgd) {
    return std::string("the native engine has the optimiser sgd, not ") + optimizer_name(options.optimizer.kind) +
           "; use --optimizer sgd or " + remedy;
  }
  const auto has_own_rate = [](const network::Parameter& parameter) { return parameter.rate != 1; };
  if (std::ranges::any_of(network.parameters(), has_own_rate)) {
    return "the native engine has one rate for all layers; leave out --backbone-rate, or use " + remedy;
  }
  if (options.device.kind != DeviceKind::kCpu) return why_not_on_device(network, options);
  if (computed_precision(options.precision, DeviceKind::kCpu) != Precision::kBf16) return {};
  const std::string precision = precision_name(options.precision);
  if (options.native.kernels == KernelChoice::kNaive) {
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
  if (options.device.kind != DeviceKind::kCpu || options.native.kernels == KernelChoice::kNaive) return 0;
  if (optimizer.clip_norm != 0 || optimizer.average_decay != 0 || options.accumulate > 1) return 0;
  if (std::ranges::any_of(network.parameters(), is_frozen)) return 0;
  const std::vector<Dense> layers = dense_layers(network);
  const Parameters parameters(network, layers, layout_of(options));
  Arena arena = Arena::counting();
  take_shared(parameters, arena);
  [[maybe_unused]] const SharedBatch counted(options.shared.batch, static_cast<std::size_t>(layers.front().inputs),
                                             arena);
  SimdMlp::count_shared(layers, options.precision, options.shared.batch, replicas, arena);
  return arena.taken_bytes();
}

NativeTrainer::NativeTrainer(const network::Network& network, const TrainerOptions& options)
    : MlpTrainer(network, options), images_(options.resident) {
  make_arrays();
  mlp_ = make_mlp(network, layers_, parameters_, arrays_, options_, shares_arrays() ? &shared_ : nullptr);
}

void NativeTrainer::make_arrays() {
  arrays_.gradients = Array(parameters_.size());
  if (shares_arrays()) {
    shared_ = Arena(options_.shared.bytes);
    Arrays shared = take_shared(parameters_, shared_);
    arrays_.values = std::move(shared.values);
    if (has_momentum()) arrays_.momentum = std::move(shared.momentum);
    shared_batch_ = SharedBatch(options_.shared.batch, static_cast<std::size_t>(inputs_), shared_);
    return;
  }
  arrays_.values = Array(parameters_.size());
  if (has_momentum()) arrays_.momentum = Array(parameters_.size());
  if (has_average()) arrays_.average = Array(parameters_.size());
}

Sums NativeTrainer::add_gradients(const data::Batch& batch, double weight) {
  const bool add = std::exchange(has_gradients_, true);
  if (batch.count == 0) {
    if (!add) std::fill_n(arrays_.gradients.data(), arrays_.gradients.size(), 0.0F);
    report_layers();
    return {};
  }
  check_batch(batch);
  const LossSums sums = mlp_->gradients(images_.of(batch), weight, add, layer_ready_);
  return classification_sums(sums.loss, sums.correct, batch.count);
}

UpdateRule NativeTrainer::rule(double learning_rate) const {
  const OptimizerOptions& optimizer = options_.optimizer;
  return {static_cast<float>(learning_rate), static_cast<float>(optimizer.momentum),
          static_cast<float>(optimizer.weight_decay), optimizer.nesterov};
}

void NativeTrainer::begin_update() {
  if (arrays_.average && updates_ == 0) {  // the initial weights were loaded after the constructor
    std::copy_n(arrays_.values.data(), arrays_.values.size(), arrays_.average.data());
  }
  ++updates_;
}

void NativeTrainer::end_update() {
  if (!arrays_.average) return;
  const auto share = static_cast<float>(average_share(options_.optimizer.average_decay, updates_));
  for (std::size_t i = 0; i < arrays_.values.size(); ++i) {
    float& average = arrays_.average.data()[i];
    average += share * (arrays_.values.data()[i] - average);
  }
}

void NativeTrainer::apply(double learning_rate) {
  clip_gradients();
  begin_update();
  mlp_->update(rule(learning_rate));
  end_update();
}

Capabilities NativeTrainer::capabilities() {
  Capabilities capabilities = MlpTrainer::capabilities();
  if (shares_arrays()) capabilities.together = this;
  return capabilities;
}

StepReport NativeTrainer::step_ahead(const data::Batch& batch, double weight, double learning_rate) {
  const bool all_trained = trained_.entries.size() == parameters_.entries().size();
  if (options_.optimizer.clip_norm != 0 || !all_trained || batch.count == 0) {
    return step_by_parts(batch, weight, learning_rate);
  }
  check_batch(batch);
  return step_at_once(images_.of(batch), weight, learning_rate, {});
}

StepReport NativeTrainer::step_at_once(const Samples& samples, double weight, double learning_rate, const Crew& crew) {
  has_gradients_ = false;
  begin_update();
  const LossSums sums = mlp_->step(samples, weight, rule(learning_rate), crew);
  if (!std::isfinite(sums.loss)) {
    --updates_;
    return {{}, 0, false};
  }
  end_update();
  return {classification_sums(sums.loss, sums.correct, samples.batch.count), 1, true};
}

StepReport NativeTrainer::step_together(const data::Batch& share, const BatchShare& of, double weight,
                                        double learning_rate) {
  check_batch(share);
  shared_batch_.put(share, of.begin, images_);
  options_.shared.meet();
  const Samples samples = shared_batch_.whole(of.whole, share, images_);
  return step_at_once(samples, weight, learning_rate,
                      {{of.begin, of.begin + share.count, of.whole}, &options_.shared.meet, of.members});
}

void NativeTrainer::swap_average() {
  std::swap_ranges(arrays_.values.data(), arrays_.values.data() + arrays_.values.size(), arrays_.average.data());
  mlp_->weights_changed();
}

Sums NativeTrainer::evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) {
  if (batch.count == 0) return {};
  const PhaseMark mark(Phase::kEvaluate);
  check_batch(batch);
  const LossSums sums = mlp_->evaluate(images_.of(batch), room_for(batch.count, predicted));
  return classification_sums(sums.loss, sums.correct, batch.count);
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
  return optimizer_tensors(parameters_, arrays_.momentum, arrays_.average, updates_);
}

void NativeTrainer::load_optimizer_state(const TensorMap& state) {
  if (follows()) return;
  const double steps = read_optimizer_tensors(state, parameters_, arrays_.momentum, arrays_.average);
  if (arrays_.momentum || arrays_.average) updates_ = steps;
}

}  // namespace evener::engine::native_mlp
