#include "record/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "record/described_json.h"
#include "record/record.h"

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

constexpr std::uint64_t kJournalLimitBytes = std::uint64_t{256} << 20;

bool is_same(const SweepRun& a, const SweepRun& b) {
  return a.series == b.series && a.cell == b.cell && a.part == b.part && a.block == b.block;
}

void take_begin(SweepJournal& journal, SweepRun run) {
  std::erase_if(journal.runs, [&](const SweepRun& known) { return is_same(known, run); });  // it was interrupted
  journal.runs.push_back(std::move(run));
}

void take_end(SweepJournal& journal, SweepRun run) {
  const auto begun = std::ranges::find_if(journal.runs, [&](const SweepRun& known) { return is_same(known, run); });
  if (begun == journal.runs.end()) {
    journal.runs.push_back(std::move(run));
  } else {
    if (run.began.empty()) run.began = begun->began;
    *begun = std::move(run);
  }
}

/// A line of the journal: the event, and its run or block.
struct JournalLine {
  std::string event;
  SweepRun run;
  SweepBlock block;
};

/// Two dots are allowed in a name: a cell's folder is called after its placement, as in "cpu-t1..cpu-t1-9b253f50".
bool is_inside(const std::string& folder) {
  const std::filesystem::path path(folder);
  return path.is_relative() && std::ranges::find(path, "..") == path.end();
}

void describe(auto& fields, Of<JournalLine> auto& line) {
  fields.value("event", line.event);
  auto& run = line.run;
  const bool is_begin = line.event == "begin", is_end = line.event == "end", is_again = line.event == "again";
  if (line.event == "block") {
    fields.values("series", line.block.series, "part", line.block.part, "block", line.block.block, "cells",
                  line.block.cells);
    return;
  }
  fields.check("event", is_begin || is_end || is_again, "expected block, begin, end or again");
  fields.values("series", run.series, "cell", run.cell);
  if (is_again) return;
  fields.values("part", run.part, "block", run.block, "folder", run.folder);
  fields.check("folder", is_inside(run.folder), "expected a folder inside that of the sweep");
  if (is_begin) fields.value("at", run.began);
  if (!is_end) return;
  fields.values("status", run.end, "seconds", run.seconds, "figure", run.figure);
  fields.text("reason", run.reason);
}

void take_line(SweepJournal& journal, const std::string& text, const std::string& source) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) throw Error(source + " is not JSON");
  JournalLine line;
  read_described(parsed, source, line);
  if (line.event == "block") {
    journal.blocks.push_back(std::move(line.block));
  } else if (line.event == "begin") {
    take_begin(journal, std::move(line.run));
  } else if (line.event == "end") {
    take_end(journal, std::move(line.run));
  } else {
    const SweepRun& which = line.run;
    std::erase_if(journal.runs, [&](const SweepRun& run) {
      return run.series == which.series && run.cell == which.cell && run.end != RunEnd::kDone;
    });
    // A repeated run isn't close in time to the runs of its old block, so the cell leaves these blocks.
    for (SweepBlock& block : journal.blocks) {
      if (block.series == which.series) std::erase(block.cells, which.cell);
    }
  }
}

std::string text_of(const JournalLine& line) {
  return json_text(described_json(line));
}

}  // namespace

bool is_same_memory(std::uint64_t a_bytes, std::uint64_t b_bytes) {
  constexpr double kMostKept = 0.15;  // 1 GiB of 7; machines of other sizes differ by a quarter
  const auto [less, more] = std::minmax(a_bytes, b_bytes);
  return less == 0 || static_cast<double>(more - less) <= kMostKept * static_cast<double>(more);
}

bool is_same_machine(const MachineRecord& a, const MachineRecord& b) {
  return std::tie(a.cpu, a.cores, a.logical_cpus, a.quota_cpus) ==
             std::tie(b.cpu, b.cores, b.logical_cpus, b.quota_cpus) &&
         is_same_memory(a.memory_bytes, b.memory_bytes);
}

void describe(auto& fields, Of<SweepSeries> auto& series) {
  fields.values("number", series.number, "started", series.started, "program", series.program, "machine",
                series.machine);
}

void describe(auto& fields, Of<SweepAxis> auto& axis) {
  fields.values("names", axis.names, "steps", axis.steps);
  fields.check("steps", has_value_for_each_name(axis), "expected a value for each name in each step");
}

void describe(auto& fields, Of<CellPrediction> auto& prediction) {
  fields.values("images_per_s", prediction.images_per_s, "run_s", prediction.run_s);
}

