#include "job/labels/box_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "base/version.h"
#include "data/locations.h"
#include "job/cache_folder.h"
#include "job/detect/detect_flags.h"
#include "job/detect/detection.h"
#include "job/inference/inference_flags.h"
#include "job/inference/labelled_data.h"
#include "job/inference/session.h"
#include "job/labels/features.h"
#include "job/options/data_flags.h"
#include "task/detect/detector.h"
#include "task/detect/photos.h"
#include "task/labels/doubtful_boxes.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Boxes that are less likely show nothing.
constexpr float kLeastScore = 0.01F;

const char* box_doubt_name(task::BoxDoubt doubt) {
  switch (doubt) {
    case task::BoxDoubt::kMissed:
      return "missed";
    case task::BoxDoubt::kExtra:
      return "extra";
    case task::BoxDoubt::kClass:
      return "class";
    case task::BoxDoubt::kFit:
      return "fit";
  }
  return "";
}

/// Compares what is found on each photo with its labels.
class BoxComparison : public PredictionSink {
 public:
  BoxComparison(const task::Detector& detector, const task::Photos& photos, task::BoxDoubts& doubts)
      : detector_(detector), photos_(photos), doubts_(doubts) {}

  void take(const task::Prediction& prediction) override {
    const std::vector<task::TrueBox> truth = photos_.truth(prediction.index).value_or(std::vector<task::TrueBox>());
    doubts_.add(prediction.index, detector_.found(prediction, photos_), truth);
    ++images_;
  }
  std::size_t images() const { return images_; }

 private:
  const task::Detector& detector_;
  const task::Photos& photos_;
  task::BoxDoubts& doubts_;
  std::size_t images_ = 0;
};

/// The data with its boxes, as the network sees it.
struct BoxData {
  std::shared_ptr<InferImages> images;  // owns the photos; findings show them later on
  const task::Photos* photos = nullptr;
  std::vector<std::int32_t> numbers;  // of the data's classes, the network's
  std::vector<std::string> parts;     // of each photo
  std::vector<std::string> notes;
  std::vector<data::Skipped> skipped;
};

BoxData open_boxes(const LabelsFlags& flags, const std::string& location, const std::string& run,
                   const InferenceSession& session, const data::Preprocessing& steps,
                   const std::vector<std::string>& classes) {
  const task::InferenceModel& network = session.network();
  const RunConfig config(run.empty() ? network.run() : fs::path(run));
  data::OpenedData opened =
      open_labelled_data({.location = location,
                          .weights = run.empty() ? network.weights() : fs::path(run) / "best.safetensors",
                          .classes = parse_classes(*flags.classes),
                          .strict = *flags.strict,
                          .threads = session.threads()},
                         steps, config);
  BoxData data{.images = std::make_shared<InferImages>(),
               .numbers = {},
               .parts = {},
               .notes = opened.notes,
               .skipped = opened.skipped};
  data.numbers = label_numbers(opened.dataset->classes(), network, classes, location, data.notes);
  std::vector<std::uint32_t> indices = indices_of(opened.split, *flags.part);
  if (indices.empty()) throw UsageError(fmt::format("'{}' has no images in its {} part", location, *flags.part));
  const std::vector<std::string> parts = part_names(opened);
  for (const std::uint32_t sample : indices) data.parts.push_back(parts[sample]);
  const bool judges_itself = !run.empty() && flags.model->empty();
  const bool is_own =
      !network.run().empty() && data::are_same_locations(RunConfig(network.run()).data_location(), location);
  const auto trained = static_cast<std::size_t>(std::ranges::count(data.parts, "train"));
  if ((is_own || judges_itself) && trained > 0) {
    data.notes.push_back(fmt::format(
        "the detector was trained on {} of the {}: it may have learnt their wrong labels, so that fewer of these are "
        "found (column part: train); the others it never saw",
        trained, counted(data.parts.size(), "image")));
  }
  std::unique_ptr<task::Photos> photos =
      task::photos_of(std::move(opened.dataset), std::move(indices), data.numbers, steps);
  data.photos = photos.get();
  data.images->samples = std::move(photos);
  data.images->location = location;
  return data;
}

