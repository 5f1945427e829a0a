#include "train/placements/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "base/error.h"
#include "base/names.h"
#include "base/statistics.h"
#include "engine/engine.h"
#include "network/cost.h"
#include "record/statistics.h"
#include "train/steps/limits.h"
#include "train/steps/training_memory.h"

namespace evener::training {
namespace {

/// The share of the time for a first round of all candidates; the rest is for a second round of those that may be the
/// best.
constexpr double kFirstShare = 0.6;
/// A placement below this share of the best one's speed can't be the best, whatever the noise.
constexpr double kContender = 0.75;
/// The shortest useful trial: start and warm-up, and this many steps on the whole batch.
constexpr double kStart_s = 0.3;
constexpr double kSteps = 6;
/// Other programs may use this share of the CPUs without a note; the validity rules have the same limit.
constexpr double kQuiet = 0.05;

double mean_of(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// All trials of one plan and the figures over them.
struct Rounds {
  std::vector<Trial> trials;
  std::string failure;  // why a trial failed; "" = none did

  /// The trial with the largest batch. `trials` must not be empty.
  const Trial& widest() const {
    return *std::ranges::max_element(trials, {}, [](const Trial& trial) { return trial.timings.back().images; });
  }
  /// The step model fitted to the mean times, over all trials, of the batch sizes that widest() has.
  StepModel step() const {
    std::vector<Timing> means;
    for (const Timing& size : widest().timings) {
      Timing mean{size.images, 0};
      double count = 0;
      for (const Trial& trial : trials) {
        for (const Timing& other : trial.timings) {
          if (other.images != size.images) continue;
          mean.seconds += other.seconds;
          ++count;
        }
      }
      mean.seconds /= count;
      means.push_back(mean);
    }
    return fit_step(means);
  }
  /// The uncertainty of the step time at the largest size, as a share of it: half of the 95 % interval over all trials'
  /// blocks, or if that is more half of the difference between trials, or what the median doesn't see of blocks that
  /// last longer than most. Absent if there are too few blocks for an interval.
  std::optional<double> noise() const {
    std::vector<double> blocks;
    double low = 0, high = 0;
    for (const Trial& trial : trials) {
      if (!is_widest(trial)) continue;
      const double step_s = trial.timings.back().seconds;
      low = low == 0 ? step_s : std::min(low, step_s);
      high = std::max(high, step_s);
      blocks.insert(blocks.end(), trial.blocks.begin(), trial.blocks.end());
    }
    const auto interval = record::median_interval(blocks);
    const double typical_s = median(blocks).value_or(0);
    if (!interval || typical_s <= 0) return std::nullopt;
    const double unseen_s = std::abs(mean_of(blocks) - typical_s);
    return std::max({(interval->high - interval->low) / 2, (high - low) / 2, unseen_s}) / typical_s;
  }
  /// The mean power of all trials at the largest size; absent where none of them knows it.
  std::optional<double> watts() const {
    double joules = 0, seconds = 0;
    for (const Trial& trial : trials) {
      if (!is_widest(trial) || trial.power.watts.empty()) continue;
      joules += mean_of(trial.power.watts) * trial.power.seconds;
      seconds += trial.power.seconds;
    }
    return seconds > 0 ? std::optional(joules / seconds) : std::nullopt;
  }
  /// Its uncertainty as a share of it: half of the 95 % interval by Student's t, or half of the difference between
  /// trials if that is more. Absent for fewer than five parts.
  std::optional<double> watts_noise() const {
    constexpr std::size_t kFewest = 5;
    std::vector<double> all;
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const Trial& trial : trials) {
      if (!is_widest(trial) || trial.power.watts.empty()) continue;
      all.insert(all.end(), trial.power.watts.begin(), trial.power.watts.end());
      low = std::min(low, mean_of(trial.power.watts));
      high = std::max(high, mean_of(trial.power.watts));
    }
    if (all.size() < kFewest) return std::nullopt;
    const double mean = mean_of(all), count = static_cast<double>(all.size());
    double squares = 0;
    for (const double watts : all) squares += (watts - mean) * (watts - mean);
    const double half = student_quantile(0.975, count - 1) * std::sqrt(squares / (count - 1) / count);
    return mean > 0 ? std::optional(std::max(half, (high - low) / 2) / mean) : std::nullopt;
  }

 private:
  /// Whether the trial came as far as the largest size.
  bool is_widest(const Trial& trial) const { return trial.timings.back().images == widest().timings.back().images; }
};

/// The step model of `replica` with a share of `images`: the line through the simulated times of a step with all
/// micro-batches and with half of them.
StepModel step_of_stages(const StageForecast& forecast, std::size_t replica, double images) {
  const int all = forecast.micro_batches, half = all / 2;
  std::vector<Timing> timings;
  if (half > 0) timings.push_back({images * half / all, forecast.seconds(replica, half)});
  timings.push_back({images, forecast.seconds(replica, all)});
  return fit_step(timings);
}

class Planner {
 public:
  Planner(const Work& work, Probe& probe, double seconds, const Goal& goal,
          const std::function<void(const std::string&)>& tell)
      : work_(work), probe_(probe), tell_(tell), begin_s_(probe.now_s()), seconds_(seconds) {
    result_.goal = goal;
  }

