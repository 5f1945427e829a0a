// What `evener plan` tells of the placements that it compared.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plan/planner.h"

namespace evener::job {

/// The comparison for a terminal and as JSON.
std::string comparison_text(const plan::Comparison& comparison);
nlohmann::ordered_json comparison_json(const plan::Comparison& comparison);

/// Time against energy of an image as a plot of characters: each row that has both by a letter, and below it what the
/// letters stand for. A star marks the rows that none beats in both. "" for fewer than two such rows.
std::string front_plot(const plan::Comparison& comparison);

}  // namespace evener::job
