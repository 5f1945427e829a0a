// The settings that must be the same when a run is resumed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "task/training/train.h"

namespace evener::task {

/// Everything that decides the weights: the caller's settings (TrainOptions::settings), and what the job found out: the
/// engine, the data's classes, the numbers and size of its images, the batch. A resumed run must agree in all of this
/// but the engine, or it would be another training. Settings that nobody chose are null, which counts as absent, so
/// that checkpoints from before an option existed can be resumed.
nlohmann::json resume_config(const TrainOptions& options, const TrainSetup& setup);

/// Throws UsageError listing the settings that differ.
void require_same_config(const nlohmann::json& saved, const nlohmann::json& now);

}  // namespace evener::task