  Comparison compare(const std::vector<Candidate>& candidates) {
    take(candidates);
    result_.loader_images_per_s = probe_.loader_images_per_s();
    result_.energy_refusal = probe_.energy_refusal();
    time_replicas();
    time_stages();
    time_exchange();
    time_groups();
    for (Row& row : result_.rows) fill(row);
    time_the_best_again();
    derive_powers();
    conclude();
    return std::move(result_);
  }

 private:
  static bool is_group(const Row& row) { return row.plan.replicas.size() > 1; }
  /// Whether the placement has several ranks, so that its step can be predicted from single ones.
  static bool is_compound(const Row& row) { return is_group(row) || is_staged(row); }
  double left_s() const { return begin_s_ + seconds_ - probe_.now_s(); }

  void take(const std::vector<Candidate>& candidates) {
    std::map<std::string, std::string> placements_of_warning;
    for (const Candidate& candidate : candidates) {
      Row row;
      row.text = key(candidate.precision, candidate.text);
      row.precision = candidate.precision;
      row.refusal = candidate.refusal;
      row.asked = candidate.asked;
      if (candidate.plan) {
        row.plan = *candidate.plan;
        row.refusal = refusal_of(row);
        for (const std::string& warning : placement::all_warnings(row.plan)) {
          std::string& warned = placements_of_warning[warning];
          warned += (warned.empty() ? "" : ", ") + row.text;
        }
      }
      result_.rows.push_back(std::move(row));
    }
    for (const auto& [warning, placements] : placements_of_warning) {
      result_.notes.push_back(placements + ": " + warning);
    }
  }

  /// Why the row's plan can't train in its precision; "" = it can.
  std::string refusal_of(const Row& row) {
    try {
      probe_.set(row.precision);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      return error.what();
    }
    return probe_.refusal(row.plan);
  }

  /// What is known of a plan in a precision is kept under this.
  static std::string key(std::optional<Precision> precision, const std::string& plan) {
    return precision ? plan + " " + precision_name(*precision) : plan;
  }

  /// Tries `plan` once more.
  void add_round(std::optional<Precision> precision, const placement::Plan& plan, double seconds) {
    const std::string name = key(precision, plan.text);
    tell_(name);
    Rounds& rounds = rounds_[name];
    try {
      probe_.set(precision);
      rounds.trials.push_back(probe_.trial(plan, seconds));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      rounds.failure = error.what();
    }
  }

  bool known(const std::string& text) const {
    const auto found = rounds_.find(text);
    return found != rounds_.end() && !found->second.trials.empty();
  }

