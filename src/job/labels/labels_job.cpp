#include "job/labels/labels_job.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "data/open/open_data.h"
#include "job/inference/inference_flags.h"
#include "job/inference/labelled_data.h"
#include "job/inference/session.h"
#include "job/labels/box_labels.h"
#include "job/labels/class_labels.h"
#include "job/labels/label_files.h"
#include "job/options/data_flags.h"

namespace evener::job {
namespace {

/// Whether the word names the folder of a training, and not data.
bool is_run(const std::string& word) {
  std::error_code none;
  return std::filesystem::is_regular_file(std::filesystem::path(word) / "record.json", none);
}

/// A look at the names of the images alone.
bool has_boxes(const LabelsFlags& flags, const std::string& location, const std::string& run) {
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
  return data::open_data(look).dataset->target_kind() == data::TargetKind::kBoxes;
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
  LabelFindings findings = has_boxes(labels, location, run) ? find_box_labels(labels, location, run, observer)
                                                            : find_class_labels(labels, location, run, observer);
  for (const std::string& note : findings.notes) observer.note(note);
  if (!out.empty()) write_label_files(findings, out, observer);
  tell_skipped(findings.skipped, "image", "used", observer);
  return findings;
}

}  // namespace evener::job
