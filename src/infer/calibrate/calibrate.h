// Calibrates a classifier on images that it was not trained on: fits a temperature, and from the features of its
// training images what is unknown to it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "data/open/samples.h"
#include "infer/model/fitted_calibration.h"
#include "infer/run/infer.h"
#include "record/calibration.h"

namespace evener::inference {

/// Fewer validation images say too little: then nothing is calibrated.
inline constexpr std::size_t kFewestCalibrationImages = 30;

/// The images, whose classes are known but for those of `unlike`; null: there are none.
struct CalibrationImages {
  const data::Samples* train = nullptr;       // for the statistics of the features
  const data::Samples* validation = nullptr;  // for temperature and threshold
  const data::Samples* test = nullptr;        // for judging both; without them halves of the validation images judge
                                              // what was fitted to the other half
  const data::Samples* unlike = nullptr;      // of none of the classes
  std::string unlike_location = {};           // for people
  std::string more = {};                      // how to get more of `validation`, where they are too few
};

struct CalibrationOptions {
  InferOptions infer;               // how the network is run
  double unknown_share = 0.05;      // of known images, that may be called unknown; 0: nothing is unknown
  std::size_t most_images = 10000;  // of a part; of more, so many drawn by chance
  std::function<void(const std::string& what)> tell = {};  // what is done now, for progress; may be empty
};

struct CalibrationOutcome {
  ClassifierCalibration calibration;
  record::CalibrationRecord record;
};

/// Why so few images to validate on calibrate nothing; "" = they are enough. `more`: as CalibrationImages has it.
std::string too_few_to_calibrate(std::size_t validation, const std::string& more);

/// Runs `model` on the images and calibrates it. It must have been opened without a calibration of its own, and with
/// its features where it has some (InferenceRequest::features_if_any). The same images give the same result, whatever
/// the number of threads, up to the rounding of the engine. Throws Error where there are fewer than
/// kFewestCalibrationImages to validate on, UsageError where its outputs are no classes, and Interrupted.
CalibrationOutcome calibrate(const InferenceModel& model, const CalibrationImages& images,
                             const CalibrationOptions& options);

}  // namespace evener::inference