  /// Measures each kind of replica alone. For a candidate with one replica, this is already its first round.
  void time_replicas() {
    struct Alone {
      std::optional<Precision> precision;
      placement::Plan plan;
    };
    std::map<std::string, Alone> kinds;
    std::vector<std::string> order;
    std::size_t groups = 0;
    for (const Row& row : result_.rows) {
      if (!row.refusal.empty()) continue;
      if (is_compound(row)) ++groups;
      if (is_staged(row)) continue;
      for (const auto& replica : row.plan.replicas) {
        const std::string name = kind_of(replica);
        const std::string kind = key(row.precision, name);
        // Prefer a candidate's own plan to plan_alone(): its threads may be pinned, as they would be in the run.
        const bool own = !is_group(row);
        if (kinds.count(kind) == 0) order.push_back(kind);
        if (kinds.count(kind) > 0 && !own) continue;
        kinds[kind] = {row.precision, own ? row.plan : plan_alone(row.plan, replica)};
        kinds[kind].plan.text = name;
      }
    }
    for (const std::string& kind : order) {
      add_round(kinds[kind].precision, kinds[kind].plan,
                kFirstShare * seconds_ / static_cast<double>(order.size() + groups));
    }
  }

  void time_stages() {
    for (Row& row : result_.rows) {
      if (!row.refusal.empty() || !is_staged(row)) continue;
      tell_("the layers for " + row.text);
      try {
        probe_.set(row.precision);
        forecasts_[key_of(row)] = probe_.forecast(row.plan);
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& error) {
        row.refusal = error.what();
      }
    }
  }

  void time_exchange() {
    for (const Row& row : result_.rows) {
      const auto ranks = static_cast<int>(row.plan.replicas.size());
      if (!row.refusal.empty() || !is_group(row) || exchanges_.count(ranks) > 0) continue;
      exchanges_[ranks] = probe_.exchange(row.plan);
    }
  }

  double loader_speedup(const Row& row) const { return work_.loader_speedup ? work_.loader_speedup(row.plan) : 1; }
  /// For each replica.
  double loader_images_per_s(const Row& row) const { return result_.loader_images_per_s * loader_speedup(row); }

  /// The model of a row's group, from its replicas alone; absent if one of them could not be measured.
  std::optional<Group> group_of(const Row& row) const {
    Group group;
    for (std::size_t r = 0; r < row.plan.replicas.size(); ++r) {
      const auto& replica = row.plan.replicas[r];
      const std::string kind = key(row.precision, kind_of(replica));
      if (is_staged(row)) {
        const double equal = 1.0 / static_cast<double>(row.plan.replicas.size());
        group.replicas.push_back(
            step_of_stages(forecasts_.at(key_of(row)), r, work_.batch * replica.share.value_or(equal)));
      } else {
        if (!known(kind)) return std::nullopt;
        group.replicas.push_back(rounds_.at(kind).step());
      }
      if (replica.share) group.weights.push_back(*replica.share);
    }
    group.images_per_s_limit = loader_images_per_s(row);
    group.exchange_s = [this](int ranks) {
      const auto found = exchanges_.lower_bound(ranks);  // if this number wasn't measured: the next larger one
      const ExchangeModel& model = found == exchanges_.end() ? exchanges_.rbegin()->second : found->second;
      return model.seconds(work_.gradient_bytes) + work_.small_exchanges * model.latency_s;
    };
    return group;
  }

  /// The predicted seconds of a step on the whole batch; 0 if unknown.
  double predicted_s(const Row& row) const {
    const auto group = group_of(row);
    return group ? step_of_run(*group, work_.batch).seconds : 0;
  }

  /// Whether a row is worth a trial: stages that the user didn't name are tried only if the prediction puts them among
  /// the fastest.
  bool may_pay(const Row& row) const {
    if (row.asked || !is_staged(row)) return true;
    return std::ranges::none_of(result_.rows, [&](const Row& other) {
      if (!other.refusal.empty() || is_staged(other)) return false;
      const std::string kind = key(other.precision, kind_of(other.plan.replicas[0]));
      if (!is_group(other) && !known(kind)) return false;
      const double other_s = is_group(other) ? predicted_s(other) : rounds_.at(kind).step().seconds(work_.batch);
      return other_s > 0 && other_s < kContender * predicted_s(row);
    });
  }

