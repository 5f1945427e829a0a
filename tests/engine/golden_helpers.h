// The golden files of tests/golden as C++ values, and the probes that compare a whole tensor with them.
#pragma once

#include <string>
#include <vector>

#include "base/precision.h"
#include "base/tensor.h"
#include "data/codecs/picture.h"
#include "engine/batches_helpers.h"
#include "engine/engine.h"
#include "network/network.h"

namespace evener::test {

/// What make_golden.py wrote about one kind of tensor (gradients, buffers) of one network.
struct GoldenTensors {
  std::vector<std::string> names;
  std::vector<double> norm;         // (names)
  std::vector<double> projections;  // (names, 4), of a detector (names, 2)
  std::vector<double> samples;      // (names, 32), of a detector (names, 6)
  std::vector<double> deviation;    // (names), norm of PyTorch's own difference from float64 in this precision
};

struct GoldenCase {
  std::string name, model;
  data::ImageShape shape;
  std::int64_t classes = 0, batch = 0;
  std::uint64_t seed = 0;
  double learning_rate = 0;
  engine::TrainerOptions options;                          // loss, optimiser, mean and standard deviation, precision
  std::vector<double> losses, losses_deviation;            // before each step; of a detector's first one the sum, that
                                                           // of boxes, that of classes
  std::vector<double> evaluations, evaluations_deviation;  // after the first forward, and after the last step
  GoldenTensors gradients, buffers;                        // of the first step
  std::vector<std::vector<data::LabelledBox>> boxes;       // of each image; a detector's
  std::int64_t matches = 0;                                // anchors that stand for one
};

/// Reads tests/golden/<name>.safetensors; the deviations are those of `precision`.
GoldenCase read_golden(const std::string& name, Precision precision);

/// The network of a golden file: of the zoo, or one of the two below.
network::Network golden_network(const GoldenCase& golden);

/// The batch that the golden file was made with.
OwnedBatch golden_batch(const GoldenCase& golden);

/// Root mean square of how far the probes of `tensor` (norm, projections on vectors of +-1, single elements) are from
/// golden row `row`, in units of `scale`, an assumed norm of the tensor's whole error: a projection of an error of that
/// norm is about as large, one of its n elements is sqrt(n) times smaller.
double probe_distance(const HostTensor& tensor, const GoldenTensors& golden, std::size_t row, double scale,
                      std::uint64_t seed);

/// Small networks of the operations that no classifier of the first golden files has.
/// Windows that are no squares, strides and paddings that differ along both sides, pooling that rounds up, PReLU.
network::Network windows_network(const network::Shape& input, std::int64_t classes);
/// Concatenation, squeeze and excitation, products, a branch that is dropped for some samples.
network::Network branches_network(const network::Shape& input, std::int64_t classes);

}  // namespace evener::test
