#include "parallel/replica.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/phase.h"
#include "parallel/device_reports.h"

namespace evener::parallel {
namespace {

bool has_batch_norm(const network::Network& network) {
  return std::ranges::any_of(network.layers(), [](const network::Layer& layer) {
    return std::holds_alternative<network::BatchNorm>(layer.op);
  });
}

std::vector<std::size_t> trained_sizes(const network::Network& network) {
  std::vector<std::size_t> sizes;
  for (const auto& parameter : network.parameters()) {
    if (parameter.trained) sizes.push_back(static_cast<std::size_t>(element_count(parameter.shape)));
  }
  return sizes;
}

void broadcast(comm::Communicator& communicator, std::vector<std::int64_t>& numbers) {
  communicator.broadcast(std::as_writable_bytes(std::span(numbers)), 0);
}

/// Every tensor of rank 0's map into the same one of every rank.
void broadcast(comm::Communicator& communicator, TensorMap& tensors) {
  for (auto& [name, tensor] : tensors) communicator.broadcast(tensor.bytes, 0);
}

/// The running statistics that `network` has in a state.
std::vector<std::string> statistics_of(const network::Network& network) {
  std::vector<std::string> names;
  for (const auto& parameter : network.parameters()) {
    if (parameter.buffer && !parameter.shape.empty()) names.push_back(parameter.name);
  }
  return names;
}

}  // namespace

Channels make_self_channels() {
  return {comm::make_self_communicator(), comm::make_self_communicator(), comm::make_self_communicator()};
}

Replica::Replica(engine::Engine& engine, const network::Network& network, std::shared_ptr<const data::Dataset> dataset,
                 ReplicaOptions options, Channels channels)
    : options_(std::move(options)),
      dataset_(std::move(dataset)),
      channels_(std::move(channels)),
      pace_(options_.speed_factor) {
  // Loaders first: the trainer pins this thread, and threads started later would inherit its CPUs.
  train_loader_ = std::make_unique<data::Loader>(dataset_, options_.loader);
  data::LoaderOptions plain = options_.loader;
  plain.augmentation = {};
  evaluation_loader_ = std::make_unique<data::Loader>(dataset_, plain);
  synchronised_ = ranks() > 1 && !options_.local_batch_norm && has_batch_norm(network);
  if (synchronised_) {
    options_.trainer.sum_over_replicas = [this](std::span<double> values) { sum_over_replicas(values); };
  }
  engine::SharedArrays& shared = options_.trainer.shared;
  shared.bytes = channels_.memory;
  shared.replica = rank();
  shared.replicas = ranks();
  shared.meet = [this] { meet(); };
  trainer_ = engine.make_trainer(network, options_.trainer);
  all_shared_ = trainer_->shares_arrays() && std::ranges::all_of(network.parameters(), &network::Parameter::trained);
  members_.resize(static_cast<std::size_t>(ranks()));
  std::iota(members_.begin(), members_.end(), 0);
  if ((ranks() > 1 && !trainer_->shares_arrays()) || options_.always_exchange) {
    exchange_ = std::make_unique<Exchange>(*trainer_, *channels_.gradients, trained_sizes(network), options_.wire);
  }
  if (exchange_ || options_.speed_factor < 1) {
    trainer_->on_gradient_ready([this](std::size_t parameter) {
      if (probing_) return;
      pace_.catch_up();
      if (exchange_ && last_part_) exchange_->ready(parameter);
    });
  }
  if (options_.local_batch_norm) statistics_ = statistics_of(network);
}

void Replica::sum_over_replicas(std::span<double> values) {
  if (probing_) return;
  pace_.catch_up();
  const PhaseMark mark(Phase::kExchange);
  const Stopwatch waiting;
  channels_.sums->all_reduce(values);
  pace_.exclude(waiting.seconds());
}

void Replica::meet() {
  pace_.catch_up();
  const PhaseMark mark(Phase::kExchange);
  const Stopwatch waiting;
  channels_.gradients->barrier();
  pace_.exclude(waiting.seconds());
}

double Replica::probe() {
  constexpr double kEnough_s = 0.2;
  const auto all_samples = static_cast<std::int64_t>(options_.train_samples.size());
  // Two at least: batch-norm over single pixels has no variance of one.
  const std::int64_t least = std::min<std::int64_t>(2, all_samples);
  const std::int64_t most = std::clamp<std::int64_t>(options_.batch / ranks(), least, all_samples);
  probing_ = true;
  channels_.control->barrier();
  double speed = 0;
  const Stopwatch all;
  for (std::int64_t count = least, runs = 0; runs < 2 || (count <= most && all.seconds() < kEnough_s); ++runs) {
    serve_first(count);
    const data::Batch* batch = train_loader_->next();
    const Stopwatch clock;
    trainer_->forward_backward(*batch, 1.0 / static_cast<double>(count));
    speed = static_cast<double>(count) / clock.seconds();
    if (runs > 0) count = std::min(4 * count, std::max(count + 1, most));  // the first run makes what later ones reuse
  }
  channels_.control->barrier();
  probing_ = false;
  return speed * options_.speed_factor;
}

/// The first training samples as one batch.
void Replica::serve_first(std::int64_t count) {
  train_loader_->start_parts({options_.train_samples.begin(), options_.train_samples.begin() + count}, 1);
  train_loader_->add_part(0, count);
}

void Replica::serve() {
  std::vector<std::int64_t> numbers(packed({}, ranks()));
  while (true) {
    {
      const PhaseMark mark(Phase::kExchange);
      broadcast(*channels_.control, numbers);
    }
    const Command command = unpacked(numbers);
    if (command.kind == Command::Kind::kFinish) return;
    obey(command);
  }
}

void Replica::lead(const Command& command) {
  if (ranks() > 1) {
    const PhaseMark mark(Phase::kExchange);
    std::vector<std::int64_t> numbers = packed(command, ranks());
    broadcast(*channels_.control, numbers);
  }
  obey(command);
}

void Replica::obey(const Command& command) {
  if (command.divides != 0) divide(command);
  switch (command.kind) {
    case Command::Kind::kStartEpoch: {
      const auto epoch = static_cast<std::uint64_t>(command.epoch);
      start(*train_loader_, data::epoch_order(options_.train_samples, options_.trainer.seed, epoch), epoch);
      break;
    }
    case Command::Kind::kStartPart:
      start(*evaluation_loader_, options_.evaluation_parts.at(static_cast<std::size_t>(command.part)), 0);
      evaluation_ = {};
      evaluation_.confusion.assign(options_.confusion_classes * options_.confusion_classes, 0);
      break;
    case Command::Kind::kTrain:
      train(command);
      break;
    case Command::Kind::kEvaluate:
      evaluate();
      break;
    case Command::Kind::kSumEvaluation:
      sum_evaluation();
      break;
    case Command::Kind::kShareState:
      share_state(command.with_optimizer != 0);
      break;
    case Command::Kind::kSwapAverage:
      trainer_->swap_average();
      break;
    case Command::Kind::kSetMembers:
      set_members(command);
      break;
    case Command::Kind::kReport:
      reports_ = exchange_reports(*channels_.control, trainer_->report());
      break;
    case Command::Kind::kDivide:
    case Command::Kind::kFinish:
      break;
  }
}

void Replica::start(data::Loader& loader, std::vector<std::uint32_t> order, std::uint64_t epoch) {
  serving_ = &loader;
  divided_.clear();
  loader.start_parts(std::move(order), epoch);
}

void Replica::divide(const Command& command) {
  const auto own = static_cast<std::size_t>(rank());
  const auto first = command.counts.begin();
  const std::int64_t begin = std::accumulate(first, first + rank(), command.begin);
  serving_->add_part(begin, begin + command.counts[own]);
  divided_.push_back({begin - command.begin, std::accumulate(first, command.counts.end(), std::int64_t{0})});
}

/// This replica's share of the next batch, and where in the whole of it that lies.
std::pair<const data::Batch*, Replica::Division> Replica::next_share() {
  const data::Batch* share = serving_->next();
  if (share == nullptr || divided_.empty()) throw Error("a batch was asked for that nobody had divided");
  const Division division = divided_.front();
  divided_.pop_front();
  return {share, division};
}

void Replica::train(const Command& command) {
  pace_.begin();
  const auto [share, division] = next_share();
  const std::int64_t whole = division.whole;
  if (!member_) return;
  if (options_.on_progress) options_.on_progress(command.epoch, command.step);
  step_.images = whole;
  if (steps_alone()) {
    take(trainer_->step(*share, 1.0 / static_cast<double>(whole), command.learning_rate));
    trained_ += share->count;
    step_.seconds = {pace_.seconds()};
    return;
  }
  if (trainer_->steps_together()) {
    const engine::BatchShare of{division.begin, whole, members_};
    take(trainer_->step_together(*share, of, 1.0 / static_cast<double>(whole), command.learning_rate));
    pace_.catch_up();
    trained_ += share->count;
    exchange_seconds();
    return;
  }
  step_.steps = 1;
  const engine::BatchResult own = compute_gradients(*share, whole);
  pace_.catch_up();
  trained_ += share->count;
  sum_step(own, pace_.seconds());
  if (exchange_) exchange_->finish();
  step_.applied = std::isfinite(step_.sums.loss_sum);
  if (!step_.applied) {
    step_.sums = {};
    step_.steps = 0;
    return;
  }
  trainer_->shares_arrays() ? apply_part(command.learning_rate) : trainer_->apply(command.learning_rate);
}

/// That all have their gradients is known from the sums of their losses.
void Replica::apply_part(double learning_rate) {
  trainer_->apply_part(learning_rate, members_);
  const PhaseMark mark(Phase::kExchange);
  channels_.gradients->barrier();
}

/// Whether nobody but the trainer has to do with the gradients of a step.
bool Replica::steps_alone() const {
  return ranks() == 1 && !exchange_ && options_.accumulate == 1 && options_.speed_factor >= 1;
}

void Replica::take(const engine::StepReport& report) {
  step_.sums = report.sums;
  step_.steps = report.steps;
  step_.applied = report.finite;
}

void Replica::settle() {
  take(trainer_->settle());
}

/// Of the whole share, or of one part of it after the other, which needs less memory.
engine::BatchResult Replica::compute_gradients(const data::Batch& share, std::int64_t whole) {
  const double weight = 1.0 / static_cast<double>(whole);
  engine::BatchResult sums;
  trainer_->clear_gradients();
  if (exchange_) exchange_->begin();
  for (std::int64_t part = 0; part < options_.accumulate; ++part) {
    const std::int64_t begin = share.count * part / options_.accumulate;
    const std::int64_t end = share.count * (part + 1) / options_.accumulate;
    last_part_ = part + 1 == options_.accumulate;
    // An empty part may be needed all the same: others wait for its batch-norm sums, or for its gradients.
    if (begin < end || synchronised_ || last_part_) {
      sums += trainer_->add_gradients(data::part_of(share, begin, end), weight);
    }
  }
  return sums;
}

/// Losses of all replicas, and everyone's time at its own slot.
void Replica::sum_step(const engine::BatchResult& own, double seconds) {
  const PhaseMark mark(Phase::kExchange);
  std::vector<double> values(3 + static_cast<std::size_t>(ranks()), 0.0);
  values[0] = own.loss_sum;
  values[1] = static_cast<double>(own.correct);
  values[2] = static_cast<double>(own.count);
  values[3 + static_cast<std::size_t>(rank())] = seconds;
  channels_.sums->all_reduce(values);
  step_.sums = {values[0], std::llround(values[1]), std::llround(values[2])};
  step_.seconds.assign(values.begin() + 3, values.end());
}

/// Everyone's time at its own slot. All have done the step when this returns.
void Replica::exchange_seconds() {
  const double seconds = pace_.seconds();
  const PhaseMark mark(Phase::kExchange);
  step_.seconds.assign(static_cast<std::size_t>(ranks()), 0.0);
  step_.seconds[static_cast<std::size_t>(rank())] = seconds;
  channels_.sums->all_reduce(step_.seconds);
}

void Replica::evaluate() {
  const PhaseMark mark(Phase::kEvaluate);
  pace_.begin();
  const data::Batch* share = next_share().first;
  std::vector<std::int32_t> predicted;
  evaluation_.sums += trainer_->evaluate(*share, &predicted);
  const std::size_t classes = options_.confusion_classes;
  const std::span<const std::int32_t> labels = data::class_labels(share->targets);
  for (std::size_t i = 0; i < predicted.size() && classes > 0; ++i) {
    const auto found = static_cast<std::size_t>(predicted[i]);
    if (found < classes) ++evaluation_.confusion[static_cast<std::size_t>(labels[i]) * classes + found];
  }
  pace_.catch_up();
}

void Replica::sum_evaluation() {
  if (ranks() == 1) return;
  const PhaseMark mark(Phase::kExchange);
  auto& [sums, confusion] = evaluation_;
  std::vector<double> values = {sums.loss_sum, static_cast<double>(sums.correct), static_cast<double>(sums.count)};
  values.insert(values.end(), confusion.begin(), confusion.end());
  channels_.control->all_reduce(values);
  sums = {values[0], std::llround(values[1]), std::llround(values[2])};
  for (std::size_t i = 0; i < confusion.size(); ++i) confusion[i] = std::llround(values[3 + i]);
}

/// Replicas on unlike devices round differently: sharing the state now and then keeps them from drifting apart.
void Replica::share_state(bool with_optimizer) {
  if (ranks() == 1) return;
  const PhaseMark mark(Phase::kExchange);
  if (all_shared_ && !with_optimizer) return channels_.control->barrier();
  TensorMap state = trainer_->state();
  if (options_.local_batch_norm) average_statistics(state);
  broadcast(*channels_.control, state);
  if (rank() != 0 || options_.local_batch_norm) trainer_->load_state(state);
  if (!with_optimizer) return;
  TensorMap optimizer = trainer_->optimizer_state();
  broadcast(*channels_.control, optimizer);
  if (rank() != 0 && !optimizer.empty()) trainer_->load_optimizer_state(optimizer);
}

/// Running statistics of the samples that each replica saw, weighted by how many these were.
void Replica::average_statistics(TensorMap& state) {
  std::vector<double> sums = {static_cast<double>(trained_)};
  for (const auto& name : statistics_) {
    const HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) sums.push_back(static_cast<double>(trained_) * tensor.floats()[i]);
  }
  channels_.control->all_reduce(sums);
  trained_ = 0;
  if (sums.front() == 0) return;  // nobody trained since the last time
  std::size_t at = 1;
  for (const auto& name : statistics_) {
    HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) tensor.floats()[i] = static_cast<float>(sums[at++] / sums.front());
  }
}

void Replica::set_members(const Command& command) {
  std::vector<int> members;
  for (int r = 0; r < ranks(); ++r) {
    if (command.counts[static_cast<std::size_t>(r)] != 0) members.push_back(r);
  }
  member_ = command.counts[static_cast<std::size_t>(rank())] != 0;
  members_ = members;
  channels_.control->barrier();  // nobody is inside of a collective of the other channels
  if (member_) {
    channels_.sums->set_members(members);
    channels_.gradients->set_members(members);
  }
  channels_.control->barrier();
}

}  // namespace evener::parallel
