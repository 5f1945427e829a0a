#include "train/plan_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "base/version.h"
#include "measure/run/metered_run.h"
#include "options/model_names.h"
#include "placement/machine.h"
#include "report/table.h"
#include "train/placements/planner.h"
#include "train/training.h"

namespace evener::training {
namespace {

constexpr const char* kMissing = "-";
constexpr double kJoulesPerWattHour = 3600;

const char* basis_name(Basis basis) {
  return basis == Basis::kMeasured ? "measured" : "predicted";
}

std::string noise_text(const std::optional<double>& noise) {
  return noise ? fmt::format("+-{:.0f} %", 100 * *noise) : kMissing;
}

/// The memory of all replicas, and of the stages of each, where there are several: "410 MB (280 MB .. 130 MB)".
std::string memory_text(const Row& row) {
  std::string stages;
  for (const std::int64_t bytes : row.pipeline ? row.pipeline->memory_bytes : std::vector<std::int64_t>()) {
    stages += (stages.empty() ? "" : " .. ") + bytes_text(static_cast<std::uint64_t>(bytes));
  }
  const std::string all = bytes_text(static_cast<std::uint64_t>(row.memory_bytes));
  return stages.empty() ? all : fmt::format("{} ({})", all, stages);
}

bool any_power(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const Row& row) { return row.power.has_value(); });
}

/// Whether a row leaves a device idle, so that its energy with and without idle devices differs.
bool any_idle(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const Row& row) {
    return row.power && std::abs(row.power->used_watts / row.power->watts - 1) > 0.005;
  });
}

struct TableColumn {
  report::Column title;
  std::function<std::string(const Row&)> cell;
};

std::vector<TableColumn> columns_of(const Comparison& comparison) {
  const auto multiple = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}x", *value) : std::string(kMissing);
  };
  std::vector<TableColumn> columns = {
      {{"images/s", true}, [](const Row& row) { return si_text(row.images_per_s); }},
      {{"noise", true}, [](const Row& row) { return noise_text(row.noise); }},
      {{"basis", false}, [](const Row& row) { return std::string(basis_name(row.basis)); }},
      {{"speedup", true}, [=](const Row& row) { return multiple(row.reached); }},
      {{"ceiling", true}, [=](const Row& row) { return multiple(row.ceiling); }},
      {{"epoch", true}, [](const Row& row) { return duration_text(row.epoch_s()); }},
      {{"validation", true}, [](const Row& row) { return duration_text(row.validate_s); }},
      {{"memory est.", true}, memory_text}};
  if (!any_power(comparison)) return columns;
  const auto joules = [](const std::optional<double>& value) { return value ? record::joules_text(*value) : kMissing; };
  columns.push_back({{"energy/image", true}, [=](const Row& row) { return joules(row.joules_per_image()); }});
  if (any_idle(comparison)) {
    columns.push_back({{"of used devices", true}, [=](const Row& row) { return joules(row.used_joules_per_image()); }});
  }
  columns.push_back(
      {{"its noise", true}, [](const Row& row) { return noise_text(row.power ? row.power->noise : std::nullopt); }});
  columns.push_back({{"energy is", false}, [](const Row& row) {
                       return std::string(row.power ? record::energy_class_name(row.power->kind) : kMissing);
                     }});
  if (comparison.goal.objective == Objective::kCost) {
    const Price price = comparison.goal.price;
    columns.push_back({{"cost/epoch", true}, [=](const Row& row) {
                         const double watts = row.power ? row.power->watts : 0;
                         return fmt::format("{:.3g}", price.of(row.epoch_s(), watts));
                       }});
  }
  return columns;
}

