#include "sweep/run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/stop.h"

namespace evener::sweeps {
namespace {

using record::SweepBlock;
using record::SweepRun;
namespace fs = std::filesystem;
using record::SweepCell;

constexpr const char* kRunParts[] = {record::kWarmupPart, record::kMeasurePart, record::kEnergyPart};

bool has_ended(const SweepRun& run) {
  return run.end != record::RunEnd::kBegun;
}

/// "b003", "s2-b003" in a second series, "w001" for a warm-up.
std::string run_folder(int series, const std::string& part, int block) {
  const char letter = part == record::kMeasurePart ? 'b' : part.front();
  return fmt::format("{}{}{:03}", series > 1 ? fmt::format("s{}-", series) : "", letter, block);
}

void take(SweepRun& run, const ExecutedRun& executed) {
  run.end = executed.end;
  run.reason = executed.reason;
  run.seconds = executed.seconds;
  run.figure = executed.figure;
}

/// Records runs that finished although the sweep was killed before it could log their end.
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

}  // namespace

std::vector<std::size_t> block_order(std::size_t cells, std::uint64_t seed, const std::string& part, int block) {
  if (block == 2) {
    const std::vector<std::size_t> first = block_order(cells, seed, part, 1);
    return {first.rbegin(), first.rend()};
  }
  const auto order = permutation(static_cast<std::uint32_t>(cells),
                                 Random(seed, Purpose::kOrder, hash_text(part), static_cast<std::uint64_t>(block)));
  return {order.begin(), order.end()};
}

Schedule::Schedule(const record::SweepRecord& sweep, record::SweepJournal journal)
    : sweep_(sweep), journal_(std::move(journal)) {
  const auto is_other = [&](int series) { return series != sweep_.series_now; };
  std::erase_if(journal_.runs, [&](const SweepRun& run) { return is_other(run.series); });
  std::erase_if(journal_.blocks, [&](const SweepBlock& block) { return is_other(block.series); });
}

std::size_t Schedule::ended_runs(const std::string& part, const std::string& cell) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      journal_.runs, [&](const SweepRun& run) { return run.part == part && run.cell == cell && has_ended(run); }));
}

bool Schedule::has_failed(const std::string& cell) const {
  return std::ranges::any_of(journal_.runs, [&](const SweepRun& run) {
    return run.cell == cell && has_ended(run) && !record::has_figures(run.end);
  });
}

std::size_t Schedule::wanted(const std::string& part, std::size_t cell) const {
  if (part == record::kWarmupPart) return static_cast<std::size_t>(sweep_.warmup);
  if (part == record::kEnergyPart) return static_cast<std::size_t>(sweep_.energy_repeats);
  const auto first = static_cast<std::size_t>(sweep_.repeats);
  if (!sweep_.until_width) return first;
  std::vector<record::BlockValue> figures;
  for (const SweepRun& run : journal_.runs) {
    if (run.part != part || run.cell != sweep_.cells[cell].key || !has_ended(run)) continue;
    if (run.figure) figures.push_back({run.block, *run.figure});
  }
  if (figures.size() < std::max(first, record::kFewestRuns)) return std::max(first, record::kFewestRuns);
  const auto most = static_cast<std::size_t>(sweep_.max_runs);
  return std::min(most, record::runs_for_width(figures, first, *sweep_.until_width));
}

bool Schedule::wants_more(const std::string& part, std::size_t cell) const {
  const std::string& key = sweep_.cells[cell].key;
  // A cell that failed once would fail again, so its runs are repeated only when the user asks for it.
  return !has_failed(key) && ended_runs(part, key) < wanted(part, cell);
}

const SweepBlock* Schedule::last_block(const std::string& part) const {
  const SweepBlock* last = nullptr;
  for (const SweepBlock& block : journal_.blocks) {
    if (block.part == part) last = &block;
  }
  return last;
}