void describe(auto& fields, Of<SweepCell> auto& cell) {
  fields.values("key", cell.key, "folder", cell.folder, "values", cell.values, "words", cell.words, "environment",
                cell.environment);
  fields.text("data", cell.data);
  fields.value("predicted", cell.predicted);
  fields.check("key", !cell.key.empty(), "expected a text");
  fields.check("folder", is_name_of_folder(cell.folder), "expected the name of a folder");
}

void describe(auto& fields, Of<SweepRecord> auto& sweep) {
  fields.schema("schema", kSweepSchema);
  fields.text("title", sweep.title);
  fields.values("command", sweep.command, "started", sweep.started, "version", sweep.version, "words", sweep.words);
  fields.fixed("order", "randomised complete blocks: each block runs every cell once, in an order drawn by order_seed");
  fields.value("order_seed", sweep.order_seed);
  fields.fixed("stopping_rule", stopping_rule_text(sweep));
  fields.values("repeats", sweep.repeats, "warmup", sweep.warmup, "energy_repeats", sweep.energy_repeats, "until_width",
                sweep.until_width, "max_runs", sweep.max_runs);
  fields.left_out_if(!sweep.steady_deviation, "steady_deviation", sweep.steady_deviation);
  fields.left_out_if(sweep.steady.empty(), "steady", sweep.steady);
  fields.text("setup", sweep.setup);
  fields.text("prepare", sweep.prepare);
  fields.text("cleanup", sweep.cleanup);
  fields.text("cool_down", sweep.cool_down);
  fields.values("run_limit_s", sweep.run_limit_s, "time_limit_s", sweep.time_limit_s, "series", sweep.series,
                "series_now", sweep.series_now, "axes", sweep.axes, "cells", sweep.cells);
  fields.check("repeats", sweep.repeats >= 1, "expected 1 or more");
}

std::string stopping_rule_text(const SweepRecord& sweep) {
  if (!sweep.until_width) {
    return fmt::format("{} of each cell, as asked for beforehand", counted(sweep.repeats, "run"));
  }
  return fmt::format(
      "{} to {} runs of each cell: as many as tell its mean speed to +-{:g} % if they are independent, by the spread "
      "of the first {}; intervals of ratios take their spread from these and their mean from all, so that they cover "
      "95 % although the data decided (Stein 1945)",
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
  return name_in({"begun", "done", "invalid", "failed", "killed", "out of memory", "out of time"}, end);
}

bool has_figures(RunEnd end) {
  return end == RunEnd::kDone || end == RunEnd::kInvalid;
}

/// The ends of runs only: the beginning is an event of its own.
static Words<RunEnd> words_of(RunEnd) {
  return {run_end_name, RunEnd::kOutOfTime, RunEnd::kDone};
}

SweepJournal read_journal(const fs::path& folder) {
  SweepJournal journal;
  const fs::path path = folder / kJournalFile;
  std::error_code none;
  if (!fs::exists(path, none)) return journal;
  const std::string text = read_file(path, kJournalLimitBytes);
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    try {
      take_line(journal, line, fmt::format("{}, line {}", path.string(), number));
    } catch (const Error& error) {
      journal.warnings.push_back(fmt::format("{}; the line is left out", error.what()));
    }
  }
  return journal;
}

JournalWriter::JournalWriter(const fs::path& folder) : path_(folder / kJournalFile) {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.valid()) fail_to_write(path_, errno);
  // Ends an incomplete last line of a killed writer, so that the next event starts on a new line.
  const off_t size = ::lseek(file_.get(), 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(file_.get(), &last, 1, size - 1) == 1 && last != '\n') append("");
}

void JournalWriter::append(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file_.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_write(path_, errno);
    written += static_cast<std::size_t>(count);
  }
  if (::fsync(file_.get()) != 0 && errno != EINVAL) fail_to_write(path_, errno);
}

void JournalWriter::block(const SweepBlock& block) {
  append(text_of({"block", {}, block}));
}

void JournalWriter::begin(const SweepRun& run) {
  append(text_of({"begin", run, {}}));
}

void JournalWriter::end(const SweepRun& run) {
  append(text_of({"end", run, {}}));
}

void JournalWriter::again(int series, const std::string& cell) {
  JournalLine line{"again", {}, {}};
  line.run.series = series;
  line.run.cell = cell;
  append(text_of(line));
}

}  // namespace evener::record
