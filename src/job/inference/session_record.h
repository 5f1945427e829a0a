// Writes the setup and the speed of an inference into its record.
#pragma once

#include <string>
#include <vector>

#include "job/inference/images.h"
#include "record/record.h"
#include "task/inference/infer.h"

namespace evener::job {

/// Fills in what is known before the first prediction. `groups`: the command's options.
void fill_inference_setup(record::Record& record, const std::vector<const OptionGroup*>& groups,
                          const task::InferenceModel& network, const InferImages& images, const placement::Plan& plan,
                          Precision precision, const task::InferSetup& setup);

/// "torch (by rule 1.6 times as fast as ...)": the engine of the first replica, and why.
std::string engine_text(const task::InferSetup& setup);

/// Sentences on the part of a divided network that each stage computes.
std::vector<std::string> stage_notes(const task::InferSetup& setup);

/// Fills in how busy each stage was; nothing where the network is not divided.
void fill_stage_uses(record::Record& record, const task::StageUses& uses);

/// Fills in the speed. `times_s`: when each prediction came, in seconds since the start.
void fill_inference_speeds(record::Record& record, const task::InferResult& result, const std::vector<double>& times_s,
                           const std::vector<double>& network_rates);

}  // namespace evener::job
