#include "engine/native_mlp/device/kernels.h"

#include <algorithm>

namespace evener::engine::native_mlp {
namespace {

const char* const kCommon = R"(
#define ITEMS (ITEMS_X * ITEMS_Y)
#define COLUMNS (VECTOR * ITEMS_X)
#define ROWS (TILE_ROWS * ITEMS_Y)
#define LEFT_STRIDE (DEPTH + 1)
#define LEFT_ROW_STRIDE (ROWS + 1)
#define RIGHT_STRIDE (COLUMNS + VECTOR)
#define LEFT_VALUES (ROWS * LEFT_STRIDE > DEPTH * LEFT_ROW_STRIDE ? ROWS * LEFT_STRIDE : DEPTH * LEFT_ROW_STRIDE)

#define HEADER_WORDS 8
#define RATE 0
#define WEIGHT 1
#define AVERAGE_SHARE 2
#define RESULT 3

#define IDENTITY 0
#define RELU 1
#define RELU6 2
#define SIGMOID 3
#define TANH 4

FUNCTION float value_of(int function, float x) {
  switch (function) {
    case RELU: return x < 0.0f ? 0.0f : x;
    case RELU6: return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x;
    case SIGMOID: return 1.0f / (1.0f + exp(-x));
    case TANH: return tanh(x);
  }
  return x;
}

/* The derivative, from the function's value. */
FUNCTION float slope_of(int function, float y) {
  switch (function) {
    case RELU: return y > 0.0f ? 1.0f : 0.0f;
    case RELU6: return y > 0.0f && y < 6.0f ? 1.0f : 0.0f;
    case SIGMOID: return y * (1.0f - y);
    case TANH: return 1.0f - y * y;
  }
  return 1.0f;
}

/* Rows and columns of a matrix (row_count, column_count) from (row, column) on, zeros beyond it, to where value (r, c)
   has the place r * row_step + c * column_step. */
FUNCTION void fetch_tile(LOCAL float* tile, const int row_step, const int column_step, const int rows,
                         const int columns, GLOBAL const float* matrix, int row, int row_count, int column,
                         int column_count) {
  for (int n = (ITEM_Y * ITEMS_X + ITEM_X) * LOAD; n < rows * columns; n += ITEMS * LOAD) {
    const int r = n / columns, c = n % columns;
    GLOBAL const float* from = matrix + (PLACE)(row + r) * column_count + column + c;
    LOCAL float* to = tile + r * row_step + c * column_step;
#if LOAD > 1
    if (column_step == 1 && row + r < row_count && column + c + LOAD <= column_count) {
      STORE_VECTOR(LOAD_VECTOR(from), to);
      continue;
    }
#endif
    for (int i = 0; i < LOAD; ++i) {
      to[i * column_step] = row + r < row_count && column + c + i < column_count ? from[i] : 0.0f;
    }
  }
}

/* Adds the products of the two tiles. Value (row, k) of the left one is LEFT(row, k). */
#define ADD_PRODUCTS(sums, LEFT, right)                                                     \
  {                                                                                         \
    Vector own[TILE_ROWS];                                                                  \
    for (int r = 0; r < TILE_ROWS; ++r) own[r] = sums[r];                                   \
    for (int k = 0; k < DEPTH; ++k) {                                                       \
      const Vector factors = LOAD_VECTOR(right + k * RIGHT_STRIDE + ITEM_X * VECTOR);       \
      for (int r = 0; r < TILE_ROWS; ++r) own[r] += LEFT(ITEM_Y * TILE_ROWS + r, k) * factors; \
    }                                                                                       \
    for (int r = 0; r < TILE_ROWS; ++r) sums[r] = own[r];                                   \
  }

/* Pixels as normalised values; x (samples, values). */
KERNEL GROUP_OF(SINGLE_ITEMS, 1) gather(GLOBAL const Byte* images, int first_byte, int by_index,
                                        GLOBAL const float* block, GLOBAL const float* scale,
                                        GLOBAL const float* shift, int plane, int values, GLOBAL float* x) {
  const int value = GROUP_Y * SINGLE_ITEMS + ITEM_X, sample = GROUP_X;
  if (value >= values) return;
  const int image = by_index ? ((GLOBAL const int*)block)[HEADER_WORDS + sample] : sample;
  const int channel = value / plane;
  x[(PLACE)sample * values + value] =
      images[first_byte + (PLACE)image * values + value] * scale[channel] + shift[channel];
}

/* y = function(x W + bias); or, where a part has fewer inputs than there are, x W over each part of them: `parts` is
   (parts, samples, outputs), for which add_parts does the rest. Groups of a part lie side by side along the first axis. */
KERNEL GROUP_OF(ITEMS_X, ITEMS_Y) forward(GLOBAL const float* x, GLOBAL const float* values, int weights_at,
                                          int bias_at, int function, int samples, int inputs, int outputs,
                                          int part_inputs, GLOBAL float* parts, GLOBAL float* y) {
  LOCAL_ARRAY(left, LEFT_VALUES);
  LOCAL_ARRAY(right, DEPTH * RIGHT_STRIDE);
  const int across = (outputs + COLUMNS - 1) / COLUMNS, part = GROUP_X / across, first = part * part_inputs;
  const int row = GROUP_Y * ROWS, column = GROUP_X % across * COLUMNS;
  const int end = part_inputs < inputs - first ? first + part_inputs : inputs;
  Vector sums[TILE_ROWS];
  for (int r = 0; r < TILE_ROWS; ++r) sums[r] = ZERO_VECTOR;
  for (int k = first; k < end; k += DEPTH) {
    fetch_tile(left, LEFT_STRIDE, 1, ROWS, DEPTH, x, row, samples, k, inputs);
    fetch_tile(right, RIGHT_STRIDE, 1, DEPTH, COLUMNS, values + weights_at, k, inputs, column, outputs);
    BARRIER();
#define LEFT_OF_SAMPLE(row, k) left[(row) * LEFT_STRIDE + (k)]
    ADD_PRODUCTS(sums, LEFT_OF_SAMPLE, right)
    BARRIER();
  }
  for (int r = 0; r < TILE_ROWS; ++r) {
    const int sample = row + ITEM_Y * TILE_ROWS + r;
    PRIVATE_ARRAY(lanes, VECTOR);
    STORE_VECTOR(sums[r], lanes);
    for (int i = 0; i < VECTOR; ++i) {
      const int output = column + ITEM_X * VECTOR + i;
      if (sample >= samples || output >= outputs) continue;
      if (part_inputs < inputs) {
        parts[((PLACE)part * samples + sample) * outputs + output] = lanes[i];
        continue;
      }
      const float bias = bias_at >= 0 ? values[bias_at + output] : 0.0f;
      y[(PLACE)sample * outputs + output] = value_of(function, lanes[i] + bias);
    }
  }
}

/* y = function(sum of the parts + bias), the parts in their order. */
KERNEL GROUP_OF(SINGLE_ITEMS, 1) add_parts(GLOBAL const float* parts, int part_count, GLOBAL const float* values,
                                           int bias_at, int function, int samples, int outputs, GLOBAL float* y) {
  const int place = GROUP_X * SINGLE_ITEMS + ITEM_X, count = samples * outputs;
  if (place >= count) return;
  float sum = 0.0f;
  for (int part = 0; part < part_count; ++part) sum += parts[(PLACE)part * count + place];
  y[place] = value_of(function, sum + (bias_at >= 0 ? values[bias_at + place % outputs] : 0.0f));
}

/* dx = (dy W^T) * function'(y), y being what the layer below gave. */
KERNEL GROUP_OF(ITEMS_X, ITEMS_Y) input_gradient(GLOBAL const float* dy, GLOBAL const float* values, int weights_at,
                                                 GLOBAL const float* y, int function, int samples, int inputs,
                                                 int outputs, GLOBAL float* dx) {
  LOCAL_ARRAY(left, LEFT_VALUES);
  LOCAL_ARRAY(right, DEPTH * RIGHT_STRIDE);
  const int row = GROUP_Y * ROWS, column = GROUP_X * COLUMNS;
  Vector sums[TILE_ROWS];
  for (int r = 0; r < TILE_ROWS; ++r) sums[r] = ZERO_VECTOR;
  for (int k = 0; k < outputs; k += DEPTH) {
    fetch_tile(left, LEFT_STRIDE, 1, ROWS, DEPTH, dy, row, samples, k, outputs);
    fetch_tile(right, 1, RIGHT_STRIDE, COLUMNS, DEPTH, values + weights_at, column, inputs, k, outputs);
    BARRIER();
    ADD_PRODUCTS(sums, LEFT_OF_SAMPLE, right)
    BARRIER();
  }
  for (int r = 0; r < TILE_ROWS; ++r) {
    const int sample = row + ITEM_Y * TILE_ROWS + r;
    PRIVATE_ARRAY(lanes, VECTOR);
    STORE_VECTOR(sums[r], lanes);
    for (int i = 0; i < VECTOR; ++i) {
      const int input = column + ITEM_X * VECTOR + i;
      if (sample >= samples || input >= inputs) continue;
      const PLACE place = (PLACE)sample * inputs + input;
      dx[place] = lanes[i] * slope_of(function, y[place]);
    }
  }
}
)";

const char* const kUpdates = R"(
/* One step of SGD of the value at `place`. */
FUNCTION void change_value(GLOBAL float* values, GLOBAL float* velocities, PLACE place, float gradient, float rate,
                           float momentum, float decay, int nesterov) {
  const float value = values[place];
  float change = gradient + decay * value;
  if (momentum != 0.0f) {
    const float velocity = momentum * velocities[place] + change;
    velocities[place] = velocity;
    change = nesterov ? change + momentum * velocity : velocity;
  }
  values[place] = value - rate * change;
}

/* Gradients of the columns from `first` on of a row that begins at `row`; modes as in weight_gradient. */
FUNCTION void take_gradients(Vector found, PLACE row, int first, int columns, int mode, GLOBAL float* gradients,
                             GLOBAL float* values, GLOBAL float* velocities, float rate, float momentum, float decay,
                             int nesterov) {
  PRIVATE_ARRAY(lanes, VECTOR);
  STORE_VECTOR(found, lanes);
  for (int i = 0; i < VECTOR; ++i) {
    if (first + i >= columns) continue;
    const PLACE place = row + first + i;
    if (mode == 0) {
      change_value(values, velocities, place, lanes[i], rate, momentum, decay, nesterov);
    } else {
      gradients[place] = mode == 2 ? gradients[place] + lanes[i] : lanes[i];
    }
  }
}

/* dW = x^T dy, and the sum of dy over the samples for the bias: used at once to change the values (mode 0), written to
   `gradients` (1) or added to them (2). What isn't trained has a place below 0. */
KERNEL GROUP_OF(ITEMS_X, ITEMS_Y) weight_gradient(GLOBAL const float* x, GLOBAL const float* dy, int samples,
                                                  int inputs, int outputs, int mode, int weights_at, int bias_at,
                                                  GLOBAL float* gradients, GLOBAL float* values,
                                                  GLOBAL float* velocities, GLOBAL const float* block, float momentum,
                                                  float decay, int nesterov, GLOBAL const float* stopped) {
  LOCAL_ARRAY(left, LEFT_VALUES);
  LOCAL_ARRAY(right, DEPTH * RIGHT_STRIDE);
  const int row = GROUP_Y * ROWS, column = GROUP_X * COLUMNS;
  const float rate = block[RATE];
  Vector sums[TILE_ROWS];
  Vector bias_sum = ZERO_VECTOR;
  for (int r = 0; r < TILE_ROWS; ++r) sums[r] = ZERO_VECTOR;
  for (int k = 0; k < samples; k += DEPTH) {
    fetch_tile(left, LEFT_ROW_STRIDE, 1, DEPTH, ROWS, x, k, samples, row, inputs);
    fetch_tile(right, RIGHT_STRIDE, 1, DEPTH, COLUMNS, dy, k, samples, column, outputs);
    BARRIER();
#define LEFT_OF_INPUT(row, k) left[(k) * LEFT_ROW_STRIDE + (row)]
    ADD_PRODUCTS(sums, LEFT_OF_INPUT, right)
    if (GROUP_Y == 0 && ITEM_Y == 0) {
      for (int d = 0; d < DEPTH; ++d) bias_sum += 1.0f * LOAD_VECTOR(right + d * RIGHT_STRIDE + ITEM_X * VECTOR);
    }
    BARRIER();
  }
  if (mode == 0 && stopped[0] != 0.0f) return;
  const int first = column + ITEM_X * VECTOR;
  for (int r = 0; r < TILE_ROWS; ++r) {
    const int input = row + ITEM_Y * TILE_ROWS + r;
    if (weights_at < 0 || input >= inputs) continue;
    take_gradients(sums[r], weights_at + (PLACE)input * outputs, first, outputs, mode, gradients, values, velocities,
                   rate, momentum, decay, nesterov);
  }
  if (bias_at < 0 || GROUP_Y != 0 || ITEM_Y != 0) return;
  take_gradients(bias_sum, bias_at, first, outputs, mode, gradients, values, velocities, rate, momentum, decay,
                 nesterov);
}

/* One step of SGD of `count` values from `first` on. */
KERNEL GROUP_OF(SINGLE_ITEMS, 1) update(GLOBAL const float* gradients, GLOBAL float* values, GLOBAL float* velocities,
                                        GLOBAL const float* block, float momentum, float decay, int nesterov,
                                        int first, int count) {
  const int place = GROUP_X * SINGLE_ITEMS + ITEM_X;
  if (place >= count) return;
  change_value(values, velocities, (PLACE)first + place, gradients[first + place], block[RATE], momentum, decay,
               nesterov);
}

/* The average of the weights goes a part of the way to them. */
KERNEL GROUP_OF(SINGLE_ITEMS, 1) follow(GLOBAL const float* values, GLOBAL float* average, GLOBAL const float* block,
                                        GLOBAL const float* stopped, int count) {
  const int place = GROUP_X * SINGLE_ITEMS + ITEM_X;
  if (place >= count || stopped[0] != 0.0f) return;
  average[place] += block[AVERAGE_SHARE] * (values[place] - average[place]);
}
)";