  void time_groups() {
    std::vector<const Row*> groups;
    for (const Row& row : result_.rows) {
      if (row.refusal.empty() && is_compound(row) && may_pay(row)) groups.push_back(&row);
    }
    std::ranges::sort(groups, {}, [this](const Row* row) { return predicted_s(*row); });
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (left_s() < kStart_s + kSteps * predicted_s(*groups[i])) continue;  // the row keeps its prediction
      const double first_s = left_s() - (1 - kFirstShare) * seconds_;
      add_round(groups[i]->precision, groups[i]->plan, std::max(first_s, 0.0) / static_cast<double>(groups.size() - i));
    }
  }

  /// Tries those that may be the best once more, because the machine's load changes with time. For some this is the
  /// first trial with a whole batch.
  void time_the_best_again() {
    std::vector<Row*> contenders;
    const Goal goal = known_goal();
    double best = std::numeric_limits<double>::infinity();
    const auto value = [&](const Row& row) {
      const auto judged = judge(row, goal);
      return judged ? judged->value : std::numeric_limits<double>::infinity();
    };
    for (const Row& row : result_.rows) best = std::min(best, value(row));
    for (Row& row : result_.rows) {
      if (row.refusal.empty() && kContender * value(row) <= best) contenders.push_back(&row);
    }
    if (contenders.empty() || (contenders.size() == 1 && contenders[0]->basis == Basis::kMeasured)) return;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      Row& row = *contenders[i];
      if (left_s() < kStart_s + kSteps * work_.batch / row.images_per_s) continue;
      placement::Plan plan = row.plan;
      if (!is_compound(row)) plan.text = kind_of(row.plan.replicas[0]);
      add_round(row.precision, plan, left_s() / static_cast<double>(contenders.size() - i));
      fill(row);
    }
  }

  /// Fills in the row's figures from all trials so far.
  void fill(Row& row) {
    if (!row.refusal.empty()) return;
    const auto group = is_compound(row) ? group_of(row) : std::nullopt;
    const auto own = rounds_.find(key_of(row));
    const bool tried = own != rounds_.end() && !own->second.trials.empty();
    if (own != rounds_.end() && !own->second.failure.empty()) {
      row.refusal = own->second.failure;
      return;
    }
    if (!tried && !group) {
      row.refusal = "there was no time to measure its replicas; give --seconds more";
      return;
    }
    StepModel step;
    if (tried) {
      step = own->second.step();
      row.basis = own->second.widest().timings.back().images >= work_.batch ? Basis::kMeasured : Basis::kPredicted;
      if (row.basis == Basis::kMeasured) row.noise = own->second.noise();
      fill_power(row, own->second);
    } else {
      step = fit_step(std::vector<Timing>{{work_.batch / 2, step_of_run(*group, work_.batch / 2).seconds},
                                          {work_.batch, step_of_run(*group, work_.batch).seconds}});
      row.basis = Basis::kPredicted;
    }
    row.train_s = epoch_seconds(step, work_.train_images, work_.batch);
    row.images_per_s = work_.train_images / row.train_s;
    fill_validation(row, tried ? own->second.widest().evaluate_images_per_s : std::nullopt);
    fill_memory(row);
    if (is_staged(row)) return fill_pipeline(row, *group);
    if (group) fill_ceiling(row, group->replicas, step.seconds(work_.batch));
  }

  static std::string key_of(const Row& row) {
    return key(row.precision, is_compound(row) ? row.plan.text : kind_of(row.plan.replicas[0]));
  }

  void fill_validation(Row& row, std::optional<double> measured_rate) const {
    row.validate_basis = measured_rate ? Basis::kMeasured : Basis::kPredicted;
    const double rate = measured_rate.value_or(row.images_per_s / work_.forward_share);
    row.validate_s = work_.validation_images / rate;
  }

  void fill_memory(Row& row) const {
    if (!is_staged(row)) {
      probe_.set(row.precision);
      row.memory_bytes = work_.memory_bytes(row.plan);
      return;
    }
    const auto& stages = forecasts_.at(key_of(row)).memory_bytes;
    row.memory_bytes = static_cast<double>(row.plan.replicas.size()) *
                       static_cast<double>(std::accumulate(stages.begin(), stages.end(), std::int64_t{0}));
  }

