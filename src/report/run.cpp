#include "report/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/numbers.h"
#include "record/validity.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTimelineLimitBytes = std::uint64_t{64} << 20;
constexpr int kMostReplicas = 4096;
constexpr double kMicroseconds = 1e6;
constexpr std::array<std::string_view, 3> kWays = {"forward", "backward", "weights"};

StageTask task_of(const nlohmann::json& event) {
  StageTask task;
  task.replica = event.at("pid");
  task.stage = event.at("tid");
  task.step = event.at("args").at("step");
  task.micro_batch = event.at("args").at("micro_batch");
  task.way = event.at("cat");
  task.from_s = event.at("ts").get<double>() / kMicroseconds;
  task.to_s = task.from_s + event.at("dur").get<double>() / kMicroseconds;
  const bool known = std::ranges::find(kWays, task.way) != kWays.end();
  const bool possible = known && std::min({task.replica, task.stage, task.step, task.micro_batch}) >= 0 &&
                        std::max(task.replica, task.stage) < kMostReplicas && std::isfinite(task.to_s) &&
                        task.to_s >= task.from_s;
  if (!possible) throw Error("a task that is none");
  return task;
}

/// The first step after the last long break.
int first_step(const std::vector<StageTask>& tasks) {
  struct Span {
    double from_s = std::numeric_limits<double>::infinity(), to_s = 0;
  };
  std::map<int, Span> steps;
  for (const StageTask& task : tasks) {
    Span& span = steps[task.step];
    span.from_s = std::min(span.from_s, task.from_s);
    span.to_s = std::max(span.to_s, task.to_s);
  }
  int first = steps.empty() ? 0 : steps.rbegin()->first;
  for (auto later = steps.rbegin(); later != steps.rend(); ++later) {
    const auto earlier = std::next(later);
    if (earlier == steps.rend()) break;
    if (later->second.from_s - earlier->second.to_s > later->second.to_s - later->second.from_s) break;
    first = earlier->first;
  }
  return first;
}

constexpr std::uint64_t kSamplesLimitBytes = std::uint64_t{512} << 20;

/// The columns whose titles have this beginning and ending: the text between, and the column's index.
void add_columns(const std::vector<std::string>& titles, const std::string& begin, const std::string& end,
                 std::vector<Samples::Column>& columns,
                 std::vector<std::pair<std::size_t, std::vector<std::optional<double>>*>>& places) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < titles.size(); ++n) {
    const std::string& title = titles[n];
    if (!title.starts_with(begin) || !title.ends_with(end) || title.size() <= begin.size() + end.size()) continue;
    columns.push_back({title.substr(begin.size(), title.size() - begin.size() - end.size()), {}});
    found.push_back(n);
  }
  for (std::size_t n = 0; n < found.size(); ++n) places.emplace_back(found[n], &columns[n].second);
}

/// Skips rows with a wrong number of cells (a killed run's last one).
Samples read_samples(const fs::path& path) {
  std::istringstream lines(read_file(path, kSamplesLimitBytes));
  CsvReader table(lines);
  const auto column = [&](const char* title) {
    const auto found = table.find_column(title);
    if (!found) throw Error(fmt::format("{}: line 1 has no column '{}'", path.string(), title));
    return *found;
  };
  const std::size_t time = column("time_s"), cpu = column("process_cpu_percent"), others = column("others_cpu_percent"),
                    rss = column("rss_bytes"), pss = column("pss_bytes");
  Samples samples;
  std::vector<std::pair<std::size_t, std::vector<std::optional<double>>*>> more;
  add_columns(table.titles(), "", "_watts", samples.watts, more);
  add_columns(table.titles(), "phase_", "_percent", samples.phases, more);
  while (table.next()) {
    const std::vector<std::string>& cells = table.cells();
    if (cells.size() != table.titles().size()) continue;
    const std::optional<double> time_s = to_number<double>(cells[time]);
    if (!time_s) continue;
    samples.time_s.push_back(*time_s);
    samples.cpu_percent.push_back(to_number<double>(cells[cpu]));
    samples.others_percent.push_back(to_number<double>(cells[others]));
    samples.rss_bytes.push_back(to_number<double>(cells[rss]));
    samples.pss_bytes.push_back(to_number<double>(cells[pss]));
    for (const auto& [place, column] : more) column->push_back(to_number<double>(cells[place]));
  }
  return samples;
}

/// The canonical path, or the given one if that fails.
fs::path whole_path(const fs::path& dir) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(dir / "", error);
  if (error) return dir;
  return whole.has_filename() ? whole : whole.parent_path();
}

