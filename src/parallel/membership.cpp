#include "parallel/membership.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/names.h"

namespace evener::parallel {
namespace {

constexpr std::size_t kWindow = 10;    // steps whose median counts
constexpr int kSettleSteps = 5;        // after a change: batches divided before it, new sizes
constexpr int kFirstSettleSteps = 12;  // at the start: shares are still being found
constexpr int kFirstPause = 50, kLongestPause = 3200;
/// A replica is put to the test when the others alone promise this share of the speed with it.
constexpr double kSuspicious = 0.97;

}  // namespace

Membership::Membership(int ranks)
    : active_(static_cast<std::size_t>(ranks), true), settling_(kFirstSettleSteps), pause_steps_(kFirstPause) {}

bool Membership::observe(std::int64_t samples, double seconds, const std::vector<double>& speeds) {
  if (active_.size() < 2 || seconds <= 0) return false;
  if (settling_ > 0) {
    --settling_;
    return false;
  }
  if (state_ == State::kPause) {
    if (--pause_left_ > 0) return false;
    if (active_[static_cast<std::size_t>(weakest_)]) {  // it helped: look again whether it still does
      enter(State::kTogether, 0);
      return false;
    }
    active_[static_cast<std::size_t>(weakest_)] = true;
    reason_ = "replica " + std::to_string(weakest_) + " is tried again";
    enter(State::kTrialWith, kSettleSteps);
    return true;
  }
  rates_.push_back(static_cast<double>(samples) / seconds);
  if (rates_.size() < kWindow) return false;
  switch (state_) {
    case State::kTogether:
      return watch_together(speeds);
    case State::kTrialWithout:
      return end_trial_without();
    case State::kTrialWith:
      return end_trial_with();
    case State::kPause:
      break;
  }
  return false;
}

bool Membership::watch_together(const std::vector<double>& speeds) {
  rate_with_ = median_rate();
  rates_.erase(rates_.begin());
  const auto weakest = std::min_element(speeds.begin() + 1, speeds.end());
  const double others = std::accumulate(speeds.begin(), speeds.end(), 0.0) - *weakest;
  if (others < kSuspicious * rate_with_) return false;
  weakest_ = static_cast<int>(weakest - speeds.begin());
  active_[static_cast<std::size_t>(weakest_)] = false;
  reason_ = "replica " + std::to_string(weakest_) + " pauses, to see whether it helps";
  enter(State::kTrialWithout, kSettleSteps);
  return true;
}

bool Membership::end_trial_without() {
  rate_without_ = median_rate();
  const bool helps = rate_with_ > rate_without_;
  active_[static_cast<std::size_t>(weakest_)] = helps;
  const std::string figures = si_text(rate_with_) + " images/s with it, " + si_text(rate_without_) + " without";
  reason_ = "replica " + std::to_string(weakest_) +
            (helps ? " goes on: " : " left, its help costs more than it brings: ") + figures;
  pause_left_ = pause_steps_;
  pause_steps_ = std::min(2 * pause_steps_, kLongestPause);
  enter(State::kPause, kSettleSteps);
  return helps;
}

bool Membership::end_trial_with() {
  rate_with_ = median_rate();
  const bool helps = rate_with_ > rate_without_;
  active_[static_cast<std::size_t>(weakest_)] = helps;
  reason_ = "replica " + std::to_string(weakest_) + (helps ? " is back: " : " stays out: ") + si_text(rate_with_) +
            " images/s with it, " + si_text(rate_without_) + " without";
  pause_left_ = pause_steps_;
  pause_steps_ = std::min(2 * pause_steps_, kLongestPause);
  enter(State::kPause, kSettleSteps);
  return !helps;
}

void Membership::enter(State state, int settle_steps) {
  state_ = state;
  settling_ = settle_steps;
  rates_.clear();
}

double Membership::median_rate() const {
  std::vector<double> sorted = rates_;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

}  // namespace evener::parallel
