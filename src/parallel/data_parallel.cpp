#include "parallel/data_parallel.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/clock.h"

namespace evener::parallel {
namespace {

/// The number of batches that are divided ahead of the present one, as many as loaders prepare. A change of the shares
/// takes effect this many steps later.
constexpr int kAhead = 2;

}  // namespace

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

void DataParallel::command(Command::Kind kind) {
  Command command;
  command.kind = kind;
  replica_.lead(command);
}

TensorMap DataParallel::gathered(bool of_optimizer) {
  engine::Trainer& trainer = replica_.trainer();
  if (replica_.stages() == 1) return of_optimizer ? trainer.optimizer_state() : trainer.state();
  Command gather;
  gather.kind = Command::Kind::kGatherState;
  gather.with_optimizer = of_optimizer ? 1 : 0;
  replica_.lead(gather);
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
    Command ahead;
    ahead.kind = Command::Kind::kDivide;
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
  Command command;
  command.kind = Command::Kind::kStartEpoch;
  command.epoch = epoch;
  start(command, samples, first_step);
}

const StepResult& DataParallel::step(double learning_rate) {
  const Stopwatch clock;
  set_members();
  Command command;
  command.kind = Command::Kind::kTrain;
  command.epoch = epoch_;
  command.step = ++epoch_step_;
  command.learning_rate = learning_rate;
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
  Command command;
  command.kind = Command::Kind::kSetMembers;
  command.counts.assign(members_.begin(), members_.end());
  replica_.lead(command);
  if (!joins) return;
  Command state;
  state.kind = Command::Kind::kShareState;
  state.with_optimizer = 1;
  replica_.lead(state);
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
  Command command;
  command.kind = Command::Kind::kStartPart;
  command.part = part;
  start(command, samples, 0);
  while (!divided_.empty()) {
    if (stop()) return std::nullopt;
    Command next;
    next.kind = Command::Kind::kEvaluate;
    divide_next(next);
    replica_.lead(next);
    divided_.pop_front();
  }
  this->command(Command::Kind::kSumEvaluation);
  return replica_.last_evaluation();
}

std::vector<std::string> DataParallel::take_notes() {
  return std::exchange(notes_, {});
}

}  // namespace evener::parallel
