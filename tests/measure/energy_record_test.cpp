// The energy in the record of a run, computed again from the files beside it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/phase.h"
#include "base/test_folder.h"
#include "measure/run/metered_run.h"
#include "record/metric.h"

namespace evener::measure {
namespace {

constexpr double kWatts = 50;    // stated, all the time
constexpr double kMilli = 2e-3;  // what three decimals of a column make of a difference

struct Silent : RunObserver {
  void on_note(const std::string& /*text*/) override {}
  void on_failure() override {}
};

struct Kept : Silent {
  void on_note(const std::string& text) override { notes.push_back(text); }
  std::ptrdiff_t energies() const {
    return std::ranges::count_if(notes, [](const std::string& note) { return note.starts_with("energy: "); });
  }

  std::vector<std::string> notes;
};

/// A table in a CSV file without quotes: rows of numbers by title; NaN for empty cells.
std::vector<std::map<std::string, double>> table_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line, cell;
  std::vector<std::string> titles;
  std::getline(file, line);
  for (std::istringstream cells(line); std::getline(cells, cell, ',');) titles.push_back(cell);
  std::vector<std::map<std::string, double>> rows;
  while (std::getline(file, line)) {
    auto& row = rows.emplace_back();
    std::istringstream cells(line + ",");
    for (const std::string& title : titles) {
      std::getline(cells, cell, ',');
      row[title] = cell.empty() ? NAN : std::stod(cell);
    }
  }
  return rows;
}

/// A training of `epochs` epochs, each of 0.6 s with a pause behind it, that goes on with what is in the folder.
void train(const std::filesystem::path& folder, int from_epoch, int epochs, bool resume) {
  Kept told;
  MeteredRun run({.kind = "train",
                  .version = "1",
                  .command = {"evener", "train"},
                  .out = folder,
                  .resume = resume,
                  .can_resume = true,
                  .sample_interval_ms = 100,
                  .energy = {.assumed = {.cpu = kWatts}, .idle_s = resume ? 0.0 : 1.0}},
                 told);
  run.measure([&] {
    run.begin();
    mark_critical_thread();
    const auto sleep = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
    sleep(130);
    record::Record record = run.record();
    record.times.train = 0;
    for (int n = 0; n < epochs; ++n) {
      record::EpochRecord& epoch = record.training.epochs.emplace_back();
      epoch.epoch = from_epoch + n;
      epoch.from_s = run.session_s();
      {
        const PhaseMark mark(Phase::kForward);
        sleep(400);
      }
      sleep(200 * (from_epoch + n));
      epoch.to_s = run.session_s();
      epoch.seconds = *epoch.to_s - *epoch.from_s;
      epoch.phases_s = {{"forward", 0.4}};
      *record.times.train += *epoch.seconds;
      sleep(70);
    }
    record.sessions.back().epochs = epochs;
    run.take_times(record);
    return record;
  });
  EXPECT_EQ(told.energies(), 0) << "a training tells it among its results";
}

/// The joules at a moment of a session that began at `begin_s` in the samples, by a straight line between two rows.
double joules_at(const std::vector<std::map<std::string, double>>& rows, double time_s) {
  for (std::size_t n = 1; n < rows.size(); ++n) {
    const auto &a = rows[n - 1], &b = rows[n];
    if (a.at("time_s") > time_s || b.at("time_s") < time_s || b.at("time_s") <= a.at("time_s")) continue;
    const double share = (time_s - a.at("time_s")) / (b.at("time_s") - a.at("time_s"));
    return a.at("energy_joules") + share * (b.at("energy_joules") - a.at("energy_joules"));
  }
  return NAN;
}

void expect_sums(const record::Energy& energy) {
  ASSERT_TRUE(energy.joules && energy.seconds) << energy.reason;
  EXPECT_NEAR(*energy.joules, kWatts * *energy.seconds, 0.02 * *energy.joules) << "watts by seconds";
  EXPECT_DOUBLE_EQ(energy.edp_js.value_or(0), *energy.joules * *energy.seconds);
  EXPECT_DOUBLE_EQ(energy.ed2p_js2.value_or(0), *energy.joules * *energy.seconds * *energy.seconds);
  EXPECT_EQ(energy.kind, record::EnergyClass::kEstimated);
  double domains = 0, devices = 0, phases = 0, phase_s = 0, classes = 0;
  for (const auto& domain : energy.domains) domains += domain.joules;
  for (const auto& device : energy.devices) {
    if (!device.added) continue;
    devices += device.joules.value_or(NAN);
    EXPECT_NEAR(device.mean_watts.value_or(0), *device.joules / *energy.seconds, 1e-9);
  }
  for (const auto& phase : energy.phases) {
    phases += phase.joules;
    phase_s += phase.seconds;
  }
  for (const auto& [name, joules] : energy.by_class) classes += joules;
  EXPECT_NEAR(domains, *energy.joules, 1e-6);
  EXPECT_NEAR(devices, *energy.joules, 1e-6);
  EXPECT_NEAR(classes, *energy.joules, 1e-6);
  EXPECT_NEAR(energy.by_class.at("estimated"), *energy.joules, 1e-6);
  EXPECT_NEAR(phases, *energy.joules, 0.01 * *energy.joules);
  EXPECT_NEAR(phase_s, *energy.seconds, 0.01 * *energy.seconds);
}

/// A counter of joules in a file, which a meter's command reads, at a power that the test turns.
class TurnedMeter {
 public:
  explicit TurnedMeter(std::filesystem::path file) : file_(std::move(file)) {
    write();
    thread_ = std::thread([this] { count(); });
  }
  ~TurnedMeter() { over_ = true, thread_.join(); }

