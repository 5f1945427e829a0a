// The features by which labels of classes are judged: what a network's last linear layer reads, or pixels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/open/open_data.h"
#include "data/preprocess.h"
#include "job/labels/labels_flags.h"
#include "job/observer.h"
#include "task/fine_tuning/softmax_regression.h"

namespace evener::job {

struct ImageFeatures {
  data::OpenedData opened;
  data::Preprocessing steps;           // with which the data was opened
  std::vector<std::uint32_t> samples;  // of the dataset: the row of each in the table
  task::FeatureTable table;
  std::string told = {};                // a sentence: what the features are
  std::vector<std::string> notes = {};  // sentences of caution
  std::vector<data::Skipped> skipped = {};
};

/// Opens the data at `location` and computes the features of the images of the part that is looked at: by --model, or
/// else by the weights with which the training `run` began, where they are still there; or else by the run's own; or
/// else pixels. Throws UsageError, also for weights without a network, and Error.
ImageFeatures image_features(const LabelsFlags& flags, const std::string& run, const std::string& location,
                             Observer& observer);

}  // namespace evener::job
