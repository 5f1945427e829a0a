#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/phase.h"
#include "base/precision.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/cpu/mlp_trainer.h"
#include "engine/native_mlp/device/mlp.h"
#include "engine/native_mlp/parts.h"

namespace evener::engine::native_mlp {
namespace {

template <class Value>
Value* as(const Array& array) {
  return reinterpret_cast<Value*>(array.data());
}

template <class Value>
void put_at(const Array& array, std::int64_t begin, std::span<const Value> values) {
  std::ranges::copy(values, as<Value>(array) + begin);
}

template <class Value>
std::span<const Value> first(const Array& array, std::int64_t count) {
  return {as<Value>(array), static_cast<std::size_t>(count)};
}

/// Finds the pixels of a batch's samples. They are in the batch, or else in the data set: used in place if it is in
/// memory, otherwise read.
class SampleImages {
 public:
  /// `dataset` may be null: batches come with their pixels.
  explicit SampleImages(std::shared_ptr<const data::Dataset> dataset) : dataset_(std::move(dataset)) {}

  /// The pixels of all samples of the batch, valid until the next call. Throws Error where there are no pixels, and
  /// what reading the data set throws.
  Samples of(const data::Batch& batch) {
    places_.resize(static_cast<std::size_t>(batch.count));
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = pixels(batch, i);
    return {batch, places_.data()};
  }

  /// The pixels of one sample of the batch, likewise.
  const std::uint8_t* pixels(const data::Batch& batch, std::size_t index) {
    const std::size_t bytes = batch.shape.bytes();
    if (!batch.images.empty()) return batch.images.data() + index * bytes;
    const std::uint32_t sample = batch.samples[index];
    if (const std::uint8_t* place = in_memory(sample); place != nullptr) return place;
    // Makes room for all samples at once, so that pixels read for earlier samples don't move.
    made_.resize(std::max(made_.size(), batch.samples.size() * bytes));
    const auto place = std::span(made_).subspan(index * bytes, bytes);
    read(sample, place);
    return place.data();
  }

  /// The pixels of a sample of the data set; null if it isn't in memory, so that it has to be read first.
  const std::uint8_t* in_memory(std::uint32_t sample) const {
    if (!dataset_) throw Error("a batch came without pixels, and there is no data to take them from");
    if (sample >= dataset_->size()) {
      throw Error("a batch has image " + std::to_string(sample) + ", but the data has " +
                  std::to_string(dataset_->size()));
    }
    return dataset_->pixels(sample);
  }

  void read(std::uint32_t sample, std::span<std::uint8_t> pixels) const { dataset_->read(sample, pixels); }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  std::vector<const std::uint8_t*> places_;
  std::vector<std::uint8_t> made_;  // pixels of samples that had to be read
};

/// A batch in memory that replicas share: each puts its samples in, then each sees all of them. For samples that the
/// data set has in memory only their index is stored, since forked replicas share that memory.
class SharedBatch {
 public:
  SharedBatch() = default;

  SharedBatch(std::int64_t samples, std::size_t image_bytes, Arena& arena)
      : image_bytes_(image_bytes),
        mixed_(arena.take(1)),
        samples_(arena.take(samples)),
        labels_(arena.take(samples)),
        second_labels_(arena.take(samples)),
        label_weights_(arena.take(samples)),
        has_pixels_(arena.take((samples + 3) / 4)),
        pixels_(arena.take((samples * static_cast<std::int64_t>(image_bytes) + 3) / 4)) {}

  /// Puts a replica's samples into the batch, from index `begin` on.
  void put(const data::Batch& share, std::int64_t begin, const SampleImages& images) {
    put_at(samples_, begin, share.samples);
    put_at(labels_, begin, data::class_labels(share.targets));
    const auto* mixed = std::get_if<data::MixedClassTargets>(&share.targets);
    if (mixed != nullptr) {
      put_at(second_labels_, begin, mixed->second_labels);
      put_at(label_weights_, begin, mixed->label_weights);
    }
    // All shares with samples agree on this, so that one of them suffices.
    if (share.count > 0 && begin == 0) *as<std::int32_t>(mixed_) = mixed != nullptr ? 1 : 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(share.count); ++i) {
      const std::size_t place = static_cast<std::size_t>(begin) + i;
      const bool given = !share.images.empty();
      const bool brings = given || images.in_memory(share.samples[i]) == nullptr;
      as<std::uint8_t>(has_pixels_)[place] = brings ? 1 : 0;
      const std::span to(as<std::uint8_t>(pixels_) + place * image_bytes_, image_bytes_);
      if (given) {
        std::ranges::copy(share.images.subspan(i * image_bytes_, image_bytes_), to.begin());
      } else if (brings) {
        images.read(share.samples[i], to);
      }
    }
  }

  /// The whole batch of `count` samples, after all replicas have called put(). Valid until the next call.
  Samples whole(std::int64_t count, const data::Batch& share, SampleImages& images) {
    const auto labels = first<std::int32_t>(labels_, count);
    data::Targets targets = data::ClassTargets{labels};
    if (*as<std::int32_t>(mixed_) != 0) {
      targets = data::MixedClassTargets{labels, first<std::int32_t>(second_labels_, count),
                                        first<float>(label_weights_, count)};
    }
    whole_ = {count, share.shape, {}, targets, first<std::uint32_t>(samples_, count), share.epoch};
    places_.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const bool here = as<std::uint8_t>(has_pixels_)[i] != 0;
      places_[i] = here ? as<std::uint8_t>(pixels_) + i * image_bytes_ : images.pixels(whole_, i);
    }
    return {whole_, places_.data()};
  }

