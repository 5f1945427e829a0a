// How well classes were told, for the record.
#pragma once

#include <string>
#include <vector>

#include "job/infer/infer_sinks.h"
#include "record/record.h"
#include "task/inference/infer.h"

namespace evener::job {

/// Of labelled images, of which there is one at least: the accuracy, and that among the five likeliest classes, which
/// is absent where there are no more than five.
void add_accuracies(record::Record& record, const Scores& scores);

/// Fills in what came out of `part` of the data. `network_rates`: images per second of the network alone, in blocks of
/// calls.
void fill_inference_results(record::Record& record, const std::string& part, const task::InferResult& result,
                            const InferSinks& sinks, const std::vector<double>& network_rates);

}  // namespace evener::job
