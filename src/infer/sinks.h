// The sinks for predictions that the options of `evener infer` ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/csv.h"
#include "data/codecs/picture.h"
#include "data/open/samples.h"
#include "infer/options.h"
#include "infer/run/activation_map.h"
#include "infer/run/infer.h"
#include "infer/session/session.h"
#include "measure/run/observer.h"
#include "record/detection.h"
#include "report/run.h"

namespace evener::inference {

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
SmallPicture with_map(const SmallPicture& picture, const ActivationMap& map);

/// "class 3" where the network has no names.
std::string class_name(const InferenceModel& network, std::size_t index);

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

/// Takes the predictions of `evener infer` where they are classes: tells them to the observer, writes predictions.csv,
/// and counts for labelled images how often they were right.
class ClassSink : public PredictionSink {
 public:
  /// `folder`: of predictions.csv; empty = none is written. `are_random`: samples that were made up, to measure. Throws
  /// Error where a file can't be written.
  ClassSink(const PredictionFlags& flags, const InferenceModel& network, const data::Samples& samples, bool labelled,
            bool are_random, const std::filesystem::path& folder, measure::Observer& observer);

  void take(const Prediction& prediction) override;
  void finish() override;
  bool tells_each() const override { return format_ != "none"; }

  const Scores& scores() const { return scores_; }
  const UnknownCount& unknown() const { return unknown_; }

 private:
  std::string class_name(std::size_t index) const { return inference::class_name(network_, index); }
  void score(const Prediction& prediction, std::span<const float> output, std::int32_t label);
  /// Writes the mistakes, the surest first, as a table, and some of them for the page.
  void tell_mistakes();
  /// Keeps a right prediction if it is among the surest of its class.
  void keep_if_sure(Mistake right);
  void show_labelled(std::span<const Mistake> ones, bool are_right);
  /// The class activation map of each; empty where maps aren't wanted, or the network has none.
  std::vector<ActivationMap> maps_of(std::span<const Mistake> ones) const;
  /// Keeps a small picture of some of the images, evenly spread, for the page.
  void show(const Prediction& prediction, const ClassScore& best);
  void tell(const std::string& name, const std::vector<ClassScore>& top, std::optional<float> unknown);

  const PredictionFlags& flags_;
  const InferenceModel& network_;
  const data::Samples& samples_;
  measure::Observer& observer_;
  std::string format_;
  bool is_first_ = true;
  std::optional<CsvWriter> csv_;
  std::filesystem::path mistakes_path_;  // empty = nothing is labelled, or there is no folder
  std::filesystem::path shown_path_;     // of the images for the page; empty = none are kept
  std::vector<record::PredictedImage> shown_;
  Scores scores_;
  UnknownCount unknown_;
  std::size_t no_numbers_ = 0;  // images of which an output is NaN
  std::string first_without_;   // the first of them
};

/// How far the image is from all that the network was trained on, as a share of what is called unknown; absent where
/// the network doesn't know.
std::optional<float> unknown_of(const InferenceModel& network, const Prediction& prediction);
/// Whether it is called unknown.
inline bool is_unknown(std::optional<float> unknown) {
  return unknown.value_or(0) > 1;
}

// Writes the raw outputs of a network for each image into NumPy's files, for networks whose outputs are no classes.

/// Writes OUTPUT.npy for each output, float32 (images, ...), as predictions come, and files.txt with the image of each
/// row.
class RawOutputs {
 public:
  /// Throws Error where a file can't be written.
  RawOutputs(std::filesystem::path folder, OutputShapes shapes);

  void add(const std::string& image, const Prediction& prediction);
  /// Throws Error where something could not be written.
  void finish();

 private:
  struct File {
    std::filesystem::path path;
    std::ofstream stream;
  };

  const std::filesystem::path folder_;
  const OutputShapes shapes_;
  std::map<std::string, File> files_;
  std::ofstream names_;
  std::int64_t images_ = 0;
};

// Photos put into a folder for each class that a network finds on them.

enum class SortBy { kLink, kCopy };

/// Puts photos into folders, and never moves or removes any: a photo that is in `out` already, as a link or a copy in
/// any folder, stays there, so that users can move wrongly sorted photos by hand and sort further ones later.
class PhotoSorter {
 public:
  /// Reads the content of `out`, which the first add() creates if need be. Throws UsageError where `out` is no folder,
  /// or lies within one of the folders among `photos`.
  PhotoSorter(std::filesystem::path out, SortBy by, const std::vector<std::string>& photos);

  /// Puts a photo into the folder named `folder` (see folder_name()). Throws Error where that is impossible.
  void add(const std::filesystem::path& photo, const std::string& folder);

  const std::filesystem::path& out() const { return out_; }
  /// How many photos were put into each folder.
  const std::map<std::string, std::size_t>& added() const { return added_; }
  /// The number of photos that were in `out` before.
  std::size_t there() const { return there_; }

 private:
  bool is_there(const std::filesystem::path& photo) const;
  /// The incomplete copy of `photo` that an interrupted run left, to be completed where it lies; absent if there is
  /// none.
  std::optional<std::filesystem::path> cut_copy_of(const std::filesystem::path& photo) const;

  std::filesystem::path out_;
  SortBy by_;
  std::multimap<std::string, std::filesystem::path> files_;  // files in the folders of `out`, by the name of the photo
  std::map<std::string, std::size_t> added_;
  std::size_t there_ = 0;
};

/// Puts each photo into the folder of its class, "unsure" or "unknown" (--sort).
class SortSink : public PredictionSink {
 public:
  /// `photos`: the user's names for the files and folders of the samples. Throws UsageError where samples are no files.
  SortSink(const PredictionFlags& flags, const InferenceModel& network, const data::Samples& samples,
           const std::vector<std::string>& photos);
  void take(const Prediction& prediction) override;

  const PhotoSorter& sorter() const { return sorter_; }

 private:
  /// "unsure", or "_unsure" where a class has that name.
  std::string no_class(const std::string& name) const;

  const PredictionFlags& flags_;
  const InferenceModel& network_;
  const data::Samples& samples_;
  PhotoSorter sorter_;
  const std::map<std::string, std::string> folders_;  // by class
};

class InferSinks : public PredictionSinks {
 public:
  /// `folder`: of the run's files; empty = none are written. `photos`: the user's names for the files and folders of
  /// the samples. `shapes`: of the outputs, used only with --outputs raw. Throws Error where a file can't be written,
  /// UsageError where samples that are no files are to be sorted.
  InferSinks(const PredictionFlags& flags, const InferenceModel& network, const data::Samples& samples, bool labelled,
             const std::filesystem::path& folder, const std::vector<std::string>& photos, const OutputShapes& shapes,
             measure::Observer& observer);

  /// Empty where the predictions are not classes.
  Scores scores() const { return classes_ != nullptr ? classes_->scores() : Scores(); }
  UnknownCount unknown() const { return classes_ != nullptr ? classes_->unknown() : UnknownCount(); }
  /// The sorter with its counts; null without --sort.
  const PhotoSorter* sorter() const { return sort_ != nullptr ? &sort_->sorter() : nullptr; }

 private:
  const ClassSink* classes_ = nullptr;
  const SortSink* sort_ = nullptr;
};

}  // namespace evener::inference