std::optional<SweepRun> Schedule::next_of(const SweepBlock& block) const {
  for (const std::string& key : block.cells) {
    const auto cell = std::ranges::find(sweep_.cells, key, &record::SweepCell::key);
    if (cell == sweep_.cells.end()) continue;  // the cell was removed from the sweep
    const bool ran = std::ranges::any_of(journal_.runs, [&](const SweepRun& run) {
      return run.part == block.part && run.block == block.block && run.cell == key && has_ended(run);
    });
    if (ran || !wants_more(block.part, static_cast<std::size_t>(cell - sweep_.cells.begin()))) continue;
    SweepRun run;
    run.series = block.series;
    run.cell = key;
    run.part = block.part;
    run.block = block.block;
    run.folder = cell->folder + "/" + run_folder(block.series, block.part, block.block);
    return run;
  }
  return std::nullopt;
}

std::optional<SweepRun> Schedule::next() {
  for (const char* part : kRunParts) {
    const SweepBlock* last = last_block(part);
    if (last != nullptr) {
      if (auto run = next_of(*last)) return run;
    }
    SweepBlock block{
        .series = sweep_.series_now, .part = part, .block = last == nullptr ? 1 : last->block + 1, .cells = {}};
    for (const std::size_t cell : block_order(sweep_.cells.size(), sweep_.order_seed, part, block.block)) {
      if (wants_more(part, cell)) block.cells.push_back(sweep_.cells[cell].key);
    }
    if (block.cells.empty()) continue;
    journal_.blocks.push_back(block);
    begun_ = block;
    return next_of(block);
  }
  return std::nullopt;
}

std::optional<SweepBlock> Schedule::begun_block() {
  return std::exchange(begun_, std::nullopt);
}

void Schedule::ended(const SweepRun& run) {
  std::erase_if(journal_.runs, [&](const SweepRun& known) {
    return known.part == run.part && known.block == run.block && known.cell == run.cell;
  });
  journal_.runs.push_back(run);
}

void Schedule::again(const std::string& cell) {
  std::erase_if(journal_.runs,
                [&](const SweepRun& run) { return run.cell == cell && run.end != record::RunEnd::kDone; });
  // A repeated run gets a new block: it isn't made side by side with the runs of its old one, and must not be paired
  // with them.
  for (SweepBlock& block : journal_.blocks) std::erase(block.cells, cell);
}

std::vector<std::string> Schedule::bad_cells() const {
  std::vector<std::string> bad;
  for (const record::SweepCell& cell : sweep_.cells) {
    const bool is_bad = std::ranges::any_of(journal_.runs, [&](const SweepRun& run) {
      return run.cell == cell.key && has_ended(run) && run.end != record::RunEnd::kDone;
    });
    if (is_bad) bad.push_back(cell.key);
  }
  return bad;
}

std::vector<std::size_t> Schedule::runs_left() const {
  std::vector<std::size_t> left;
  for (const char* part : kRunParts) {
    for (std::size_t cell = 0; cell < sweep_.cells.size(); ++cell) {
      if (has_failed(sweep_.cells[cell].key)) continue;
      const std::size_t ended = ended_runs(part, sweep_.cells[cell].key), all = wanted(part, cell);
      left.insert(left.end(), all > ended ? all - ended : 0, cell);
    }
  }
  return left;
}

std::size_t Schedule::done() const {
  return static_cast<std::size_t>(std::ranges::count_if(journal_.runs, [&](const SweepRun& run) {
    return has_ended(run) && std::ranges::find(sweep_.cells, run.cell, &record::SweepCell::key) != sweep_.cells.end();
  }));
}

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

MadeRuns run_sweep(const record::SweepRecord& sweep, const fs::path& folder, Executor& executor,
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
  MadeRuns outcome;
  while (auto run = schedule.next()) {
    if (sweep.time_limit_s && clock.seconds() >= *sweep.time_limit_s) {
      outcome.stopped = fmt::format("the time limit of {} is over", duration_text(*sweep.time_limit_s));
      return outcome;
    }
    if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
    const SweepCell& cell = *std::ranges::find(sweep.cells, run->cell, &SweepCell::key);
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

}  // namespace evener::sweeps
