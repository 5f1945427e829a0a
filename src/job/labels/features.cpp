#include "job/labels/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "base/version.h"
#include "data/locations.h"
#include "data/open/samples.h"
#include "job/cache_folder.h"
#include "job/inference/inference_flags.h"
#include "job/inference/labelled_data.h"
#include "job/inference/session.h"
#include "job/options/data_flags.h"
#include "job/progress.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Pictures of at most so many values are compared as they are; others are scaled down.
constexpr std::size_t kMostPixels = 256;
constexpr std::int64_t kSmallSide = 16;

/// Which network gives the features.
struct FeatureSource {
  std::string model;        // a network of the zoo, a folder, a file; "" = pixels
  std::string weights;      // of a network of the zoo
  std::string run;          // the folder of the training whose data is judged; "" = none
  bool begins_run = false;  // the weights are those with which that training began
};

FeatureSource feature_source(const LabelsFlags& flags, const std::string& run) {
  FeatureSource source{.model = *flags.model, .weights = *flags.weights, .run = run};
  if (!source.model.empty()) return source;
  if (!source.weights.empty()) {
    throw UsageError("--weights are of a network: name it with --model, as in --model mobilenet_v2");
  }
  if (run.empty()) return source;
  const RunConfig config{fs::path(run)};
  const std::string model = config.get<std::string>("model").value_or(""),
                    weights = config.get<std::string>("weights").value_or("");
  std::error_code none;
  if (!model.empty() && !weights.empty() && fs::is_regular_file(weights, none)) {
    return {.model = model, .weights = weights, .run = run, .begins_run = true};
  }
  return {.model = run, .weights = "", .run = run};
}

/// Features of all images, and a copy of most of them for a fold, have to fit into memory.
void require_room(std::size_t images, std::size_t values) {
  constexpr std::uint64_t kCopies = 2;
  const std::uint64_t needed = kCopies * images * values * sizeof(float), there = memory_limits().available_bytes;
  if (needed <= there / 10 * 8) return;
  throw UsageError(
      fmt::format("{} features of each of {} images take {}, and {} are free: look at a part of the data (--part), or "
                  "take a network with fewer features",
                  values, images, bytes_text(needed), bytes_text(there)));
}

/// Passes progress on, and no notes: those on classes and speed say nothing of features.
class ProgressAlone : public Observer {
 public:
  explicit ProgressAlone(Observer& line) : line_(line) {}
  void show(const std::string& text) override { line_.show(text); }
  void finish() override { line_.finish(); }
  bool redraws() const override { return line_.redraws(); }

 private:
  Observer& line_;
};

class FeatureRows : public PredictionSink {
 public:
  FeatureRows(const data::Samples& samples, ImageFeatures& features) : samples_(samples), features_(features) {}

  void take(const task::Prediction& prediction) override {
    const auto found = prediction.outputs.find("features");
    if (found == prediction.outputs.end()) throw Error("the network gives no features");
    task::FeatureTable& table = features_.table;
    if (table.values == 0) {
      table.values = found->second.size();
      require_room(samples_.size(), table.values);
      table.features.reserve(samples_.size() * table.values);
    }
    table.features.insert(table.features.end(), found->second.begin(), found->second.end());
    table.labels.push_back(samples_.label(prediction.index).value());
    kept_.push_back(prediction.index);
  }
  void finish() override {
    std::vector<std::uint32_t> samples;
    for (const std::size_t index : kept_) samples.push_back(features_.samples[index]);
    features_.samples = std::move(samples);
  }

 private:
  const data::Samples& samples_;
  ImageFeatures& features_;
  std::vector<std::size_t> kept_;
};

void require_classes(const data::OpenedData& opened, const std::string& location) {
  if (opened.dataset->classes().size() >= 2) return;
  throw UsageError(
      fmt::format("all images of '{}' are of one class: there is no other that a label could be mistaken "
                  "for",
                  location));
}

std::vector<std::uint32_t> looked_at(const data::OpenedData& opened, const LabelsFlags& flags,
                                     const std::string& location) {
  std::vector<std::uint32_t> samples = indices_of(opened.split, *flags.part);
  if (samples.empty()) throw UsageError(fmt::format("'{}' has no images in its {} part", location, *flags.part));
  return samples;
}

/// The size at which pixels are compared.
void choose_small_size(data::DataOptions& options) {
  data::DataOptions look = options;
  look.look_only = true;
  const data::ImageShape shape = data::open_data(look).dataset->shape();
  if (shape.bytes() <= kMostPixels) return;
  options.width = std::min(shape.width, kSmallSide);
  options.height = std::min(shape.height, kSmallSide);
}

