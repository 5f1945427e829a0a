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

std::string error_text(const CalibrationError& error) {
  if (!error.interval) return percent_words(error.ece);
  return fmt::format("{} (95 %: {:.1f} to {:.1f})", percent_words(error.ece), 100 * error.interval->low,
                     100 * error.interval->high);
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
  fields.all_required("accuracy", bin.accuracy, "confidence", bin.confidence, "images", bin.images);
  fields.check("accuracy", is_share(bin.accuracy) && is_share(bin.confidence) && bin.images >= 0,
               "expected shares, and a number of images");
}

void describe(auto& fields, Of<CalibrationError> auto& error) {
  fields.value("bins", error.bins);
  fields.all_required("ece", error.ece, "ece_equal_mass", error.ece_equal_mass);
  fields.interval("interval", error.interval);
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
    ece.label = "expected calibration error" + of;
    ece.interval = error.interval;
    metrics.push_back(ece);
    ece.name = prefix + "ece_equal_mass";
    ece.label += ", bins of equally many images";
    ece.value = error.ece_equal_mass;
    ece.interval.reset();
    metrics.push_back(ece);
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
  for (const char* name : {"temperature", "ece", "ece_equal_mass", "uncalibrated_ece", "uncalibrated_ece_equal_mass",
                           "known_called_unknown", "unlike_called_unknown", "unlike_auroc", "unlike_fpr95"}) {
    record.metrics.erase(name);
  }
  for (Metric& metric : metrics) add_metric(record, std::move(metric));
  std::erase_if(record.notes, tells_of_calibration);
  for (std::string& sentence : calibration_sentences(calibration)) record.notes.push_back(std::move(sentence));
}

std::vector<std::string> calibration_sentences(const CalibrationRecord& calibration) {
  std::vector<std::string> sentences;
  sentences.push_back(
      fmt::format("{} by temperature {:.3g}: expected calibration error {} before, {} after, on {} images ({})",
                  kCalibratedNote, calibration.temperature, error_text(calibration.before),
                  error_text(calibration.after), calibration.judged_images, calibration.judged));
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
