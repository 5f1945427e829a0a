// The keys of images, probes and samples below are those of make_golden.py.
#include "engine/golden_helpers.h"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "base/paths.h"
#include "base/precision.h"
#include "base/random.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener::test {
namespace {

constexpr std::uint64_t kProbeKey = 1000, kSampleKey = 2000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<float> floats_of(const std::string& text) {
  std::vector<float> values;
  for (const auto& part : split(text, ',')) values.push_back(std::stof(part));
  return values;
}

std::vector<double> doubles_of(const TensorMap& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return {};
  if (found->second.dtype != DType::kF64) throw std::runtime_error(name + " is not float64");
  const auto* values = reinterpret_cast<const double*>(found->second.bytes.data());
  return {values, values + element_count(found->second.shape)};
}

GoldenTensors tensors_of(const TensorMap& tensors, const std::string& kind, const std::string& names,
                         const std::string& precision) {
  return {split(names, ','), doubles_of(tensors, kind + ".norm"), doubles_of(tensors, kind + ".projections"),
          doubles_of(tensors, kind + ".samples"), doubles_of(tensors, kind + "." + precision + "_deviation")};
}

network::Criterion criterion_called(const std::string& loss) {
  if (loss == "multi-box") return network::multi_box();
  return loss == "mse" ? network::mean_squared_error() : network::cross_entropy();
}

/// Rows of an image, a class and four corners.
std::vector<std::vector<data::LabelledBox>> boxes_of(const std::vector<double>& rows, std::int64_t images) {
  std::vector<std::vector<data::LabelledBox>> boxes(static_cast<std::size_t>(images));
  for (std::size_t i = 0; i < rows.size(); i += 6) {
    const auto corner = [&](std::size_t k) { return static_cast<float>(rows[i + 2 + k]); };
    boxes.at(static_cast<std::size_t>(rows[i]))
        .push_back({corner(0), corner(1), corner(2), corner(3), static_cast<std::int32_t>(rows[i + 1])});
  }
  return boxes;
}

}  // namespace

using namespace network;

GoldenCase read_golden(const std::string& name, Precision precision) {
  const weights::SafetensorsFile file =
      weights::read_safetensors(source_folder() / ("tests/golden/" + name + ".safetensors"));
  const auto& [tensors, metadata] = std::tie(file.tensors, file.metadata);
  const std::string kind = precision == Precision::kFp32 ? "fp32" : "bf16";
  GoldenCase golden;
  golden.name = name;
  golden.model = metadata.at("model");
  const auto extents = split(metadata.at("input"), 'x');
  golden.shape = {std::stoll(extents.at(0)), std::stoll(extents.at(1)), std::stoll(extents.at(2))};
  golden.classes = std::stoll(metadata.at("classes"));
  golden.batch = std::stoll(metadata.at("batch"));
  golden.seed = std::stoull(metadata.at("seed"));
  golden.learning_rate = std::stod(metadata.at("learning_rate"));
  golden.options.precision = precision;
  golden.options.seed = golden.seed;
  golden.options.criterion = criterion_called(metadata.at("loss"));
  golden.options.optimizer.momentum = std::stod(metadata.at("momentum"));
  golden.options.optimizer.weight_decay = std::stod(metadata.at("weight_decay"));
  golden.options.mean = floats_of(metadata.at("mean"));
  golden.options.standard_deviation = floats_of(metadata.at("standard_deviation"));
  golden.losses = doubles_of(tensors, "losses");
  golden.losses_deviation = doubles_of(tensors, "losses." + kind + "_deviation");
  golden.evaluations = doubles_of(tensors, "evaluations");
  golden.evaluations_deviation = doubles_of(tensors, "evaluations." + kind + "_deviation");
  golden.gradients = tensors_of(tensors, "gradients", metadata.at("trained"), kind);
  golden.buffers = tensors_of(tensors, "buffers", metadata.at("buffers"), kind);
  if (metadata.contains("matches")) {
    golden.boxes = boxes_of(doubles_of(tensors, "boxes"), golden.batch);
    golden.matches = std::stoll(metadata.at("matches"));
  }
  return golden;
}

network::Network golden_network(const GoldenCase& golden) {
  const network::Shape input{golden.shape.channels, golden.shape.height, golden.shape.width};
  if (golden.model == "operations:windows") return windows_network(input, golden.classes);
  if (golden.model == "operations:branches") return branches_network(input, golden.classes);
  return network::build(golden.model, {.input = input, .classes = golden.classes});
}