  static void fill_power(Row& row, const Rounds& rounds) {
    row.power.reset();
    const TrialPower& power = rounds.widest().power;
    row.power_reason = power.reason;
    if (const auto watts = rounds.watts()) {
      row.power = Row::Power{*watts, *watts * power.used_share, rounds.watts_noise(), power.kind, ""};
    }
  }

  /// Gives a placement that wasn't tried the power of one that was and has as many threads on the same devices, since
  /// equally many busy cores draw about as much.
  void derive_powers() {
    for (Row& row : result_.rows) {
      if (!row.refusal.empty() || row.power) continue;
      const auto like = std::ranges::find_if(result_.rows, [&](const Row& other) {
        return other.refusal.empty() && other.power && other.power->of.empty() && other.precision == row.precision &&
               devices_of(other) == devices_of(row);
      });
      if (like == result_.rows.end()) continue;
      row.power = like->power;
      row.power->noise.reset();
      row.power->of = like->text;
      if (row.power->kind == record::EnergyClass::kMeasured) row.power->kind = record::EnergyClass::kDerived;
    }
  }

  /// The row's devices with the threads on each.
  static std::map<std::string, int> devices_of(const Row& row) {
    std::map<std::string, int> threads;
    for (const auto& replica : row.plan.replicas) {
      for (const auto& stage : replica.stages) threads[device_text(stage.device)] += stage.threads;
    }
    return threads;
  }

  /// The goal that was asked for, or by time where it needs energies and none is known. A budget stays: what draws
  /// nobody knows how much keeps to none.
  Goal known_goal() const {
    Goal goal = result_.goal;
    const bool has_power = std::ranges::any_of(result_.rows, [](const Row& row) { return row.power.has_value(); });
    if (!has_power && goal.needs_energy()) goal.objective = Objective::kTime;
    return goal;
  }

  /// `members`: the step models of the single ranks.
  void fill_ceiling(Row& row, const std::vector<StepModel>& members, double step_s) const {
    std::vector<double> rates;
    for (const StepModel& member : members) rates.push_back(work_.batch / member.seconds(work_.batch));
    row.ceiling = ceiling(rates);
    row.reached = work_.batch / step_s / *std::ranges::max_element(rates);
  }

  /// Fills in the figures of the simulated step and, if the stages' devices were measured alone, the comparison with
  /// them.
  void fill_pipeline(Row& row, const Group& group) const {
    const StageForecast& forecast = forecasts_.at(key_of(row));
    row.pipeline = Row::Pipeline{.predicted_images_per_s = work_.batch / step_of_run(group, work_.batch).seconds,
                                 .bubble = forecast.bubble(),
                                 .micro_batches = forecast.micro_batches,
                                 .cost_of_parts = {},
                                 .memory_bytes = forecast.memory_bytes};
    std::vector<StepModel> members;
    for (const auto& replica : row.plan.replicas) {
      for (const auto& stage : replica.stages) {
        const std::string kind = key(row.precision, kind_of({0, {stage}, {}}));
        if (!known(kind)) return;
        members.push_back(rounds_.at(kind).step());
      }
    }
    fill_ceiling(row, members, work_.batch / row.images_per_s);
    row.pipeline->cost_of_parts = cost_of_parts(row, forecast, members.front().seconds(work_.batch));
  }