/// Only classes that the data labels: objects of others are no missed labels.
task::DecodeOptions decode_options(const std::vector<std::int32_t>& numbers) {
  task::DecodeOptions options;
  options.confidence = kLeastScore;
  for (const std::int32_t number : numbers) {
    if (number >= 0) options.labels.push_back(number);
  }
  return options;
}

void add_boxes(const std::vector<task::DoubtfulBox>& doubtful, const BoxData& data,
               const std::vector<std::string>& classes, LabelFindings& findings) {
  const auto name = [&](std::int32_t label) {
    return label < 0 ? std::string() : classes[static_cast<std::size_t>(label)];
  };
  for (const task::DoubtfulBox& one : doubtful) {
    findings.found.push_back({.index = one.image,
                              .file = data.photos->name(one.image),
                              .label = name(one.label),
                              .suggested = name(one.suggested),
                              .probability = one.probability,
                              .label_probability = one.label_probability,
                              .score = one.score,
                              .kind = box_doubt_name(one.kind),
                              .part = data.parts[one.image],
                              .found = one.found,
                              .labelled = one.labelled});
  }
}

}  // namespace

LabelFindings find_box_labels(const LabelsFlags& flags, const std::string& location, const std::string& run,
                              Observer& observer) {
  const std::string model = flags.model->empty() ? run : *flags.model;
  if (model.empty()) {
    throw UsageError(fmt::format(
        "'{}' has boxes, which a detector judges: name one with --model, or the folder of a training in place of DATA",
        location));
  }
  DetectModelFlags network;
  network.model.read({model});
  if (!flags.weights->empty()) network.weights.read({*flags.weights});
  if (!flags.labels->empty()) network.labels.read({*flags.labels});
  if (!flags.size->empty()) network.size.read({*flags.size});
  if (!flags.normalize->empty()) network.normalize.read({*flags.normalize});
  InferPlacementFlags placement;
  placement.on.read({*flags.on});
  InferenceSession session(placement, network.request());
  const std::vector<std::string> classes = task::detector_classes(session.network());
  BoxData data = open_boxes(flags, location, run, session, network.preprocessing(session.network()), classes);
  const task::Detector detector(session.network(), decode_options(data.numbers));

  task::InferOptions options = placement.infer_options(session.plan(), session.precision());
  options.reading_threads = session.threads();
  options.cache = compile_cache();
  options.strict = *flags.strict;
  task::BoxDoubts doubts({.sure = *flags.sure});
  LabelFindings findings{.location = location, .has_boxes = true};
  session.show({.images = *data.images,
                .infer = std::move(options),
                .run = {.kind = "labels", .version = program_version()},
                .groups = {},
                .classes = classes,
                .setup_line =
                    [&](const task::InferSetup& setup) {
                      return fmt::format("{} ({}): boxes on {}; {} on {}", session.network().name(),
                                         session.network().weights().string(), counted(data.photos->size(), "image"),
                                         setup.engines.front(), session.plan().text);
                    },
                .work =
                    [&](task::InferJob& job, run::MeteredRun&) {
                      PredictionSinks sinks;
                      const BoxComparison& compared = sinks.add<BoxComparison>(detector, *data.photos, doubts);
                      findings.skipped = predict_all(job, *data.photos, sinks, observer).skipped;
                      findings.images = compared.images();
                    }},
               observer);
  findings.labels = doubts.labels();
  findings.judged_by = fmt::format("the boxes that {} ({}) finds; those that are at least {:.2f} likely count as sure",
                                   session.network().name(), session.network().weights().string(), *flags.sure);
  findings.notes = data.notes;
  findings.skipped.insert(findings.skipped.begin(), data.skipped.begin(), data.skipped.end());
  add_boxes(doubts.worst_first(), data, classes, findings);
  findings.picture = [images = data.images, photos = data.photos](std::size_t index) { return photos->picture(index); };
  return findings;
}

}  // namespace evener::job