ImageFeatures pixels(const LabelsFlags& flags, const std::string& location, Observer& observer) {
  LoadingProgress progress(observer);
  data::DataOptions options;
  options.location = location;
  set_size(*flags.size, options);
  options.classes = parse_classes(*flags.classes);
  options.seed = *flags.seed;
  options.strict = *flags.strict;
  options.threads = usable_cores();
  if (flags.size->empty()) choose_small_size(options);
  options.progress = [&](std::size_t done, std::size_t of) { progress.update("reading images", done, of); };
  ImageFeatures features{.opened = data::open_data(options), .steps = {}, .samples = {}, .table = {}};
  observer.finish();
  const data::Dataset& dataset = *features.opened.dataset;
  const data::ImageShape shape = dataset.shape();
  features.steps.shape = shape;
  require_classes(features.opened, location);
  features.samples = looked_at(features.opened, flags, location);
  features.table.values = shape.bytes();
  require_room(features.samples.size(), shape.bytes());
  std::vector<std::uint8_t> values(shape.bytes());
  for (const std::uint32_t sample : features.samples) {
    dataset.read(sample, values);
    features.table.features.insert(features.table.features.end(), values.begin(), values.end());
    features.table.labels.push_back(data::label_of(dataset, sample));
  }
  features.told = fmt::format("the pixels of the images at {}x{}", shape.width, shape.height);
  features.notes.push_back(
      "pixels tell apart digits and the like; for photos name a pretrained network, as in --model mobilenet_v2 "
      "--weights FILE");
  return features;
}

/// The data as the network sees it, in the parts that the run gave it.
data::OpenedData open_for(const LabelsFlags& flags, const FeatureSource& source, const std::string& location,
                          const InferenceSession& session, const data::Preprocessing& steps) {
  const RunConfig run(source.run.empty() ? session.network().run() : fs::path(source.run));
  const fs::path weights = source.run.empty() ? session.network().weights() : fs::path(source.run) / "best.safetensors";
  return open_labelled_data({.location = location,
                             .weights = weights,
                             .classes = parse_classes(*flags.classes),
                             .strict = *flags.strict,
                             .threads = session.threads()},
                            steps, run);
}

/// What the features of a network are worth on data that it was trained on.
void judge_source(const FeatureSource& source, const InferenceSession& session, const std::string& location,
                  ImageFeatures& features) {
  const std::string& name = session.network().name();
  const fs::path& run = session.network().run();
  const bool knew_labels =
      !run.empty() && data::are_same_locations(RunConfig(run).data_location(), location) && !source.begins_run;
  features.told =
      fmt::format("{} features of {} ({})", features.table.values, name, session.network().weights().string());
  if (source.begins_run) features.told += ", with whose weights the training began, and which saw none of these labels";
  if (!knew_labels) return;
  features.notes.push_back(
      "these features were trained on these very labels, and may have learnt wrong ones by heart: the heads are judged "
      "out of sample, the features under them are not, so that wrong labels of the training part are found less often. "
      "A pretrained network that never saw them finds more: --model NAME --weights FILE");
}

ImageFeatures of_network(const LabelsFlags& flags, const FeatureSource& source, const std::string& location,
                         Observer& observer) {
  InferModelFlags model;
  model.model.read({source.model});
  if (!source.weights.empty()) model.weights.read({source.weights});
  if (!flags.labels->empty()) model.labels.read({*flags.labels});
  if (!flags.size->empty()) model.size.read({*flags.size});
  if (!flags.normalize->empty()) model.normalize.read({*flags.normalize});
  take_sidecar(model);
  InferPlacementFlags placement;
  placement.on.read({*flags.on});
  task::InferenceRequest request = model.request(true, *flags.seed);
  request.tells_classes = false;
  InferenceSession session(placement, request);
  if (session.network().weights().empty()) {
    throw UsageError(
        fmt::format("'{}' has no weights here, so that its features would mean nothing: name trained ones "
                    "with --weights FILE",
                    session.network().name()));
  }
  ImageFeatures features{.opened = {}, .steps = model.preprocessing(session.network()), .samples = {}, .table = {}};
  features.opened = open_for(flags, source, location, session, features.steps);
  require_classes(features.opened, location);
  features.samples = looked_at(features.opened, flags, location);
  InferImages images;
  images.samples = data::dataset_samples(features.opened.dataset, features.samples, {});
  images.location = location;
  task::InferOptions options = placement.infer_options(session.plan(), session.precision());
  options.reading_threads = session.threads();
  options.cache = compile_cache();
  options.strict = *flags.strict;
  observer.note(fmt::format("{} ({}): features of {} on {}", session.network().name(),
                            session.network().weights().string(), counted(features.samples.size(), "image"),
                            session.plan().text));
  ProgressAlone progress(observer);
  session.show({.images = images,
                .infer = std::move(options),
                .run = {.kind = "labels", .version = program_version()},
                .groups = {},
                .classes = session.network().classes(),
                .setup_line = [](const task::InferSetup&) { return std::string(); },
                .work =
                    [&](task::InferJob& job, run::MeteredRun&) {
                      PredictionSinks sinks;
                      sinks.add<FeatureRows>(*images.samples, features);
                      features.skipped = predict_all(job, *images.samples, sinks, progress).skipped;
                    }},
               progress);
  judge_source(source, session, location, features);
  return features;
}

}  // namespace

ImageFeatures image_features(const LabelsFlags& flags, const std::string& run, const std::string& location,
                             Observer& observer) {
  const FeatureSource source = feature_source(flags, run);
  ImageFeatures features =
      source.model.empty() ? pixels(flags, location, observer) : of_network(flags, source, location, observer);
  features.skipped.insert(features.skipped.begin(), features.opened.skipped.begin(), features.opened.skipped.end());
  features.notes.insert(features.notes.begin(), features.opened.notes.begin(), features.opened.notes.end());
  return features;
}

}  // namespace evener::job