const char* const kLoss = R"(
/* Losses of `samples` samples, summed; their derivatives, times the block's weight, where purpose is not 0. Purpose 2:
   a sum that isn't finite sets `stopped`. One group, whose items take sample after sample. */
KERNEL GROUP_OF(SINGLE_ITEMS, 1) loss(GLOBAL const float* logits, GLOBAL const float* block, int samples, int classes,
                                      int squared, int mixed, float smoothing, int purpose, GLOBAL float* slopes,
                                      GLOBAL int* predicted, GLOBAL float* results, GLOBAL float* stopped) {
  LOCAL_ARRAY(losses, SINGLE_ITEMS);
  LOCAL_ARRAY(corrects, SINGLE_ITEMS);
  GLOBAL const int* words = (GLOBAL const int*)block;
  GLOBAL const int* labels = words + HEADER_WORDS + samples;
  GLOBAL const int* second_labels = labels + samples;
  GLOBAL const float* label_weights = block + HEADER_WORDS + 3 * samples;
  const float weight = block[WEIGHT];
  float loss_sum = 0.0f, correct = 0.0f;
  for (int s = ITEM_X; s < samples; s += SINGLE_ITEMS) {
    GLOBAL const float* row = logits + (PLACE)s * classes;
    int best = 0;
    for (int c = 1; c < classes; ++c) best = row[c] > row[best] ? c : best;
    const float largest = row[best];
    float sum = 0.0f;
    if (!squared) {
      for (int c = 0; c < classes; ++c) sum += exp(row[c] - largest);
    }
    const float log_sum = squared ? 0.0f : log(sum);
    const float first_share = mixed ? label_weights[s] : 1.0f;
    const int label = labels[s], second_label = mixed ? second_labels[s] : -1;
    for (int c = 0; c < classes; ++c) {
      const float hot = (c == label ? first_share : 0.0f) + (c == second_label ? 1.0f - first_share : 0.0f);
      const float target = (1.0f - smoothing) * hot + smoothing / classes;
      float slope;
      if (squared) {
        const float distance = row[c] - target;
        loss_sum += distance * distance / classes;
        slope = 2.0f * distance / classes;
      } else {
        const float logarithm = row[c] - largest - log_sum;
        loss_sum -= target * logarithm;
        slope = exp(logarithm) - target;
      }
      if (purpose != 0) slopes[(PLACE)s * classes + c] = weight * slope;
    }
    correct += best == label ? 1.0f : 0.0f;
    predicted[s] = best;
  }
  losses[ITEM_X] = loss_sum;
  corrects[ITEM_X] = correct;
  BARRIER();
  for (int distance = SINGLE_ITEMS / 2; distance > 0; distance /= 2) {
    if (ITEM_X < distance) {
      losses[ITEM_X] += losses[ITEM_X + distance];
      corrects[ITEM_X] += corrects[ITEM_X + distance];
    }
    BARRIER();
  }
  if (ITEM_X != 0) return;
  if (purpose == 2 && !(losses[0] - losses[0] == 0.0f)) stopped[0] = 1.0f;
  GLOBAL float* result = results + 4 * words[RESULT];
  result[0] = losses[0];
  result[1] = corrects[0];
  result[2] = stopped[0];
}
)";

}  // namespace

