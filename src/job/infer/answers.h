// What `evener infer` tells of each image as it is answered: to the observer, in predictions.csv, and as features.
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/samples.h"
#include "job/infer/infer_flags.h"
#include "job/infer/raw_outputs.h"
#include "job/infer/sort.h"
#include "job/observer.h"
#include "report/run.h"
#include "task/activation_map.h"
#include "task/infer.h"

namespace evener::job {

/// A labelled image that was taken for another class; or for its own, where that is said.
struct Mistake {
  std::size_t index = 0;  // of the image
  std::string file, truth, found;
  std::size_t found_index = 0;  // the number of the class `found`
  float score = 0;              // of the class that was found
};

/// How many labelled images were answered, and how many rightly.
struct Scores {
  std::int64_t images = 0, correct = 0, correct_in_five = 0;
  std::int64_t classes = 0;                          // that the network tells apart
  std::vector<std::vector<std::int64_t>> confusion;  // [true class][found class]; empty = too many classes
  std::vector<Mistake> mistakes;                     // the surest first, after AnswerWriter::finish()
  std::vector<Mistake> sure;                         // the surest right answers of each class
};

class AnswerWriter : public task::InferObserver {
 public:
  /// `folder`: of predictions.csv; empty = none is written. `photos`: the places that the samples are from, as they
  /// were named. `shapes`: of the outputs, where these are to be written as they are, and nothing is told. Throws Error
  /// where a file can't be written, UsageError where samples that are no files are to be sorted.
  AnswerWriter(const AnswerFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
               bool labelled, const std::filesystem::path& folder, const std::vector<std::string>& photos,
               const OutputShapes& shapes, Observer& observer);

  void on_answer(const task::Answer& answer) override;
  /// Writes what is left: the features. Throws Error where something could not be written.
  void finish();

  const Scores& scores() const { return scores_; }
  /// What was sorted; null: nothing was to be.
  const PhotoSorter* sorter() const { return sorter_ ? &*sorter_ : nullptr; }
  /// Seconds since the writer was made, of each answer.
  const std::vector<double>& times_s() const { return times_s_; }

 private:
  std::string class_name(std::size_t index) const;
  std::string class_folder(std::size_t index) const;
  void score(const task::Answer& answer, std::span<const float> output, std::int32_t label);
  /// The surest mistakes first: as a table, and some of them for the page.
  void tell_mistakes();
  /// Keeps a right answer if few of its class were as sure.
  void keep_if_sure(Mistake right);
  void show_labelled(std::span<const Mistake> ones, bool are_right);
  /// Where the network found the class of each; empty where that isn't asked for, or can't be told.
  std::vector<task::ActivationMap> maps_of(std::span<const Mistake> ones) const;
  /// Keeps a small picture of one in so many images for the page.
  void show(const task::Answer& answer, const task::ClassScore& best);
  void tell(const std::string& name, const std::vector<task::ClassScore>& top);
  void sort(const task::Answer& answer, std::span<const float> output);
  [[noreturn]] void throw_csv_trouble() const;

  const AnswerFlags& flags_;
  const task::InferenceModel& network_;
  const data::Samples& samples_;
  Observer& observer_;
  std::string format_;
  std::optional<std::ofstream> csv_;
  std::filesystem::path csv_path_;
  std::filesystem::path mistakes_path_;  // empty = nothing is labelled, or there is no folder
  std::filesystem::path shown_path_;     // of the images for the page; empty = none are kept
  std::vector<report::AnsweredImage> shown_;
  std::optional<PhotoSorter> sorter_;
  std::map<std::string, std::string> class_folders_;  // of the sorted photos
  std::optional<RawOutputs> raw_;
  const bool tells_classes_;
  std::vector<float> features_;
  std::vector<std::string> feature_files_;
  Scores scores_;
  const double begin_s_;
  std::vector<double> times_s_;
};

}  // namespace evener::job
