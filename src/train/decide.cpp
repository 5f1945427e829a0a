// Decides the options of a prepared training that were left open: the placement by measuring (--on auto), the batch
// by trying (--batch max), and the epochs by the time limit (--minutes).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "placement/machine.h"
#include "placement/placement.h"
#include "train/steps/training_memory.h"
#include "train/training.h"

namespace evener::training {
namespace {

/// Seconds that are left of --minutes, where it is given.
double left_s(const TrainFlags& flags) {
  return flags.end_by_s().value_or(now_s()) - now_s();
}

std::string decide_plan(const TrainFlags& flags, const std::vector<Candidate>& candidates, PreparedTraining& training,
                        measure::Observer& progress) {
  const Comparison comparison =
      compare_placements(flags, candidates, training, *flags.measuring.plan_seconds, progress);
  require_within_limits(comparison);
  if (!comparison.best) throw UsageError("--on auto: no placement can be used\n" + refusals_text(comparison));
  const Row& best = comparison.rows[*comparison.best];
  training.take_plan(best.plan);
  return fmt::format("--on auto: {} ({} of measuring; about {} images/s){}", comparison.reason,
                     duration_text(comparison.seconds), si_text(best.images_per_s),
                     comparison.others.empty() ? "" : "; " + comparison.others);
}

std::string decide_epochs(const TrainFlags& flags, PreparedTraining& training, measure::Observer& progress) {
  constexpr double kTrialShare = 0.05, kLeastTrial_s = 1, kMostTrial_s = 10;
  const Trials trials(training);
  const TrainSetup& setup = trials.setup();
  progress.show("timing steps, to see how many epochs fit");
  const double seconds = std::clamp(kTrialShare * left_s(flags), kLeastTrial_s, kMostTrial_s);
  const EpochCost cost =
      no_longer_than(epoch_cost(trials.run(training.options().plan, seconds),
                                {setup.train_images, setup.val_images, setup.test_images, trials.batch()}),
                     flags.tried_epoch_s);
  progress.finish();
  const int head = setup.begins_with_head ? 1 : 0;
  const int most = most_epochs({.given = flags.optimisation.epochs.given(),
                                .epochs = *flags.optimisation.epochs,
                                .has_weights = !flags.model.weights->empty(),
                                .wants_time = flags.chooses && flags.optimisation.minutes.given()});
  const int epochs = std::min(most, head + epochs_within(left_s(flags), cost, most));
  training.take_epochs(epochs);
  return epochs_text(flags.optimisation.minutes->value_or(0), epochs, most, cost);
}

}  // namespace

std::vector<Candidate> candidates_of(const TrainFlags& flags) {
  const placement::Machine& machine = placement::machine();
  const placement::PlanOptions options = plan_options(flags);
  std::vector<Candidate> candidates;
  const std::vector<std::string> usual = usual_placements(machine);
  const bool takes_usual = ("," + *flags.placement.on + ",").find(",auto,") != std::string::npos;
  const auto is_usual = [&](const std::string& text) {
    return takes_usual && std::ranges::find(usual, text) != usual.end();
  };
  for (const std::string& text : placements_of(*flags.placement.on, machine)) {
    candidates.push_back(resolve(text, machine, options));
    candidates.back().asked = !is_usual(text);
  }
  return candidates;
}

std::vector<placement::Plan> plans_of(const std::vector<Candidate>& candidates) {
  std::vector<placement::Plan> plans;
  for (const Candidate& candidate : candidates) {
    if (!candidate.plan || !placement::why_not_runnable(*candidate.plan).empty()) continue;
    // Candidates with stages that the user didn't name are left out, lest they decide which engine is chosen.
    if (candidate.asked || placement::stage_count(*candidate.plan) == 1) plans.push_back(*candidate.plan);
  }
  return plans;
}

Comparison compare_placements(const TrainFlags& flags, const std::vector<Candidate>& candidates,
                              PreparedTraining& training, double seconds, measure::Observer& progress) {
  const Trials trials(training);
  const auto probe = make_probe(training, [&](const placement::Plan& plan) { return flags.energy.options(plan); });
  Comparison comparison =
      compare(candidates, work_of(trials), *probe, seconds, flags.goal.goal(training.options().epochs),
              [&](const std::string& text) { progress.show("trying " + text); });
  progress.finish();
  if (comparison.best && placement::stage_count(comparison.rows[*comparison.best].plan) == 1) {
    const Row& best = comparison.rows[*comparison.best];
    comparison.notes.push_back(
        best.text + ": " +
        memory_text(
            estimated_memory(trials.setup().network, training_work(trials.options(), best.plan, trials.setup()))));
  }
  if (const auto& kinds = placement::machine().cpu.kinds; !kinds.empty()) {
    const auto fastest = placement::fastest_cores(placement::machine());
    comparison.notes.push_back(
        fmt::format("the cores are not alike: {}{}", kinds_text(kinds),
                    fastest ? fmt::format("; cpu/t{} has a thread for each of the fastest", *fastest) : ""));
  }
  return comparison;
}

void require_within_limits(const Comparison& comparison) {
  if (comparison.within_limits) return;
  const bool is_unknown = comparison.goal.budget_j && !comparison.energy_refusal.empty();
  throw UsageError(comparison.reason +
                   (is_unknown ? ": " + comparison.energy_refusal : "; allow more, or train fewer --epochs"));
}

std::string refusals_text(const Comparison& comparison) {
  std::string text;
  for (const Row& row : comparison.rows) {
    if (!row.refusal.empty()) text += fmt::format("  {}: {}\n", row.text, row.refusal);
  }
  return text;
}

bool times_epochs(const TrainFlags& flags, const placement::Plan& plan) {
  const bool is_here = flags.placement.hosts->empty() && *flags.placement.hosts_started == 0;
  return flags.end_by_s() && is_here && placement::stage_count(plan) == 1 && !flags.output.resumes() &&
         *flags.optimisation.epochs > 0;
}

std::vector<std::string> decide(const TrainFlags& flags, const std::vector<Candidate>& candidates,
                                PreparedTraining& training, measure::Observer& progress) {
  const bool by_time = times_epochs(flags, training.options().plan);
  std::vector<std::string> decisions;
  if (flags.placement.is_automatic()) decisions.push_back(decide_plan(flags, candidates, training, progress));
  if (training.options().finds_batch) decisions.push_back(take_largest_batch(training));
  if (by_time) decisions.push_back(decide_epochs(flags, training, progress));
  return decisions;
}

EpochCost epoch_cost(const TrialResult& trial, const EpochWork& work) {
  constexpr double kForwardShare = 1.0 / 3;
  EpochCost cost;
  if (trial.sizes.empty()) return cost;
  const TrialSteps& widest = trial.sizes.back();
  const double step_s = median(widest.seconds).value_or(0);
  const double image_s = step_s / static_cast<double>(std::max<std::int64_t>(1, widest.images));
  const auto images = static_cast<double>(work.train_images);
  // The time of a step with fewer images than a batch is converted per image, as it isn't that of a whole batch.
  const double steps = widest.images >= work.batch ? std::ceil(images / static_cast<double>(work.batch)) : 0;
  cost.train_s = steps > 0 ? steps * step_s : images * image_s;
  const double judged_s = trial.evaluate_images_per_s ? 1 / *trial.evaluate_images_per_s : kForwardShare * image_s;
  cost.validate_s = static_cast<double>(work.val_images) * judged_s;
  cost.test_s = static_cast<double>(work.test_images) * judged_s;
  return cost;
}

EpochCost no_longer_than(EpochCost cost, double epoch_s) {
  if (epoch_s <= 0 || epoch_s >= cost.epoch_s()) return cost;
  const double scale = epoch_s / cost.epoch_s();
  return {cost.train_s * scale, cost.validate_s * scale, cost.test_s * scale};
}

int most_epochs(const EpochWish& wish) {
  constexpr int kFromScratch = 100, kManyFromScratch = 1000;  // small images have short epochs
  constexpr int kLongerTuning = 5;                            // the best weights are kept, and --patience ends it
  if (wish.given) return wish.epochs;
  if (wish.has_weights) return wish.wants_time ? kLongerTuning * wish.epochs : wish.epochs;
  return wish.wants_time ? kManyFromScratch : kFromScratch;
}

int epochs_within(double seconds, const EpochCost& cost, int most) {
  constexpr double kUsed = 0.9;
  if (cost.epoch_s() <= 0) return most;
  const double fitting = (kUsed * seconds - cost.test_s) / cost.epoch_s();
  return static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(most)));
}

std::string epochs_text(double minutes, int epochs, int most, const EpochCost& cost) {
  const std::string why = epochs == most ? ", which is the most that are taken unless --epochs says more" : "";
  return fmt::format("--minutes {}: {}, {} about {} as measured{}", si_text(minutes), counted(epochs, "epoch"),
                     epochs == 1 ? "of" : "each of", duration_text(cost.epoch_s()), why);
}

}  // namespace evener::training
