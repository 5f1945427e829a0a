// evener plan: compares placements for a training before it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "options/command.h"
#include "options/output.h"
#include "train/plan_job.h"
#include "train/progress.h"

namespace evener::training {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  evener plan mlp:784-256-10 --data mnist/ --batch 64
  evener plan resnet34 --data synth:masks --size 197x148 --batch 32 --precision bf16
  evener plan resnet18 --data photos/ --size 224x224 --on cpu/t4,2xcpu/t2,4xcpu/t1 --seconds 60
  evener plan resnet18 --data photos/ --size 224x224 --for energy --assume-power cpu=65W,idle=20W --precision auto
  evener plan resnet18 --data photos/ --size 224x224 --epochs 30 --deadline 90 --json plan.json
'evener train ... --on auto' does the same before it trains.)";

int tell_plan(const PlanFlags& flags) {
  const std::string& json_target = *flags.output.json;
  TrainProgress progress(0, *flags.output.quiet || json_target == "-");
  const PlanOutcome outcome = run_plan(flags, progress);
  nlohmann::ordered_json json = comparison_json(outcome.comparison);
  json["work"] = outcome.work;
  if (!write_json(json_target, json)) {
    fmt::print("{}\n\n{}", outcome.work, comparison_text(outcome.comparison));
  }
  require_within_limits(outcome.comparison);
  if (!outcome.comparison.best) {
    throw Error("none of the placements can be used here; the reasons stand with each of them");
  }
  return 0;
}

}  // namespace

Command plan_command() {
  const auto flags = std::make_shared<PlanFlags>();
  return {.name = "plan",
          .summary = "Measure briefly how fast and how frugal a training is on every placement",
          .options = flags->options(),
          .footer = kPlanExamples,
          .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
          .run = [flags] { return tell_plan(*flags); }};
}

}  // namespace evener::training
