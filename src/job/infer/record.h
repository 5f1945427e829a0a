// Writes accuracies and speeds into the record.
#pragma once

#include <string>
#include <vector>

#include "job/infer/infer_sinks.h"
#include "record/record.h"
#include "task/inference/infer.h"

namespace evener::job {

/// Adds the accuracy and the top-5 accuracy on labelled images, of which there must be at least one. Networks with five
/// classes or fewer get no top-5 accuracy.
void add_accuracies(record::Record& record, const Scores& scores);

/// Fills in what came out of `part` of the data. `network_rates`: images per second of the network alone, in blocks of
/// calls.
void fill_inference_results(record::Record& record, const std::string& part, const task::InferResult& result,
                            const InferSinks& sinks, const std::vector<double>& network_rates);

}  // namespace evener::job