  std::string source() const { return "run:cat '" + file_.string() + "'#energy=J"; }
  /// Returns what was drawn at the power before.
  double turn(double watts) {
    const std::lock_guard lock(mutex_);
    watts_ = watts;
    return std::exchange(since_turned_j_, 0);
  }
  double since_turned_joules() {
    const std::lock_guard lock(mutex_);
    return since_turned_j_;
  }

 private:
  void count() {
    for (double last_s = now_s(); !over_; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      const double seconds = now_s() - last_s;
      last_s += seconds;
      const std::lock_guard lock(mutex_);
      joules_ += watts_ * seconds;
      since_turned_j_ += watts_ * seconds;
      write();
    }
  }

  void write() const { write_file_atomically(file_, "energy " + std::to_string(joules_)); }

  const std::filesystem::path file_;
  std::mutex mutex_;
  double watts_ = 20, joules_ = 1000, since_turned_j_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

// The start draws less than the work, what measures afterwards more; and not all images of the data were computed.
TEST(EnergyRecord, OfAnImageIsThatOfTheWorkOnThoseThatWereComputed) {
  for (const int work_ms : {1300, 300}) {
    const test::TestFolder folder;
    TurnedMeter meter(folder / "meter");
    Silent silent;
    MeteredRun run({.kind = "infer",
                    .version = "1",
                    .command = {"evener", "infer"},
                    .out = folder / "out",
                    .energy = {.meters = {meter.source()}}},
                   silent);
    double least_j = 0, most_j = 0;  // of the work, whose end is looked at some time between them
    const record::Record record = run.measure([&] {
      const auto sleep = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
      run.begin();
      run.record().data.images = 6;
      sleep(600);
      const double from_s = run.look();
      meter.turn(70);
      sleep(work_ms);
      least_j = meter.since_turned_joules();
      run.worked(from_s, 4);
      most_j = meter.turn(250);
      sleep(900);
      run.take_times(run.record());
      return run.record();
    });
    ASSERT_TRUE(record.energy.joules) << record.energy.reason;
    if (record.energy.source.find("--meter") == std::string::npos) GTEST_SKIP() << "this machine has meters of its own";
    const auto metrics = record::metrics_of(record);
    const record::Metric& figure = *record::find_metric(metrics, "images_per_joule");
    if (work_ms < 1000) {
      EXPECT_EQ(record.energy.work_joules, std::nullopt);
      EXPECT_EQ(figure.value, std::nullopt);
      EXPECT_NE(figure.reason.find("too short for the meters (at least 1 s)"), std::string::npos) << figure.reason;
      EXPECT_EQ(record::energy_text(record).find("an image"), std::string::npos);
      continue;
    }
    EXPECT_GE(record.energy.work_joules.value_or(0), 0.9 * least_j);
    EXPECT_LE(record.energy.work_joules.value_or(0), 1.1 * most_j);
    EXPECT_GE(record.energy.work_seconds.value_or(0), 1.29);
    EXPECT_NEAR(figure.value.value_or(0), 4 / *record.energy.work_joules, 1e-9);
    EXPECT_NE(record::energy_text(record).find(record::joules_text(*record.energy.work_joules / 4) + " an image"),
              std::string::npos)
        << record::energy_text(record);
  }
}

/// A second of work, which is the least for a stated power, and of which most is a phase. `child`: a process that is
/// watched.
record::Record counted(int hosts, std::optional<pid_t> child, RunObserver& observer) {
  const test::TestFolder folder;
  MeteredRun run({.kind = "count",
                  .version = "1",
                  .command = {"evener", "count"},
                  .out = folder / "out",
                  .sample_interval_ms = 100,
                  .energy = {.assumed = {.cpu = kWatts}},
                  .hosts = hosts},
                 observer);
  return run.measure([&] {
    run.begin();
    mark_critical_thread();
    if (child) run.watch({*child});
    {
      const PhaseMark mark(Phase::kForward);
      std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    }
    if (child) run.ended(*child, 5'000'000'000'000);
    record::Record record = run.record();
    run.take_times(record);
    return record;
  });
}

TEST(EnergyRecord, OfSeveralHostsIsUnknownWhereTheOthersDidNotTellTheirs) {
  Kept told;
  const record::Energy energy = counted(2, {}, told).energy;
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_EQ(energy.used_joules, std::nullopt);
  EXPECT_EQ(energy.edp_js, std::nullopt);
  EXPECT_EQ(energy.kind, record::EnergyClass::kAbsent);
  EXPECT_NE(energy.reason.find("before its other hosts told their energy"), std::string::npos) << energy.reason;
  EXPECT_FALSE(energy.devices.empty()) << "the first one's";
}

TEST(EnergyRecord, OfRanksInOtherProcessesHasNoPhasesAndIsTold) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  Kept told;
  const record::Record record = counted(1, child, told);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(record.energy.joules.has_value()) << record.energy.reason;
  EXPECT_EQ(told.energies(), 1);
  EXPECT_TRUE(record.energy.phases.empty());
  EXPECT_NE(record.energy.phases_reason.find("processes of their own"), std::string::npos);
  ASSERT_EQ(record.memory.ranks.size(), 1u);
  EXPECT_EQ(record.memory.ranks[0].peak_rss_bytes, 5'000'000'000'000u) << "of its end";
}

TEST(EnergyRecord, IsWhatTheFilesBesideItComeTo) {
  const test::TestFolder folder;
  const auto out = folder / "out";
  train(out, 1, 2, false);
  const record::Record first = record::read_record(out);
  expect_sums(first.energy);
  const auto rows = table_of(out / "samples.csv");
  EXPECT_EQ(static_cast<std::size_t>(first.cpu.samples), rows.size());
  EXPECT_NEAR(rows.back().at("energy_joules"), *first.energy.joules, kMilli);
  EXPECT_NEAR(rows.back().at("time_s"), *first.energy.seconds, kMilli);
  double sum = 0;
  for (std::size_t n = 1; n < rows.size(); ++n) {
    sum += rows[n].at("cpu_stated_watts") * (rows[n].at("time_s") - rows[n - 1].at("time_s"));
  }
  EXPECT_NEAR(sum, *first.energy.joules, 0.02 * *first.energy.joules) << "the watts of all rows by their seconds";
  EXPECT_NEAR(first.energy.idle.watts.value_or(0), kWatts, 0.02 * kWatts) << "measured before the run";
  EXPECT_GE(first.energy.idle.seconds, 0.99) << "as long as it was asked for, or longer";
  EXPECT_NEAR(first.energy.net_joules.value_or(NAN),
              *first.energy.joules - *first.energy.idle.watts * *first.energy.seconds, 1e-6);
  // Each phase has its share of the seconds, at a power that never changes.
  for (const auto& phase : first.energy.phases) {
    EXPECT_NEAR(phase.joules, kWatts * phase.seconds, 0.05 * *first.energy.joules) << phase.phase;
    if (phase.phase == "forward") {
      EXPECT_NEAR(phase.seconds, first.phases_s.at("forward"), 1e-3);
    }
  }

  // From the first epoch's beginning to the last one's end, without what came before and after.
  const double epochs_s = *first.training.epochs.back().to_s - *first.training.epochs.front().from_s;
  EXPECT_NEAR(first.energy.work_seconds.value_or(0), epochs_s, 1e-9) << first.energy.work_reason;
  EXPECT_NEAR(first.energy.work_joules.value_or(0), kWatts * epochs_s, 0.05 * kWatts * epochs_s);

  test::write_text(out / "last.safetensors", "");  // a checkpoint, so that it can go on
  train(out, 3, 1, true);
  const record::Record both = record::read_record(out);
  ASSERT_EQ(both.sessions.size(), 2u);
  ASSERT_EQ(both.training.epochs.size(), 3u);
  expect_sums(both.energy);
  const auto all = table_of(out / "samples.csv");
  EXPECT_EQ(static_cast<std::size_t>(both.cpu.samples), all.size());
  // The column begins again with each session.
  const double of_second = all.back().at("energy_joules");
  EXPECT_NEAR(*both.energy.joules, *first.energy.joules + of_second, 2 * kMilli);
  EXPECT_NEAR(all.back().at("time_s"), *both.energy.seconds, 2 * kMilli) << "and the time goes on";
  EXPECT_NEAR(both.times.train.value_or(0), *first.times.train + *both.training.epochs[2].seconds, 1e-9);

  const record::EpochRecord& last = both.training.epochs.back();
  EXPECT_NEAR(both.energy.work_seconds.value_or(0), epochs_s + *last.to_s - *last.from_s, 1e-9);
  EXPECT_NEAR(*both.energy.work_joules, kWatts * *both.energy.work_seconds, 0.05 * *both.energy.work_joules);

  const std::vector<std::map<std::string, double>> own[] = {
      {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rows.size())},
      {all.begin() + static_cast<std::ptrdiff_t>(rows.size()), all.end()}};
  const auto epochs = table_of(out / "epochs.csv");
  ASSERT_EQ(epochs.size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    const record::EpochRecord& epoch = both.training.epochs[n];
    const auto& samples = own[n < 2 ? 0 : 1];
    const double begin_s = samples.front().at("time_s");
    ASSERT_TRUE(epoch.joules.has_value()) << n;
    // The session's clock begins a moment behind the sampler's.
    EXPECT_NEAR(*epoch.joules, joules_at(samples, begin_s + *epoch.to_s) - joules_at(samples, begin_s + *epoch.from_s),
                0.05 * *epoch.joules);
    EXPECT_NEAR(*epoch.joules, kWatts * (*epoch.to_s - *epoch.from_s), 0.05 * *epoch.joules) << n;
    EXPECT_DOUBLE_EQ(epochs[n].at("joules"), *epoch.joules);
    EXPECT_DOUBLE_EQ(epochs[n].at("seconds"), *epoch.seconds);
  }
}

}  // namespace
}  // namespace evener::measure
