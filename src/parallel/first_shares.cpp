#include "parallel/first_shares.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace evener::parallel {

namespace {

/// Devices whose first measurements have at least this ratio count as equally fast.
constexpr double kAlike = 0.9;

}  // namespace

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
