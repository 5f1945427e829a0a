// Measures a trained network in one of LoadGen's scenarios.
#pragma once

#include "bench/run_scenario.h"
#include "job/infer/scenario_flags.h"
#include "job/inference/images.h"
#include "job/observer.h"
#include "task/inference/infer.h"

namespace evener::job {

/// Adapts `options` to the scenario in `flags`: batches as large as a query, and all threads on one call where latency
/// counts. Options that the user gave stay.
void suit_scenario(const ScenarioFlags& flags, task::InferOptions& options);

/// Measures the network. Images are read and preprocessed before the clock starts. Throws Error for an image that can't
/// be read, and what run_scenario throws.
bench::ScenarioResult measure_scenario(const ScenarioFlags& flags, task::InferJob& job, const data::Samples& samples,
                                       const std::string& main_output, Observer& line);

/// The result in sentences.
std::string scenario_text(const record::Record& record);

}  // namespace evener::job
