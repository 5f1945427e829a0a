// Chooses among placements whose figures are known, and tells which of them nothing beats in time and energy.
// Figures and notes of placements whose replicas are divided into stages.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/names.h"
#include "base/plural.h"
#include "train/placements/planner.h"

namespace evener::training {
namespace {

/// Figures that differ by less count as equal however precise they are, because the next run may differ by as much.
constexpr double kSame = 0.02;
/// A simpler placement is preferred only if it is worse by less than this share.
constexpr double kNearly = 0.05;
/// The noise assumed where it is unknown: typical errors of predictions and of single rounds.
constexpr double kUnknownNoise = 0.15;
constexpr double kJoulesPerWattHour = 3600;

/// How a choice is put into words.
struct Words {
  const char* best;    // "X is ..."
  const char* better;  // "which is ..."
  const char* as;      // "X is as ... as Y"
};

const Words& words_of(Objective objective) {
  static constexpr std::array<Words, 4> kWords{{{"the fastest", "faster", "fast"},
                                                {"the most frugal", "more frugal", "frugal"},
                                                {"the best by energy x time", "better by energy x time", "good"},
                                                {"the cheapest", "cheaper", "cheap"}}};
  return kWords.at(static_cast<std::size_t>(objective));
}

double or_unknown(const std::optional<double>& noise) {
  return noise.value_or(kUnknownNoise);
}

std::size_t threads_of(const Row& row) {
  std::size_t threads = 0;
  for (const auto& replica : row.plan.replicas) {
    for (const auto& stage : replica.stages) threads += static_cast<std::size_t>(stage.threads);
  }
  return threads;
}

bool simpler(const Row& a, const Row& b) {
  return std::tuple(a.plan.processes.size(), a.plan.replicas.size(), threads_of(a)) <
         std::tuple(b.plan.processes.size(), b.plan.replicas.size(), threads_of(b));
}

std::string why_simpler(const Row& row, const Row& other) {
  if (row.plan.processes.size() < other.plan.processes.size()) {
    return fmt::format("{} instead of {}", counted(row.plan.processes.size(), "process", "processes"),
                       other.plan.processes.size());
  }
  return fmt::format("{} instead of {}", counted(threads_of(row), "thread"), threads_of(other));
}

/// The share by which two equally good placements may seem to differ.
double noise_between(const Judged& a, const Judged& b) {
  return std::hypot(or_unknown(a.noise), or_unknown(b.noise));
}

/// The share of `other` that `best` saves.
double saving(const Judged& best, const Judged& other) {
  return 1 - best.value / other.value;
}

bool better_than_noise(const Judged& a, const Judged& b) {
  return saving(a, b) > std::max(noise_between(a, b), kSame);
}

/// Whether a value with noise keeps to a limit. kUntold: the noise is as large as the value, so that any limit would
/// do.
enum class Keeping { kSurely, kPerhaps, kUntold, kNot };
Keeping keeping_to(double value, double noise, double limit) {
  if (value * (1 + noise) <= limit) return Keeping::kSurely;
  if (noise >= 1) return Keeping::kUntold;
  return value * (1 - noise) <= limit ? Keeping::kPerhaps : Keeping::kNot;
}

/// The noise of joules, which are a power times a time.
double joules_noise(const Row& row) {
  return std::hypot(or_unknown(row.noise), or_unknown(row.power ? row.power->noise : std::nullopt));
}

/// Seconds and joules of the whole training that the goal's limits are for. The power is taken to be that of training.
double job_seconds(const Row& row, const Goal& goal) {
  return goal.epochs * row.epoch_s();
}

std::optional<double> job_joules(const Row& row, const Goal& goal) {
  return row.power ? std::optional(row.power->watts * job_seconds(row, goal)) : std::nullopt;
}

/// How a row keeps to all of the goal's limits. What draws nobody knows how much keeps to no budget.
Keeping keeping(const Row& row, const Goal& goal) {
  Keeping worst = Keeping::kSurely;
  if (goal.deadline_s) worst = keeping_to(job_seconds(row, goal), or_unknown(row.noise), *goal.deadline_s);
  if (!goal.budget_j) return worst;
  const auto joules = job_joules(row, goal);
  return joules ? std::max(worst, keeping_to(*joules, joules_noise(row), *goal.budget_j)) : Keeping::kNot;
}

/// How many times the limit it exceeds most the row's training takes.
double excess(const Row& row, const Goal& goal) {
  double most = 0;
  if (goal.deadline_s) most = job_seconds(row, goal) / *goal.deadline_s;
  if (!goal.budget_j) return most;
  const auto joules = job_joules(row, goal);
  return joules ? std::max(most, *joules / *goal.budget_j) : std::numeric_limits<double>::infinity();
}

/// "14 min", "14 min and 3.2 Wh": what the goal's limits are about.
std::string job_text(const Row& row, const Goal& goal) {
  std::string text;
  if (goal.deadline_s) text = duration_text(job_seconds(row, goal));
  if (const auto joules = job_joules(row, goal); goal.budget_j && joules) {
    text += fmt::format("{}{:.3g} Wh", text.empty() ? "" : " and ", *joules / kJoulesPerWattHour);
  }
  return text;
}

/// ", which may keep to it ...", for what doesn't surely do so.
std::string doubt_text(const Row& row, const Goal& goal) {
  const Keeping kept = keeping(row, goal);
  if (kept == Keeping::kPerhaps) return ", which may keep to it as far as the noise tells";
  if (kept != Keeping::kUntold) return "";
  return fmt::format(
      ", of which the noise of +-{:.0f} % tells nothing; --seconds more, or a quieter machine, would tell",
      100 * (goal.budget_j ? joules_noise(row) : or_unknown(row.noise)));
}

std::string limits_text(const Goal& goal) {
  std::string text;
  if (goal.deadline_s) text = "ends within " + duration_text(*goal.deadline_s);
  if (goal.budget_j) {
    text += fmt::format("{}stays below {:.3g} Wh", text.empty() ? "" : " and ", *goal.budget_j / kJoulesPerWattHour);
  }
  return text;
}

/// Chooses among some of the rows, which are sorted by the goal.
class Chooser {
 public:
  Chooser(const std::vector<Row>& rows, const Goal& goal, std::vector<std::size_t> among)
      : rows_(rows), goal_(goal), words_(words_of(goal.objective)), among_(std::move(among)) {
    for (const std::size_t i : among_) judged_.push_back(*judge(rows[i], goal));
  }

