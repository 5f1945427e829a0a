#include "train/labels/labels_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "base/version.h"
#include "data/copies.h"
#include "data/locations.h"
#include "data/open/open_data.h"
#include "data/open/samples.h"
#include "data/preprocess.h"
#include "detect/photos.h"
#include "infer/model/cache_folder.h"
#include "infer/run/softmax_regression.h"
#include "infer/session/images.h"
#include "infer/session/options.h"
#include "infer/session/session.h"
#include "measure/run/progress.h"
#include "options/data_flags.h"
#include "train/labels/label_report.h"
#include "train/labels/wrong_labels.h"

namespace evener::training {
namespace {

namespace fs = std::filesystem;

struct ImageFeatures {
  data::OpenedData opened;
  data::Preprocessing steps;           // with which the data was opened
  std::vector<std::uint32_t> samples;  // of the dataset: the row of each in the table
  inference::FeatureTable table;
  std::string told = {};                // a sentence: what the features are
  std::vector<std::string> notes = {};  // sentences of caution
  std::vector<data::Skipped> skipped = {};
};

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
  const inference::RunConfig config{fs::path(run)};
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
class ProgressAlone : public measure::Observer {
 public:
  explicit ProgressAlone(measure::Observer& line) : line_(line) {}
  void show(const std::string& text) override { line_.show(text); }
  void finish() override { line_.finish(); }
  bool redraws() const override { return line_.redraws(); }

 private:
  measure::Observer& line_;
};

class FeatureRows : public inference::PredictionSink {
 public:
  FeatureRows(const data::Samples& samples, ImageFeatures& features) : samples_(samples), features_(features) {}

