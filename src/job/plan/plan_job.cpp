#include "job/plan/plan_job.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "base/version.h"
#include "job/train/decide.h"
#include "report/table.h"
#include "run/metered_run.h"

namespace evener::job {
namespace {

constexpr const char* kMissing = "-";
constexpr std::size_t kColumns = 10;

const char* basis_name(plan::Basis basis) {
  return basis == plan::Basis::kMeasured ? "measured" : "predicted";
}

/// The memory of all replicas, and of the stages of each, where there are several: "410 MB (280 MB .. 130 MB)".
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

/// Of a training that is prepared and not begun, only the loading is of interest.
class LoadingObserver : public task::TrainObserver {
 public:
  explicit LoadingObserver(TrainWatcher& watcher) : watcher_(watcher) {}
  void on_loading(task::LoadingStep step, std::size_t done, std::size_t images) override {
    watcher_.loading(step, done, images);
  }

 private:
  TrainWatcher& watcher_;
};

}  // namespace

PlanFlags::PlanFlags() {
  model.model.require();
  model.model.explain("Network: " + model_list());
  placement.on.preset("auto");
  placement.on.explain("Placements to compare, with commas between; auto: the usual ones");
  output.json.explain("Write the comparison there too; - is stdout, instead of the table");
}

OptionSet PlanFlags::options() {
  OptionSet options = TrainFlags::options();
  options.leave_out([](const OptionBase& option) { return !option.rules().in_plans; });
  options.add(probing);
  return options;
}

PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (!flags.optimisation.batch_size()) {
    throw UsageError("plan compares placements for a batch of one size: give --batch a number");
  }
  LoadingObserver observer(watcher);
  task::TrainOptions options = train_options(flags, plan_of(flags, "auto"));  // --on is a list here
  const std::vector<plan::Candidate> candidates = candidates_of(flags);
  options.candidates = plans_of(candidates);
  run::MeteredRun run({.kind = "plan", .version = program_version(), .json = *flags.output.json}, watcher);
  PlanOutcome outcome;
  run.measure([&] {
    const task::PreparedTraining training(options, observer);
    const task::Trials trials(training);
    watcher.finish();
    outcome.comparison = compare_placements(candidates, trials, *flags.probing.seconds, watcher);
    outcome.work =
        fmt::format("{}; batch {}, {}", setup_text(trials.setup()), trials.batch(), *flags.placement.precision);
    return run.record();  // nothing is trained
  });
  return outcome;
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