const std::string& device_kernels() {
  static const std::string text = std::string(kCommon) + kUpdates + kLoss;
  return text;
}

TileShape tile_shape_for(const DeviceFacts& device) {
  if (!device.is_cpu) return {};
  const int vector = device.vector_floats >= 16 ? 16 : 8;
  return {vector, /*rows=*/8, /*items_x=*/64 / vector, /*items_y=*/8, /*depth=*/64, /*load=*/vector};
}

void build_device_kernels(Accelerator& accelerator, const TileShape& tile) {
  accelerator.build(device_kernels(), {{"VECTOR", tile.vector},
                                       {"TILE_ROWS", tile.rows},
                                       {"ITEMS_X", tile.items_x},
                                       {"ITEMS_Y", tile.items_y},
                                       {"DEPTH", tile.depth},
                                       {"LOAD", tile.load},
                                       {"SINGLE_ITEMS", kItems}});
}

std::size_t groups_for(std::int64_t count, std::int64_t in_one) {
  return static_cast<std::size_t>((count + in_one - 1) / in_one);
}

Grid tiles_of(const TileShape& tile, std::int64_t rows, std::int64_t columns) {
  return {{groups_for(columns, tile.tile_columns()), groups_for(rows, tile.tile_rows())},
          {static_cast<std::size_t>(tile.items_x), static_cast<std::size_t>(tile.items_y)}};
}

std::int64_t part_length_for(const TileShape& tile, const DeviceFacts& device, std::int64_t rows, std::int64_t columns,
                             std::int64_t summed) {
  constexpr std::int64_t kLeastPieces = 4;  // with fewer pieces, adding up the parts costs more than it saves
  const auto count = [](std::int64_t value, std::int64_t in_one) { return (value + in_one - 1) / in_one; };
  const std::int64_t tiles = count(rows, tile.tile_rows()) * count(columns, tile.tile_columns());
  const std::int64_t pieces = count(summed, tile.depth);
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min<std::int64_t>(device.multiprocessors / tiles, pieces / kLeastPieces));
  return count(pieces, parts) * tile.depth;
}

std::size_t most_part_values(const TileShape& tile, const DeviceFacts& device) {
  // There are at most as many parts as multiprocessors, each with the size of a tile.
  return static_cast<std::size_t>(std::max(1, device.multiprocessors)) * static_cast<std::size_t>(tile.tile_rows()) *
         static_cast<std::size_t>(tile.tile_columns());
}

}  // namespace evener::engine::native_mlp
