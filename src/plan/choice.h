// Chooses among placements whose figures are known, and tells which of them nothing beats in time and energy. Figures
// and notes of placements whose replicas are divided into stages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.h"

namespace evener::plan {

/// A row judged by a goal; less is better.
struct Judged {
  double value = 0;             // seconds, joules, joule-seconds or the cost, of an image
  std::optional<double> noise;  // half of the 95 % interval over the value; absent: unknown
};
/// Absent where the row can't be used, or its energy is not known and the goal needs it.
std::optional<Judged> judge(const Row& row, const Goal& goal);

struct RowChoice {
  std::size_t row = 0;  // index of the chosen row
  std::string reason;
  bool decided = false;       // beyond the noise, no other row is as good
  bool within_limits = true;  // it meets the deadline and the budget
};
/// Chooses from rows that are sorted by the goal, the best first and at least one of them usable: the best, or the
/// simplest of those that are nearly as good. If the noise leaves open which row is the best, the reason says so. A
/// placement with stages is chosen only if it beats every placement without stages by more than the noise. Where there
/// is a deadline or a budget, only rows count that surely meet it; where none does, the choice is the one nearest to
/// it. `goal` must not need energy where no row has any.
RowChoice choose(const std::vector<Row>& rows, const Goal& goal = {});

/// For each row the row that beats it: better in time or in energy by more than the noise of both, and at least as good
/// in the other. Absent for the rows on the Pareto front, and for those whose energy is not known.
std::vector<std::optional<std::size_t>> beaten_by(const std::vector<Row>& rows);

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
