#include "job/infer/infer_sinks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"
#include "job/sort_folder.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// The folders of sorted photos whose class isn't clear, and of those that are like nothing trained on.
constexpr const char *kUnsure = "unsure", *kUnknown = "unknown";

/// Samples that are not files can't be sorted.
const data::Samples& files_only(const data::Samples& samples) {
  if (samples.size() == 0 || fs::is_regular_file(samples.name(0))) return samples;
  throw UsageError(
      fmt::format("--sort puts photos into folders, and '{}' is no file: give photos", printable(samples.name(0))));
}

}  // namespace

FeatureSink::FeatureSink(fs::path file, const std::string& network, const data::Samples& samples)
    : file_(std::move(file)), network_(network), samples_(samples) {
  require_writable_directory(file_.has_parent_path() ? file_.parent_path() : ".");
}

void FeatureSink::take(const task::Prediction& prediction) {
  const auto found = prediction.outputs.find("features");
  if (found == prediction.outputs.end()) return;
  features_.insert(features_.end(), found->second.begin(), found->second.end());
  files_.push_back(samples_.name(prediction.index));
}

void FeatureSink::finish() {
  if (files_.empty()) return;
  const auto count = static_cast<std::int64_t>(files_.size());
  const TensorMap tensors = {
      {"features", HostTensor::of_floats({count, static_cast<std::int64_t>(features_.size()) / count}, features_)}};
  weights::write_safetensors(
      file_, tensors,
      {{"format", "evener-features-1"}, {"model", to_utf8_text(network_)}, {"files", weights::metadata_text(files_)}});
}

SortSink::SortSink(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
                   const std::vector<std::string>& photos)
    : flags_(flags),
      network_(network),
      samples_(files_only(samples)),
      sorter_(*flags.sort, *flags.sort_by == "copy" ? SortBy::kCopy : SortBy::kLink, photos),
      folders_(folders_of(network.classes())) {}

void SortSink::take(const task::Prediction& prediction) {
  const auto output = prediction.outputs.at(network_.main_output());
  const task::ClassScore best = task::top_classes(output, 1, task::OutputType::kAuto).front();
  const bool unknown = is_unknown(unknown_of(network_, prediction));
  const bool is_unsure = best.score < *flags_.sort_threshold;
  const std::string aside = unknown ? no_class(kUnknown) : is_unsure ? no_class(kUnsure) : "";
  const std::string name = class_name(network_, best.index);
  const auto folder = folders_.find(name);
  sorter_.add(samples_.name(prediction.index), !aside.empty()             ? aside
                                               : folder == folders_.end() ? name
                                                                          : folder->second);
  if (!aside.empty() && fs::is_directory(sorter_.out() / aside)) mark_as_no_class(sorter_.out() / aside);
}

std::string SortSink::no_class(const std::string& name) const {
  const bool is_taken = std::ranges::find(network_.classes(), name) != network_.classes().end();
  return std::string(is_taken ? "_" : "") + name;
}

InferSinks::InferSinks(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
                       bool labelled, const fs::path& folder, const std::vector<std::string>& photos,
                       const OutputShapes& shapes, Observer& observer) {
  if (!shapes.empty()) {
    add<RawSink>(folder, shapes, samples);
    return;
  }
  if (!network.no_classes().empty()) return;
  const bool are_random = photos.size() == 1 && photos.front().starts_with("random:");  // shown to measure
  classes_ = &add<ClassSink>(flags, network, samples, labelled, are_random, folder, observer);
  if (!flags.features->empty()) add<FeatureSink>(*flags.features, network.name(), samples);
  if (!flags.sort->empty()) sort_ = &add<SortSink>(flags, network, samples, photos);
}

}  // namespace evener::job
