// evener demo: the main job from start to end on data it generates, in under five minutes, ending with a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/training.h"
#include "report/conclusion.h"
#include "report/html.h"
#include "report/table.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMasksBatch = 32;
constexpr int kProbeImages = 3 * kMasksBatch;
constexpr int kFewestImages = 4 * kMasksBatch;  // fewer steps would not give a steady speed
constexpr int kMostImages = 7650;               // what the thesis trained on
constexpr int kFewestEpochs = 4;                // so that three count after the first, which warms up
constexpr int kMostEpochs = 8;

struct DemoFlags {
  std::string out = "runs/demo";
  double minutes = 4;
  std::uint64_t seed = 1;
};

/// One training of the demo and the folder it goes to.
struct Job {
  std::string name;
  TrainFlags flags;
};

/// bf16 where the CPU multiplies it fast: half the time, the same accuracy.
std::string fast_precision() {
  for (const auto& feature : cpu_topology().features) {
    if (feature == "avx512_bf16" || feature == "amx_bf16") return "bf16";
  }
  return "fp32";
}

TrainFlags masks_job(const DemoFlags& demo, const std::string& on, int images, int epochs) {
  TrainFlags flags;
  flags.model = "resnet34";
  flags.data = "synth:masks:" + std::to_string(images);
  flags.size = "197x148";
  flags.channels = 1;
  flags.on = on;
  flags.batch = kMasksBatch;
  flags.precision = fast_precision();
  flags.epochs = epochs;
  flags.learning_rate = 0.02;
  flags.momentum = 0.9;
  flags.schedule = "cosine";
  flags.split = "85/5/10";
  flags.seed = demo.seed;
  flags.overwrite = true;
  return flags;
}

TrainFlags digits_job(const DemoFlags& demo, const std::string& on) {
  TrainFlags flags;
  flags.model = "mlp:784-256-10";
  flags.data = "synth:digits:6000";
  flags.on = on;
  flags.batch = 64;
  flags.epochs = 5;
  flags.learning_rate = 0.1;
  flags.seed = demo.seed;
  flags.overwrite = true;
  return flags;
}

/// What the demo compares: one thread and all threads, or the one core there is.
std::vector<std::string> demo_placements() {
  const int cores = usable_cores();
  if (cores == 1) return {"cpu/t1"};
  return {"cpu/t1", "cpu/t" + std::to_string(cores)};
}

/// Seconds per image of ResNet-34 on `on`, from a few steps; the first, which warms up, is not counted.
double probe(const DemoFlags& demo, const std::string& on) {
  TrainFlags flags = masks_job(demo, on, kProbeImages * 100 / 85 + 1, 1);
  flags.out = (fs::path(demo.out) / "probe").string();
  flags.split = "85/15";
  flags.schedule = "constant";
  flags.quiet = true;
  const TrainingOutcome outcome = run_training(flags);
  std::error_code ignored;
  fs::remove_all(flags.out, ignored);
  if (outcome.status == task::TrainStatus::kInterrupted) throw Interrupted("interrupted while measuring this machine");
  const auto& times = outcome.record.times;
  return *times.train / static_cast<double>(outcome.record.data.train.value_or(kProbeImages));
}

/// Images and epochs of the ResNet jobs so that all placements together take `seconds`.
std::pair<int, int> size_of_job(double seconds, double seconds_per_image) {
  const double images = seconds / seconds_per_image;  // over all epochs
  const int epochs = std::clamp(static_cast<int>(images / 1000), kFewestEpochs, kMostEpochs);
  const int train = std::clamp(static_cast<int>(images / epochs), kFewestImages, kMostImages);
  return {static_cast<int>(std::lround(train / 0.85 / 9)) * 9, epochs};  // as many of each of the 9 classes
}

std::vector<Job> plan_jobs(const DemoFlags& demo) {
  const auto placements = demo_placements();
  std::fprintf(stderr, "measuring this machine (%s) ...\n", cpu_topology().model.c_str());
  double seconds_per_image = 0;
  for (const auto& on : placements) seconds_per_image += probe(demo, on);
  // Loading, validation, the digits and the report take about a tenth.
  const auto [images, epochs] = size_of_job(0.85 * 60 * demo.minutes, seconds_per_image);
  std::fprintf(stderr, "%d images and %d epochs of ResNet-34 on %s fit into %s\n", images, epochs,
               placements.size() > 1 ? "one thread and on all" : "one thread",
               duration_text(60 * demo.minutes).c_str());
  std::vector<Job> jobs;
  for (const auto& on : placements) jobs.push_back({"digits-mlp-" + on, digits_job(demo, on)});
  for (const auto& on : placements) jobs.push_back({"masks-resnet34-" + on, masks_job(demo, on, images, epochs)});
  for (auto& job : jobs) {
    std::replace(job.name.begin(), job.name.end(), '/', '-');
    job.flags.out = (fs::path(demo.out) / job.name).string();
  }
  return jobs;
}

int demo(const DemoFlags& flags) {
  if (!(flags.minutes >= 0.2 && flags.minutes <= 24 * 60)) {
    throw UsageError(fmt::format("--minutes is {}; it has to be from 0.2 to 1440", flags.minutes));
  }
  std::vector<fs::path> folders;
  for (const Job& job : plan_jobs(flags)) {
    std::fprintf(stderr, "\n== %s on %s\n", job.flags.model.c_str(), job.flags.on.c_str());
    const TrainingOutcome outcome = run_training(job.flags);
    if (outcome.status == task::TrainStatus::kInterrupted) throw Interrupted(outcome.status_reason);
    if (outcome.status == task::TrainStatus::kDiverged) throw Error(outcome.status_reason);
    folders.push_back(outcome.out);
  }
  const auto runs = report::load_runs(folders);
  std::vector<measure::Record> records;
  for (const auto& run : runs) records.push_back(run.record);
  const auto page = report::write_html(fs::path(flags.out) / "report.html", runs);
  fmt::print("\n{}\n", report::terminal_text(report::summary_table(runs)));
  fmt::print("{}\n\nreport: {}\n", report::conclusion(records), fs::absolute(page.path).string());
  if (!page.hint.empty()) fmt::print("{}\n", page.hint);
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("demo", "Train two networks on generated images, compare placements, report");
  const auto flags = std::make_shared<DemoFlags>();
  command->add_option("--out", flags->out, "Folder for the runs and the report; replaced if it is there")
      ->capture_default_str();
  command->add_option("--minutes", flags->minutes, "About how long it may take; it is sized by a short probe")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of the images, the first weights and the order")->capture_default_str();
  command->footer("Examples:\n  evener demo\n  evener demo --minutes 1 --out /tmp/demo");
  command->callback([flags, &action] { action = [flags] { return demo(*flags); }; });
}

}  // namespace evener::cli
