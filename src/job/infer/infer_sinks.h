// The sinks for predictions that the options of `evener infer` ask for.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "job/infer/class_sink.h"
#include "job/infer/raw_outputs.h"
#include "job/infer/sort.h"

namespace evener::job {

/// Writes the network's raw outputs for each sample (--outputs raw).
class RawSink : public PredictionSink {
 public:
  /// Throws Error where a file can't be written in `folder`.
  RawSink(const std::filesystem::path& folder, OutputShapes shapes, const data::Samples& samples)
      : raw_(folder, std::move(shapes)), samples_(samples) {}
  void take(const task::Prediction& prediction) override { raw_.add(samples_.name(prediction.index), prediction); }
  void finish() override { raw_.finish(); }

 private:
  RawOutputs raw_;
  const data::Samples& samples_;
};

/// Writes the input of the last linear layer for each sample into a file (--features).
class FeatureSink : public PredictionSink {
 public:
  /// Throws Error where the folder of `file` can't be written to.
  FeatureSink(std::filesystem::path file, const std::string& network, const data::Samples& samples);
  void take(const task::Prediction& prediction) override;
  void finish() override;

 private:
  const std::filesystem::path file_;
  const std::string network_;
  const data::Samples& samples_;
  std::vector<float> features_;
  std::vector<std::string> files_;
};

/// Puts each photo into the folder of its class, "unsure" or "unknown" (--sort).
class SortSink : public PredictionSink {
 public:
  /// `photos`: the user's names for the files and folders of the samples. Throws UsageError where samples are no files.
  SortSink(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
           const std::vector<std::string>& photos);
  void take(const task::Prediction& prediction) override;

  const PhotoSorter& sorter() const { return sorter_; }

 private:
  /// "unsure", or "_unsure" where a class has that name.
  std::string no_class(const std::string& name) const;

  const PredictionFlags& flags_;
  const task::InferenceModel& network_;
  const data::Samples& samples_;
  PhotoSorter sorter_;
  const std::map<std::string, std::string> folders_;  // by class
};

class InferSinks : public PredictionSinks {
 public:
  /// `folder`: of the run's files; empty = none are written. `photos`: the user's names for the files and folders of
  /// the samples. `shapes`: of the outputs, used only with --outputs raw. Throws Error where a file can't be written,
  /// UsageError where samples that are no files are to be sorted.
  InferSinks(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
             bool labelled, const std::filesystem::path& folder, const std::vector<std::string>& photos,
             const OutputShapes& shapes, Observer& observer);

  /// Empty where the predictions are not classes.
  Scores scores() const { return classes_ != nullptr ? classes_->scores() : Scores(); }
  UnknownCount unknown() const { return classes_ != nullptr ? classes_->unknown() : UnknownCount(); }
  /// The sorter with its counts; null without --sort.
  const PhotoSorter* sorter() const { return sort_ != nullptr ? &sort_->sorter() : nullptr; }

 private:
  const ClassSink* classes_ = nullptr;
  const SortSink* sort_ = nullptr;
};

}  // namespace evener::job
