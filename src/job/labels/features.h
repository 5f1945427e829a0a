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

/// Which network gives the features.
struct FeatureSource {
  std::string model;        // a network of the zoo, a folder, a file; "" = pixels
  std::string weights;      // of a network of the zoo
  std::string run;          // the folder of the training whose data is judged; "" = none
  bool begins_run = false;  // the weights are those with which that training began
};

/// The source by the options: --model, or else the weights with which the training RUN began, where they are still
/// there; or else RUN's own; or else pixels. Throws UsageError for weights without a network.
FeatureSource feature_source(const LabelsFlags& flags, const std::string& run);

struct ImageFeatures {
  data::OpenedData opened;
  data::Preprocessing steps;           // with which the data was opened
  std::vector<std::uint32_t> samples;  // of the dataset: the row of each in the table
  task::FeatureTable table;
  std::string told = {};                // a sentence: what the features are
  std::vector<std::string> notes = {};  // sentences of caution
  std::vector<data::Skipped> skipped = {};
};

/// Opens the data at `location` and computes the features of the images of the part that is looked at. Throws
/// UsageError and Error.
ImageFeatures image_features(const LabelsFlags& flags, const FeatureSource& source, const std::string& location,
                             Observer& observer);

/// The name of the part that each sample of `opened` is in: "train", "validation", "test", "new"; "" = in none.
std::vector<std::string> part_names(const data::OpenedData& opened);

}  // namespace evener::job
