#include "record/sweep_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/plural.h"
#include "record/json_reader.h"

namespace evener::record {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kSweepLimitBytes = std::uint64_t{256} << 20;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json axes_json(const SweepRecord& sweep) {
  Json axes = Json::array();
  for (const SweepAxis& axis : sweep.axes) axes.push_back({{"names", axis.names}, {"steps", axis.steps}});
  return axes;
}

Json prediction_json(const std::optional<CellPrediction>& predicted) {
  if (!predicted) return nullptr;
  return {{"images_per_s", predicted->images_per_s}, {"run_s", predicted->run_s}};
}

Json cells_json(const SweepRecord& sweep) {
  Json cells = Json::array();
  for (const SweepCell& cell : sweep.cells) {
    cells.push_back({{"key", cell.key},
                     {"folder", cell.folder},
                     {"values", cell.values},
                     {"words", cell.words},
                     {"environment", cell.environment},
                     {"data", text_or_null(cell.data)},
                     {"predicted", prediction_json(cell.predicted)}});
  }
  return cells;
}

Json series_json(const SweepRecord& sweep) {
  Json all = Json::array();
  for (const SweepSeries& series : sweep.series) {
    all.push_back({{"number", series.number},
                   {"started", series.started},
                   {"program", series.program},
                   {"machine", series.machine}});
  }
  return all;
}

SweepCell read_cell(const JsonReader& json) {
  SweepCell cell;
  json.read("key", cell.key);
  json.read("folder", cell.folder);
  json.read("values", cell.values);
  json.read("words", cell.words);
  json.read("environment", cell.environment);
  json.read("data", cell.data);
  if (json.find("predicted") != nullptr) {
    const JsonReader predicted = json.object("predicted");
    CellPrediction& prediction = cell.predicted.emplace();
    predicted.read("images_per_s", prediction.images_per_s);
    predicted.read("run_s", prediction.run_s);
  }
  // What a journal or a page finds by them may not lead out of the sweep's folder.
  if (cell.key.empty()) json.fail("key", "expected a text");
  if (cell.folder.empty() || cell.folder.front() == '.' || cell.folder.find('/') != std::string::npos) {
    json.fail("folder", "expected the name of a folder");
  }
  return cell;
}

SweepAxis read_axis(const JsonReader& json) {
  SweepAxis axis;
  json.read("names", axis.names);
  json.read("steps", axis.steps);
  for (const auto& step : axis.steps) {
    if (step.size() != axis.names.size()) json.fail("steps", "expected a value for each name in each step");
  }
  return axis;
}

void read_counts(const JsonReader& json, SweepRecord& sweep) {
  json.read("repeats", sweep.repeats);
  json.read("warmup", sweep.warmup);
  json.read("energy_repeats", sweep.energy_repeats);
  json.read("until_width", sweep.until_width);
  json.read("max_runs", sweep.max_runs);
  json.read("order_seed", sweep.order_seed);
  json.read("run_limit_s", sweep.run_limit_s);
  json.read("time_limit_s", sweep.time_limit_s);
  if (sweep.repeats < 1) json.fail("repeats", "expected 1 or more");
}

}  // namespace

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
  const Json json{
      {"schema", kSweepSchema},
      {"title", text_or_null(sweep.title)},
      {"command", sweep.command},
      {"started", sweep.started},
      {"version", sweep.version},
      {"words", sweep.words},
      {"order", "randomised complete blocks: each block runs every cell once, in an order drawn by order_seed"},
      {"order_seed", sweep.order_seed},
      {"stopping_rule", stopping_rule_text(sweep)},
      {"repeats", sweep.repeats},
      {"warmup", sweep.warmup},
      {"energy_repeats", sweep.energy_repeats},
      {"until_width", or_null(sweep.until_width)},
      {"max_runs", sweep.max_runs},
      {"setup", text_or_null(sweep.setup)},
      {"prepare", text_or_null(sweep.prepare)},
      {"cleanup", text_or_null(sweep.cleanup)},
      {"cool_down", text_or_null(sweep.cool_down)},
      {"run_limit_s", or_null(sweep.run_limit_s)},
      {"time_limit_s", or_null(sweep.time_limit_s)},
      {"series", series_json(sweep)},
      {"series_now", sweep.series_now},
      {"axes", axes_json(sweep)},
      {"cells", cells_json(sweep)}};
  write_file_atomically(folder / kSweepFile, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

SweepRecord read_sweep(const fs::path& folder) {
  const fs::path path = folder / kSweepFile;
  const auto parsed = nlohmann::json::parse(read_file(path, kSweepLimitBytes), nullptr, false);
  if (parsed.is_discarded()) throw Error(path.string() + " is not JSON: it was damaged, or is no file of a sweep");
  const JsonReader json(parsed, path.string());
  std::string schema;
  json.read("schema", schema);
  if (schema != kSweepSchema)
    json.fail("schema", fmt::format("expected '{}', as this version writes it", kSweepSchema));
  SweepRecord sweep;
  json.read("title", sweep.title);
  json.read("command", sweep.command);
  json.read("started", sweep.started);
  json.read("version", sweep.version);
  json.read("words", sweep.words);
  read_counts(json, sweep);
  json.read("setup", sweep.setup);
  json.read("prepare", sweep.prepare);
  json.read("cleanup", sweep.cleanup);
  json.read("cool_down", sweep.cool_down);
  json.read("series_now", sweep.series_now);
  json.each("series", [&](const JsonReader& one) {
    SweepSeries& series = sweep.series.emplace_back();
    one.read("number", series.number);
    one.read("started", series.started);
    one.read("program", series.program);
    one.read("machine", series.machine);
  });
  json.each("axes", [&](const JsonReader& one) { sweep.axes.push_back(read_axis(one)); });
  json.each("cells", [&](const JsonReader& one) { sweep.cells.push_back(read_cell(one)); });
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
