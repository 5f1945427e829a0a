#include "infer/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/statistics.h"
#include "engine/engine.h"
#include "engine/trainer_options.h"
#include "infer/model/metadata.h"
#include "network/onnx_file.h"
#include "network/passes/quantize.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

// An engine that knows no ONNX, and one that reads its files. Of a network whose values are quantised the other runs
// both: a value between two levels may become either, and by later layers the engines are some percent apart.
constexpr const char* kOurs = "torch";
constexpr const char* kOther = "openvino";

constexpr std::int64_t kBatch = 2;  // which the file leaves open
constexpr std::size_t kMostImages = 16, kMadeUpImages = 8;
// Of the largest output. Two engines are some 1e-6 apart in float32; a layer that is computed otherwise shows in the
// first digits.
constexpr double kMostDifference = 1e-3;
// Where values are quantised, a few images may take another step even so. A fault is in most of them.
constexpr double kLeastSameClass = 0.9;

bool takes_images(const network::Network& network) {
  return network.input_shape().size() == 3;
}

/// Values of some images, or vectors.
using Values = std::vector<float>;

/// Adds the image's values; false where it can't be read.
bool append_image(const data::Samples& images, std::size_t index, Values& values) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(element_count(images.shape())));
  Values floats(bytes.size());
  try {
    images.is_bytes() ? images.read(index, std::span(bytes)) : images.read(index, std::span(floats));
  } catch (const Error&) {
    return false;
  }
  if (images.is_bytes()) floats.assign(bytes.begin(), bytes.end());
  values.insert(values.end(), floats.begin(), floats.end());
  return true;
}

/// Whole batches of images that are spread over all, as those of a class lie together.
std::vector<Values> batches_of(const data::Samples& images) {
  std::vector<Values> batches;
  Values batch;
  const std::size_t most = std::min(images.size(), kMostImages);
  for (std::size_t i = 0; i < most; ++i) {
    if (!append_image(images, i * images.size() / most, batch)) continue;
    if (batch.size() == kBatch * static_cast<std::size_t>(element_count(images.shape()))) {
      batches.push_back(std::exchange(batch, {}));
    }
  }
  return batches;
}

/// The network by our own engine, or the file by the other.
class CheckedNetwork {
 public:
  CheckedNetwork(const TrainedModel& model, const ExportOptions& options, bool of_file)
      : engine_(engine::open_engine(of_file || network::is_quantized(model.network) ? kOther : kOurs)) {
    const network::Shape& input = model.network.input_shape();
    engine::RunnerOptions runner;
    runner.threads = usable_cores();
    runner.batch = kBatch;
    runner.values = engine::ImageValues::kFloats;
    if (of_file && options.normalize_inside) {  // the pixels as they are
      runner.standard_deviation.assign(static_cast<std::size_t>(input.front()), 1.0F / 255);
    } else if (options.normalization) {
      runner.mean = options.normalization->mean;
      runner.standard_deviation = options.normalization->standard_deviation;
    }
    if (of_file) file_ = engine_->open_model_file(options.onnx);
    const engine::ModelInput fed{.shape = input, .is_image = takes_images(model.network)};
    runner_ = of_file ? std::move(file_->make_runners(fed, runner, 1).front())
                      : engine_->make_runner(model.network, model.state, runner);
  }

  TensorMap outputs(const Values& batch) {
    runner_->start(std::span(batch));
    return runner_->wait();
  }

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::ModelFile> file_;
  std::unique_ptr<engine::Runner> runner_;
};

/// Adds what an image's outputs are apart to `check`; `n`: which image of the batch. Returns its largest difference as
/// a share of its largest output, NaN where a value is no number.
double compare_image(const TensorMap& expected, const TensorMap& found, std::int64_t n, ExportCheck& check) {
  double most = 0, largest = 0;
  bool same_class = true;
  for (const auto& [name, ours] : expected) {
    const std::int64_t count = element_count(ours.shape) / kBatch;
    const float *a = ours.floats() + n * count, *b = found.at(name).floats() + n * count;
    for (std::int64_t i = 0; i < count; ++i) {
      const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
      if (!std::isfinite(difference)) return std::nan("");
      most = std::max(most, difference);
      largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    }
    same_class = same_class && std::max_element(a, a + count) - a == std::max_element(b, b + count) - b;
  }
  check.largest_difference = std::max(check.largest_difference, most);
  check.largest_output = std::max(check.largest_output, largest);
  check.same_class += same_class ? 1 : 0;
  return most == 0 ? 0 : most / largest;
}

