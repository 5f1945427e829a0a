// A trained network as the system that a scenario measures.
#pragma once

#include "bench/run_scenario.h"
#include "job/infer/scenario_flags.h"
#include "job/inference/images.h"
#include "job/observer.h"
#include "task/inference/infer.h"

namespace evener::job {

/// How a network computes where `flags` ask for a scenario: calls as large as a query's, and all threads on one call
/// where the answer is waited for. What the user gave stays.
void suit_scenario(const ScenarioFlags& flags, task::InferOptions& options);

/// Measures the network. Images are in memory, as the network takes them, before the clock runs. Throws Error for one
/// that can't be read, and what run_scenario throws.
bench::ScenarioResult measure_scenario(const ScenarioFlags& flags, task::InferJob& job, const data::Samples& samples,
                                       const std::string& main_output, Observer& line);

/// The result in sentences.
std::string scenario_text(const record::Record& record);

}  // namespace evener::job
