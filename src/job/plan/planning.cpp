#include "job/plan/planning.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "placement/fastest_cores.h"
#include "placement/machine.h"
#include "placement/placement.h"
#include "report/table.h"
#include "task/training_memory.h"

namespace evener::job {
namespace {

constexpr const char* kMissing = "-";
constexpr std::size_t kColumns = 10;

const char* basis_name(plan::Basis basis) {
  return basis == plan::Basis::kMeasured ? "measured" : "predicted";
}

/// Of all replicas, and of the stages of each, where there are several: "410 MB (280 MB .. 130 MB)".
std::string memory_text(const plan::Row& row) {
  std::string stages;
  for (const std::int64_t bytes : row.pipeline ? row.pipeline->memory_bytes : std::vector<std::int64_t>()) {
    stages += (stages.empty() ? "" : " .. ") + bytes_text(static_cast<std::uint64_t>(bytes));
  }
  const std::string all = bytes_text(static_cast<std::uint64_t>(row.memory_bytes));
  return stages.empty() ? all : fmt::format("{} ({})", all, stages);
}

std::vector<std::string> cells(const plan::Row& row, bool chosen) {
  std::vector<std::string> cells = {row.text + (chosen ? " *" : "")};
  if (!row.refusal.empty()) {
    cells.resize(kColumns, kMissing);
    return cells;
  }
  const auto multiple = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}x", *value) : std::string(kMissing);
  };
  cells.push_back(si_text(row.images_per_s));
  cells.push_back(row.noise ? fmt::format("+-{:.0f} %", 100 * *row.noise) : kMissing);
  cells.push_back(basis_name(row.basis));
  cells.push_back(multiple(row.reached));
  cells.push_back(multiple(row.ceiling));
  cells.push_back(duration_text(row.epoch_s()));
  cells.push_back(duration_text(row.validate_s));
  cells.push_back(memory_text(row));
  cells.push_back(row.joules_per_image ? si_text(*row.joules_per_image, "J") : kMissing);
  return cells;
}

std::string refusals_text(const plan::Comparison& comparison) {
  std::string text;
  for (const plan::Row& row : comparison.rows) {
    if (!row.refusal.empty()) text += fmt::format("  {}: {}\n", row.text, row.refusal);
  }
  return text;
}

nlohmann::ordered_json optional_json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json pipeline_json(const std::optional<plan::Row::Pipeline>& pipeline) {
  if (!pipeline) return nullptr;
  return {{"micro_batches", pipeline->micro_batches},
          {"predicted_images_per_s", pipeline->predicted_images_per_s},
          {"bubble", pipeline->bubble},
          {"cost_of_parts", optional_json(pipeline->cost_of_parts)},
          {"memory_bytes", pipeline->memory_bytes}};
}

nlohmann::ordered_json row_json(const plan::Row& row) {
  if (!row.refusal.empty()) return {{"placement", row.text}, {"refusal", row.refusal}};
  return {{"placement", row.text},
          {"replicas", row.plan.replicas.size()},
          {"processes", row.plan.processes.size()},
          {"images_per_s", row.images_per_s},
          {"basis", basis_name(row.basis)},
          {"noise", optional_json(row.noise)},
          {"epoch_s", row.epoch_s()},
          {"train_s", row.train_s},
          {"validate_s", row.validate_s},
          {"validate_basis", basis_name(row.validate_basis)},
          {"memory_bytes", row.memory_bytes},
          {"memory_basis", "estimated"},
          {"speedup", optional_json(row.reached)},
          {"ceiling", optional_json(row.ceiling)},
          {"joules_per_image", optional_json(row.joules_per_image)},
          {"pipeline", pipeline_json(row.pipeline)}};
}

}  // namespace

std::vector<plan::Candidate> candidates_of(const TrainFlags& flags) {
  const placement::Machine& machine = placement::machine();
  const placement::PlanOptions options = plan_options(flags);
  std::vector<plan::Candidate> candidates;
  const std::vector<std::string> usual = plan::usual_placements(machine);
  const bool takes_usual = ("," + *flags.placement.on + ",").find(",auto,") != std::string::npos;
  const auto is_usual = [&](const std::string& text) {
    return takes_usual && std::ranges::find(usual, text) != usual.end();
  };
  for (const std::string& text : plan::placements_of(*flags.placement.on, machine)) {
    candidates.push_back(plan::resolve(text, machine, options));
    candidates.back().asked = !is_usual(text);
  }
  return candidates;
}

