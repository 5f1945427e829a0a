#include "job/plan/plan_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/cpu.h"
#include "base/error.h"
#include "base/precision.h"
#include "base/version.h"
#include "job/train/decide.h"
#include "placement/machine.h"
#include "run/metered_run.h"

namespace evener::job {
namespace {

/// Of a training that is prepared and not begun, only the loading is of interest.
class LoadingObserver : public task::TrainObserver {
 public:
  explicit LoadingObserver(TrainWatcher& watcher) : watcher_(watcher) {}
  void on_loading(task::LoadingStep step, std::size_t done, std::size_t images) override {
    watcher_.loading(step, done, images);
  }

 private:
  TrainWatcher& watcher_;
};

}  // namespace

PlanFlags::PlanFlags() {
  model.model.require();
  model.model.explain("Network: " + model_list());
  placement.on.preset("auto");
  placement.on.explain("Placements to compare, with commas between; auto: the usual ones");
  placement.precision.explain(
      "Precisions to compare, with commas between: fp32, tf32, bf16, fp16; auto: those that are fast here");
  optimisation.epochs.explain("Passes over the training images, which --deadline and --budget are for");
  output.json.explain("Write the comparison there too; - is stdout, instead of the table");
}

OptionSet PlanFlags::options() {
  OptionSet options = TrainFlags::options();
  options.leave_out(
      [this](const OptionBase& option) { return !option.rules().in_plans && &option != &optimisation.epochs; });
  options.add(probing);
  return options;
}

void complete(PlanFlags& flags) {
  choose_detector_defaults(flags);
  const std::string list = *flags.placement.precision;
  if (list != "auto" && list.find(',') == std::string::npos) return;
  std::vector<std::string> names;
  if (list == "auto") {
    names = {precision_name(Precision::kFp32)};
    const bool fast = has_fast_bf16(cpu_topology().features) || !placement::machine().cuda.devices.empty();
    if (fast) names.emplace_back(precision_name(Precision::kBf16));
  } else {
    std::istringstream parts(list);
    for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  }
  flags.settings.clear();
  for (const std::string& name : names) {
    const plan::Setting setting{.precision = parse_precision(name)};
    if (std::ranges::find(flags.settings, setting) == flags.settings.end()) flags.settings.push_back(setting);
  }
  flags.placement.precision.read({names.front()});
}

PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (!flags.optimisation.batch_size()) {
    throw UsageError("plan compares placements for a batch of one size: give --batch a number");
  }
  LoadingObserver observer(watcher);
  task::TrainOptions options = train_options(flags, plan_of(flags, "auto"));  // --on is a list here
  const std::vector<plan::Candidate> candidates = plan::in_settings(candidates_of(flags), flags.settings);
  options.candidates = plans_of(candidates);
  run::MeteredRun run({.kind = "plan", .version = program_version(), .json = *flags.output.json}, watcher);
  PlanOutcome outcome;
  run.measure([&] {
    task::PreparedTraining training(options, observer);
    const task::Trials trials(training);
    watcher.finish();
    outcome.comparison = compare_placements(flags, candidates, training, *flags.probing.seconds, watcher);
    outcome.work = fmt::format("{}; batch {}", setup_text(trials.setup()), trials.batch());
    if (flags.settings.size() == 1) outcome.work += ", " + *flags.placement.precision;
    return run.record();  // nothing is trained
  });
  return outcome;
}

}  // namespace evener::job
