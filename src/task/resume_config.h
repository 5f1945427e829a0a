// What a resumed run has to have in common with the run that it goes on with.
#pragma once

#include <nlohmann/json.hpp>

#include "task/train.h"

namespace evener::task {

/// What decides the weights: a resumed run must agree in all of it to continue the same training.
nlohmann::json resume_config(const TrainOptions& options, const TrainSetup& setup);

/// Throws UsageError listing what differs.
void require_same_config(const nlohmann::json& saved, const nlohmann::json& now);

}  // namespace evener::task