std::optional<network::OnnxDistance> distance_of(const network::Network& network,
                                                 const ClassifierCalibration& calibration) {
  const std::optional<LinearHead> head = linear_head(network);
  if (!calibration.unknown || !head) return std::nullopt;
  const FeatureStatistics& unknown = *calibration.unknown;
  return network::OnnxDistance{.output = kUnknownOutput,
                               .layer = head->input,
                               .whitening = unknown.whitening,
                               .points = unknown.centres,
                               .limit = unknown.threshold};
}

}  // namespace

void require_export(const fs::path& onnx) {
  require_module("onnx");
  if (fs::is_directory(onnx)) throw Error("'" + onnx.string() + "' is a folder; name the file to write in it");
  const fs::path folder = onnx.has_parent_path() ? onnx.parent_path() : ".";
  if (std::error_code unreadable; !fs::is_directory(folder, unreadable)) {
    throw Error("the folder '" + folder.string() + "' doesn't exist: make it first, or write '" +
                onnx.filename().string() + "' elsewhere");
  }
  require_writable_directory(folder);
}

void write_export(const TrainedModel& model, const ExportOptions& options) {
  const network::Network& network = model.network;
  network::OnnxOptions onnx;
  if (options.calibration != nullptr) onnx.distance = distance_of(network, *options.calibration);
  const ModelFacts facts{.model = network.model(),
                         .classes = model.classes,
                         .input = network.input_shape(),
                         .normalization = options.normalization,
                         .crop = model.crop,
                         .normalizes_inside = options.normalize_inside,
                         .unknown_inside = onnx.distance.has_value()};
  onnx.metadata = model_metadata(facts);
  onnx.metadata["format"] = "evener-onnx-1";
  if (options.normalize_inside) {
    if (!takes_images(network)) {
      throw UsageError(
          network.model() +
          " takes vectors here, which have no channels to normalise; give it images with --size WIDTHxHEIGHT");
    }
    if (!options.normalization) {
      throw UsageError("nothing tells how " + network.model() +
                       " wants its images normalised; say so with --normalize, e.g. --normalize imagenet");
    }
    engine::PixelScale pixels = engine::make_pixel_scale(
        options.normalization->mean, options.normalization->standard_deviation, network.input_shape().front());
    onnx.pixel_scale = std::move(pixels.scale);
    onnx.pixel_shift = std::move(pixels.shift);
  }
  network::write_onnx(options.onnx, network, model.state, onnx);
}

std::string export_check_refusal() {
  for (const char* name : {kOurs, kOther}) {
    const ModuleStatus status = module_status(name);
    if (status.state != ModuleState::kUsable) {
      return fmt::format("the module '{}' is missing ({})", name, status.reason);
    }
  }
  return "";
}

ExportCheck check_export(const TrainedModel& model, const ExportOptions& options, const data::Samples* images) {
  std::vector<Values> batches = images != nullptr ? batches_of(*images) : std::vector<Values>();
  const bool are_known = !batches.empty();
  if (!are_known) batches = batches_of(*data::random_samples(kMadeUpImages, model.network.input_shape(), /*seed=*/1));
  CheckedNetwork ours(model, options, /*of_file=*/false), other(model, options, /*of_file=*/true);
  ExportCheck check;
  std::vector<double> apart;
  for (const Values& batch : batches) {
    const TensorMap expected = ours.outputs(batch), found = other.outputs(batch);
    for (const auto& [name, tensor] : expected) {
      if (const auto same = found.find(name); same == found.end() || same->second.shape != tensor.shape) {
        throw Error("'" + options.onnx.string() + "' has not the outputs that the network has");
      }
    }
    for (std::int64_t n = 0; n < kBatch; ++n) apart.push_back(compare_image(expected, found, n, check));
  }
  check.images = apart.size();
  const bool numbers = std::ranges::all_of(apart, [](double share) { return std::isfinite(share); });
  if (numbers) check.median_difference = *median(apart);
  const bool is_quantized = network::is_quantized(model.network);
  const bool agrees = is_quantized ? check.median_difference <= kMostDifference
                                   : check.largest_difference <= kMostDifference * check.largest_output;
  const auto least = static_cast<std::size_t>(std::floor(kLeastSameClass * static_cast<double>(check.images)));
  const bool tells_classes = are_known && model.network.anchors().empty();
  if (!numbers || !agrees || (tells_classes && check.same_class < least)) {
    throw Error(fmt::format(
        "'{}' was written, but OpenVINO's answers to it are up to {:.2g} away from the network's, of which the largest "
        "is {:.2g}; of {} images the median difference is {:.2g} %, and {} have the same class; don't use it before it "
        "is known why",
        options.onnx.string(), check.largest_difference, check.largest_output, check.images,
        100 * check.median_difference, check.same_class));
  }
  return check;
}

}  // namespace evener::inference