std::string folder_name(const fs::path& dir) {
  const std::string name = whole_path(dir).filename().string();  // also for "." and "runs/"
  return name.empty() ? dir.string() : name;
}

bool has_record(const fs::path& dir) {
  std::error_code unreadable;
  return fs::exists(dir / "record.json", unreadable);
}

/// The folders in `dir` that are runs.
std::vector<fs::path> run_folders(const fs::path& dir) {
  std::vector<fs::path> runs;
  std::error_code unreadable;  // reported later by load_run()
  for (const auto& entry : fs::directory_iterator(dir, unreadable)) {
    if (has_record(entry.path())) runs.push_back(entry.path());
  }
  std::ranges::sort(runs);
  return runs;
}

void load_latencies(const fs::path& dir, Run& run) {
  if (run.record.scenario.empty()) return;
  try {
    run.latencies_s = read_latencies(dir / "latencies.csv");
  } catch (const Error& problem) {
    run.warnings.push_back(fmt::format("no plots of latency: {}", problem.what()));
  }
}

}  // namespace

std::vector<StageTask> read_timeline(const std::filesystem::path& path) {
  std::vector<StageTask> tasks;
  try {
    const nlohmann::json trace = nlohmann::json::parse(read_file(path, kTimelineLimitBytes));
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") == "X") tasks.push_back(task_of(event));
    }
  } catch (const std::exception& problem) {
    throw Error(path.string() + " can't be read: " + problem.what());
  }
  const int first = first_step(tasks);
  std::erase_if(tasks, [first](const StageTask& task) { return task.step < first; });
  std::ranges::sort(tasks, {}, [](const StageTask& task) { return std::tuple(task.replica, task.stage, task.from_s); });
  double begin_s = std::numeric_limits<double>::infinity();
  for (const StageTask& task : tasks) begin_s = std::min(begin_s, task.from_s);
  for (StageTask& task : tasks) {
    task.step -= first;
    task.from_s -= begin_s;
    task.to_s -= begin_s;
  }
  return tasks;
}

record::Record load_record(const fs::path& dir) {
  record::Record record = record::read_record(dir);
  if (record.status != record::Status::kRunning || folder_lock_state(dir) != LockState::kFree) return record;
  record = record::read_record(dir);  // read again: the run may have ended in between
  if (record.status == record::Status::kRunning) {
    record.status = record::Status::kKilled;
    record.validity = {};  // the judgement was made while it was still running
    record.validity = record::judge(record);
  }
  return record;
}

Run load_run(const fs::path& dir) {
  Run run;
  run.record = load_record(dir);
  run.name = folder_name(dir);
  run.folder = dir;
  load_latencies(dir, run);
  run.timeline = read_if_there(run, kTimeline, read_timeline).value_or(std::vector<StageTask>());
  const fs::path path = dir / "samples.csv";
  std::error_code error;
  if (!fs::exists(path, error)) {
    run.warnings.push_back("no samples.csv in the run's folder: no curves of CPU use and memory");
    return run;
  }
  try {
    run.samples = read_samples(path);
  } catch (const Error& problem) {
    run.warnings.push_back(fmt::format("no curves of CPU use and memory: {}", problem.what()));
  }
  return run;
}

std::vector<Run> load_runs(const std::vector<fs::path>& dirs) {
  std::vector<std::vector<fs::path>> named;  // runs of each given folder
  std::map<fs::path, int> times;             // occurrences of each canonical path
  for (const fs::path& dir : dirs) {
    std::vector<fs::path> inside = has_record(dir) ? std::vector<fs::path>() : run_folders(dir);
    if (inside.empty()) inside.push_back(dir);
    for (const fs::path& run : inside) ++times[whole_path(run)];
    named.push_back(std::move(inside));
  }
  std::vector<Run> runs;
  std::set<fs::path> taken;
  for (const std::vector<fs::path>& folders : named) {
    const auto given = static_cast<std::ptrdiff_t>(runs.size());
    for (const fs::path& folder : folders) {
      if (!taken.insert(whole_path(folder)).second) continue;
      runs.push_back(load_run(folder));
      if (times[whole_path(folder)] > 1) runs.back().warnings.emplace_back("named more than once, and taken once");
    }
    std::stable_sort(runs.begin() + given, runs.end(),
                     [](const Run& a, const Run& b) { return a.record.started < b.record.started; });
  }
  std::set<std::string> names;
  for (Run& run : runs) {
    const std::string name = run.name;
    for (int n = 2; names.contains(run.name); ++n) run.name = fmt::format("{} ({})", name, n);
    names.insert(run.name);
  }
  return runs;
}

}  // namespace evener::report
