#include "parallel/first_shares.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace evener::parallel {

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
  return Shares::measured(std::move(weights), least);
}

}  // namespace evener::parallel
