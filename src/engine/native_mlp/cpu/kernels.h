// The products, losses and updates of a multilayer perceptron, each as a function that does a range of the work, so
// that any team of threads can share it. Compiled once per instruction set (CMakeLists.txt). No library and no standard
// template is used here: the linker might merge their functions across instruction sets, and run AVX-512 on processors
// that lack it.
//
// Products take their operands in units of four bytes: a float32, or two bfloat16 that follow each other along the
// dimension that is summed over ("pair"). Sums are float32 either way.
//
//   rows     unit k of row r at r * stride + k: what is broadcast, one unit at a time
//   panels   up to 64 columns side by side: unit k of column c at 64 * p * K + k * width + c - 64 * p, with p = c / 64,
//            K units in all and width columns in panel p (64; in the last what is left, a multiple of 16)
//
// The layout is the same on every processor: replicas on unlike ones exchange gradients that lie in panels.
#pragma once

#include <cstdint>

namespace evener::engine::native_mlp {

using Unit = float;

constexpr std::int64_t kPanel = 64;    // columns
constexpr std::int64_t kColumns = 16;  // columns are rounded up to a multiple of this, and filled up with zeros

enum class Function : std::uint8_t { kIdentity, kRelu, kRelu6, kSigmoid, kTanh };

/// Pixels to normalised values: value * scale + shift of the channel.
struct PackInput {
  const std::uint8_t* const* images;  // of each sample: (channels, plane)
  std::int64_t samples, channels, plane;
  const float* scale;
  const float* shift;
  Unit* rows;  // (samples) rows of channels * plane values
  std::int64_t stride;
  Unit* pairs;  // of bfloat16, over the samples: unit (sample / 2, value); null with float32, where `rows` are that
  std::int64_t pairs_stride;
};

/// y = function(x W + bias) for tiles of samples and columns.
struct Forward {
  const Unit* x;                           // rows
  std::int64_t x_stride, inputs, samples;  // inputs in units
  const Unit* weights;                     // panels over the outputs
  std::int64_t columns;
  const float* bias;
  Function function;
  Unit* rows;  // y, as x of the next layer; null for the last layer
  std::int64_t stride;
  Unit* pairs;  // as in PackInput
  std::int64_t pairs_stride;
  float* logits;  // y of the last layer, as float32; null for the others
  std::int64_t logits_stride;
};

/// The losses of samples and their derivatives with respect to the logits.
struct LossInput {
  const float* logits;
  std::int64_t logits_stride, classes, columns;
  const std::int32_t* labels;
  const std::int32_t* second_labels;  // null where nothing is mixed
  const float* label_weights;
  bool squared;     // mean squared error instead of cross-entropy
  float smoothing;  // share of the target that goes to all classes
  float weight;     // of each derivative in `rows` and `panels`
  std::int64_t samples;
  float* slopes;  // derivatives as float32, (samples) rows of logits_stride
  Unit* rows;     // `weight` times them, by sample; null: nothing goes backward
  std::int64_t stride;
  Unit* panels;  // the same for the weight gradient: summed over samples
};

struct LossSums {
  double loss;
  std::int64_t correct;
};

/// dx = (dy W^T) * function'(y), where y = function(...) is what the layer below gave.
struct InputGradient {
  const Unit* dy;                            // rows
  std::int64_t dy_stride, outputs, samples;  // outputs in units
  const Unit* weights;                       // panels over the inputs
  std::int64_t columns;                      // inputs, rounded up
  const Unit* y;                             // rows
  std::int64_t y_stride;
  Function function;
  Unit* rows;  // dx, for the layer below that; may be null
  std::int64_t stride;
  Unit* panels;  // dx, summed over samples in the weight gradient
};

/// One step of SGD: g += decay * w; v = momentum * v + g; w -= rate * (nesterov ? g + momentum * v : v).
struct UpdateRule {
  float rate, momentum, decay;
  bool nesterov;
};

/// dW = x^T dy, and the sum of dy over the samples for the bias. Either written to or added to `gradient`, or used at
/// once to change the weights (gradient null).
struct WeightGradient {
  const Unit* x;  // unit k (over the samples) of input i at k * stride + i
  std::int64_t x_stride, inputs;
  const Unit* dy;                 // panels over the outputs
  std::int64_t columns, samples;  // samples in units
  float* gradient;                // panels, of float32; null: update
  float* bias_gradient;           // null: no bias, or update
  bool add;
  UpdateRule rule;
  float* weights;        // panels, of float32
  float* momentum;       // the same; null without momentum
  float* bias;           // null: none
  float* bias_momentum;  // null without momentum
  Unit* rounded;         // the weights as bfloat16, panels of pairs over the inputs; null with float32
};

/// The weights of a layer as panels over its inputs, summed over its outputs.
struct Transpose {
  const float* weights;  // panels over the outputs, of float32
  std::int64_t inputs, outputs, columns;
  Unit* out;
};

struct MlpKernels {
  std::int64_t unit_values;  // 1: float32; 2: pairs of bfloat16
  std::int64_t tile_rows;    // samples (inputs in weight_gradient) of a tile; even with pairs

  void (*pack_input)(const PackInput& work, std::int64_t begin, std::int64_t end);  // samples; an even one first
  /// Tiles [begin, end) of panels x blocks of tile_rows samples.
  void (*forward)(const Forward& work, std::int64_t begin, std::int64_t end);
  /// Samples [begin, end), an even one first. `predicted` may be null.
  LossSums (*loss)(const LossInput& work, std::int64_t begin, std::int64_t end, std::int32_t* predicted);
  void (*input_gradient)(const InputGradient& work, std::int64_t begin, std::int64_t end);  // tiles as in forward
  /// Tiles [begin, end) of panels x blocks of tile_rows inputs.
  void (*weight_gradient)(const WeightGradient& work, std::int64_t begin, std::int64_t end);
  void (*transpose)(const Transpose& work, std::int64_t begin, std::int64_t end);  // outputs, an even one first
  /// Weights as panels of pairs over the inputs [begin, end), an even one first; null with float32.
  void (*round)(const float* weights, std::int64_t inputs, std::int64_t columns, Unit* rounded, std::int64_t begin,
                std::int64_t end);
  /// Values [begin, end); `velocity` is null without momentum.
  void (*update)(const UpdateRule& rule, float* values, const float* gradients, float* velocity, std::int64_t begin,
                 std::int64_t end);
};

/// The kernels for this processor: the widest of AVX-512, AVX2 and plain x86-64 that it has.
const MlpKernels& float_kernels();
/// Null where the processor has no dot products of bfloat16.
const MlpKernels* bfloat16_kernels();

namespace baseline {
extern const MlpKernels table;
}
namespace avx2 {
extern const MlpKernels table;
}
namespace avx512 {
extern const MlpKernels table;
}
namespace avx512_bf16 {
extern const MlpKernels table;
}

}  // namespace evener::engine::native_mlp
