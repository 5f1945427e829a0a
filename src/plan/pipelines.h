// Predictions and notes about placements whose replicas are divided into stages. Inside plan/ only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace evener::plan {

bool is_staged(const Row& row);

/// The step model of `replica` with a share of `images`: the line through the simulated times of a step with all
/// micro-batches and with half of them.
StepModel step_of_stages(const task::StageForecast& forecast, std::size_t replica, double images);

/// Row::pipeline from the simulated step; cost_of_parts stays absent.
Row::Pipeline pipeline_of(const task::StageForecast& forecast, double predicted_images_per_s);

/// See Row::Pipeline::cost_of_parts. `alone_s`: the seconds of a whole batch on one stage's device. Absent if the
/// stages' devices or threads differ.
std::optional<double> cost_of_parts(const Row& row, const task::StageForecast& forecast, double alone_s);

/// A sentence for each usable pipeline: its speed against the fastest placement without stages, and the reason. `rows`
/// are sorted, the fastest first.
std::vector<std::string> pipeline_notes(const std::vector<Row>& rows);

}  // namespace evener::plan