report::Table table_of(const Comparison& comparison) {
  report::Table table;
  table.columns = {{"placement", false}};
  const std::vector<TableColumn> columns = columns_of(comparison);
  for (const TableColumn& column : columns) table.columns.push_back(column.title);
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const Row& row = comparison.rows[i];
    std::vector<std::string> cells = {row.text + (comparison.best == i ? " *" : "")};
    for (const TableColumn& column : columns) cells.push_back(row.refusal.empty() ? column.cell(row) : kMissing);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Whose power those have that were not tried for long enough, and why others have none.
std::vector<std::string> power_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  for (const Row& row : comparison.rows) {
    if (!row.refusal.empty() || !any_power(comparison)) continue;
    const std::string why = row.power_reason.empty() ? "it was not tried" : row.power_reason;
    if (!row.power) notes.push_back(fmt::format("no energy of {}: {}", row.text, why));
    if (row.power && !row.power->of.empty()) {
      notes.push_back(fmt::format("energy of {}: with the power of {}, which computes on as many threads; {}", row.text,
                                  row.power->of, why));
    }
  }
  return notes;
}

/// "in time and energy nothing beats: cpu/t2, cpu/t1; cpu/t1..cpu/t1 is beaten by cpu/t2".
std::string front_text(const Comparison& comparison) {
  const auto beaten = beaten_by(comparison.rows);
  std::string front, others;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const Row& row = comparison.rows[i];
    if (!row.refusal.empty() || !row.power) continue;
    if (!beaten[i]) {
      front += (front.empty() ? "" : ", ") + row.text;
    } else {
      others += fmt::format("; {} by {}", row.text, comparison.rows[*beaten[i]].text);
    }
  }
  if (front.empty()) return "";
  return "in time and energy nothing beats: " + front + (others.empty() ? "" : "; beaten: " + others.substr(2)) + "\n";
}

nlohmann::ordered_json optional_json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json pipeline_json(const std::optional<Row::Pipeline>& pipeline) {
  if (!pipeline) return nullptr;
  return {{"micro_batches", pipeline->micro_batches},
          {"predicted_images_per_s", pipeline->predicted_images_per_s},
          {"bubble", pipeline->bubble},
          {"cost_of_parts", optional_json(pipeline->cost_of_parts)},
          {"memory_bytes", pipeline->memory_bytes}};
}

nlohmann::ordered_json power_json(const Row& row) {
  if (!row.power) return nullptr;
  nlohmann::ordered_json json = {{"watts", row.power->watts},
                                 {"used_watts", row.power->used_watts},
                                 {"noise", optional_json(row.power->noise)},
                                 {"class", record::energy_class_name(row.power->kind)}};
  if (!row.power->of.empty()) json["of"] = row.power->of;
  return json;
}

nlohmann::ordered_json row_json(const Row& row) {
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
          {"joules_per_image", optional_json(row.joules_per_image())},
          {"used_joules_per_image", optional_json(row.used_joules_per_image())},
          {"power", power_json(row)},
          {"pipeline", pipeline_json(row.pipeline)}};
}

/// The options of `evener train` for a row.
std::string options_text(const Row& row) {
  std::string text = "--on " + row.plan.text;
  if (row.precision) text += fmt::format(" --precision {}", precision_name(*row.precision));
  return text;
}

/// A plot of points as lines of characters.
class CharacterPlot {
 public:
  CharacterPlot(double most_x, double most_y) : most_x_(most_x), most_y_(most_y) {}

  void put(double x, double y, char mark) {
    const auto place = [](double value, double most, std::size_t cells) {
      return static_cast<std::size_t>(std::lround(value / most * static_cast<double>(cells - 1)));
    };
    std::string& line = lines_[kHeight - 1 - place(y, most_y_, kHeight)];
    std::size_t column = place(x, most_x_, kWidth);
    while (column + 1 < kWidth && line[column] != ' ') ++column;  // beside one that is there
    line[column] = mark;
  }

  /// Both axes begin at 0.
  std::string text(const std::string& x_title, const std::string& y_title, const std::string& most_x,
                   const std::string& most_y) const {
    std::string text = fmt::format("{:>10} {}\n", "", y_title);
    for (std::size_t line = 0; line < kHeight; ++line) {
      text += fmt::format("{:>10} |{}\n", line == 0 ? most_y : "", lines_[line]);
    }
    text += fmt::format("{:>10} +{:-<{}}\n{:>12}{:>{}}  {}\n", "0", "", kWidth, "0", most_x, kWidth - 1, x_title);
    return text;
  }

