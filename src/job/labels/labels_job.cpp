#include "job/labels/labels_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/copies.h"
#include "data/open/open_data.h"
#include "job/inference/inference_flags.h"
#include "job/inference/labelled_data.h"
#include "job/inference/session.h"
#include "job/labels/features.h"
#include "job/labels/label_report.h"
#include "job/options/data_flags.h"
#include "job/progress.h"
#include "task/detect/photos.h"
#include "task/labels/wrong_labels.h"

namespace evener::job {
namespace {

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
    const RunConfig config{std::filesystem::path(run)};
    look.classes = parse_classes(config.get<std::vector<std::string>>("class").value_or(std::vector<std::string>()));
  }
  if (data::has_pictures_only(location) && look.classes.empty()) {
    throw UsageError(
        fmt::format("'{}' has pictures without labels: name labelled data, such as a folder with a "
                    "sub-folder for each class",
                    location));
  }
  if (data::open_data(look).dataset->target_kind() == data::TargetKind::kBoxes) {
    throw UsageError(
        fmt::format("'{}' has boxes: labels that look wrong are found among classes of images alone", location));
  }
}

/// Below this accuracy of the judging heads, what they say is a hint at best.
constexpr double kWeakAccuracy = 0.7;

std::vector<std::uint32_t> groups_of(const ImageFeatures& features, Observer& observer) {
  observer.show("looking for copies of images");
  const std::vector<data::CopiedImage> pairs =
      data::find_copies(*features.opened.dataset, features.samples, features.samples, usable_cores());
  observer.finish();
  return task::copy_groups(features.samples, pairs);
}

/// Classes with images in one group alone: no head knows them that judges them.
std::set<std::int32_t> lonely_classes(const task::FeatureTable& table, const std::vector<std::uint32_t>& groups,
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
std::vector<LabelPair> pairs_of(const task::LabelMatrix& estimated, const std::vector<std::vector<std::size_t>>& found,
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

void add_estimates(const task::ConfidentJoint& joint, const task::FeatureTable& table,
                   const std::vector<task::DoubtfulLabel>& doubtful, const std::vector<std::string>& classes,
                   LabelFindings& findings) {
  const task::LabelMatrix estimated = task::estimated_joint(joint, table.labels);
  std::vector<std::vector<std::size_t>> found(classes.size(), std::vector<std::size_t>(classes.size()));
  for (const task::DoubtfulLabel& one : doubtful) {
    if (one.kind != task::LabelDoubt::kWrong) continue;
    ++found[static_cast<std::size_t>(one.label)][static_cast<std::size_t>(one.suggested)];
  }
  for (std::size_t label = 0; label < classes.size(); ++label) {
    for (std::size_t other = 0; other < classes.size(); ++other) {
      if (other != label) findings.estimated += estimated[label][other];
    }
  }
  findings.pairs = pairs_of(estimated, found, classes);
}

void add_found(const std::vector<task::DoubtfulLabel>& doubtful, const ImageFeatures& features,
               LabelFindings& findings) {
  std::vector<std::string> parts(features.opened.dataset->size());
  for (const char* part : {"train", "validation", "test", "new"}) {
    if (!features.opened.came_divided) break;
    for (const std::uint32_t sample : indices_of(features.opened.split, part)) parts[sample] = part;
  }
  const std::vector<std::string>& classes = features.opened.dataset->classes();
  for (const task::DoubtfulLabel& one : doubtful) {
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
                           Observer& observer) {
  ImageFeatures features = image_features(flags, run, location, observer);
  const task::FeatureTable& table = features.table;
  const std::vector<std::string>& classes = features.opened.dataset->classes();
  const std::vector<std::uint32_t> groups = groups_of(features, observer);
  const std::size_t different = groups.empty() ? 0 : *std::ranges::max_element(groups) + 1;
  if (different < 4) {
    throw UsageError(fmt::format("'{}' has {} to look at: too few to judge one by the others", location,
                                 counted(different, "different image")));
  }
  const std::size_t folds = std::min(static_cast<std::size_t>(*flags.folds), different);
  const std::vector<std::uint32_t> fold_of =
      task::stratified_folds(table.labels, classes.size(), groups, folds, *flags.seed);
  LoadingProgress progress(observer, "heads");
  const task::CrossValidation judged =
      task::cross_validate(table, classes.size(), fold_of, usable_cores(),
                           [&](std::size_t done, std::size_t of) { progress.update("fitting heads", done, of); });
  observer.finish();
  const std::set<std::int32_t> lonely = lonely_classes(table, groups, classes.size());
  const task::ConfidentJoint joint = task::confident_joint(judged.probabilities, table.labels, lonely);
  std::vector<task::DoubtfulLabel> doubtful = task::doubtful_labels(judged.probabilities, table.labels, joint);
  std::erase_if(doubtful, [&](const task::DoubtfulLabel& one) { return lonely.contains(one.label); });

  LabelFindings findings{
      .location = location,
      .images = features.samples.size(),
      .accuracy = judged.accuracy,
      .judged_by = fmt::format("softmax heads on {}, cross-validated over {} folds{}; they agree "
                               "with {:.1f} % of the labels",
                               features.told, folds,
                               different < groups.size()
                                   ? fmt::format(", copies of one image in one fold ({})", groups.size() - different)
                                   : "",
                               100 * judged.accuracy),
      .notes = features.notes,
      .skipped = std::move(features.skipped)};
  if (judged.accuracy < kWeakAccuracy) {
    findings.notes.push_back(fmt::format(
        "the heads agree with {:.0f} % of the labels only: features that tell the classes apart better find more, and "
        "raise fewer false alarms",
        100 * judged.accuracy));
  }
  for (const std::int32_t c : lonely) {
    findings.notes.push_back(fmt::format("class {} has but one image, which no other can judge",
                                         quoted_text(classes[static_cast<std::size_t>(c)])));
  }
  add_estimates(joint, table, doubtful, classes, findings);
  add_found(doubtful, features, findings);
  const std::shared_ptr<task::Photos> photos =
      task::photos_of(features.opened.dataset, std::move(features.samples), {}, features.steps);
  findings.picture = [photos](std::size_t index) { return photos->picture(index); };
  return findings;
}

}  // namespace

LabelFindings find_labels(const LabelsCommandFlags& flags, Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const LabelsFlags& labels = flags.labels;
  const std::string& out = *flags.output.out;
  if (!out.empty()) require_place_for_labels(out, *flags.output.overwrite);
  const std::string run = is_run(*labels.data) ? *labels.data : "";
  const std::string location = run.empty() ? *labels.data : own_data(RunConfig(std::filesystem::path(run)));
  if (location.empty()) {
    throw UsageError(
        fmt::format("'{}' is the folder of a run that tells no data: name the data, and the run as --model", run));
  }
  require_classes_of_images(labels, location, run);
  LabelFindings findings = judge_labels(labels, location, run, observer);
  for (const std::string& note : findings.notes) observer.note(note);
  if (!out.empty()) write_label_files(findings, out, observer);
  tell_skipped(findings.skipped, "image", "used", observer);
  return findings;
}

}  // namespace evener::job
