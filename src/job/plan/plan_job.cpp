#include "job/plan/plan_job.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/version.h"
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
  output.json.explain("Write the comparison there too; - is stdout, instead of the table");
}

OptionSet PlanFlags::options() {
  OptionSet options = TrainFlags::options();
  options.leave_out([](const OptionBase& option) { return !option.rules().in_plans; });
  options.add(probing);
  return options;
}

PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (!flags.optimisation.batch_size()) {
    throw UsageError("plan compares placements for a batch of one size: give --batch a number");
  }
  LoadingObserver observer(watcher);
  task::TrainOptions options = train_options(flags, plan_of(flags, "auto"));  // --on is a list here
  const std::vector<plan::Candidate> candidates = candidates_of(flags);
  options.candidates = plans_of(candidates);
  run::MeteredRun run({.kind = "plan", .version = program_version(), .json = *flags.output.json}, watcher);
  PlanOutcome outcome;
  options.choose_plan = [&](const task::Trials& trials) -> std::optional<placement::Plan> {
    watcher.finish();
    outcome.comparison = compare_placements(candidates, trials, *flags.probing.seconds, watcher);
    outcome.work =
        fmt::format("{}; batch {}, {}", setup_text(trials.setup()), trials.batch(), *flags.placement.precision);
    return std::nullopt;  // nothing is trained
  };
  run.measure([&] {
    const task::TrainJob job(options, observer);
    return run.record();
  });
  return outcome;
}

}  // namespace evener::job