  RowChoice choose() const {
    if (auto choice = choice_without_stages()) return *choice;
    std::size_t best = 0;
    std::optional<std::size_t> rival;  // the best row that may be as good as the first within the noise
    for (std::size_t i = 1; i < among_.size(); ++i) {
      if (nearly_as_good(i) && simpler(row(i), row(best))) best = i;
      if (!better_than_noise(judged_[0], judged_[i]) && !rival) rival = i;
    }
    if (among_.size() == 1) return {among_[0], row(0).text + " is the only one that can be used", true};
    if (best != 0) {
      return {
          among_[best],
          fmt::format("{} is as {} as {} within the noise ({:.0f} % apart), and simpler: {}", row(best).text, words_.as,
                      row(0).text, 100 * saving(judged_[0], judged_[best]), why_simpler(row(best), row(0))),
          false};
    }
    if (rival) {
      return {
          among_[0],
          fmt::format("{} is taken, {} as far as was measured, but the noise of +-{:.0f} % leaves open which is {}; "
                      "--seconds more, or a quieter machine, would tell",
                      row(0).text, against(*rival), 100 * noise_between(judged_[*rival], judged_[0]), words_.better),
          false};
    }
    return {among_[0], fmt::format("{} is {}, {}", row(0).text, words_.best, against(1)), true};
  }

 private:
  const Row& row(std::size_t i) const { return rows_[among_[i]]; }

  bool nearly_as_good(std::size_t i) const {
    return saving(judged_[0], judged_[i]) <= std::clamp(noise_between(judged_[0], judged_[i]), kSame, kNearly);
  }