  void take(const inference::Prediction& prediction) override {
    const auto found = prediction.outputs.find("features");
    if (found == prediction.outputs.end()) throw Error("the network gives no features");
    inference::FeatureTable& table = features_.table;
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
  throw UsageError(fmt::format(
      "all images of '{}' are of one class: there is no other that a label could be mistaken for", location));
}

std::vector<std::uint32_t> looked_at(const data::OpenedData& opened, const LabelsFlags& flags,
                                     const std::string& location) {
  std::vector<std::uint32_t> samples = inference::indices_of(opened.split, *flags.part);
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

ImageFeatures pixels(const LabelsFlags& flags, const std::string& location, measure::Observer& observer) {
  measure::LoadingProgress progress(observer);
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
                          const inference::InferenceSession& session, const data::Preprocessing& steps) {
  const inference::RunConfig run(source.run.empty() ? session.network().run() : fs::path(source.run));
  const fs::path weights = source.run.empty() ? session.network().weights() : fs::path(source.run) / "best.safetensors";
  return inference::open_labelled_data({.location = location,
                                        .weights = weights,
                                        .classes = parse_classes(*flags.classes),
                                        .strict = *flags.strict,
                                        .threads = session.threads()},
                                       steps, run);
}

/// What the features of a network are worth on data that it was trained on.
void judge_source(const FeatureSource& source, const inference::InferenceSession& session, const std::string& location,
                  ImageFeatures& features) {
  const std::string& name = session.network().name();
  const fs::path& run = session.network().run();
  const bool knew_labels = !run.empty() &&
                           data::are_same_locations(inference::RunConfig(run).data_location(), location) &&
                           !source.begins_run;
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
                         measure::Observer& observer) {
  inference::InferModelFlags model;
  model.model.read({source.model});
  if (!source.weights.empty()) model.weights.read({source.weights});
  if (!flags.labels->empty()) model.labels.read({*flags.labels});
  if (!flags.size->empty()) model.size.read({*flags.size});
  if (!flags.normalize->empty()) model.normalize.read({*flags.normalize});
  inference::take_sidecar(model);
  inference::InferPlacementFlags placement;
  placement.on.read({*flags.on});
  inference::InferenceRequest request = model.request(true, *flags.seed);
  request.tells_classes = false;
  inference::InferenceSession session(placement, request);
  if (session.network().weights().empty()) {
    throw UsageError(fmt::format(
        "'{}' has no weights here, so that its features would mean nothing: name trained ones with --weights FILE",
        session.network().name()));
  }
  ImageFeatures features{.opened = {}, .steps = model.preprocessing(session.network()), .samples = {}, .table = {}};
  features.opened = open_for(flags, source, location, session, features.steps);
  require_classes(features.opened, location);
  features.samples = looked_at(features.opened, flags, location);
  inference::InferImages images;
  images.samples = data::dataset_samples(features.opened.dataset, features.samples, {});
  images.location = location;
  inference::InferOptions options = placement.infer_options(session.plan(), session.precision());
  options.reading_threads = session.threads();
  options.cache = inference::compile_cache();
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
                .setup_line = [](const inference::InferSetup&) { return std::string(); },
                .work =
                    [&](inference::InferJob& job, measure::MeteredRun&) {
                      inference::PredictionSinks sinks;
                      sinks.add<FeatureRows>(*images.samples, features);
                      features.skipped = inference::predict_all(job, *images.samples, sinks, progress).skipped;
                    }},
               progress);
  judge_source(source, session, location, features);
  return features;
}

/// Opens the data at `location` and computes the features of the images of the part that is looked at: by --model, or
/// else by the weights with which the training `run` began, where they are still there; or else by the run's own; or
/// else pixels. Throws UsageError, also for weights without a network, and Error.
ImageFeatures image_features(const LabelsFlags& flags, const std::string& run, const std::string& location,
                             measure::Observer& observer) {
  const FeatureSource source = feature_source(flags, run);
  ImageFeatures features =
      source.model.empty() ? pixels(flags, location, observer) : of_network(flags, source, location, observer);
  features.skipped.insert(features.skipped.begin(), features.opened.skipped.begin(), features.opened.skipped.end());
  features.notes.insert(features.notes.begin(), features.opened.notes.begin(), features.opened.notes.end());
  return features;
}

/// Whether the word names the folder of a training, and not data.
bool is_run(const std::string& word) {
  std::error_code none;
  return std::filesystem::is_regular_file(std::filesystem::path(word) / "record.json", none);
}

/// Looks at the names of the images alone. Throws UsageError where they have no classes.
void require_classes_of_images(const LabelsFlags& flags, const std::string& location, const std::string& run) {
  data::DataOptions look;
  look.location = location;
  look.look_only = true;
  look.classes = parse_classes(*flags.classes);
  if (look.classes.empty() && !run.empty()) {
    const inference::RunConfig config{std::filesystem::path(run)};
    look.classes = parse_classes(config.get<std::vector<std::string>>("class").value_or(std::vector<std::string>()));
  }
  if (data::has_pictures_only(location) && look.classes.empty()) {
    throw UsageError(fmt::format(
        "'{}' has pictures without labels: name labelled data, such as a folder with a sub-folder for each class",
        location));
  }
  if (data::open_data(look).dataset->target_kind() == data::TargetKind::kBoxes) {
    throw UsageError(
        fmt::format("'{}' has boxes: labels that look wrong are found among classes of images alone", location));
  }
}

/// Below this accuracy of the judging heads, what they say is a hint at best.
constexpr double kWeakAccuracy = 0.7;

std::vector<std::uint32_t> groups_of(const ImageFeatures& features, measure::Observer& observer) {
  observer.show("looking for copies of images");
  const std::vector<data::CopiedImage> pairs =
      data::find_copies(*features.opened.dataset, features.samples, features.samples, usable_cores());
  observer.finish();
  return copy_groups(features.samples, pairs);
}

/// Classes with images in one group alone: no head knows them that judges them.
std::set<std::int32_t> lonely_classes(const inference::FeatureTable& table, const std::vector<std::uint32_t>& groups,
                                      std::size_t classes) {
  std::vector<std::set<std::uint32_t>> groups_of_class(classes);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::set<std::uint32_t>& of_class = groups_of_class[static_cast<std::size_t>(table.labels[i])];
    if (of_class.size() < 2) of_class.insert(groups[i]);
  }
  std::set<std::int32_t> lonely;
  for (std::size_t c = 0; c < classes; ++c) {
    if (groups_of_class[c].size() == 1) lonely.insert(static_cast<std::int32_t>(c));
  }
  return lonely;
}

/// The pairs of classes with labels that are wrong.
std::vector<LabelPair> pairs_of(const LabelMatrix& estimated, const std::vector<std::vector<std::size_t>>& found,
                                const std::vector<std::string>& classes) {
  std::vector<LabelPair> pairs;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    double labelled = 0;
    for (const double count : estimated[label]) labelled += count;
    for (std::size_t other = 0; other < classes.size(); ++other) {
      if (other == label || (estimated[label][other] < 0.5 && found[label][other] == 0)) continue;
      pairs.push_back({classes[label], classes[other], found[label][other], estimated[label][other],
                       labelled > 0 ? estimated[label][other] / labelled : 0});
    }
  }
  std::ranges::stable_sort(pairs, std::ranges::greater{}, &LabelPair::estimated);
  return pairs;
}

void add_estimates(const ConfidentJoint& joint, const inference::FeatureTable& table,
                   const std::vector<DoubtfulLabel>& doubtful, const std::vector<std::string>& classes,
                   LabelFindings& findings) {
  const LabelMatrix estimated = estimated_joint(joint, table.labels);
  std::vector<std::vector<std::size_t>> found(classes.size(), std::vector<std::size_t>(classes.size()));
  for (const DoubtfulLabel& one : doubtful) {
    if (one.kind != LabelDoubt::kWrong) continue;
    ++found[static_cast<std::size_t>(one.label)][static_cast<std::size_t>(one.suggested)];
  }
  for (std::size_t label = 0; label < classes.size(); ++label) {
    for (std::size_t other = 0; other < classes.size(); ++other) {
      if (other != label) findings.estimated += estimated[label][other];
    }
  }
  findings.pairs = pairs_of(estimated, found, classes);
}

