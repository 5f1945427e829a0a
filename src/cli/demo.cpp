// evener demo: the main job from start to end on data it generates, in under five minutes, ending with a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/module.h"
#include "base/names.h"
#include "base/precision.h"
#include "cli/command.h"
#include "record/record.h"
#include "report/conclusion.h"
#include "report/html.h"
#include "report/table.h"
#include "run/child_run.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMasksModel = "resnet20";
constexpr const char* kMasksSize = "49x37";  // a twelfth of what the masks are drawn at: enough for their outlines
constexpr int kMasksBatch = 32;
constexpr int kMasksEpochs = 8;
constexpr int kProbeImages = 6 * kMasksBatch;
constexpr int kFewestImages = 4 * kMasksBatch;  // to train on; fewer steps would not give a steady speed
constexpr int kLearningImages = 1530;           // with these it recognises 95 % at the end
constexpr int kMostImages = 7650;               // what the thesis trained on

struct DemoFlags : job::OptionGroup {
  DemoFlags() : job::OptionGroup("Demo") {}

  job::Option<std::string> out{
      *this, {"--out", "DIR", "Folder for the runs and the report; replaced if it is there"}, "runs/demo"};
  job::Option<double> minutes{*this,
                              {"--minutes", "MINUTES", "About how long it may take; it is sized by a short probe"},
                              4,
                              {.range = job::from_to(0.2, 24 * 60)}};
  job::Option<std::uint64_t> seed{*this, {"--seed", "N", "Of the images, the first weights and the order"}, 1};
};

using Words = std::vector<std::string>;

/// One training of the demo: `evener train` with these words, and the folder they name.
struct Job {
  std::string model, on;
  Words words;
  fs::path out;
};

/// bf16 where the CPU multiplies it fast: half the time, the same accuracy.
std::string fast_precision() {
  return precision_name(has_fast_bf16(cpu_topology().features) ? Precision::kBf16 : Precision::kFp32);
}

/// "resnet34 on cpu/t1" in a folder of its own; `words`: the options that differ from job to job.
Job make_job(const DemoFlags& demo, const std::string& name, const std::string& model, const std::string& on,
             const Words& words) {
  std::string folder = name + "-" + on;
  std::replace(folder.begin(), folder.end(), '/', '-');
  Job job{model, on, {"train", model}, fs::path(*demo.out) / folder};
  job.words.insert(job.words.end(), words.begin(), words.end());
  const Words common = {"--on", on, "--seed", std::to_string(*demo.seed), "--overwrite", "--out", job.out.string()};
  job.words.insert(job.words.end(), common.begin(), common.end());
  return job;
}

Job masks_job(const DemoFlags& demo, const std::string& name, const std::string& on, int images, int epochs,
              const Words& more = {}) {
  Words words = {"--data",      "synth:masks:" + std::to_string(images),
                 "--size",      kMasksSize,
                 "--channels",  "1",
                 "--batch",     std::to_string(kMasksBatch),
                 "--precision", fast_precision(),
                 "--epochs",    std::to_string(epochs),
                 "--lr",        "0.05",
                 "--momentum",  "0.9",
                 "--schedule",  "one-cycle",
                 "--split",     "85/5/10"};
  words.insert(words.end(), more.begin(), more.end());  // the last of two counts
  return make_job(demo, name, kMasksModel, on, words);
}

Job digits_job(const DemoFlags& demo, const std::string& on) {
  return make_job(demo, "digits-mlp", "mlp:784-256-10", on,
                  {"--data", "synth:digits:30000", "--batch", "64", "--epochs", "5", "--lr", "0.1"});
}

/// A folder that goes at the end.
class TemporaryOutput {
 public:
  explicit TemporaryOutput(fs::path path) : path_(std::move(path)) {}
  ~TemporaryOutput() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryOutput(const TemporaryOutput&) = delete;
  TemporaryOutput& operator=(const TemporaryOutput&) = delete;

 private:
  fs::path path_;
};

/// Trains in a process of its own: the peak of memory in its record is that of this run alone.
record::Record run(const Job& job) {
  return run::run_as_child(job.words, job.out, {.owner = "demo", .name = job.model + " on " + job.on});
}

