// Rows of sweeps, and of what compares runs.
#include "app/option_rows_helpers.h"

#include "sweep/sweep_job.h"

namespace evener::test {
namespace {

using nlohmann::json;

std::vector<OptionRow> sweeps() {
  const char* sweep = "sweep";
  return {{sweep,
           {"WHAT", "matmul", "WHAT", "96,128"},
           "/cells",
           nlohmann::json::array({{"matmul", "96"}, {"matmul", "128"}})},
          {sweep, {"--out", "there"}, "test:SweepCommand.RunsEachCellInEachBlockAndTellsIt"},
          {sweep, {"--repeats", "7"}, "/repeats", 7},
          {sweep, {"--warmup", "2"}, "/warmup", 2},
          {sweep, {"--until", "ci=2.5%"}, "/until_width", 0.025},
          {sweep, {"--max-runs", "17"}, "/max_runs", 17},
          {sweep, {"--steady", "2.5%"}, "/steady_deviation", 0.025},
          {sweep, {"--scale", "small"}, "/error", "~none was given"},
          {sweep, {"--setup", "true"}, "/setup", "true"},
          {sweep, {"--prepare", "true"}, "/prepare", "true"},
          {sweep, {"--cleanup", "true"}, "/cleanup", "true"},
          {sweep, {"--cool-down", "load"}, "/cool_down", "load"},
          {sweep, {"--run-limit", "2.5"}, "/run_limit_s", 2.5},
          {sweep, {"--time-limit", "9.5"}, "/time_limit_s", 9.5},
          {sweep, {"--energy-repeats", "3"}, "/energy_repeats", 3},
          {sweep, {"--order-seed", "5"}, "/order_seed", 5},
          {sweep, {"--reference", "f.csv"}, "test:SweepCommand.SetsUpFirstAndKeepsWhatWasMeasuredElsewhere"},
          {sweep, {"--again", "failed"}, "test:SweepCommand.KeepsWhatFailedAsARowAndRepeatsItWhenAsked"},
          {sweep, {"--predict", "true", "--dry-run", "true"}, "/run/err", "~only trainings are planned"},
          {sweep, {"--dry-run", "true"}, "/run/out", "~to come"},
          {sweep, {"--no-html", "true"}, "test:SweepCommand.SetsUpFirstAndKeepsWhatWasMeasuredElsewhere"},
          {sweep, {"--quiet", "true"}, "test:SweepCommand.RunsEachCellInEachBlockAndTellsIt"}};
}

std::vector<OptionRow> comparing() {
  return {{"compare", {"A", "{}/nothing"}, "/run/err", "~nothing"},
          {"compare", {"B", "{}/nothing"}, "/run/err", "~nothing"},
          {"compare", {"--json", "{}/c.json"}, "/run/files", "~c.json"},
          {"history", {"FOLDER", "{}/run"}, "/run/out", "~mlp:784-4-10"},
          {"history", {"--html", "{}/page.html"}, "/run/files", "~page.html"},
          {"history", {"--no-html", "true"}, "/run/err", ""},
          {"history", {"--json", "{}/h.json"}, "/run/files", "~h.json"},
          {"history", {"--since", "yesterday"}, "/run/err", "~2026-11-01"},
          {"history", {"--count-invalid", "true"}, "test:HistoryCommand.InvalidRunsCountWhereAskedFor"},
          {"history", {"--fail-on", "slower=5"}, "/run/err", "~slower=5%"}};
}

json handed_to_sweep(const Words& given) {
  sweeps::SweepFlags flags;
  give_all({&flags}, given);
  complete(flags, {{"matmul", matmul::measured_matmul}});
  const record::SweepRecord sweep = sweeps::asked_for(flags);
  json told = {{"repeats", sweep.repeats},
               {"warmup", sweep.warmup},
               {"until_width", value_or_null(sweep.until_width)},
               {"max_runs", sweep.max_runs},
               {"steady_deviation", value_or_null(sweep.steady_deviation)},
               {"setup", sweep.setup},
               {"prepare", sweep.prepare},
               {"cleanup", sweep.cleanup},
               {"cool_down", sweep.cool_down},
               {"run_limit_s", value_or_null(sweep.run_limit_s)},
               {"time_limit_s", value_or_null(sweep.time_limit_s)},
               {"energy_repeats", sweep.energy_repeats},
               {"order_seed", sweep.order_seed},
               {"command", sweep.command}};
  for (const record::SweepCell& cell : sweep.cells) told["cells"].push_back(cell.words);
  return told;
}

const bool kSweepIsAdded =
    add_to_option_table({{"sweep", {"WHAT", "matmul", "WHAT", "24"}, {"--out", "{}/out"}, handed_to_sweep},
                         {"compare", {}, {"A", "{}/run", "B", "{}/other"}, nullptr},
                         {"history", {}, {"FOLDER", "{}/other"}, nullptr}},
                        {sweeps(), comparing()});

}  // namespace
}  // namespace evener::test
