// What a resumed run has to have in common with the run that it goes on with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "task/training/train.h"

namespace evener::task {

/// What decides the weights: the caller's settings (TrainOptions::settings), and what the job found out: the engine,
/// the data's classes, numbers and size of images, the batch. A resumed run must agree in all of it, but for the
/// engine, to continue the same training. Settings that nobody chose are null, as if they weren't there: so checkpoints
/// from before an option existed can be resumed.
nlohmann::json resume_config(const TrainOptions& options, const TrainSetup& setup);

/// The engine of the run that `saved` is of.
std::string engine_of(const nlohmann::json& saved);

/// Throws UsageError listing what differs.
void require_same_config(const nlohmann::json& saved, const nlohmann::json& now);

}  // namespace evener::task
