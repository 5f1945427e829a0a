#include "parallel/membership.h"

#include <algorithm>
#include <cstddef>

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

}  // namespace evener::parallel
