#include "parallel/data_parallel.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/names.h"
#include "base/statistics.h"

namespace evener::parallel {
namespace {

/// The number of steps over which a median speed is taken.
constexpr std::size_t kWindow = 10;
/// Steps that are ignored after a replica came or went, because their batches were divided before or have new sizes.
constexpr int kSettleSteps = 5;
/// Steps that are ignored at the start, while shares are still adapting.
constexpr int kFirstSettleSteps = 12;
constexpr std::int64_t kFirstPause = 50, kLongestPause = 3200;
/// After a trial the next one waits this many steps for each step that the trial lost.
constexpr double kPauseForALostStep = 100;
/// A trial without a replica begins if the others' speeds add up to at least this share of the measured speed.
constexpr double kSuspicious = 0.97;
/// A replica of at most this share of the fastest one's speed stays out for the first kNotAtFirst steps.
constexpr double kNextToNothing = 0.02;
constexpr std::int64_t kNotAtFirst = 500;
/// A trial ends early after this many consecutive steps below this share of the speed without the replica.
constexpr double kHopeless = 0.5;
constexpr int kHopelessSteps = 3;

std::string replica_text(int replica) {
  return "replica " + std::to_string(replica);
}

/// The number of batches that are divided ahead of the present one, as many as loaders prepare. A change of the shares
/// takes effect this many steps later.
constexpr int kAhead = 2;

/// Devices whose first measurements have at least this ratio count as equally fast.
constexpr double kAlike = 0.9;

}  // namespace

Membership::Membership(const std::vector<double>& speeds)
    : active_(speeds.size(), true), trials_(speeds.size(), {0, kFirstPause}), settling_(kFirstSettleSteps) {
  const double fastest = std::ranges::max(speeds);
  for (std::size_t r = 1; r < speeds.size(); ++r) {
    if (speeds[r] > kNextToNothing * fastest) continue;
    active_[r] = false;
    trials_[r].next = kNotAtFirst;
    reason_ += (reason_.empty() ? "" : "; ") + replica_text(static_cast<int>(r)) + " waits: in a first probe it made " +
               si_text(speeds[r]) + " images/s, the fastest " + si_text(fastest);
  }
}

void Membership::observe(std::int64_t samples, double seconds, const std::vector<double>& speeds) {
  if (active_.size() < 2 || seconds <= 0) return;
  ++steps_;
  const double rate = static_cast<double>(samples) / seconds;
  const bool first_steps = state_ == State::kWatch && settling_ > kFirstSettleSteps / 2;
  const double without = state_ == State::kTrialWith ? rate_without_ : sum_without(speeds, weakest(speeds));
  const bool hopeless = state_ != State::kTrialWithout && !first_steps && rate < kHopeless * without;
  hopeless_steps_ = hopeless ? hopeless_steps_ + 1 : 0;
  if (state_ == State::kTrialWith) lost_steps_ += std::max(0.0, rate_without_ / rate - 1);
  if (settling_ > 0) {
    --settling_;
  } else {
    rates_.push_back(rate);
  }
  if (hopeless_steps_ == kHopelessSteps) rates_.assign(kWindow, rate);
  if (rates_.size() < kWindow) return;
  state_ == State::kWatch ? watch(speeds) : end_trial();
}

/// The slowest active replica whose pause is over, so that it may be left out on trial; 0: none.
int Membership::weakest(const std::vector<double>& speeds) const {
  int weakest = 0;
  for (std::size_t r = 1; r < speeds.size(); ++r) {
    const bool may_be_tried = active_[r] && trials_[r].next <= steps_;
    if (may_be_tried && (weakest == 0 || speeds[r] < speeds[static_cast<std::size_t>(weakest)])) {
      weakest = static_cast<int>(r);
    }
  }
  return weakest;
}

/// The sum of the active replicas' speeds without replica `left_out`; 0 if that is 0, as rank 0 is never left out.
double Membership::sum_without(const std::vector<double>& speeds, int left_out) const {
  double sum = 0;
  for (std::size_t r = 0; r < speeds.size() && left_out > 0; ++r) {
    if (active_[r] && static_cast<int>(r) != left_out) sum += speeds[r];
  }
  return sum;
}

void Membership::watch(const std::vector<double>& speeds) {
  // A replica that is out is not tried right after hopeless steps: they were slowed by another replica, and say little
  // about the speed without the one that is out.
  if (hopeless_steps_ < kHopelessSteps && start_trial_with()) return;
  rate_with_ = median(rates_).value_or(0);
  rates_.erase(rates_.begin());
  const int candidate = weakest(speeds);
  if (candidate > 0 && sum_without(speeds, candidate) >= kSuspicious * rate_with_) start_trial_without(candidate);
}

/// Starts the trial of an inactive replica whose pause is over. False: there is none.
bool Membership::start_trial_with() {
  for (std::size_t r = 1; r < active_.size(); ++r) {
    if (active_[r] || trials_[r].next > steps_) continue;
    rate_without_ = median(rates_).value_or(0);
    active_[r] = true;
    tried_ = static_cast<int>(r);
    reason_ = replica_text(tried_) + " is tried";
    enter(State::kTrialWith, kSettleSteps);
    return true;
  }
  return false;
}

void Membership::start_trial_without(int weakest) {
  tried_ = weakest;
  active_[static_cast<std::size_t>(weakest)] = false;
  reason_ = replica_text(weakest) + " pauses, to see whether it helps";
  enter(State::kTrialWithout, kSettleSteps);
}

void Membership::end_trial() {
  const bool was_in = state_ == State::kTrialWithout;
  (was_in ? rate_without_ : rate_with_) = median(rates_).value_or(0);
  const bool helps = rate_with_ > rate_without_;
  const char* const outcome = was_in ? (helps ? " goes on: " : " left, its help costs more than it brings: ")
                                     : (helps ? " is back: " : " stays out: ");
  reason_ = replica_text(tried_) + outcome + si_text(rate_with_) + " images/s with it, " + si_text(rate_without_) +
            " without";
  active_[static_cast<std::size_t>(tried_)] = helps;
  auto& [next, pause] = trials_[static_cast<std::size_t>(tried_)];
  const double for_lost_steps = helps ? 0 : kPauseForALostStep * lost_steps_;
  next = steps_ + std::max(pause, static_cast<std::int64_t>(for_lost_steps));
  pause = std::min(2 * pause, kLongestPause);
  enter(State::kWatch, kSettleSteps);
}

void Membership::enter(State state, int settle_steps) {
  state_ = state;
  settling_ = settle_steps;
  hopeless_steps_ = 0;
  lost_steps_ = 0;
  rates_.clear();
}

DataParallel::DataParallel(Replica& replica, Shares shares, std::int64_t batch, bool may_leave)
    : replica_(replica),
      shares_(std::move(shares)),
      may_leave_(may_leave && shares_.is_measured()),
      membership_(may_leave_ ? shares_.speeds() : std::vector<double>(shares_.speeds().size(), 1)),
      batch_(batch),
      at_once_(std::ranges::max(replica.micro_batches_of(batch))),
      members_(shares_.speeds().size(), true),
      trained_(members_.size(), 0),
      busy_s_(members_.size(), 0) {
  if (!membership_.reason().empty()) notes_.push_back(membership_.reason());
}

TensorMap DataParallel::gathered(bool of_optimizer) {
  engine::Trainer& trainer = replica_.trainer();
  if (replica_.stages() == 1) return of_optimizer ? trainer.optimizer_state() : trainer.state();
  replica_.lead({.kind = Command::Kind::kGatherState, .with_optimizer = of_optimizer ? 1 : 0});
  return replica_.take_gathered();
}

void DataParallel::load_state(const TensorMap& state) {
  if (replica_.stages() == 1) {
    replica_.trainer().load_state(state);
    return share_state();
  }
  replica_.give_state(state);
  command(Command::Kind::kLoadState);
}

void DataParallel::start(Command command, std::int64_t samples, std::int64_t first_batch) {
  training_ = command.kind == Command::Kind::kStartEpoch;
  samples_ = samples;
  next_division_ = std::min(samples, first_batch * batch_);
  divided_.clear();
  set_members();  // replicas that get samples must have rank 0's state
  replica_.lead(command);
  for (int i = 0; i < kAhead; ++i) {
    Command ahead{.kind = Command::Kind::kDivide};
    divide_next(ahead);
    if (ahead.divides != 0) replica_.lead(ahead);
  }
}

void DataParallel::divide_next(Command& command) {
  if (next_division_ >= samples_) return;
  const std::int64_t count = std::min(training_ ? batch_ : at_once_, samples_ - next_division_);
  const std::vector<std::int64_t> sizes = training_ ? replica_.micro_batches_of(count) : std::vector{count};
  command.divides = 1;
  command.begin = next_division_;
  std::vector<std::int64_t> sums(members_.size(), 0);
  for (const auto& counts : shares_.divide_micro_batches(sizes, membership_.active())) {
    command.counts.insert(command.counts.end(), counts.begin(), counts.end());
    std::ranges::transform(sums, counts, sums.begin(), std::plus());
  }
  next_division_ += count;
  divided_.push_back(std::move(sums));
}

void DataParallel::start_epoch(std::int64_t epoch, std::int64_t samples, std::int64_t first_step) {
  epoch_ = epoch;
  epoch_step_ = first_step;
  start({.kind = Command::Kind::kStartEpoch, .epoch = epoch}, samples, first_step);
}

const StepResult& DataParallel::step(double learning_rate) {
  const Stopwatch clock;
  set_members();
  Command command{
      .kind = Command::Kind::kTrain, .epoch = epoch_, .step = ++epoch_step_, .learning_rate = learning_rate};
  divide_next(command);
  replica_.lead(command);
  const std::vector<std::int64_t> counts = std::move(divided_.front());
  divided_.pop_front();
  observe(counts, clock.seconds());
  return replica_.last_step();
}

/// Only a lone replica or replicas whose devices exchange have results to wait for, so the wait counts as busy time.
const StepResult& DataParallel::settle() {
  const Stopwatch waiting;
  command(Command::Kind::kSettle);
  if (replica_.last_step().steps > 0) {
    for (double& busy_s : busy_s_) busy_s += waiting.seconds();
  }
  return replica_.last_step();
}

/// A replica leaves once the batches that it already has a share of are done. It comes back at once, with rank 0's
/// state.
void DataParallel::set_members() {
  const std::vector<bool>& wanted = membership_.active();
  bool joins = false, changes = false;
  for (std::size_t r = 0; r < members_.size(); ++r) {
    const auto has_samples = [r](const std::vector<std::int64_t>& counts) { return counts[r] > 0; };
    if (wanted[r] == members_[r] || (!wanted[r] && std::ranges::any_of(divided_, has_samples))) continue;
    joins = joins || wanted[r];
    changes = true;
    members_[r] = wanted[r];
  }
  if (!changes) return;
  replica_.lead({.kind = Command::Kind::kSetMembers, .counts = {members_.begin(), members_.end()}});
  if (joins) replica_.lead({.kind = Command::Kind::kShareState, .with_optimizer = 1});
}

void DataParallel::observe(const std::vector<std::int64_t>& counts, double step_s) {
  const StepResult& result = replica_.last_step();
  if (changes_.empty() || (changes_.back().counts != counts && epoch_step_ * batch_ <= samples_)) {
    changes_.push_back({steps_, counts});
  }
  for (std::size_t r = 0; r < counts.size(); ++r) {
    trained_[r] += counts[r];
    busy_s_[r] += counts[r] > 0 ? result.seconds[r] : 0;
  }
  ++steps_;
  shares_.observe(counts, result.seconds);
  if (!may_leave_) return;
  const auto samples = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::string before = membership_.reason();
  membership_.observe(samples, step_s, shares_.speeds());
  if (membership_.reason() != before) notes_.push_back(membership_.reason());
}

std::optional<EvaluationResult> DataParallel::evaluate(std::int64_t part, std::int64_t samples,
                                                       const std::function<bool()>& stop) {
  start({.kind = Command::Kind::kStartPart, .part = part}, samples, 0);
  while (!divided_.empty()) {
    if (stop()) return std::nullopt;
    Command next{.kind = Command::Kind::kEvaluate};
    divide_next(next);
    replica_.lead(next);
    divided_.pop_front();
  }
  command(Command::Kind::kSumEvaluation);
  return replica_.last_evaluation();
}

std::vector<double> steady_weights(std::vector<double> speeds) {
  const auto [least, most] = std::ranges::minmax(speeds);
  if (least > kAlike * most) speeds.assign(speeds.size(), 1);
  return speeds;
}

Shares first_shares(const placement::Plan& plan, Replica& replica, std::int64_t least) {
  std::vector<double> weights;
  bool all_given = true;
  for (const auto& planned : plan.replicas) {
    weights.push_back(planned.share.value_or(0));
    all_given = all_given && weights.back() > 0;
  }
  if (weights.empty()) weights = {1};  // a job without a plan has one replica
  if (all_given) return Shares::fixed(std::move(weights), least);
  weights.assign(weights.size(), 0);
  weights.at(static_cast<std::size_t>(replica.rank())) = replica.probe();
  replica.control().all_reduce(weights);
  // If devices exchange gradients, replicas have no times of their own to adapt shares by, so shares are fixed.
  if (replica.exchanges_on_devices()) return Shares::fixed(steady_weights(std::move(weights)), least);
  return Shares::measured(std::move(weights), least);
}

}  // namespace evener::parallel
