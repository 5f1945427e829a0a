// evener plan: measures for some seconds how fast a training would be on every placement, and names the best.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/planning.h"
#include "cli/train_options.h"
#include "measure/phase_recorder.h"

namespace evener::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  evener plan mlp:784-256-10 --data mnist/ --batch 64
  evener plan resnet34 --data synth:masks --size 197x148 --batch 32 --precision bf16
  evener plan resnet18 --data photos/ --size 224x224 --on cpu/t4,2xcpu/t2,4xcpu/t1 --seconds 60
  evener plan resnet18 --data photos/ --size 224x224 --json plan.json
'evener train ... --on auto' does the same before it trains.)";

/// What makes no difference to the speed of a step, or belongs to a run.
constexpr const char* kNotForPlans[] = {"--epochs",
                                        "--lr",
                                        "--schedule",
                                        "--warmup",
                                        "--nesterov",
                                        "--weight-decay",
                                        "--label-smoothing",
                                        "--patience",
                                        "--restarts",
                                        "--elastic",
                                        "--out",
                                        "--trace",
                                        "--resume",
                                        "--sample-interval",
                                        "--until-accuracy",
                                        "--dry-run",
                                        "--overwrite",
                                        "--validate-every",
                                        "--plan-seconds"};

class Observer : public task::TrainObserver {
 public:
  explicit Observer(TrainProgress& progress) : progress_(progress) {}
  void on_loading(task::LoadingStep step, std::size_t done, std::size_t images) override {
    progress_.loading(step, done, images);
  }

 private:
  TrainProgress& progress_;
};

int run_plan(TrainFlags flags) {
  if (flags.plan_seconds <= 0) {
    throw UsageError(fmt::format("--seconds is {}; it has to be more than 0", flags.plan_seconds));
  }
  flags.quiet = flags.quiet || flags.json == "-";
  TrainProgress progress(0, flags.quiet);
  Observer observer(progress);
  TrainFlags anywhere = flags;  // `on` is a list here
  anywhere.on = "auto";
  task::TrainOptions options = train_options(flags, plan_of(anywhere));
  const std::vector<plan::Candidate> candidates = candidates_of(flags);
  options.candidates = plans_of(candidates);
  measure::PhaseRecorder phases;  // a run has one too, and it costs time
  const measure::PhaseListening listening(phases);
  std::optional<plan::Comparison> comparison;
  std::string heading;
  options.choose_plan = [&](const task::Trials& trials) {
    progress.finish();
    comparison = compare_placements(candidates, trials, flags.plan_seconds, progress.line());
    heading = fmt::format("{}; batch {}, {}", setup_text(trials.setup()), trials.batch(), flags.precision);
  };
  const task::TrainJob job(options, observer);
  if (!flags.json.empty()) {
    nlohmann::ordered_json json = comparison_json(*comparison);
    json["work"] = heading;
    const std::string text = json.dump(2) + "\n";
    if (flags.json == "-") {
      std::fputs(text.c_str(), stdout);
    } else {
      write_file_atomically(flags.json, text);
    }
  }
  if (flags.json != "-") fmt::print("{}\n\n{}", heading, comparison_text(*comparison));
  if (!comparison->best) throw Error("none of the placements can be used here; the reasons stand with each of them");
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Measure briefly how fast a training is on every placement");
  const auto flags = std::make_shared<TrainFlags>();
  flags->on = "auto";
  add_train_options(*command, *flags);
  for (const char* name : kNotForPlans) command->remove_option(command->get_option(name));
  command->get_option("--on")->description("Placements to compare, with commas between; auto: the usual ones");
  command->get_option("--json")->description("Write the comparison there too; - is stdout, instead of the table");
  command->add_option("--seconds", flags->plan_seconds, "How long to measure, about")->capture_default_str();
  command->footer(kExamples);
  command->callback([flags, &action] { action = [flags] { return run_plan(*flags); }; });
}

}  // namespace evener::cli
