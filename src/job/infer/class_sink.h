// Takes the predictions of `evener infer` where they are classes: tells them to the observer, writes predictions.csv,
// and counts for labelled images how often they were right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/image_shape.h"
#include "data/open/samples.h"
#include "job/infer/infer_flags.h"
#include "job/inference/session.h"
#include "job/observer.h"
#include "record/detection.h"
#include "report/run.h"
#include "task/activation_map.h"
#include "task/inference/infer.h"

namespace evener::job {

// Small pictures of images for pages, with class activation maps over them.

/// An image of 1 or 3 channels as (C, H, W).
struct SmallPicture {
  data::ImageShape shape;
  std::vector<std::uint8_t> planes;

  /// As PNG in base64.
  std::string text() const;
};

/// A sample as a picture, scaled down for a page. Throws Error where it can't be read.
SmallPicture small_picture(const data::Samples& samples, std::size_t index);

/// The picture in grey with the map over it: orange, the less transparent the more a place spoke for the class.
SmallPicture with_map(const SmallPicture& picture, const task::ActivationMap& map);

/// A labelled image that was taken for another class (or in Scores::sure for its own).
struct Mistake {
  std::size_t index = 0;  // of the image
  std::string file, truth, found;
  std::size_t found_index = 0;  // the number of the class `found`
  float score = 0;              // of the class `found`
};

/// How many labelled images were classified, and how many of them correctly.
struct Scores {
  std::int64_t images = 0, correct = 0, correct_in_five = 0;
  std::int64_t classes = 0;                          // number of the network's classes
  std::vector<std::vector<std::int64_t>> confusion;  // [true class][found class]; empty = too many classes
  std::vector<Mistake> mistakes;                     // the surest first, after ClassSink::finish()
  std::vector<Mistake> sure;                         // the surest right predictions of each class
};

/// How many images are like nothing that the network was trained on; of 0 images where it doesn't know.
struct UnknownCount {
  std::int64_t images = 0, unknown = 0;
};

class ClassSink : public PredictionSink {
 public:
  /// `folder`: of predictions.csv; empty = none is written. `are_random`: samples that were made up, to measure. Throws
  /// Error where a file can't be written.
  ClassSink(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
            bool labelled, bool are_random, const std::filesystem::path& folder, Observer& observer);

  void take(const task::Prediction& prediction) override;
  void finish() override;
  bool tells_each() const override { return format_ != "none"; }

  const Scores& scores() const { return scores_; }
  const UnknownCount& unknown() const { return unknown_; }

 private:
  std::string class_name(std::size_t index) const;
  void score(const task::Prediction& prediction, std::span<const float> output, std::int32_t label);
  /// Writes the mistakes, the surest first, as a table, and some of them for the page.
  void tell_mistakes();
  /// Keeps a right prediction if it is among the surest of its class.
  void keep_if_sure(Mistake right);
  void show_labelled(std::span<const Mistake> ones, bool are_right);
  /// The class activation map of each; empty where maps aren't wanted, or the network has none.
  std::vector<task::ActivationMap> maps_of(std::span<const Mistake> ones) const;
  /// Keeps a small picture of some of the images, evenly spread, for the page.
  void show(const task::Prediction& prediction, const task::ClassScore& best);
  void tell(const std::string& name, const std::vector<task::ClassScore>& top, std::optional<float> unknown);
  [[noreturn]] void throw_csv_error() const;

  const PredictionFlags& flags_;
  const task::InferenceModel& network_;
  const data::Samples& samples_;
  Observer& observer_;
  std::string format_;
  bool is_first_ = true;
  std::optional<std::ofstream> csv_;
  std::filesystem::path csv_path_;
  std::filesystem::path mistakes_path_;  // empty = nothing is labelled, or there is no folder
  std::filesystem::path shown_path_;     // of the images for the page; empty = none are kept
  std::vector<record::PredictedImage> shown_;
  Scores scores_;
  UnknownCount unknown_;
};

/// How far the image is from all that the network was trained on, as a share of what is called unknown; absent where
/// the network doesn't know.
std::optional<float> unknown_of(const task::InferenceModel& network, const task::Prediction& prediction);
/// Whether it is called unknown.
inline bool is_unknown(std::optional<float> unknown) {
  return unknown.value_or(0) > 1;
}

/// "class 3" where the network has no names.
std::string class_name(const task::InferenceModel& network, std::size_t index);

}  // namespace evener::job