 private:
  static constexpr std::size_t kWidth = 60, kHeight = 10;
  const double most_x_, most_y_;
  std::vector<std::string> lines_ = std::vector<std::string>(kHeight, std::string(kWidth, ' '));
};

/// Of a training that is prepared and not begun, only the loading is of interest.
class LoadingObserver : public TrainObserver {
 public:
  explicit LoadingObserver(TrainWatcher& watcher) : watcher_(watcher) {}
  void on_loading(LoadingStep step, std::size_t done, std::size_t images) override {
    watcher_.loading(step, done, images);
  }

 private:
  TrainWatcher& watcher_;
};

}  // namespace

std::string front_plot(const Comparison& comparison) {
  std::vector<std::size_t> shown;
  double most_s = 0, most_j = 0;
  constexpr std::size_t kLetters = 26;
  for (std::size_t i = 0; i < comparison.rows.size() && shown.size() < kLetters; ++i) {
    const Row& row = comparison.rows[i];
    if (!row.refusal.empty() || !row.power) continue;
    shown.push_back(i);
    most_s = std::max(most_s, 1 / row.images_per_s);
    most_j = std::max(most_j, *row.joules_per_image());
  }
  if (shown.size() < 2 || most_j <= 0) return "";
  const auto beaten = beaten_by(comparison.rows);
  CharacterPlot plot(most_s, most_j);
  std::string legend;
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const Row& row = comparison.rows[shown[n]];
    const char letter = static_cast<char>('a' + n);
    plot.put(1 / row.images_per_s, *row.joules_per_image(), letter);
    legend += fmt::format("{}{}{} {}", n == 0 ? "" : "  ", beaten[shown[n]] ? "" : "*", letter, row.text);
  }
  return plot.text("time/image", "energy/image", duration_text(most_s), record::joules_text(most_j)) + "  " + legend +
         "   (*: none beats it in both)\n";
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = report::terminal_text(table_of(comparison)) + "\n";
  text +=
      "speedup, ceiling: against the group's fastest member alone; the ceiling is 1 + the sum of the others' ratios\n";
  bool estimates = false;
  for (const Row& row : comparison.rows) {
    estimates = estimates || (row.refusal.empty() && row.validate_basis == Basis::kPredicted);
  }
  text += fmt::format("epoch: training and validation{}\n",
                      estimates ? " (estimated from the share of forward operations where it wasn't measured)" : "");
  text += fmt::format("one replica's loader prepares {} images/s\n", si_text(comparison.loader_images_per_s));
  if (!comparison.energy_refusal.empty()) {
    text += "energy is not known: " + comparison.energy_refusal + "\n";
  }
  for (const std::string& note : comparison.notes) text += "note: " + note + "\n";
  for (const std::string& note : power_notes(comparison)) text += "note: " + note + "\n";
  if (const std::string refusals = refusals_text(comparison); !refusals.empty()) {
    text += "can't be used:\n" + refusals;
  }
  if (const std::string plot = front_plot(comparison); !plot.empty()) text += "\n" + plot + front_text(comparison);
  if (!comparison.best) return text;
  text += fmt::format("\n{} ({} of measuring)\n", comparison.reason, duration_text(comparison.seconds));
  return text + "to train so: " + options_text(comparison.rows[*comparison.best]) + "\n";
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto beaten = beaten_by(comparison.rows);
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    nlohmann::ordered_json row = row_json(comparison.rows[i]);
    if (beaten[i]) row["beaten_by"] = comparison.rows[*beaten[i]].text;
    rows.push_back(std::move(row));
  }
  const Goal& goal = comparison.goal;
  nlohmann::ordered_json json = {
      {"schema", 1},
      {"kind", "plan"},
      {"goal",
       {{"for", objective_name(goal.objective)},
        {"epochs", goal.epochs},
        {"deadline_s", optional_json(goal.deadline_s)},
        {"budget_wh",
         optional_json(goal.budget_j ? std::optional(*goal.budget_j / kJoulesPerWattHour) : std::nullopt)}}},
      {"placements", rows},
      {"choice", nullptr},
      {"reason", comparison.reason},
      {"decided", comparison.decided},
      {"within_limits", comparison.within_limits},
      {"notes", comparison.notes},
      {"loader_images_per_s", comparison.loader_images_per_s},
      {"energy_reason", nullptr},
      {"seconds", comparison.seconds}};
  if (comparison.best) json["choice"] = comparison.rows[*comparison.best].text;
  if (!comparison.energy_refusal.empty()) json["energy_reason"] = comparison.energy_refusal;
  return json;
}