  void conclude() {
    const auto usable = [](const Row& row) { return row.refusal.empty(); };
    const Goal asked = result_.goal;
    result_.goal = known_goal();
    std::ranges::stable_sort(result_.rows, {}, [&](const Row& row) {
      const auto judged = judge(row, result_.goal);
      // What can't be judged stands behind what can, the fastest first, and what can't be used last.
      return judged ? std::tuple(0, judged->value) : std::tuple(usable(row) ? 1 : 2, -row.images_per_s);
    });
    std::string guessed;
    for (const Row& row : result_.rows) {
      if (!usable(row) || row.basis == Basis::kMeasured || !may_pay(row)) continue;
      guessed += (guessed.empty() ? "" : ", ") + row.text;
    }
    if (!guessed.empty()) {
      result_.notes.push_back("too little time to try a whole batch on " + guessed +
                              ": predicted from smaller or single trials; --seconds more measures them");
    }
    for (std::string& note : pipeline_notes(result_.rows)) result_.notes.push_back(std::move(note));
    if (const auto others = probe_.others_share(); others && *others > kQuiet) {
      result_.others = fmt::format(
          "others used {:.0f} % of this machine's CPUs meanwhile, so a run may be faster or slower than this says; "
          "measure again when it is quiet",
          100 * *others);
      result_.notes.push_back(result_.others);
    }
    result_.seconds = probe_.now_s() - begin_s_;
    if (std::ranges::none_of(result_.rows, usable)) return;
    const RowChoice choice = choose(result_.rows, result_.goal);
    if (choice.within_limits) result_.best = choice.row;
    result_.reason = choice.reason;
    result_.decided = choice.decided;
    result_.within_limits = choice.within_limits;
    if (asked.objective != result_.goal.objective) result_.reason += "; chosen by time, as no energy is known";
    const Row& row = result_.rows[choice.row];
    const double loaders = loader_images_per_s(row) * static_cast<double>(row.plan.replicas.size());
    if (row.images_per_s > 0.8 * loaders) {
      result_.notes.push_back(fmt::format(
          "preparing the images limits {}: the loader of a replica gives {} images/s; try --loader-threads {:.0f}",
          row.text, si_text(loader_images_per_s(row)), 2 * loader_speedup(row)));
    }
  }

  const Work& work_;
  Probe& probe_;
  const std::function<void(const std::string&)>& tell_;
  const double begin_s_, seconds_;
  Comparison result_;
  std::map<std::string, Rounds> rounds_;            // by the plan's text, or a single replica's kind
  std::map<int, ExchangeModel> exchanges_;          // by ranks
  std::map<std::string, StageForecast> forecasts_;  // by the plan's text
};

}  // namespace

Comparison compare(const std::vector<Candidate>& candidates, const Work& work, Probe& probe, double seconds,
                   const Goal& goal, const std::function<void(const std::string&)>& tell) {
  return Planner(work, probe, seconds, goal, tell).compare(candidates);
}

Work work_of(const Trials& trials) {
  const auto& setup = trials.setup();
  const auto& options = trials.options();
  Work work;
  work.train_images = static_cast<double>(setup.train_images);
  work.validation_images = static_cast<double>(setup.val_images);
  work.batch = static_cast<double>(trials.batch());
  constexpr int kCommandAndLoss = 2;
  work.small_exchanges = kCommandAndLoss;
  for (const auto& layer : setup.network.layers()) {
    // In each micro-batch the forward pass all-reduces statistics, and the backward pass their gradients.
    const auto* norm = std::get_if<network::BatchNorm>(&layer.op);
    if (!options.local_batch_norm && norm != nullptr && !norm->frozen) {
      work.small_exchanges += 2 * options.accumulate;
    }
  }
  const auto memory = network::training_memory(setup.network);
  work.gradient_bytes = static_cast<double>(memory.gradient_bytes) /
                        (options.communication_dtype == comm::CommunicationDtype::kBFloat16 ? 2 : 1);
  work.memory_bytes = [trials](const placement::Plan& plan) {
    const auto estimate =
        estimated_memory(trials.setup().network, training_work(trials.options(), plan, trials.setup()));
    return static_cast<double>(estimate.total_bytes());
  };
  if (!options.loader_threads) {
    work.loader_speedup = [](const placement::Plan& plan) {
      int most = 1;
      for (int r = 0; r < placement::rank_count(plan); ++r) most = std::max(most, usual_loader_threads(plan, r));
      return static_cast<double>(most);
    };
  }
  const auto cost = network::total_cost(setup.network);
  if (cost.forward_flops > 0) {
    work.forward_share =
        static_cast<double>(cost.forward_flops) / static_cast<double>(cost.forward_flops + cost.backward_flops);
  }
  return work;
}

}  // namespace evener::training
