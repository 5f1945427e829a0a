#include "parallel/gradient_steps.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/phase.h"

namespace evener::parallel {

engine::ExchangesGradients& exchange_of(const StepContext& context) {
  if (context.capabilities.exchange != nullptr) return *context.capabilities.exchange;
  throw Error(
      "this engine's trainer gives no gradients away, which replicas that train together have to exchange; use "
      "another --engine, or one replica");
}

GradientSteps::GradientSteps(StepContext context) : context_(std::move(context)) {
  if (context_.emulates_speed) watch_gradients();
}

void GradientSteps::watch_gradients() {
  exchange_of(context_).on_gradient_ready([this](std::size_t parameter) {
    if (!computing_) return;
    context_.throttle.catch_up();
    if (last_part_) gradient_ready(parameter);
  });
}

void GradientSteps::step(const StepShare& share, double learning_rate, StepResult& result) {
  const engine::Sums own = compute_gradients(share);
  context_.throttle.catch_up();
  sum_losses(own, result);
  finish_gradients();
  result.steps = 1;
  result.applied = std::isfinite(result.sums.total("loss"));
  if (result.applied) return update(learning_rate);
  result.sums = {};
  result.steps = 0;
}

void GradientSteps::set_last_part(bool last) {
  last_part_ = last;
  if (context_.capabilities.exchange != nullptr) context_.capabilities.exchange->gradients_become_final(last);
}

engine::Sums GradientSteps::compute_gradients(const StepShare& share) {
  engine::Sums sums = context_.nothing;
  const double weight = gradient_weight(context_, share);
  context_.trainer.clear_gradients();
  begin_gradients();
  computing_ = true;
  set_last_part(false);
  sums += add_gradients(share, weight);
  computing_ = false;
  return sums;
}

/// All replicas compute the micro-batches in the same order, each its part of every one, so that batch-norm's
/// statistics don't depend on the number of replicas.
engine::Sums GradientSteps::add_gradients(const StepShare& share, double weight) {
  engine::Sums sums;
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < share.parts.size(); ++part) {
    const std::int64_t end = begin + share.parts[part];
    if (part + 1 == share.parts.size()) final_part_begins();
    // Even an empty part has to be computed if others wait for this replica's batch-norm sums or gradients.
    if (begin < end || context_.synchronised || last_part_) {
      sums += context_.trainer.add_gradients(data::part_of(*share.batch, begin, end), weight);
    }
    begin = end;
  }
  return sums;
}

/// A single all-reduce does three things: it adds up the sums, and gathers each rank's time and the number (plus 1) of
/// a sample whose loss isn't finite, as each rank puts these into slots of its own.
void GradientSteps::sum_losses(const engine::Sums& own, StepResult& result) const {
  const double seconds = context_.throttle.seconds();
  const PhaseMark mark(Phase::kExchange);
  const std::size_t size = own.packed_size();
  const auto ranks = static_cast<std::size_t>(context_.channels.control->size());
  const auto rank = static_cast<std::size_t>(context_.channels.control->rank());
  std::vector<double> values(size + 2 * ranks, 0.0);
  own.pack(values);
  values[size + rank] = seconds;
  if (const auto culprit = engine::culprit_of(context_.capabilities)) values[size + ranks + rank] = 1.0 + *culprit;
  all_ranks().all_reduce(values);
  result.sums = own;
  result.sums.unpack(values);
  const auto times = values.begin() + static_cast<std::ptrdiff_t>(size);
  // A replica takes as long as its slowest stage.
  const std::size_t stages = ranks / context_.replicas;
  result.seconds.assign(context_.replicas, 0.0);
  for (std::size_t r = 0; r < ranks; ++r) {
    double& longest = result.seconds[r / stages];
    longest = std::max(longest, times[static_cast<std::ptrdiff_t>(r)]);
  }
  result.culprit.reset();
  for (std::size_t r = 0; r < ranks && !result.culprit; ++r) {
    const double named = values[size + ranks + r];
    if (named > 0) result.culprit = static_cast<std::uint32_t>(named - 1);
  }
}

}  // namespace evener::parallel