PlanFlags::PlanFlags() {
  model.model.require();
  model.model.explain("Network: " + model_list());
  placement.on.preset("auto");
  placement.on.explain("Placements to compare, with commas between; auto: the usual ones");
  placement.precision.explain(
      "Precisions to compare, with commas between: fp32, tf32, bf16, fp16; auto: those that are fast here");
  optimisation.epochs.explain("Passes over the training images, which --deadline and --budget are for");
  output.json.explain("Write the comparison there too; - is stdout, instead of the table");
}

OptionSet PlanFlags::options() {
  OptionSet options{&model, &data, &optimisation, &calibration};
  OptionSet others{&placement, &goal, &output, &measuring, &energy};
  others.leave_out([](const OptionBase& option) { return !option.rules().in_plans; });
  for (const OptionSet::Section& section : others.sections()) options.add(section);
  options.add(probing);
  return options;
}

/// The words of a list with commas between.
static std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream parts(list);
  for (std::string word; std::getline(parts, word, ',');) words.push_back(word);
  return words;
}

/// The precisions that --precision names; none where it names one alone.
static std::vector<std::string> listed_precisions(const std::string& list) {
  if (list != "auto") return list.find(',') == std::string::npos ? std::vector<std::string>() : words_of(list);
  std::vector<std::string> names = {precision_name(Precision::kFp32)};
  const bool fast = has_fast_bf16(cpu_topology().features) || !placement::machine().cuda.devices.empty();
  if (fast) names.emplace_back(precision_name(Precision::kBf16));
  return names;
}

void complete(PlanFlags& flags, measure::Observer* observer) {
  complete_learning(flags, observer);
  const std::vector<std::string> names = listed_precisions(*flags.placement.precision);
  if (names.empty()) return;
  flags.precisions.clear();
  for (const std::string& name : names) {
    const Precision precision = parse_precision(name);
    if (std::ranges::find(flags.precisions, precision) == flags.precisions.end()) flags.precisions.push_back(precision);
  }
  flags.placement.precision.read({names.front()});
}

PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (!flags.optimisation.batch_size()) {
    throw UsageError("plan compares placements for a batch of one size: give --batch a number");
  }
  LoadingObserver observer(watcher);
  TrainOptions options = train_options(flags, plan_of(flags, "auto"));  // --on is a list here
  const std::vector<Candidate> candidates = in_precisions(candidates_of(flags), flags.precisions);
  options.candidates = plans_of(candidates);
  measure::MeteredRun run({.kind = "plan", .version = program_version(), .json = *flags.output.json}, watcher);
  PlanOutcome outcome;
  run.measure([&] {
    PreparedTraining training(options, observer);
    const Trials trials(training);
    watcher.finish();
    outcome.comparison = compare_placements(flags, candidates, training, *flags.probing.seconds, watcher);
    outcome.work = fmt::format("{}; batch {}", setup_text(trials.setup()), trials.batch());
    if (flags.precisions.size() == 1) outcome.work += ", " + *flags.placement.precision;
    return run.record();  // nothing is trained
  });
  return outcome;
}

MeasuredCommand measured_train() {
  const auto flags = std::make_shared<TrainFlags>();
  MeasuredCommand command = measured_with(flags, "train");
  command.check = [flags] { check_placement(*flags); };
  command.length = {.key = "epochs", .is_whole = true};
  command.is_planned_by = [](const std::string& option) {
    PlanFlags planned;
    return planned.options().find(option) != nullptr;
  };
  return command;
}

}  // namespace evener::training
