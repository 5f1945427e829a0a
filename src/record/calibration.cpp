#include "record/calibration.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "record/described_json.h"

namespace evener::record {
namespace {

constexpr std::uint64_t kMostCalibrationBytes = 1 << 20;

std::string percent_words(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// No measure of quality by which runs are ranked and told in a sentence, as accuracy is: it stands in their tables.
Metric share_metric(const char* name, const char* label, Better better, double value, std::int64_t images) {
  return {.name = name,
          .unit = "share",
          .title = "",
          .label = label,
          .better = better,
          .role = MetricRole::kCost,
          .value = value,
          .of_images = images};
}

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

constexpr std::string_view kCalibratedNote = "probabilities are calibrated";
constexpr std::string_view kNothingUnknownNote = "nothing is called unknown";
constexpr std::string_view kUnknownNote = "unknown is called what";

/// Whether a note was left by add_calibration(), or says why there is none.
bool tells_of_calibration(const std::string& note) {
  return note.starts_with(kCalibratedNote) || note.starts_with(kNothingUnknownNote) || note.starts_with(kUnknownNote) ||
         note.starts_with(kUncalibratedNote) || note.find("are called unknown; AUROC") != std::string::npos;
}

}  // namespace

void describe(auto& fields, Of<ReliabilityBin> auto& bin) {
  fields.required("accuracy", bin.accuracy);
  fields.interval("by_chance", bin.by_chance);
  fields.all_required("confidence", bin.confidence, "images", bin.images);
  fields.check("accuracy", is_share(bin.accuracy) && is_share(bin.confidence) && bin.images >= 0,
               "expected shares, and a number of images");
}

void describe(auto& fields, Of<CalibrationError> auto& error) {
  fields.value("bins", error.bins);
  fields.required("ece", error.ece);
  fields.share("ece_by_chance", error.ece_by_chance);
  fields.required("ece_equal_mass", error.ece_equal_mass);
  fields.required("negative_log_likelihood", error.negative_log_likelihood);
  fields.check("ece", is_share(error.ece), "expected a share");
}

void describe(auto& fields, Of<UnlikeImages> auto& unlike) {
  fields.all_required("auroc", unlike.auroc, "fpr95", unlike.fpr95, "images", unlike.images, "location",
                      unlike.location, "unknown_share", unlike.unknown_share);
}

void describe(auto& fields, Of<CalibrationRecord> auto& calibration) {
  fields.all_required("after", calibration.after, "before", calibration.before, "fitted_images",
                      calibration.fitted_images, "judged", calibration.judged, "judged_images",
                      calibration.judged_images);
  fields.value("known_unknown", calibration.known_unknown);
  fields.text("no_unknown", calibration.no_unknown);
  fields.values("shrinkage", calibration.shrinkage, "statistics_images", calibration.statistics_images);
  fields.required("temperature", calibration.temperature);
  fields.values("unknown_wanted", calibration.unknown_wanted, "unlike", calibration.unlike);
}

std::string calibration_text(const CalibrationRecord& calibration) {
  CalibrationRecord told = calibration;
  if (told.unlike) told.unlike->location = to_utf8_text(told.unlike->location);
  return json_text(described_json(told));
}

CalibrationRecord calibration_from_text(const std::string& text, const std::string& source) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error(source + " can't be read: it is no JSON");
  CalibrationRecord calibration;
  read_described(json, source + " can't be read", calibration);
  return calibration;
}

void write_calibration_record(const std::filesystem::path& path, const CalibrationRecord& calibration) {
  write_file_atomically(path, calibration_text(calibration) + "\n");
}

CalibrationRecord read_calibration_record(const std::filesystem::path& path) {
  return calibration_from_text(read_file(path, kMostCalibrationBytes), path.string());
}

void add_calibration(const CalibrationRecord& calibration, Record& record) {
  std::vector<Metric> metrics;
  metrics.push_back({.name = "temperature",
                     .unit = "",
                     .title = "",
                     .label = "temperature of the probabilities",
                     .value = calibration.temperature});
  const auto add_error = [&](const std::string& prefix, const std::string& of, const CalibrationError& error) {
    Metric ece = share_metric("", "", Better::kLower, error.ece, calibration.judged_images);
    ece.name = prefix + "ece";
    const std::string label = "expected calibration error" + of;
    const auto add = [&](const char* name, const char* what, double value) {
      ece.name = prefix + name;
      ece.label = label + what;
      ece.value = value;
      metrics.push_back(ece);
    };
    add("ece", "", error.ece);
    if (error.ece_by_chance) add("ece_by_chance", ", of a perfectly calibrated network at most", *error.ece_by_chance);
    add("ece_equal_mass", ", bins of equally many images", error.ece_equal_mass);
  };
  add_error("", "", calibration.after);
  add_error("uncalibrated_", " before calibration", calibration.before);
  if (calibration.known_unknown) {
    metrics.push_back(share_metric("known_called_unknown", "known images called unknown", Better::kLower,
                                   *calibration.known_unknown, calibration.judged_images));
    metrics.back().interval = share_interval(*calibration.known_unknown, calibration.judged_images);
  }
  if (const auto& unlike = calibration.unlike) {
    metrics.push_back(share_metric("unlike_called_unknown", "unlike images called unknown", Better::kHigher,
                                   unlike->unknown_share, unlike->images));
    metrics.back().interval = share_interval(unlike->unknown_share, unlike->images);
    metrics.push_back(
        share_metric("unlike_auroc", "AUROC of unlike images", Better::kHigher, unlike->auroc, unlike->images));
    metrics.push_back(share_metric("unlike_fpr95", "unlike images that pass where 95 % of known ones do",
                                   Better::kLower, unlike->fpr95, unlike->images));
  }
  // All that a calibration may leave, as the earlier one may have had more.
  for (const char* name : {"temperature", "ece", "ece_by_chance", "ece_equal_mass", "uncalibrated_ece",
                           "uncalibrated_ece_by_chance", "uncalibrated_ece_equal_mass", "known_called_unknown",
                           "unlike_called_unknown", "unlike_auroc", "unlike_fpr95"}) {
    record.metrics.erase(name);
  }
  for (Metric& metric : metrics) add_metric(record, std::move(metric));
  std::erase_if(record.notes, tells_of_calibration);
  for (std::string& sentence : calibration_sentences(calibration)) record.notes.push_back(std::move(sentence));
}

std::vector<std::string> calibration_sentences(const CalibrationRecord& calibration) {
  std::vector<std::string> sentences;
  const auto &before = calibration.before, &after = calibration.after;
  sentences.push_back(
      fmt::format("{} by temperature {:.3g}: expected calibration error {} before, {} after, on {} images ({})",
                  kCalibratedNote, calibration.temperature, percent_words(before.ece), percent_words(after.ece),
                  calibration.judged_images, calibration.judged));
  if (before.ece_by_chance && after.ece_by_chance) {
    sentences.back() += fmt::format("; a perfectly calibrated network would show up to {} before and {} after",
                                    percent_words(*before.ece_by_chance), percent_words(*after.ece_by_chance));
  }
  if (!calibration.no_unknown.empty()) {
    sentences.push_back(fmt::format("{}: {}", kNothingUnknownNote, calibration.no_unknown));
    return sentences;
  }
  const double known = calibration.known_unknown.value_or(0);
  sentences.push_back(fmt::format("{} is like none of {} training images: {} of {} known images ({})", kUnknownNote,
                                  calibration.statistics_images, percent_words(known), calibration.judged_images,
                                  calibration.judged));
  if (const auto& unlike = calibration.unlike) {
    sentences.push_back(
        fmt::format("of {} images in '{}' {} are called unknown; AUROC {}, {} pass where 95 % of known images do",
                    unlike->images, unlike->location, percent_words(unlike->unknown_share),
                    percent_words(unlike->auroc), percent_words(unlike->fpr95)));
  }
  return sentences;
}

}  // namespace evener::record
