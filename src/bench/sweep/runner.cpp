#include "bench/sweep/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/statistics.h"
#include "base/stop.h"

namespace evener::bench {
namespace {

namespace fs = std::filesystem;

using record::SweepCell;
using record::SweepRun;

void take(SweepRun& run, const ExecutedRun& executed) {
  run.end = executed.end;
  run.reason = executed.reason;
  run.seconds = executed.seconds;
  run.figure = executed.figure;
}

/// Takes in runs that have no end in the journal, as the sweep was killed, but that finished nevertheless.
void take_left_runs(Schedule& schedule, record::JournalWriter& journal, Executor& executor, const fs::path& folder) {
  const std::vector<SweepRun> runs = schedule.runs();
  for (SweepRun run : runs) {
    if (run.end != record::RunEnd::kBegun) continue;
    const auto left = executor.left_in(folder / run.folder);
    if (!left) continue;
    take(run, *left);
    journal.end(run);
    schedule.ended(run);
  }
}

const SweepCell& cell_of(const record::SweepRecord& sweep, const std::string& key) {
  return *std::ranges::find(sweep.cells, key, &SweepCell::key);
}

}  // namespace

std::optional<double> expected_seconds(const record::SweepRecord& sweep, const Schedule& schedule) {
  std::map<std::string, std::vector<double>> of_cell;
  std::vector<double> all;
  for (const SweepRun& run : schedule.runs()) {
    if (!run.seconds || !record::has_figures(run.end)) continue;
    of_cell[run.cell].push_back(*run.seconds);
    all.push_back(*run.seconds);
  }
  double seconds = 0;
  for (const std::size_t left : schedule.runs_left()) {
    const SweepCell& cell = sweep.cells[left];
    const auto known = of_cell.find(cell.key);
    if (known != of_cell.end()) {
      seconds += median(known->second).value();
    } else if (cell.predicted) {
      seconds += cell.predicted->run_s;
    } else if (!all.empty()) {
      seconds += median(all).value();
    } else {
      return std::nullopt;
    }
  }
  return seconds;
}

SweepOutcome run_sweep(const record::SweepRecord& sweep, const fs::path& folder, Executor& executor,
                       SweepObserver& observer, const SweepOptions& options) {
  const Stopwatch clock;
  Schedule schedule(sweep, record::read_journal(folder));
  record::JournalWriter journal(folder);
  take_left_runs(schedule, journal, executor, folder);
  if (options.again_failed) {
    for (const std::string& cell : schedule.bad_cells()) {
      journal.again(sweep.series_now, cell);
      schedule.again(cell);
    }
  }
  SweepOutcome outcome;
  while (auto run = schedule.next()) {
    if (sweep.time_limit_s && clock.seconds() >= *sweep.time_limit_s) {
      outcome.stopped = fmt::format("the time limit of {} is over", duration_text(*sweep.time_limit_s));
      return outcome;
    }
    if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
    const SweepCell& cell = cell_of(sweep, run->cell);
    if (options.before_run) options.before_run(cell);
    if (const auto block = schedule.begun_block()) journal.block(*block);
    run->began = utc_now_text();
    journal.begin(*run);
    const std::size_t done = schedule.done();
    observer.on_begin(*run, cell, done + 1, done + schedule.runs_left().size());
    take(*run, executor.execute(cell, folder / run->folder));
    journal.end(*run);
    schedule.ended(*run);
    ++outcome.made;
    observer.on_end(*run, cell, expected_seconds(sweep, schedule));
  }
  return outcome;
}

}  // namespace evener::bench