OwnedBatch golden_batch(const GoldenCase& golden) {
  Random pixels(golden.seed, Purpose::kSynthetic, hash_text("images"));
  Random classes(golden.seed, Purpose::kSynthetic, hash_text("labels"));
  OwnedBatch batch{golden.shape, {}, {}, {}};
  batch.images.resize(static_cast<std::size_t>(golden.batch) * golden.shape.bytes());
  for (auto& value : batch.images) value = static_cast<std::uint8_t>(pixels.below(256));
  for (std::int64_t i = 0; i < golden.batch; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(classes.below(static_cast<std::uint64_t>(golden.classes))));
    batch.samples.push_back(static_cast<std::uint32_t>(i));
  }
  return batch;
}

double probe_distance(const HostTensor& tensor, const GoldenTensors& golden, std::size_t row, double scale,
                      std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  const float* values = tensor.floats();
  const std::uint64_t key = hash_text(golden.names.at(row));
  const std::size_t probes = golden.projections.size() / golden.names.size();
  const std::size_t samples = golden.samples.size() / golden.names.size();
  double sum = 0;  // of squared distances
  const auto add = [&](double found, double expected, double unit) { sum += std::pow((found - expected) / unit, 2); };

  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) squares += static_cast<double>(values[i]) * values[i];
  add(std::sqrt(squares), golden.norm.at(row), scale);
  for (std::size_t probe = 0; probe < probes; ++probe) {
    Random signs(seed, Purpose::kSynthetic, key, kProbeKey + probe);
    double projection = 0;
    for (std::size_t i = 0; i < count; ++i) projection += (signs.next() >> 63) != 0 ? -values[i] : values[i];
    add(projection, golden.projections.at(row * probes + probe), scale);
  }
  Random places(seed, Purpose::kSynthetic, key, kSampleKey);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    add(values[places.below(count)], golden.samples.at(row * samples + sample),
        scale / std::sqrt(static_cast<double>(count)));
  }
  return std::sqrt(sum / static_cast<double>(1 + probes + samples));
}

// The networks of tests/golden/operations.py, with its names and order of parameters.
Network windows_network(const Shape& input, std::int64_t classes) {
  Network net("operations:windows", input);
  net.add("conv1", Conv2d{.out_channels = 6, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 0}, .bias = true});
  net.add("prelu1", PRelu{});
  net.add("pool1", MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true});
  net.add("conv2", Conv2d{.out_channels = 8, .kernel = {1, 7}, .padding = {0, 3}});
  net.add("bn", BatchNorm{});
  net.add("silu", Activation{ActivationKind::kSilu});
  net.add("pool2", AveragePool{.kernel = {2, 3}, .stride = {2, 3}, .padding = 1, .ceil_mode = true});
  net.add("depthwise", Conv2d{.out_channels = 8, .kernel = {3, 1}, .padding = {1, 0}, .groups = 8});
  net.add("flatten", Flatten{});
  net.add("fc1", Linear{.out_features = 10});
  net.add("prelu2", PRelu{});
  net.add("fc2", Linear{.out_features = classes});
  return net;
}

Network branches_network(const Shape& input, std::int64_t classes) {
  const Activation silu{ActivationKind::kSilu}, gate{ActivationKind::kHardSigmoid};
  Network net("operations:branches", input);
  net.add("conv1", Conv2d{.out_channels = 8, .kernel = 3, .padding = 1});
  net.add("bn1", BatchNorm{});
  const int trunk = net.add("swish", Activation{ActivationKind::kHardSwish});
  const int mean = net.add("mean", AveragePool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false});
  net.add("conv2", Conv2d{.out_channels = 6, .kernel = 3, .padding = 1, .bias = true}, {trunk});
  const int gated = net.add("gate", gate);
  const int most = net.add("most", MaxPool{.kernel = 3, .stride = 1, .padding = 1}, {trunk});
  const int joined = net.add("concat", Concat{}, {mean, gated, most});
  net.add("squeeze", GlobalAveragePool{});
  net.add("fc1", Conv2d{.out_channels = 4, .bias = true});
  net.add("silu", silu);
  net.add("fc2", Conv2d{.out_channels = 22, .bias = true});
  const int factors = net.add("scale", gate);
  net.add("scaled", Multiply{}, {factors, joined});
  net.add("conv3", Conv2d{.out_channels = 8});
  net.add("bn2", BatchNorm{});
  const int branch = net.add("drop", StochasticDepth{0.4});
  const int sum = net.add("sum", Add{}, {branch, trunk});
  const int other = net.add("conv4", Conv2d{.out_channels = 8, .bias = true});
  net.add("product", Multiply{}, {sum, other});
  net.add("pool", MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true});
  net.add("avgpool", GlobalAveragePool{});
  const int features = net.add("flatten", Flatten{});
  net.add("linear1", Linear{.out_features = 6});
  const int more = net.add("silu2", silu);
  net.add("features", Concat{}, {features, more});
  net.add("linear2", Linear{.out_features = classes});
  return net;
}

}  // namespace evener::test
