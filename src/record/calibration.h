// How well the probabilities of a classifier hold, and how well it knows what it doesn't know: the file
// calibration.json in the folder of a run, for its page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "record/statistics.h"

namespace evener::record {

/// The file in a run's folder.
inline constexpr const char* kCalibrationFile = "calibration.json";

/// The images whose highest probability lies in one of the bins: how sure the network was, and how often it was right.
struct ReliabilityBin {
  std::int64_t images = 0;
  double confidence = 0;                   // mean of the highest probability; 0 without images
  double accuracy = 0;                     // share of right answers; 0 without images
  std::optional<Interval> by_chance = {};  // of the accuracy; of a perfectly calibrated network 95 % hold in all bins
};

/// The expected calibration error (Guo et al. 2017): over the bins, the mean of |accuracy - confidence| weighted by
/// their images. Few images make it large whatever the network is: it says something where it is above `ece_by_chance`.
struct CalibrationError {
  double ece = 0;                            // of bins of one width
  double ece_equal_mass = 0;                 // of bins of equally many images
  std::optional<double> ece_by_chance = {};  // `ece` of a perfectly calibrated network is at most that in 95 %
  double negative_log_likelihood = 0;        // mean over the images
  std::vector<ReliabilityBin> bins;          // of one width, from 0 to 1
};

/// How images of none of the classes were judged.
struct UnlikeImages {
  std::string location;
  std::int64_t images = 0;
  double unknown_share = 0;  // that were called unknown
  double auroc = 0;          // chance that one of them is farther than a known image
  double fpr95 = 0;          // share of them that pass where 95 % of known images do
};

struct CalibrationRecord {
  double temperature = 1;
  std::int64_t fitted_images = 0;  // to which the temperature was fitted
  std::string judged;              // on which images the errors were found: "test part", ...
  std::int64_t judged_images = 0;
  CalibrationError before, after;
  std::string no_unknown;               // why nothing is called unknown; "" = it can be
  double unknown_wanted = 0;            // share of known images that may be called unknown
  std::int64_t statistics_images = 0;   // of the training part, whose features are known
  std::optional<double> known_unknown;  // share of the judged images that were called unknown
  std::optional<double> shrinkage;      // of the covariance (Ledoit and Wolf 2004)
  std::optional<UnlikeImages> unlike;
};

/// Text of the file, and back; `source` names it in errors. Throws Error.
std::string calibration_text(const CalibrationRecord& calibration);
CalibrationRecord calibration_from_text(const std::string& text, const std::string& source);

/// Throws Error where it can't be written, or read.
void write_calibration_record(const std::filesystem::path& path, const CalibrationRecord& calibration);
CalibrationRecord read_calibration_record(const std::filesystem::path& path);

/// How the note begins that says why a training's probabilities aren't calibrated.
inline constexpr std::string_view kUncalibratedNote = "the probabilities are not calibrated";

/// Adds the figures and sentences to a record, in place of those of an earlier calibration.
void add_calibration(const CalibrationRecord& calibration, Record& record);

/// Sentences for people: "probabilities are calibrated by temperature 1.31: expected calibration error 4.2 % before, 2
/// %
/// ...".
std::vector<std::string> calibration_sentences(const CalibrationRecord& calibration);

}  // namespace evener::record
