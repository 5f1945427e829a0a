#include "plan/pipelines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "base/plural.h"
#include "plan/choice.h"

namespace evener::plan {
namespace {

/// What slows a pipeline down, for a note.
std::string why_slower(const Row::Pipeline& pipeline) {
  std::string text = pipeline.micro_batches == 1
                         ? "a batch passes in one piece, so that one stage computes at a time"
                         : fmt::format("the stages wait {:.0f} % of the time, with {}", 100 * pipeline.bubble,
                                       counted(pipeline.micro_batches, "micro-batch", "micro-batches"));
  constexpr double kNotable = 1.05;
  if (pipeline.cost_of_parts && *pipeline.cost_of_parts > kNotable) {
    text +=
        fmt::format(", in which an image takes {:.2f} times what it takes in a whole batch", *pipeline.cost_of_parts);
  }
  return text;
}

std::string speed_text(const Row& row) {
  if (row.basis == Basis::kPredicted) return fmt::format("{} images/s predicted", si_text(row.images_per_s));
  return fmt::format("{} images/s measured, {} predicted", si_text(row.images_per_s),
                     si_text(row.pipeline->predicted_images_per_s));
}

}  // namespace

bool is_staged(const Row& row) {
  return !row.plan.replicas.empty() && placement::stage_count(row.plan) > 1;
}

StepModel step_of_stages(const task::StageForecast& forecast, std::size_t replica, double images) {
  const int all = forecast.micro_batches, half = all / 2;
  std::vector<Timing> timings;
  if (half > 0) timings.push_back({images * half / all, forecast.seconds(replica, half)});
  timings.push_back({images, forecast.seconds(replica, all)});
  return fit_step(timings);
}

Row::Pipeline pipeline_of(const task::StageForecast& forecast, double predicted_images_per_s) {
  return {.predicted_images_per_s = predicted_images_per_s,
          .bubble = forecast.bubble(),
          .micro_batches = forecast.micro_batches,
          .cost_of_parts = {},
          .memory_bytes = forecast.memory_bytes};
}

std::optional<double> cost_of_parts(const Row& row, const task::StageForecast& forecast, double alone_s) {
  double parts_s = 0;  // computing time of all stages of all replicas for a batch
  const std::string kind = kind_of({0, {row.plan.replicas[0].stages[0]}, {}});
  for (std::size_t r = 0; r < row.plan.replicas.size(); ++r) {
    for (const auto& stage : row.plan.replicas[r].stages) {
      if (kind_of({0, {stage}, {}}) != kind) return {};
    }
    for (const auto& times : forecast.replicas[r]) {
      parts_s += forecast.micro_batches * (times.forward_s + times.backward_s + times.weights_s);
    }
  }
  return parts_s / alone_s;
}

std::vector<std::string> pipeline_notes(const std::vector<Row>& rows) {
  const auto rival = std::ranges::find_if(rows, [](const Row& row) { return row.refusal.empty() && !is_staged(row); });
  std::vector<std::string> notes;
  for (const Row& row : rows) {
    if (!row.refusal.empty() || !row.pipeline) continue;
    std::string text = row.text;
    if (rival == rows.end()) {
      text += fmt::format(": {}; ", speed_text(row));
    } else {
      text += fmt::format(" {}: {}, {:.2f} times {}; ", faster_than_noise(row, *rival) ? "pays" : "doesn't pay",
                          speed_text(row), row.images_per_s / rival->images_per_s, rival->text);
    }
    notes.push_back(text + why_slower(*row.pipeline));
  }
  return notes;
}

}  // namespace evener::plan
