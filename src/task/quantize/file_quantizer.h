// Post-training quantisation of a network in another program's file that stays as it is (engine/model_file.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/described.h"
#include "data/open/samples.h"
#include "task/inference/inference_model.h"
#include "task/inference/model_metadata.h"
#include "task/quantize/quantize.h"

namespace evener::task {

struct FileQuantizeRequest {
  const InferenceModel& model;       // a file of another program
  const data::Samples& calibration;  // of which up to `images`, spread evenly, are used
  std::size_t images = 300;
  int weight_bits = 8;
  bool extremes = false;               // ranges reach to the farthest values of all images; false: to the means of
                                       // each image's farthest
  std::vector<std::string> keep = {};  // patterns of layers that stay in float; "first", "last"
  ModelFacts facts = {};               // written into the file
  int threads = 1;
};

/// Quantises and writes the file, and its weights beside it. In a child process. Outcome: the number of images, and the
/// layers, whose errors are not measured (infinite). Throws UsageError for a pattern that fits no layer, Error.
QuantizeOutcome quantize_file(const FileQuantizeRequest& request, const std::filesystem::path& xml);

}  // namespace evener::task