/// What the demo compares: one thread, all threads, and two replicas that share each batch; or the one core there is.
std::vector<std::string> demo_placements() {
  const int cores = usable_cores();
  if (cores == 1) return {"cpu/t1"};
  return {"cpu/t1", "cpu/t" + std::to_string(cores), "2xcpu/t" + std::to_string(cores / 2)};
}

/// Seconds per image of the masks' network on `on`, from a few steps, the first of which warms up.
double probe(const DemoFlags& demo, const std::string& on) {
  const Job job = masks_job(demo, "probe", on, kProbeImages * 100 / 85 + 1, 1,
                            {"--split", "85/15", "--schedule", "constant", "--quiet"});
  const TemporaryOutput output(job.out);
  const record::Record record = run(job);
  if (!record.times.train) throw Error("the record in '" + job.out.string() + "' has no time of training");
  return *record.times.train / static_cast<double>(record.data.train.value_or(kProbeImages));
}

/// Images to train on so that the masks' jobs on all placements together take `seconds`.
int images_that_fit(double seconds, double seconds_per_image) {
  const double images = seconds / seconds_per_image / kMasksEpochs;
  return static_cast<int>(std::clamp(images, 1.0 * kFewestImages, 1.0 * kMostImages));
}

std::vector<Job> plan_jobs(const DemoFlags& demo) {
  const auto placements = demo_placements();
  std::fprintf(stderr, "measuring this machine (%s) ...\n", cpu_topology().model.c_str());
  double seconds_per_image = 0;
  for (const auto& on : placements) seconds_per_image += probe(demo, on);
  // Loading, validation, the digits and the report take about a tenth.
  const int train = images_that_fit(0.85 * 60 * *demo.minutes, seconds_per_image);
  const int images = static_cast<int>(std::lround(train / 0.85 / 9)) * 9;  // as many of each of the 9 classes
  std::fprintf(stderr, "%d images and %d epochs of %s on %s fit into %s\n", images, kMasksEpochs, kMasksModel,
               placements.size() > 1 ? "one thread, on all, and on two replicas" : "one thread",
               duration_text(60 * *demo.minutes).c_str());
  if (train < kLearningImages) {
    const double minutes = kLearningImages * seconds_per_image * kMasksEpochs / 60 / 0.85;
    std::fprintf(stderr, "that is enough to measure, but hardly to learn: --minutes %.0f would do\n",
                 std::ceil(minutes));
  }
  std::vector<Job> jobs;
  for (const auto& on : placements) jobs.push_back(digits_job(demo, on));
  const std::string name = std::string("masks-") + kMasksModel;
  for (const auto& on : placements) jobs.push_back(masks_job(demo, name, on, images, kMasksEpochs));
  return jobs;
}

/// The network of the last training names the test images that it has never seen.
fs::path answer_with(const DemoFlags& flags, const Job& trained) {
  const fs::path out = fs::path(*flags.out) / "answers";
  std::fprintf(stderr, "\n== what %s says of images that it has not seen\n", trained.model.c_str());
  run::run_as_child({"infer", trained.out.string(), "--overwrite", "--out", out.string()}, out,
                    {.owner = "demo", .name = "the answers of " + trained.model});
  return out;
}

int demo(const DemoFlags& flags) {
  std::vector<fs::path> folders;
  const std::vector<Job> jobs = plan_jobs(flags);
  for (const Job& job : jobs) {
    std::fprintf(stderr, "\n== %s on %s\n", job.model.c_str(), job.on.c_str());
    run(job);
    folders.push_back(job.out);
  }
  if (module_status("openvino").state == ModuleState::kUsable) folders.push_back(answer_with(flags, jobs.back()));
  const auto runs = report::load_runs(folders);
  const auto page = report::write_html(fs::path(*flags.out) / "report.html", runs);
  fmt::print("\n{}\n", report::terminal_text(report::summary_table(runs)));
  fmt::print("{}\n\nreport: {}\n", report::terminal_conclusion(runs), fs::absolute(page.path).string());
  if (!page.hint.empty()) fmt::print("{}\n", page.hint);
  return 0;
}

}  // namespace

Command demo_command() {
  const auto flags = std::make_shared<DemoFlags>();
  return {.name = "demo",
          .summary = "Train two networks on generated images, compare placements, report",
          .options = {flags.get()},
          .footer = "Examples:\n  evener demo\n  evener demo --minutes 1 --out /tmp/demo",
          .run = [flags] { return demo(*flags); }};
}

}  // namespace evener::cli
