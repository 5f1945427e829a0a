// The perceptron on packed operands and the kernels for this processor; a team of threads, or the teams of several
// replicas, divide the work. A step allocates nothing once the largest batch was seen.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/phase.h"
#include "base/precision.h"
#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/native_mlp/cpu/team.h"
#include "engine/trainer_options.h"

namespace evener::engine::native_mlp {
namespace {

constexpr std::int64_t kLine = 16;  // values of a cache line

/// Units from one row of a layer's operands to the next.
struct Strides {
  std::int64_t x = 0, pairs = 0, dy = 0;
};

/// The weights of a layer in the forms that the products need.
struct WeightOperands {
  Array rounded;     // as bfloat16; empty with float32
  Array transposed;  // over the inputs; none of the first layer
};

std::int64_t up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

/// Rounds up to an odd number of cache lines, so that a walk down a column uses every set of the cache.
std::int64_t odd_stride(std::int64_t units) {
  return (up(units, kLine) | 1) * kLine;
}

/// The strides of a network's operands, for these kernels.
struct OperandLayout {
  OperandLayout(const std::vector<Dense>& of, const MlpKernels& kernels)
      : layers(of), unit_values(kernels.unit_values), logits_stride(odd_stride(of.back().columns())) {
    for (const Dense& layer : layers) {
      const std::int64_t inputs = up(layer.inputs, kColumns) * kColumns;
      strides.push_back(
          {odd_stride(up(inputs, unit_values)), odd_stride(inputs), odd_stride(up(layer.columns(), unit_values))});
    }
  }

  const std::vector<Dense>& layers;
  std::int64_t unit_values;
  std::vector<Strides> strides;  // of each layer
  std::int64_t logits_stride = 0;
};

/// Room for a batch of `samples` samples. The first layer's x is not in it: each thread packs it for itself.
struct Workspace {
  Workspace() = default;

  Workspace(const OperandLayout& layout, std::int64_t samples, Arena& arena) : capacity(samples) {
    const std::int64_t values = layout.unit_values;
    for (std::size_t l = 0; l < layout.layers.size(); ++l) {
      const Strides& strides = layout.strides[l];
      Layer layer;
      if (l > 0) layer.x = arena.take(samples * strides.x);
      if (l > 0 && values > 1) layer.pairs = arena.take(up(samples, values) * strides.pairs);
      if (l > 0 || layout.layers.size() == 1) layer.dy = arena.take(samples * strides.dy);
      layer.dy_panels = arena.take(up(samples, values) * layout.layers[l].columns());
      layers.push_back(std::move(layer));
    }
    logits = arena.take(samples * layout.logits_stride);
    slopes = arena.take(samples * layout.logits_stride);
  }

  /// The input x of a layer, and the derivatives dy with respect to the input of its activation function.
  struct Layer {
    Array x, pairs;       // rows; with pairs also over the samples
    Array dy, dy_panels;  // rows (none of the first layer), panels
  };
  std::int64_t capacity = 0;  // samples
  std::vector<Layer> layers;
  Array logits, slopes;
};

std::vector<WeightOperands> make_weight_operands(const OperandLayout& layout, Arena& arena) {
  const std::int64_t values = layout.unit_values;
  std::vector<WeightOperands> all;
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const Dense& layer = layout.layers[l];
    WeightOperands own;
    if (values > 1) own.rounded = arena.take(layer.columns() * up(layer.inputs, values));
    if (l > 0) own.transposed = arena.take(up(layer.inputs, kColumns) * kColumns * up(layer.outputs, values));
    all.push_back(std::move(own));
  }
  return all;
}

const MlpKernels& kernels_for(Precision precision) {
  return computed_precision(precision, DeviceKind::kCpu) == Precision::kBf16 ? *bfloat16_kernels() : float_kernels();
}

constexpr std::int64_t kSumsApart = 32;  // values from one replica's sums to the next's

/// The arrays that replicas have in common for a step.
struct Common {
  Common() = default;
  Common(const OperandLayout& layout, std::int64_t samples, int replicas, Arena& arena)
      : space(layout, samples, arena), sums(arena.take(replicas * kSumsApart)) {}

