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

/// The words of a list with commas between.
static std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream parts(list);
  for (std::string word; std::getline(parts, word, ',');) words.push_back(word);
  return words;
}

/// The precisions that --precision names; none where it names one alone.
static std::vector<std::string> listed_precisions(const std::string& list) {
  if (list != "auto") return list.find(',') == std::string::npos ? std::vector<std::string>() : words_of(list);
  std::vector<std::string> names = {precision_name(Precision::kFp32)};
  const bool fast = has_fast_bf16(cpu_topology().features) || !placement::machine().cuda.devices.empty();
  if (fast) names.emplace_back(precision_name(Precision::kBf16));
  return names;
}

void complete(PlanFlags& flags) {
  choose_detector_defaults(flags);
  const std::vector<std::string> names = listed_precisions(*flags.placement.precision);
  if (names.empty()) return;
  flags.precisions.clear();
  for (const std::string& name : names) {
    const Precision precision = parse_precision(name);
    if (std::ranges::find(flags.precisions, precision) == flags.precisions.end()) flags.precisions.push_back(precision);
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
  const std::vector<plan::Candidate> candidates = plan::in_precisions(candidates_of(flags), flags.precisions);
  options.candidates = plans_of(candidates);
  run::MeteredRun run({.kind = "plan", .version = program_version(), .json = *flags.output.json}, watcher);
  PlanOutcome outcome;
  run.measure([&] {
    task::PreparedTraining training(options, observer);
    const task::Trials trials(training);
    watcher.finish();
    outcome.comparison = compare_placements(flags, candidates, training, *flags.probing.seconds, watcher);
    outcome.work = fmt::format("{}; batch {}", setup_text(trials.setup()), trials.batch());
    if (flags.precisions.size() == 1) outcome.work += ", " + *flags.placement.precision;
    return run.record();  // nothing is trained
  });
  return outcome;
}

}  // namespace evener::job
