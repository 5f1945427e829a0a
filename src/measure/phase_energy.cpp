#include "measure/phase_energy.h"

namespace evener::measure {
namespace {

constexpr std::size_t kMostPieces = 256;
constexpr double kStepsOfACounter = 10;

}  // namespace

PhaseEnergyDivider::Piece PhaseEnergyDivider::take(double seconds) {
  Piece taken;
  while (!unclaimed_.empty() && seconds > 1e-9) {
    Piece& newest = unclaimed_.back();
    if (newest.seconds <= seconds) {
      taken.joules += newest.joules;
      taken.seconds += newest.seconds;
      seconds -= newest.seconds;
      unclaimed_.pop_back();
      continue;
    }
    const double share = seconds / newest.seconds;
    taken.joules += share * newest.joules;
    taken.seconds += seconds;
    newest.joules -= share * newest.joules;
    newest.seconds -= seconds;
    break;
  }
  return taken;
}

void PhaseEnergyDivider::add(double joules, double seconds, const PhaseTotals& totals) {
  unclaimed_.push_back({joules, seconds});
  if (unclaimed_.size() > kMostPieces) {
    const Piece oldest = unclaimed_.front();
    unclaimed_.pop_front();
    unclaimed_.front().joules += oldest.joules;
    unclaimed_.front().seconds += oldest.seconds;
  }
  const PhaseTotals ended = totals.since(last_);
  last_ = totals;
  double all_s = 0;
  for (const auto& sum : ended.critical) all_s += static_cast<double>(sum.ns) * 1e-9;
  if (all_s <= 0) return;
  const Piece piece = take(all_s);
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    joules_[phase] += piece.joules * static_cast<double>(ended.critical[phase].ns) * 1e-9 / all_s;
  }
}

std::vector<record::PhaseEnergy> PhaseEnergyDivider::phases(double step_s) const {
  std::vector<record::PhaseEnergy> all;
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    const PhaseTotals::Sum& sum = last_.critical[phase];
    if (sum.marks == 0) continue;
    const double seconds = static_cast<double>(sum.ns) * 1e-9;
    all.push_back({.phase = phase_name(static_cast<Phase>(phase)),
                   .joules = joules_[phase],
                   .seconds = seconds,
                   .short_marks = seconds / static_cast<double>(sum.marks) < kStepsOfACounter * step_s});
  }
  if (all.empty()) return all;
  record::PhaseEnergy other{.phase = "other"};
  for (const Piece& piece : unclaimed_) {
    other.joules += piece.joules;
    other.seconds += piece.seconds;
  }
  all.push_back(std::move(other));
  return all;
}

}  // namespace evener::measure