  Workspace space;
  Array sums;  // of each replica
};

class SimdMlp : public Mlp {
 public:
  /// `shared`: the part of TrainerOptions::shared after the parameters; null: this replica shares nothing.
  SimdMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
          PixelScale pixel_scale, Arena* shared)
      : kernels_(kernels_for(options.precision)),
        layers_(std::move(layers)),
        parameters_(parameters),
        arrays_(arrays),
        loss_(class_loss_of(options.criterion)),
        pixel_scale_(std::move(pixel_scale)),
        replica_(options.shared.replica),
        layout_(layers_, kernels_),
        team_(options.threads, options.cpus) {
    Arena own_memory;
    weights_ = make_weight_operands(layout_, shared != nullptr ? *shared : own_memory);
    if (shared != nullptr) common_ = Common(layout_, options.shared.batch, options.shared.replicas, *shared);
    own_.resize(static_cast<std::size_t>(team_.size()));
    std::int64_t widest = 0;
    for (const Dense& layer : layers_) widest = std::max(widest, layer.columns());
    no_bias_ = Array(static_cast<std::size_t>(widest));
  }

  LossSums gradients(const Samples& samples, double weight, bool add,
                     const std::function<void(std::size_t layer)>& on_layer_ready) override {
    Call gradients{samples};
    gradients.backward = true;
    gradients.add = add;
    gradients.weight = static_cast<float>(weight);
    gradients.on_layer_ready = &on_layer_ready;
    return call(gradients);
  }

  LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) override {
    Call step{samples};
    if (crew.meet != nullptr) step.crew = &crew;
    step.backward = true;
    step.weight = static_cast<float>(weight);
    step.rule = &rule;
    return call(step);
  }

  void update(const UpdateRule& rule) override {
    const PhaseMark mark(Phase::kUpdate);
    team_.run([this, &rule](int thread) {
      for (const auto& entry : parameters_.entries()) {
        if (!entry.trained) continue;
        const auto offset = static_cast<std::int64_t>(entry.offset), size = static_cast<std::int64_t>(entry.size);
        const Range range = Portion{}.part(thread, team_.size()).of(size, kLine);
        kernels_.update(rule, arrays_.values.data(), arrays_.gradients.data(), arrays_.momentum.data(),
                        offset + range.begin, offset + range.end);
      }
      if (kernels_.round == nullptr) return;
      team_.barrier(thread);
      round_weights(thread);
    });
  }

  LossSums evaluate(const Samples& samples, std::int32_t* predicted) override {
    Call evaluation{samples};
    evaluation.predicted = predicted;
    return call(evaluation);
  }

  void weights_changed() override {
    if (kernels_.round == nullptr) return;
    team_.run([this](int thread) { round_weights(thread); });
  }

 private:
  /// The arguments of one call of the interface, for all threads.
  struct Call {
    const Samples& samples;
    const Workspace* space = nullptr;
    const Crew* crew = nullptr;  // null: alone
    bool backward = false, add = false;
    float weight = 0;
    const UpdateRule* rule = nullptr;  // update at once; null: write gradients
    std::int32_t* predicted = nullptr;
    const std::function<void(std::size_t)>* on_layer_ready = nullptr;

    std::int64_t count() const { return samples.batch.count; }
  };
  /// A thread's own arrays. Each thread packs the first layer's x for itself: reading what another core has just
  /// written would take longer than packing it again.
  struct alignas(64) Own {
    LossSums sums{0, 0};
    Array x, pairs;
  };

  LossSums call(Call call) {
    grow(call.count(), call.crew != nullptr);
    call.space = call.crew != nullptr ? &common_.space : &space_;
    team_.run([this, &call](int thread) { work(thread, call); });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return sums(call);
  }

  /// Makes room for `samples` samples.
  void grow(std::int64_t samples, bool common) {
    Arena own_memory;
    if (!common && samples > space_.capacity) space_ = Workspace(layout_, samples, own_memory);
    if (samples <= packed_capacity_) return;
    packed_capacity_ = samples;
    const Strides& strides = layout_.strides.front();
    for (Own& own : own_) {
      own.x = own_memory.take(samples * strides.x);
      if (layout_.unit_values > 1) own.pairs = own_memory.take(up(samples, layout_.unit_values) * strides.pairs);
    }
  }

  void work(int thread, const Call& call) {
    {
      std::optional<PhaseMark> mark;
      if (thread == 0) mark.emplace(call.backward ? Phase::kForward : Phase::kEvaluate);
      pack(thread, call);
      if (call.backward) transpose_weights(thread, call);
      if (!forward(thread, call)) return;
      if (call.crew != nullptr) {
        team_.barrier(thread);
        if (thread == 0) *common_sums(replica_) = own_sums();
      }
      if (!meet(thread, call)) return;
    }
    if (!call.backward || (call.rule != nullptr && !std::isfinite(sums(call).loss))) return;
    std::optional<PhaseMark> mark;
    if (thread == 0) mark.emplace(Phase::kBackward);
    backward(thread, call);
  }

  Portion portion_of(int thread, const Call& call) const {
    const Portion portion = call.crew != nullptr ? call.crew->portion : Portion{};
    return portion.part(thread, team_.size());
  }

  /// A barrier for all threads of all replicas that do the call; false if a replica was lost.
  bool meet(int thread, const Call& call) {
    team_.barrier(thread);
    if (call.crew == nullptr) return true;
    if (thread == 0) {
      try {
        (*call.crew->meet)();
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    team_.barrier(thread);
    return !failure_;
  }

  /// Packs all samples into this thread's own array.
  void pack(int thread, const Call& call) {
    const Strides& strides = layout_.strides.front();
    const Own& own = own_[static_cast<std::size_t>(thread)];
    const std::int64_t channels = static_cast<std::int64_t>(pixel_scale_.scale.size());
    const PackInput input{call.samples.images,
                          call.count(),
                          channels,
                          layers_.front().inputs / channels,
                          pixel_scale_.scale.data(),
                          pixel_scale_.shift.data(),
                          own.x.data(),
                          strides.x,
                          own.pairs.data(),
                          strides.pairs};
    kernels_.pack_input(input, 0, input.samples);
  }

  void transpose_weights(int thread, const Call& call) {
    for (std::size_t l = 1; l < layers_.size(); ++l) {
      const Dense& layer = layers_[l];
      const Range range = portion_of(thread, call).of(layer.outputs, kernels_.unit_values);
      kernels_.transpose(
          {values(layer.weight_parameter), layer.inputs, layer.outputs, layer.columns(), weights_[l].transposed.data()},
          range.begin, range.end);
    }
  }

  /// The forward pass. The last layer and the loss are divided by samples, so that the thread that computes a sample's
  /// logits also computes its loss. False if a replica was lost.
  bool forward(int thread, const Call& call) {
    const Portion portion = portion_of(thread, call);
    const std::int64_t blocks = up(call.count(), kernels_.tile_rows);
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
      const Range tiles = portion.of(up(layers_[l].columns(), kPanel) * blocks);
      kernels_.forward(forward_of(l, thread, call), tiles.begin, tiles.end);
      if (!meet(thread, call)) return false;
    }
    const Forward last = forward_of(layers_.size() - 1, thread, call);
    const Range own = portion.of(blocks);
    for (std::int64_t panel = 0; panel < up(last.columns, kPanel); ++panel) {
      kernels_.forward(last, panel * blocks + own.begin, panel * blocks + own.end);
    }
    own_[static_cast<std::size_t>(thread)].sums =
        kernels_.loss(loss_of(call), own.begin * kernels_.tile_rows,
                      std::min(call.count(), own.end * kernels_.tile_rows), call.predicted);
    return true;
  }

  /// The input x of a layer as rows, and in the form for the weight gradient.
  const Array& x_of(std::size_t layer, int thread, const Call& call) const {
    return layer > 0 ? call.space->layers[layer].x : own_[static_cast<std::size_t>(thread)].x;
  }
  const Array& pairs_of(std::size_t layer, int thread, const Call& call) const {
    return layer > 0 ? call.space->layers[layer].pairs : own_[static_cast<std::size_t>(thread)].pairs;
  }

  Forward forward_of(std::size_t index, int thread, const Call& call) const {
    const Dense& layer = layers_[index];
    const WeightOperands& weights = weights_[index];
    const bool last = index + 1 == layers_.size();
    const Workspace::Layer* next = last ? nullptr : &call.space->layers[index + 1];
    return {x_of(index, thread, call).data(),
            layout_.strides[index].x,
            up(layer.inputs, kernels_.unit_values),
            call.count(),
            weights.rounded ? weights.rounded.data() : values(layer.weight_parameter),
            layer.columns(),
            layer.bias ? values(layer.bias_parameter) : no_bias_.data(),
            layer.function,
            last ? nullptr : next->x.data(),
            last ? 0 : layout_.strides[index + 1].x,
            last ? nullptr : next->pairs.data(),
            last ? 0 : layout_.strides[index + 1].pairs,
            last ? call.space->logits.data() : nullptr,
            layout_.logits_stride};
  }

  LossInput loss_of(const Call& call) const {
    const Dense& last = layers_.back();
    const Workspace::Layer& own = call.space->layers.back();
    const data::Batch& batch = call.samples.batch;
    const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets);
    return {call.space->logits.data(),
            layout_.logits_stride,
            last.outputs,
            last.columns(),
            data::class_labels(batch.targets).data(),
            mixed != nullptr ? mixed->second_labels.data() : nullptr,
            mixed != nullptr ? mixed->label_weights.data() : nullptr,
            loss_.squared,
            call.backward ? loss_.smoothing : 0,
            call.weight,
            batch.count,
            call.space->slopes.data(),
            call.backward ? own.dy.data() : nullptr,
            layout_.strides.back().dy,
            own.dy_panels.data()};
  }

  void backward(int thread, const Call& call) {
    const Portion portion = portion_of(thread, call);
    const std::int64_t samples = call.count();
    const std::int64_t blocks = up(samples, kernels_.tile_rows);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const Dense& layer = layers_[l];
      if (l > 0) {
        const Workspace::Layer &own = call.space->layers[l], &below = call.space->layers[l - 1];
        const Strides &strides = layout_.strides[l], &strides_below = layout_.strides[l - 1];
        const std::int64_t columns = layers_[l - 1].columns();
        const InputGradient work{own.dy.data(),
                                 strides.dy,
                                 up(layer.outputs, kernels_.unit_values),
                                 samples,
                                 weights_[l].transposed.data(),
                                 columns,
                                 own.x.data(),
                                 strides.x,
                                 layers_[l - 1].function,
                                 below.dy.data(),
                                 strides_below.dy,
                                 below.dy_panels.data()};
        const Range tiles = portion.of(up(columns, kPanel) * blocks);
        kernels_.input_gradient(work, tiles.begin, tiles.end);
      }
      const Range tiles = portion.of(up(layer.columns(), kPanel) * up(layer.inputs, kernels_.tile_rows));
      kernels_.weight_gradient(weight_gradient_of(l, thread, call), tiles.begin, tiles.end);
      if ((l > 0 || call.on_layer_ready != nullptr) && !meet(thread, call)) return;
      if (thread == 0 && call.on_layer_ready != nullptr) (*call.on_layer_ready)(l);
    }
  }

  WeightGradient weight_gradient_of(std::size_t index, int thread, const Call& call) const {
    const Dense& layer = layers_[index];
    const Strides& strides = layout_.strides[index];
    WeightGradient work{};
    const Array& pairs = pairs_of(index, thread, call);
    work.x = pairs ? pairs.data() : x_of(index, thread, call).data();
    work.x_stride = pairs ? strides.pairs : strides.x;
    work.inputs = layer.inputs;
    work.dy = call.space->layers[index].dy_panels.data();
    work.columns = layer.columns();
    work.samples = up(call.count(), kernels_.unit_values);
    work.add = call.add;
    if (call.rule == nullptr) {
      work.gradient = place(arrays_.gradients, layer.weight_parameter);
      work.bias_gradient = place(arrays_.gradients, layer.bias_parameter, layer.bias);
      return work;
    }
    work.rule = *call.rule;
    work.weights = values(layer.weight_parameter);
    work.momentum = place(arrays_.momentum, layer.weight_parameter);
    work.bias = place(arrays_.values, layer.bias_parameter, layer.bias);
    work.bias_momentum = place(arrays_.momentum, layer.bias_parameter, layer.bias);
    work.rounded = weights_[index].rounded.data();
    return work;
  }

  /// The sums of this replica's threads, added in the order of the threads.
  LossSums own_sums() const {
    LossSums all{0, 0};
    for (const Own& part : own_) {
      all.loss += part.sums.loss;
      all.correct += part.sums.correct;
    }
    return all;
  }

  LossSums* common_sums(int replica) const {
    return reinterpret_cast<LossSums*>(common_.sums.data() + replica * kSumsApart);
  }

  /// The sums over the whole batch: the same on each thread of each replica.
  LossSums sums(const Call& call) const {
    if (call.crew == nullptr) return own_sums();
    LossSums all{0, 0};
    for (const int member : call.crew->members) {
      all.loss += common_sums(member)->loss;
      all.correct += common_sums(member)->correct;
    }
    return all;
  }

  void round_weights(int thread) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Dense& layer = layers_[l];
      const Range range = Portion{}.part(thread, team_.size()).of(layer.inputs, kernels_.unit_values);
      kernels_.round(values(layer.weight_parameter), layer.inputs, layer.columns(), weights_[l].rounded.data(),
                     range.begin, range.end);
    }
  }

  float* values(std::size_t parameter) const { return place(arrays_.values, parameter); }
  /// The parameter's first value in an array; null where the array is empty or there is no such parameter.
  float* place(const Array& array, std::size_t parameter, bool exists = true) const {
    return array && exists ? array.data() + parameters_.entries()[parameter].offset : nullptr;
  }

  const MlpKernels& kernels_;
  const std::vector<Dense> layers_;
  const Parameters& parameters_;
  Arrays& arrays_;
  const ClassLoss loss_;
  const PixelScale pixel_scale_;
  const int replica_;
  const OperandLayout layout_;
  std::vector<WeightOperands> weights_;
  Workspace space_;  // for work that this replica does alone
  Common common_;
  Array no_bias_;
  std::int64_t packed_capacity_ = 0;  // samples
  std::vector<Own> own_;
  std::exception_ptr failure_;  // of a meeting
  Team team_;                   // last: its threads use the rest
};

}  // namespace

std::unique_ptr<Mlp> make_simd_mlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays,
                                   const TrainerOptions& options, PixelScale pixel_scale, Arena* shared) {
  return std::make_unique<SimdMlp>(std::move(layers), parameters, arrays, options, std::move(pixel_scale), shared);
}

void count_shared(const std::vector<Dense>& layers, Precision precision, std::int64_t samples, int replicas,
                  Arena& arena) {
  const OperandLayout layout(layers, kernels_for(precision));
  make_weight_operands(layout, arena);
  Common(layout, samples, replicas, arena);
}

}  // namespace evener::engine::native_mlp