  /// The first row against another: "1.28 times cpu/t2" by speed, else "0.42 J an image where cpu/t2 takes 1.31 times
  /// as much".
  std::string against(std::size_t other) const {
    const double ratio = judged_[other].value / judged_[0].value;
    if (goal_.objective == Objective::kTime) return fmt::format("{:.2f} times {}", ratio, row(other).text);
    const std::string own =
        goal_.objective == Objective::kEnergy ? record::joules_text(judged_[0].value) + " an image, where" : "where";
    return fmt::format("{} {} takes {:.2f} times as much", own, row(other).text, ratio);
  }

  /// If the best row has stages and a row without may be as good, the choice among all rows without stages.
  std::optional<RowChoice> choice_without_stages() const {
    if (!is_staged(row(0))) return {};
    std::vector<std::size_t> others;
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < among_.size(); ++i) {
      if (is_staged(row(i))) continue;
      if (!first) first = i;
      others.push_back(among_[i]);
    }
    if (!first || better_than_noise(judged_[0], judged_[*first])) return {};
    RowChoice choice = Chooser(rows_, goal_, others).choose();
    choice.decided = false;
    choice.reason += fmt::format(" without stages; {} was no {} than the noise of +-{:.0f} %", row(0).text,
                                 words_.better, 100 * noise_between(judged_[0], judged_[*first]));
    return choice;
  }

  const std::vector<Row>& rows_;
  const Goal& goal_;
  const Words& words_;
  const std::vector<std::size_t> among_;
  std::vector<Judged> judged_;
};

/// The choice where no row surely keeps to the limits: the one that exceeds them least.
RowChoice nearest_to_limits(const std::vector<Row>& rows, const Goal& goal, const std::vector<std::size_t>& usable) {
  const std::size_t nearest =
      *std::ranges::min_element(usable, {}, [&](std::size_t i) { return excess(rows[i], goal); });
  if (goal.budget_j && !rows[nearest].power) {
    return {nearest, fmt::format("nothing surely {}, as no energy is known", limits_text(goal)), false, false};
  }
  const std::string doubt = doubt_text(rows[nearest], goal);
  return {nearest,
          fmt::format("{} {}: the nearest is {} with {}{}", doubt.empty() ? "nothing" : "nothing surely",
                      limits_text(goal), rows[nearest].text, job_text(rows[nearest], goal), doubt),
          false, false};
}

/// A row that is better than the chosen one by the goal, but doesn't surely keep to the limits.
std::string told_of_doubtful(const std::vector<Row>& rows, const Goal& goal, std::size_t chosen) {
  for (std::size_t i = 0; i < chosen; ++i) {
    if (!judge(rows[i], goal)) continue;
    const std::string doubt = doubt_text(rows[i], goal);
    if (doubt.empty()) continue;
    return fmt::format("; {} would be {} with {}{}", rows[i].text, words_of(goal.objective).better,
                       job_text(rows[i], goal), doubt);
  }
  return "";
}

/// What slows a pipeline down, for a note.
std::string why_slower(const Row::Pipeline& pipeline) {
  std::string text = pipeline.micro_batches == 1
                         ? "a batch passes in one piece, so that one stage computes at a time"
                         : fmt::format("the stages wait {:.0f} % of the time, with {}", 100 * pipeline.bubble,
                                       counted(pipeline.micro_batches, "micro-batch", "micro-batches"));
  constexpr double kNotable = 1.05;
  if (pipeline.cost_of_parts && *pipeline.cost_of_parts > kNotable) {
    text +=
        fmt::format(", in which an image takes {:.2f} times what it takes in a whole batch", *pipeline.cost_of_parts);
  }
  return text;
}

std::string speed_text(const Row& row) {
  if (row.basis == Basis::kPredicted) return fmt::format("{} images/s predicted", si_text(row.images_per_s));
  return fmt::format("{} images/s measured, {} predicted", si_text(row.images_per_s),
                     si_text(row.pipeline->predicted_images_per_s));
}

}  // namespace

