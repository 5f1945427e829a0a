// What planners know and say of replicas that are divided into stages. Inside plan/ only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace evener::plan {

bool is_staged(const Row& row);

/// A step of `replica` whose share is so many images, through the simulated times of all of its micro-batches and of
/// half of them.
StepModel step_of_stages(const task::StageForecast& forecast, std::size_t replica, double images);

/// What the simulation says of a placement whose predicted speed is this.
Row::Pipeline pipeline_of(const task::StageForecast& forecast, double predicted_images_per_s);

/// See Row::Pipeline. `alone_s`: what the whole batch takes on one stage's device. Absent where stages differ.
std::optional<double> cost_of_parts(const Row& row, const task::StageForecast& forecast, double alone_s);

/// Of each pipeline that can be used, what it came to beside the fastest placement without stages, and why.
std::vector<std::string> pipeline_notes(const std::vector<Row>& rows);

}  // namespace evener::plan
