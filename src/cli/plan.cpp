// evener plan: measures for some seconds how fast a training would be on every placement, and names the best.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/planning.h"
#include "run/metered_run.h"

namespace evener::cli {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  evener plan mlp:784-256-10 --data mnist/ --batch 64
  evener plan resnet34 --data synth:masks --size 197x148 --batch 32 --precision bf16
  evener plan resnet18 --data photos/ --size 224x224 --on cpu/t4,2xcpu/t2,4xcpu/t1 --seconds 60
  evener plan resnet18 --data photos/ --size 224x224 --json plan.json
'evener train ... --on auto' does the same before it trains.)";

/// A training's options, and a time for measuring instead of those that belong to a run.
struct PlanFlags : TrainFlags {
  struct Probing : OptionGroup {
    Probing() : OptionGroup("Measuring") {}

    Option<double> seconds{
        *this, {"--seconds", "SECONDS", "How long to measure, about"}, 15, {.range = more_than_zero()}};
  };
  Probing probing;

  PlanFlags() {
    placement.on.preset("auto");
    placement.on.explain("Placements to compare, with commas between; auto: the usual ones");
    output.json.explain("Write the comparison there too; - is stdout, instead of the table");
  }

  OptionSet options() {
    OptionSet options = TrainFlags::options();
    options.leave_out([](const OptionBase& option) { return !option.rules().in_plans; });
    options.add(probing);
    return options;
  }
};

class PlanObserver : public task::TrainObserver {
 public:
  explicit PlanObserver(TrainProgress& progress) : progress_(progress) {}
  void on_loading(task::LoadingStep step, std::size_t done, std::size_t images) override {
    progress_.loading(step, done, images);
  }

 private:
  TrainProgress& progress_;
};

int run_plan(const PlanFlags& flags) {
  if (!flags.optimisation.batch_size()) {
    throw UsageError("plan compares placements for a batch of one size: give --batch a number");
  }
  const std::string& json_target = *flags.output.json;
  TrainProgress progress(0, *flags.output.quiet || json_target == "-");
  PlanObserver observer(progress);
  task::TrainOptions options = train_options(flags, plan_of(flags, "auto"));  // --on is a list here
  const std::vector<plan::Candidate> candidates = candidates_of(flags);
  options.candidates = plans_of(candidates);
  // Without a folder: what is measured here is what a run of `train` has too, and pays for.
  run::MeteredRun run({.kind = "plan", .version = EVENER_VERSION, .json = json_target}, progress.line());
  std::optional<plan::Comparison> comparison;
  std::string heading;
  options.choose_plan = [&](const task::Trials& trials) -> std::optional<placement::Plan> {
    progress.finish();
    comparison = compare_placements(candidates, trials, *flags.probing.seconds, progress.line());
    heading = fmt::format("{}; batch {}, {}", setup_text(trials.setup()), trials.batch(), *flags.placement.precision);
    return std::nullopt;  // nothing is trained
  };
  run.measure([&] {
    const task::TrainJob job(options, observer);
    return run.record();
  });
  nlohmann::ordered_json json = comparison_json(*comparison);
  json["work"] = heading;
  if (!write_json(json_target, json)) fmt::print("{}\n\n{}", heading, comparison_text(*comparison));
  if (!comparison->best) throw Error("none of the placements can be used here; the reasons stand with each of them");
  return 0;
}

}  // namespace

Command plan_command() {
  const auto flags = std::make_shared<PlanFlags>();
  return {.name = "plan",
          .summary = "Measure briefly how fast a training is on every placement",
          .options = flags->options(),
          .footer = kPlanExamples,
          .complete = [flags] { choose_detector_defaults(*flags); },
          .run = [flags] { return run_plan(*flags); }};
}

}  // namespace evener::cli