std::vector<placement::Plan> plans_of(const std::vector<plan::Candidate>& candidates) {
  std::vector<placement::Plan> plans;
  for (const plan::Candidate& candidate : candidates) {
    if (!candidate.plan || !placement::why_not_runnable(*candidate.plan).empty()) continue;
    // Stages that nobody asked for don't decide which engine computes.
    if (candidate.asked || placement::stage_count(*candidate.plan) == 1) plans.push_back(*candidate.plan);
  }
  return plans;
}

plan::Comparison compare_placements(const std::vector<plan::Candidate>& candidates, const task::Trials& trials,
                                    double seconds, Observer& progress) {
  const auto probe = plan::make_probe(trials);
  plan::Comparison comparison = plan::compare(candidates, plan::work_of(trials), *probe, seconds,
                                              [&](const std::string& text) { progress.show("trying " + text); });
  progress.finish();
  if (comparison.best && placement::stage_count(comparison.rows[*comparison.best].plan) == 1) {
    const plan::Row& best = comparison.rows[*comparison.best];
    comparison.notes.push_back(
        best.text + ": " +
        task::memory_text(task::estimated_memory(trials.setup().network,
                                                 task::training_work(trials.options(), best.plan, trials.setup()))));
  }
  if (const auto& kinds = placement::machine().cpu.kinds; !kinds.empty()) {
    const auto fastest = placement::fastest_cores(placement::machine());
    comparison.notes.push_back(
        fmt::format("the cores are not alike: {}{}", kinds_text(kinds),
                    fastest ? fmt::format("; cpu/t{} has a thread for each of the fastest", *fastest) : ""));
  }
  return comparison;
}

Choice choose_placement(const std::vector<plan::Candidate>& candidates, const task::Trials& trials, double seconds,
                        Observer& progress) {
  const plan::Comparison comparison = compare_placements(candidates, trials, seconds, progress);
  if (!comparison.best) throw UsageError("--on auto: no placement can be used\n" + refusals_text(comparison));
  const plan::Row& best = comparison.rows[*comparison.best];
  return {best.plan,
          fmt::format("{} ({} of measuring; about {} images/s){}", comparison.reason, duration_text(comparison.seconds),
                      si_text(best.images_per_s), comparison.others.empty() ? "" : "; " + comparison.others)};
}

std::string comparison_text(const plan::Comparison& comparison) {
  report::Table table;
  table.columns = {{"placement", false},  {"images/s", true},    {"noise", true}, {"basis", false},
                   {"speedup", true},     {"ceiling", true},     {"epoch", true}, {"validation", true},
                   {"memory est.", true}, {"energy/image", true}};
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    table.rows.push_back(cells(comparison.rows[i], comparison.best == i));
  }
  std::string text = report::terminal_text(table) + "\n";
  text +=
      "speedup, ceiling: against the group's fastest member alone; the ceiling is 1 + the sum of the others' ratios\n";
  bool estimates = false;
  for (const plan::Row& row : comparison.rows) {
    estimates = estimates || (row.refusal.empty() && row.validate_basis == plan::Basis::kPredicted);
  }
  text += fmt::format("epoch: training and validation{}\n",
                      estimates ? " (estimated from the share of forward operations where it wasn't measured)" : "");
  text += fmt::format("one replica's loader prepares {} images/s\n", si_text(comparison.loader_images_per_s));
  if (!comparison.energy_refusal.empty()) text += "energy is not known: " + comparison.energy_refusal + "\n";
  for (const std::string& note : comparison.notes) text += "note: " + note + "\n";
  if (const std::string refusals = refusals_text(comparison); !refusals.empty()) {
    text += "can't be used:\n" + refusals;
  }
  if (comparison.best)
    text += fmt::format("\n{} ({} of measuring)\n", comparison.reason, duration_text(comparison.seconds));
  return text;
}

nlohmann::ordered_json comparison_json(const plan::Comparison& comparison) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const plan::Row& row : comparison.rows) rows.push_back(row_json(row));
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"kind", "plan"},
                                 {"placements", rows},
                                 {"choice", nullptr},
                                 {"reason", comparison.reason},
                                 {"decided", comparison.decided},
                                 {"notes", comparison.notes},
                                 {"loader_images_per_s", comparison.loader_images_per_s},
                                 {"energy_reason", nullptr},
                                 {"seconds", comparison.seconds}};
  if (comparison.best) json["choice"] = comparison.rows[*comparison.best].text;
  if (!comparison.energy_refusal.empty()) json["energy_reason"] = comparison.energy_refusal;
  return json;
}

}  // namespace evener::job