void add_found(const std::vector<DoubtfulLabel>& doubtful, const ImageFeatures& features, LabelFindings& findings) {
  std::vector<std::string> parts(features.opened.dataset->size());
  for (const char* part : {"train", "validation", "test", "new"}) {
    if (!features.opened.came_divided) break;
    for (const std::uint32_t sample : inference::indices_of(features.opened.split, part)) parts[sample] = part;
  }
  const std::vector<std::string>& classes = features.opened.dataset->classes();
  for (const DoubtfulLabel& one : doubtful) {
    const std::uint32_t sample = features.samples[one.sample];
    findings.found.push_back({.index = one.sample,
                              .file = features.opened.dataset->source(sample),
                              .label = classes[static_cast<std::size_t>(one.label)],
                              .suggested = classes[static_cast<std::size_t>(one.suggested)],
                              .probability = one.probability,
                              .label_probability = one.label_probability,
                              .score = one.score,
                              .kind = one.kind,
                              .part = parts[sample]});
  }
}

/// `run`: the folder of the training on the data at `location`; "" = none.
LabelFindings judge_labels(const LabelsFlags& flags, const std::string& location, const std::string& run,
                           measure::Observer& observer) {
  ImageFeatures features = image_features(flags, run, location, observer);
  const inference::FeatureTable& table = features.table;
  const std::vector<std::string>& classes = features.opened.dataset->classes();
  const std::vector<std::uint32_t> groups = groups_of(features, observer);
  const std::size_t different = groups.empty() ? 0 : *std::ranges::max_element(groups) + 1;
  if (different < 4) {
    throw UsageError(fmt::format("'{}' has {} to look at: too few to judge one by the others", location,
                                 counted(different, "different image")));
  }
  const std::size_t folds = std::min(static_cast<std::size_t>(*flags.folds), different);
  const std::vector<std::uint32_t> fold_of = stratified_folds(table.labels, classes.size(), groups, folds, *flags.seed);
  measure::LoadingProgress progress(observer, "heads");
  const CrossValidation judged =
      cross_validate(table, classes.size(), fold_of, usable_cores(),
                     [&](std::size_t done, std::size_t of) { progress.update("fitting heads", done, of); });
  observer.finish();
  const std::set<std::int32_t> lonely = lonely_classes(table, groups, classes.size());
  const ConfidentJoint joint = confident_joint(judged.probabilities, table.labels, lonely);
  std::vector<DoubtfulLabel> doubtful = doubtful_labels(judged.probabilities, table.labels, joint);
  std::erase_if(doubtful, [&](const DoubtfulLabel& one) { return lonely.contains(one.label); });

  LabelFindings findings{
      .location = location,
      .images = features.samples.size(),
      .accuracy = judged.accuracy,
      .judged_by = fmt::format(
          "softmax heads on {}, cross-validated over {} folds{}; they agree with {:.1f} % of the labels", features.told,
          folds,
          different < groups.size() ? fmt::format(", copies of one image in one fold ({})", groups.size() - different)
                                    : "",
          100 * judged.accuracy),
      .notes = features.notes,
      .skipped = std::move(features.skipped)};
  if (judged.accuracy < kWeakAccuracy) {
    findings.notes.push_back(
        fmt::format("the heads agree with {:.0f} % of the labels only: features that tell the classes apart better "
                    "find more, and raise fewer false alarms",
                    100 * judged.accuracy));
  }
  for (const std::int32_t c : lonely) {
    findings.notes.push_back(fmt::format("class {} has but one image, which no other can judge",
                                         quoted_text(classes[static_cast<std::size_t>(c)])));
  }
  add_estimates(joint, table, doubtful, classes, findings);
  add_found(doubtful, features, findings);
  const std::shared_ptr<detection::Photos> photos =
      detection::photos_of(features.opened.dataset, std::move(features.samples), {}, features.steps);
  findings.picture = [photos](std::size_t index) { return photos->picture(index); };
  return findings;
}

}  // namespace

LabelFindings find_labels(const LabelsCommandFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const LabelsFlags& labels = flags.labels;
  const std::string& out = *flags.output.out;
  if (!out.empty()) require_place_for_labels(out, *flags.output.overwrite);
  const std::string run = is_run(*labels.data) ? *labels.data : "";
  const std::string location =
      run.empty() ? *labels.data : inference::own_data(inference::RunConfig(std::filesystem::path(run)));
  if (location.empty()) {
    throw UsageError(
        fmt::format("'{}' is the folder of a run that tells no data: name the data, and the run as --model", run));
  }
  require_classes_of_images(labels, location, run);
  LabelFindings findings = judge_labels(labels, location, run, observer);
  for (const std::string& note : findings.notes) observer.note(note);
  if (!out.empty()) write_label_files(findings, out, observer);
  inference::tell_skipped(findings.skipped, "image", "used", observer);
  return findings;
}

}  // namespace evener::training
