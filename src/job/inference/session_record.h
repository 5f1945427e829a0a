// From what an inference gave back to its record.
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

/// What each stage of a divided network was given, in words.
std::vector<std::string> stage_notes(const task::InferSetup& setup);

/// Fills in how busy each stage was; nothing where the network is not divided.
void fill_stage_uses(record::Record& record, const task::StageUses& uses);

/// Fills in how fast it was. `times_s`: of each prediction, since the first image was asked for.
void fill_inference_speeds(record::Record& record, const task::InferResult& result, const std::vector<double>& times_s,
                           const std::vector<double>& network_rates);

}  // namespace evener::job