 private:
  std::size_t image_bytes_ = 0;
  Array mixed_, samples_, labels_, second_labels_, label_weights_;
  Array has_pixels_, pixels_;  // one byte per sample: whether its pixels are in pixels_; the pixels of samples that
                               // aren't in memory elsewhere
  data::Batch whole_;
  std::vector<const std::uint8_t*> places_;  // of its pixels
};

std::unique_ptr<Mlp> make_mlp(const network::Network& network, const std::vector<Dense>& layers,
                              const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
                              Arena* shared) {
  PixelScale pixel_scale = pixel_scale_of(network, options);
  if (options.native.kernels == KernelChoice::kNaive) {
    return make_naive_mlp(layers, parameters, arrays, options, std::move(pixel_scale));
  }
  return make_simd_mlp(layers, parameters, arrays, options, std::move(pixel_scale), shared);
}

/// Takes the arrays that replicas share from `arena`; members of Arrays that they don't share stay empty.
Arrays take_shared(const Parameters& parameters, Arena& arena) {
  Arrays arrays;
  arrays.values = arena.take(static_cast<std::int64_t>(parameters.size()));
  arrays.momentum = arena.take(static_cast<std::int64_t>(parameters.size()));
  return arrays;
}

class NativeTrainer : public MlpTrainer, public StepsTogether {
 public:
  NativeTrainer(const network::Network& network, const TrainerOptions& options)
      : MlpTrainer(network, options), images_(options.resident) {
    make_arrays();
    mlp_ = make_mlp(network, layers_, parameters_, arrays_, options_, shares_arrays() ? &shared_ : nullptr);
  }

  Sums add_gradients(const data::Batch& batch, double weight) override {
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

  void apply(double learning_rate) override {
    clip_gradients();
    begin_update();
    mlp_->update(rule(learning_rate));
    end_update();
  }

  Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override {
    if (batch.count == 0) return {};
    const PhaseMark mark(Phase::kEvaluate);
    check_batch(batch);
    const LossSums sums = mlp_->evaluate(images_.of(batch), room_for(batch.count, predicted));
    return classification_sums(sums.loss, sums.correct, batch.count);
  }

  TensorMap state() const override {
    TensorMap map;
    parameters_.read(arrays_.values, "", /*all=*/true, map);
    return map;
  }

  void load_state(const TensorMap& state) override {
    if (follows()) return;
    parameters_.write(state, "", /*all=*/true, "the weights have", arrays_.values);
    mlp_->weights_changed();
  }

  TensorMap optimizer_state() const override {
    return optimizer_tensors(parameters_, arrays_.momentum, arrays_.average, updates_);
  }

  void load_optimizer_state(const TensorMap& state) override {
    if (follows()) return;
    const double steps = read_optimizer_tensors(state, parameters_, arrays_.momentum, arrays_.average);
    if (arrays_.momentum || arrays_.average) updates_ = steps;
  }

  Capabilities capabilities() override {
    Capabilities capabilities = MlpTrainer::capabilities();
    if (shares_arrays()) capabilities.together = this;
    return capabilities;
  }

  StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) override {
    const bool all_trained = trained_.entries.size() == parameters_.entries().size();
    if (options_.optimizer.clip_norm != 0 || !all_trained || batch.count == 0) {
      return step_by_parts(batch, weight, learning_rate);
    }
    check_batch(batch);
    return step_at_once(images_.of(batch), weight, learning_rate, {});
  }

  StepReport settle_steps() override { return {}; }

  StepReport step_together(const data::Batch& share, const BatchShare& of, double weight,
                           double learning_rate) override {
    check_batch(share);
    shared_batch_.put(share, of.begin, images_);
    options_.shared.meet();
    const Samples samples = shared_batch_.whole(of.whole, share, images_);
    return step_at_once(samples, weight, learning_rate,
                        {{of.begin, of.begin + share.count, of.whole}, &options_.shared.meet, of.members});
  }

  void swap_average() override {
    std::swap_ranges(arrays_.values.data(), arrays_.values.data() + arrays_.values.size(), arrays_.average.data());
    mlp_->weights_changed();
  }

 private:
  void make_arrays() {
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

  bool shares_arrays() const { return !options_.shared.bytes.empty(); }

  StepReport step_at_once(const Samples& samples, double weight, double learning_rate, const Crew& crew) {
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

  bool follows() const { return shares_arrays() && options_.shared.replica != 0; }

  UpdateRule rule(double learning_rate) const {
    const OptimizerOptions& optimizer = options_.optimizer;
    return {static_cast<float>(learning_rate), static_cast<float>(optimizer.momentum),
            static_cast<float>(optimizer.weight_decay), optimizer.nesterov};
  }

  void begin_update() {
    if (arrays_.average && updates_ == 0) {  // the initial weights were loaded after the constructor
      std::copy_n(arrays_.values.data(), arrays_.values.size(), arrays_.average.data());
    }
    ++updates_;
  }

  void end_update() {
    if (!arrays_.average) return;
    const auto share = static_cast<float>(average_share(options_.optimizer.average_decay, updates_));
    for (std::size_t i = 0; i < arrays_.values.size(); ++i) {
      float& average = arrays_.average.data()[i];
      average += share * (arrays_.values.data()[i] - average);
    }
  }

  Arena shared_;
  SharedBatch shared_batch_;
  SampleImages images_;
  const std::function<void(std::size_t)> layer_ready_ = [this](std::size_t layer) { report_layer(layer); };
  std::unique_ptr<Mlp> mlp_;
};

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
  count_shared(layers, options.precision, options.shared.batch, replicas, arena);
  return arena.taken_bytes();
}

std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) {
  if (options.device.kind != DeviceKind::kCpu) return make_device_trainer(network, options);
  return std::make_unique<NativeTrainer>(network, options);
}

}  // namespace evener::engine::native_mlp