std::optional<Judged> judge(const Row& row, const Goal& goal) {
  if (!row.refusal.empty() || row.images_per_s <= 0) return std::nullopt;
  const double image_s = 1 / row.images_per_s;
  if (goal.objective == Objective::kTime) return Judged{image_s, row.noise};
  if (goal.objective == Objective::kCost && goal.price.per_kwh == 0) {
    return Judged{goal.price.of(image_s, 0), row.noise};
  }
  if (!row.power) return std::nullopt;
  const double joules = row.power->watts * image_s;
  const double watts_noise = or_unknown(row.power->noise), time_noise = or_unknown(row.noise);
  if (goal.objective == Objective::kEnergy) return Judged{joules, joules_noise(row)};
  if (goal.objective == Objective::kEdp) return Judged{joules * image_s, std::hypot(watts_noise, 2 * time_noise)};
  const double cost = goal.price.of(image_s, row.power->watts);
  const double share_of_energy = 1 - goal.price.of(image_s, 0) / cost;
  return Judged{cost, std::hypot(share_of_energy * watts_noise, time_noise)};
}

RowChoice choose(const std::vector<Row>& rows, const Goal& goal) {
  std::vector<std::size_t> usable, keep;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!judge(rows[i], goal)) continue;
    usable.push_back(i);
    if (keeping(rows[i], goal) == Keeping::kSurely) keep.push_back(i);
  }
  const bool limited = goal.deadline_s || goal.budget_j;
  if (!limited) return Chooser(rows, goal, usable).choose();
  if (keep.empty()) return nearest_to_limits(rows, goal, usable);
  RowChoice choice = Chooser(rows, goal, keep).choose();
  const std::string doubtful = told_of_doubtful(rows, goal, choice.row);
  choice.decided = choice.decided && doubtful.empty();
  choice.reason = fmt::format("of what {}: {} ({} for {}){}", limits_text(goal), choice.reason,
                              job_text(rows[choice.row], goal), counted(goal.epochs, "epoch"), doubtful);
  return choice;
}

std::vector<std::optional<std::size_t>> beaten_by(const std::vector<Row>& rows) {
  const Goal by_time{.objective = Objective::kTime}, by_energy{.objective = Objective::kEnergy};
  std::vector<std::optional<std::size_t>> beaten(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size() && !beaten[i]; ++j) {
      const auto time = judge(rows[i], by_time), other_time = judge(rows[j], by_time);
      const auto energy = judge(rows[i], by_energy), other_energy = judge(rows[j], by_energy);
      if (i == j || !energy || !other_energy) continue;
      const bool no_worse = other_time->value <= time->value && other_energy->value <= energy->value;
      if (no_worse && (better_than_noise(*other_time, *time) || better_than_noise(*other_energy, *energy)))
        beaten[i] = j;
    }
  }
  return beaten;
}

bool is_staged(const Row& row) {
  return !row.plan.replicas.empty() && placement::stage_count(row.plan) > 1;
}

std::optional<double> cost_of_parts(const Row& row, const StageForecast& forecast, double alone_s) {
  double parts_s = 0;  // computing time of all stages of all replicas for a batch
  const std::string kind = kind_of({0, {row.plan.replicas[0].stages[0]}, {}});
  for (std::size_t r = 0; r < row.plan.replicas.size(); ++r) {
    for (const auto& stage : row.plan.replicas[r].stages) {
      if (kind_of({0, {stage}, {}}) != kind) return {};
    }
    for (const auto& times : forecast.replicas[r]) {
      parts_s += forecast.micro_batches * (times.forward_s + times.backward_s + times.weights_s);
    }
  }
  return parts_s / alone_s;
}

std::vector<std::string> pipeline_notes(const std::vector<Row>& rows) {
  const auto rival = std::ranges::find_if(rows, [](const Row& row) { return row.refusal.empty() && !is_staged(row); });
  std::vector<std::string> notes;
  for (const Row& row : rows) {
    if (!row.refusal.empty() || !row.pipeline) continue;
    std::string text = row.text;
    if (rival == rows.end()) {
      text += fmt::format(": {}; ", speed_text(row));
    } else {
      text += fmt::format(" {}: {}, {:.2f} times {}; ",
                          better_than_noise(*judge(row, {}), *judge(*rival, {})) ? "pays" : "doesn't pay",
                          speed_text(row), row.images_per_s / rival->images_per_s, rival->text);
    }
    notes.push_back(text + why_slower(*row.pipeline));
  }
  return notes;
}

}  // namespace evener::training
