#include "record/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/plural.h"
#include "record/described_json.h"

namespace evener::record {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kSweepLimitBytes = std::uint64_t{256} << 20;

/// Whether a name from a file stays inside the sweep's folder, since journals and pages use it as a path.
bool is_name_of_folder(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

bool has_value_for_each_name(const SweepAxis& axis) {
  return std::ranges::all_of(axis.steps, [&](const auto& step) { return step.size() == axis.names.size(); });
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Of<SweepSeries> auto& series) {
  fields.value("number", series.number);
  fields.value("started", series.started);
  fields.value("program", series.program);
  fields.value("machine", series.machine);
}

template <typename Fields>
void describe(Fields& fields, Of<SweepAxis> auto& axis) {
  fields.value("names", axis.names);
  fields.value("steps", axis.steps);
  fields.check("steps", has_value_for_each_name(axis), "expected a value for each name in each step");
}

template <typename Fields>
void describe(Fields& fields, Of<CellPrediction> auto& prediction) {
  fields.value("images_per_s", prediction.images_per_s);
  fields.value("run_s", prediction.run_s);
}

template <typename Fields>
void describe(Fields& fields, Of<SweepCell> auto& cell) {
  fields.value("key", cell.key);
  fields.value("folder", cell.folder);
  fields.value("values", cell.values);
  fields.value("words", cell.words);
  fields.value("environment", cell.environment);
  fields.text("data", cell.data);
  fields.value("predicted", cell.predicted);
  fields.check("key", !cell.key.empty(), "expected a text");
  fields.check("folder", is_name_of_folder(cell.folder), "expected the name of a folder");
}

template <typename Fields>
void describe(Fields& fields, Of<SweepRecord> auto& sweep) {
  fields.schema("schema", kSweepSchema);
  fields.text("title", sweep.title);
  fields.value("command", sweep.command);
  fields.value("started", sweep.started);
  fields.value("version", sweep.version);
  fields.value("words", sweep.words);
  fields.fixed("order", "randomised complete blocks: each block runs every cell once, in an order drawn by order_seed");
  fields.value("order_seed", sweep.order_seed);
  fields.fixed("stopping_rule", stopping_rule_text(sweep));
  fields.value("repeats", sweep.repeats);
  fields.value("warmup", sweep.warmup);
  fields.value("energy_repeats", sweep.energy_repeats);
  fields.value("until_width", sweep.until_width);
  fields.value("max_runs", sweep.max_runs);
  fields.left_out_if(!sweep.steady_deviation, "steady_deviation", sweep.steady_deviation);
  fields.left_out_if(sweep.steady.empty(), "steady", sweep.steady);
  fields.text("setup", sweep.setup);
  fields.text("prepare", sweep.prepare);
  fields.text("cleanup", sweep.cleanup);
  fields.text("cool_down", sweep.cool_down);
  fields.value("run_limit_s", sweep.run_limit_s);
  fields.value("time_limit_s", sweep.time_limit_s);
  fields.value("series", sweep.series);
  fields.value("series_now", sweep.series_now);
  fields.value("axes", sweep.axes);
  fields.value("cells", sweep.cells);
  fields.check("repeats", sweep.repeats >= 1, "expected 1 or more");
}

std::string stopping_rule_text(const SweepRecord& sweep) {
  if (!sweep.until_width) {
    return fmt::format("{} of each cell, as asked for beforehand", counted(sweep.repeats, "run"));
  }
  return fmt::format(
      "{} to {} runs of each cell: as many as tell its mean speed to +-{:g} % if they are independent, by the spread "
      "of "
      "the first {}; intervals of ratios take their spread from these and their mean from all, so that they cover 95 % "
      "although the data decided (Stein 1945)",
      sweep.repeats, sweep.max_runs, 100 * *sweep.until_width, sweep.repeats);
}

void write_sweep(const fs::path& folder, const SweepRecord& sweep) {
  write_file_atomically(folder / kSweepFile, json_text(described_json(sweep), 1) + "\n");
}

SweepRecord read_sweep(const fs::path& folder) {
  const fs::path path = folder / kSweepFile;
  const auto parsed = nlohmann::json::parse(read_file(path, kSweepLimitBytes), nullptr, false);
  if (parsed.is_discarded()) throw Error(path.string() + " is not JSON: it was damaged, or is no file of a sweep");
  SweepRecord sweep;
  read_described(parsed, path.string(), sweep);
  return sweep;
}

const char* run_end_name(RunEnd end) {
  switch (end) {
    case RunEnd::kBegun:
      return "begun";
    case RunEnd::kDone:
      return "done";
    case RunEnd::kInvalid:
      return "invalid";
    case RunEnd::kFailed:
      return "failed";
    case RunEnd::kKilled:
      return "killed";
    case RunEnd::kOutOfMemory:
      return "out of memory";
    case RunEnd::kOutOfTime:
      return "out of time";
  }
  return "failed";
}

bool has_figures(RunEnd end) {
  return end == RunEnd::kDone || end == RunEnd::kInvalid;
}

}  // namespace evener::record
