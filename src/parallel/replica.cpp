#include "parallel/replica.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/message.h"
#include "base/phase.h"
#include "comm/communicator.h"
#include "comm/device_communicator.h"
#include "parallel/shares.h"

namespace evener::engine {

/// All members except the notes, which are not exchanged.
void describe(auto& visitor, Of<DeviceReport> auto& report) {
  visitor.members(report.peak_memory_bytes, report.step_phases_s, report.skipped_steps);
}

}  // namespace evener::engine

namespace evener::parallel {
namespace {

constexpr std::size_t kFields = 8;  // before the counts

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

/// Broadcasts every tensor of rank `root`'s map into the same tensor of the other ranks.
void broadcast(comm::Communicator& communicator, TensorMap& tensors, int root) {
  for (auto& [name, tensor] : tensors) communicator.broadcast(tensor.bytes, root);
}

/// The description of tensors that precedes their bytes: name, type, shape.
using Heads = std::vector<std::tuple<std::string, DType, std::vector<std::int64_t>>>;

std::string heads_of(const TensorMap& tensors) {
  Heads heads;
  for (const auto& [name, tensor] : tensors) heads.emplace_back(name, tensor.dtype, tensor.shape);
  return pack_message(heads);
}

TensorMap tensors_with(const std::string& message) {
  TensorMap tensors;
  for (auto& [name, type, shape] : unpack_message<Heads>(message, "the names of a stage's tensors")) {
    const auto bytes = static_cast<std::size_t>(element_count(shape)) * size_bytes(type);
    tensors.emplace(name, HostTensor{type, shape, std::vector<std::byte>(bytes)});
  }
  return tensors;
}

/// The names of batch-norm's running statistics in a state of `network`.
std::vector<std::string> statistics_of(const network::Network& network) {
  std::vector<std::string> names;
  for (const auto& parameter : network.parameters()) {
    if (parameter.buffer && !parameter.shape.empty()) names.push_back(parameter.name);
  }
  return names;
}

}  // namespace

std::vector<std::int64_t> packed(const Command& command, std::size_t counts) {
  std::vector<std::int64_t> numbers = {static_cast<std::int64_t>(command.kind),
                                       command.epoch,
                                       command.step,
                                       std::bit_cast<std::int64_t>(command.learning_rate),
                                       command.part,
                                       command.with_optimizer,
                                       command.divides,
                                       command.begin};
  numbers.insert(numbers.end(), command.counts.begin(), command.counts.end());
  numbers.resize(kFields + counts, 0);
  return numbers;
}

Command unpacked(const std::vector<std::int64_t>& n) {
  return {static_cast<Command::Kind>(n[0]), n[1], n[2], std::bit_cast<double>(n[3]), n[4], n[5], n[6], n[7],
          {n.begin() + kFields, n.end()}};
}

void ConfusionCounts::add(std::span<const std::int32_t> true_classes, std::span<const std::int32_t> found_classes) {
  const auto known = [this](std::int32_t index) { return index >= 0 && static_cast<std::size_t>(index) < classes_; };
  for (std::size_t i = 0; i < std::min(true_classes.size(), found_classes.size()); ++i) {
    if (!known(true_classes[i]) || !known(found_classes[i])) continue;
    ++counts_[static_cast<std::size_t>(true_classes[i]) * classes_ + static_cast<std::size_t>(found_classes[i])];
  }
}

void ConfusionCounts::pack(std::span<double> to) const {
  for (std::size_t i = 0; i < counts_.size(); ++i) to[i] = static_cast<double>(counts_[i]);
}

void ConfusionCounts::unpack(std::span<const double> from) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = std::llround(from[i]);
}

/// All-reduce between the devices of a group's ranks, for their trainers. Uses the CPU-side `channel` only to set the
/// devices' communicator up and to notice a lost rank.
class GroupDeviceSums : public engine::DeviceSums {
 public:
  /// `channel` outlives this.
  explicit GroupDeviceSums(comm::Communicator& channel) : channel_(channel) {}

  void join() override {
    const PhaseMark mark(Phase::kConnect);
    comm::DeviceGroupId id{};
    if (channel_.rank() == 0) id = comm::make_device_group_id();
    channel_.broadcast(id, 0);
    devices_ = comm::join_device_group(id, channel_.rank(), channel_.size());
  }

  void add_up(std::span<const engine::DeviceValues> values, void* stream) override {
    if (silent_) return;
    std::vector<comm::DeviceVector> vectors;
    for (const engine::DeviceValues& each : values) {
      vectors.push_back(
          {each.data, static_cast<std::size_t>(each.count), each.type == engine::DeviceValues::Type::kFloat64});
    }
    devices_->all_reduce(vectors, stream);
  }

  void require_whole() override {
    try {
      channel_.require_whole();
      if (const std::string failure = devices_->failure(); !failure.empty()) throw Error(failure);
    } catch (const Error&) {
      devices_->abort();  // or the device would wait for the lost rank for ever
      throw;
    }
  }

  /// While silent, add_up() leaves values as they are, because each replica measures its own speed.
  void be_silent(bool silent) { silent_ = silent; }

 private:
  comm::Communicator& channel_;
  std::unique_ptr<comm::DeviceCommunicator> devices_;
  bool silent_ = false;
};

std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own) {
  std::vector<engine::DeviceReport> reports;
  for (const std::string& message : comm::gather_messages(communicator, pack_message(own))) {
    const std::string what = "the report of the device of rank " + std::to_string(reports.size());
    reports.push_back(unpack_message<engine::DeviceReport>(message, what));
  }
  auto& here = reports.at(static_cast<std::size_t>(communicator.rank()));
  here.notes = own.notes;
  here.executed = own.executed;
  return reports;
}

Channels make_self_channels() {
  return {comm::make_self_communicator(), comm::make_self_communicator(), comm::make_self_communicator()};
}

Replica::Replica(engine::Engine& engine, const network::Network& network, std::shared_ptr<const data::Dataset> dataset,
                 ReplicaOptions options, Channels channels)
    : options_(std::move(options)),
      dataset_(std::move(dataset)),
      channels_(std::move(channels)),
      throttle_(options_.speed_factor) {
  // Loaders first: the trainer pins this thread, and threads started later would inherit its CPUs.
  train_loader_ = std::make_unique<data::Loader>(dataset_, options_.loader);
  data::LoaderOptions plain = options_.loader;
  plain.augmentation = {};
  evaluation_loader_ = std::make_unique<data::Loader>(dataset_, plain);
  synchronised_ = replicas() > 1 && !options_.local_batch_norm && network::has_batch_norm(network);
  if (synchronised_) {
    options_.trainer.sum_over_replicas = [this](std::span<double> values) { sum_over_replicas(values); };
  }
  if (stages() > 1) {
    options_.trainer.optimizer.sum_over_stages = [this](double value) { return sum_over_stages(value); };
  }
  if (options_.devices_exchange) {
    device_sums_ = std::make_shared<GroupDeviceSums>(*channels_.control);
    options_.trainer.device_sums = device_sums_;
  }
  engine::SharedArrays& shared = options_.trainer.shared;
  shared.bytes = channels_.memory;
  shared.replica = replica();
  shared.replicas = replicas();
  shared.meet = [this] { meet(); };
  trainer_ = engine.make_trainer(network, options_.trainer);
  channels_.control->compute_here();  // after the trainer has bound this thread to its CPUs
  capabilities_ = trainer_->capabilities();
  all_shared_ =
      capabilities_.shares_arrays() && std::ranges::all_of(network.parameters(), &network::Parameter::trained);
  for (int r = 0; r < replicas(); ++r) members_.push_back(r * stages() + options_.trainer.stage.number);
  if (stages() > 1) {
    if (capabilities_.stage == nullptr) throw Error("this engine's trainer computes whole networks, no stages of one");
    pipeline_ =
        std::make_unique<Pipeline>(*capabilities_.stage, options_.trainer.stage, options_.stage, channels_, throttle_);
  }
  protocol_ = choose_protocol(step_context(network));
  if (options_.local_batch_norm) statistics_ = statistics_of(network);
}

StepContext Replica::step_context(const network::Network& network) {
  StepContext context{*trainer_, capabilities_, channels_, throttle_, members_};
  context.nothing = engine::Sums::zeros(network::sum_names(options_.trainer.criterion));
  context.sizes = trained_sizes(network);
  context.replicas = static_cast<std::size_t>(replicas());
  context.pipeline = pipeline_.get();
  context.communication_dtype = options_.communication_dtype;
  context.accumulate = options_.accumulate;
  context.synchronised = synchronised_;
  context.always_exchange = options_.always_exchange;
  context.emulates_speed = options_.speed_factor < 1;
  return context;
}

/// Adds `value` up over the stages of a replica. The all-reduce is over all ranks, but replicas have equal gradients by
/// then, so dividing by their number gives the sum over stages.
double Replica::sum_over_stages(double value) {
  const PhaseMark mark(Phase::kExchange);
  channels_.control->all_reduce(std::span<double>(&value, 1));
  return value / replicas();
}

void Replica::sum_over_replicas(std::span<double> values) {
  if (probing_) return;
  throttle_.catch_up();
  const PhaseMark mark(Phase::kExchange);
  const Stopwatch waiting;
  channels_.sums->all_reduce(values);
  throttle_.exclude(waiting.seconds());
}

void Replica::meet() {
  throttle_.catch_up();
  const PhaseMark mark(Phase::kExchange);
  const Stopwatch waiting;
  channels_.gradients->barrier();
  throttle_.exclude(waiting.seconds());
}

double Replica::probe() {
  constexpr double kEnough_s = 0.2;
  const auto all_samples = static_cast<std::int64_t>(options_.train_samples.size());
  // At least two: with 1x1 feature maps, batch-norm over one sample has no variance.
  const std::int64_t least = std::min<std::int64_t>(2, all_samples);
  const std::int64_t share = options_.batch / options_.accumulate / ranks();  // of a micro-batch
  const std::int64_t most = std::clamp(share, least, all_samples);
  probing_ = true;
  if (device_sums_) device_sums_->be_silent(true);
  channels_.control->barrier();
  double speed = 0;
  if (options_.trainer.device.kind != DeviceKind::kCpu) {
    // The first call with a size may search for the fastest algorithms, which takes seconds. Small sizes are skipped,
    // because a device that computes thousands of images at once isn't measured by a few.
    speed_with(most);
    speed = speed_with(most);
  } else {
    const Stopwatch all;
    speed_with(least);  // warm-up
    std::int64_t count = least;
    do {
      speed = speed_with(count);
      count = std::min(4 * count, std::max(count + 1, most));
    } while (count <= most && all.seconds() < kEnough_s);
  }
  channels_.control->barrier();
  if (device_sums_) device_sums_->be_silent(false);
  probing_ = false;
  return speed * options_.speed_factor;
}

/// Samples per second of a forward and backward pass of the first `count` training samples.
double Replica::speed_with(std::int64_t count) {
  serve_first(count);
  const data::Batch* batch = train_loader_->next();
  const Stopwatch clock;
  trainer_->forward_backward(*batch, 1.0 / static_cast<double>(count));
  return static_cast<double>(count) / clock.seconds();
}

/// Makes the loader serve the first `count` training samples as one batch.
void Replica::serve_first(std::int64_t count) {
  train_loader_->start_parts({options_.train_samples.begin(), options_.train_samples.begin() + count}, 1);
  train_loader_->add_part({{0, count}});
}

std::vector<std::int64_t> Replica::micro_batches_of(std::int64_t samples) const {
  return micro_batches(samples, options_.batch, options_.accumulate);
}

/// The maximum number of counts in a command: no batch has more micro-batches than a whole one.
std::size_t Replica::most_counts() const {
  return static_cast<std::size_t>(replicas()) * micro_batches_of(options_.batch).size();
}

void Replica::serve() {
  std::vector<std::int64_t> numbers(packed({}, most_counts()));
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
    std::vector<std::int64_t> numbers = packed(command, most_counts());
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
      evaluation_.sums = engine::Sums::zeros(network::sum_names(options_.trainer.criterion));
      evaluation_.confusion = ConfusionCounts(options_.confusion_classes);
      evaluation_.verdicts.clear();
      trainer_->end_evaluation();  // drops an evaluation that was stopped early
      labels_.clear();
      predicted_.clear();
      if (options_.judge) options_.judge->begin();
      break;
    case Command::Kind::kTrain:
      train(command);
      break;
    case Command::Kind::kSettle:
      protocol_->settle(step_);
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
      if (capabilities_.average != nullptr) capabilities_.average->swap_average();
      break;
    case Command::Kind::kSetMembers:
      set_members(command);
      break;
    case Command::Kind::kReport:
      report();
      break;
    case Command::Kind::kGatherState:
      gather_state(command.with_optimizer != 0);
      break;
    case Command::Kind::kLoadState:
      load_given();
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
  StepShare share;
  std::vector<data::Stretch> own;  // this replica's part of each micro-batch
  std::int64_t begin = command.begin;
  for (auto counts = command.counts.begin(); counts != command.counts.end(); counts += replicas()) {
    const std::int64_t end = std::accumulate(counts, counts + replicas(), begin);
    if (begin == end) break;  // the remaining counts are padding
    const std::int64_t own_begin = std::accumulate(counts, counts + replica(), begin);
    own.push_back({own_begin, own_begin + counts[replica()]});
    share.parts.push_back(counts[replica()]);
    begin = end;
  }
  share.begin = own.front().begin - command.begin;
  share.whole = begin - command.begin;
  serving_->add_part(std::move(own));
  divided_.push_back(std::move(share));
}

/// This replica's share of the next batch.
StepShare Replica::next_share() {
  const data::Batch* batch = serving_->next();
  if (batch == nullptr || divided_.empty()) throw Error("a batch was asked for that nobody had divided");
  StepShare share = std::move(divided_.front());
  share.batch = batch;
  divided_.pop_front();
  return share;
}

void Replica::train(const Command& command) {
  throttle_.begin();
  const StepShare share = next_share();
  if (!member_) return;
  if (options_.on_progress) options_.on_progress(command.epoch, command.step);
  step_.images = share.whole;
  protocol_->step(share, command.learning_rate, step_);
  trained_ += share.batch->count;
}

void Replica::report() {
  reports_ = exchange_reports(
      *channels_.control, capabilities_.device != nullptr ? capabilities_.device->report() : engine::DeviceReport{});
  if (!pipeline_) return;
  stage_work_.clear();
  StageWork own = pipeline_->work();
  // On a CPU, memory is measured for the whole process, with all its trainers.
  const bool told = options_.stage.own_process || options_.trainer.device.kind != DeviceKind::kCpu;
  if (told) own.memory_bytes = capabilities_.stage->peak_bytes();
  for (const std::string& message : comm::gather_messages(*channels_.control, pack_message(own))) {
    const std::string what = "what rank " + std::to_string(stage_work_.size()) + " did";
    stage_work_.push_back(unpack_message<StageWork>(message, what));
  }
}

void Replica::evaluate() {
  const PhaseMark mark(Phase::kEvaluate);
  throttle_.begin();
  evaluation_.sums += evaluated(*next_share().batch);
  throttle_.catch_up();
}

/// Only the last stage of a replica has predictions and sums.
engine::Sums Replica::evaluated(const data::Batch& share) {
  if (options_.judge) return judged(share);
  std::vector<std::int32_t>* const predicted = finds_classes() ? &predicted_ : nullptr;
  engine::Sums sums = pipeline_ ? pipeline_->evaluate(share, predicted) : trainer_->evaluate(share, predicted);
  if (predicted == nullptr) return sums;
  const auto labels = data::class_labels(share.targets);
  labels_.insert(labels_.end(), labels.begin(), labels.end());
  count_confusion();
  return sums;
}

/// Takes results that the trainer had not reported yet.
void Replica::end_evaluation() {
  const PhaseMark mark(Phase::kEvaluate);
  evaluation_.sums += trainer_->end_evaluation(finds_classes() ? &predicted_ : nullptr);
  count_confusion();
}

void Replica::count_confusion() {
  const auto known = std::min(labels_.size(), predicted_.size());
  evaluation_.confusion.add(std::span(labels_).first(known), predicted_);
  labels_.erase(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(known));
  predicted_.clear();
}

engine::Sums Replica::judged(const data::Batch& share) {
  if (capabilities_.detector == nullptr) throw Error("this engine's trainer doesn't tell what detectors put out");
  std::vector<HostTensor> outputs;
  engine::Sums sums = capabilities_.detector->evaluate_outputs(share, outputs);
  if (share.count > 0) options_.judge->add(share, outputs);
  return sums;
}

void Replica::sum_evaluation() {
  end_evaluation();
  const PhaseMark mark(Phase::kExchange);
  if (options_.judge) evaluation_.verdicts = comm::gather_messages(*channels_.control, options_.judge->verdict());
  if (ranks() == 1) return;
  engine::Sums& sums = evaluation_.sums;
  ConfusionCounts& confusion = evaluation_.confusion;
  std::vector<double> values(sums.packed_size() + confusion.packed_size());
  const std::span<double> of_sums = std::span(values).first(sums.packed_size());
  const std::span<double> of_confusion = std::span(values).subspan(sums.packed_size());
  sums.pack(of_sums);
  confusion.pack(of_confusion);
  channels_.control->all_reduce(values);
  sums.unpack(of_sums);
  confusion.unpack(of_confusion);
}

void Replica::set_members(const Command& command) {
  std::vector<int> members;
  for (int r = 0; r < ranks(); ++r) {
    if (command.counts[static_cast<std::size_t>(r)] != 0) members.push_back(r);
  }
  member_ = command.counts[static_cast<std::size_t>(rank())] != 0;
  members_ = members;
  channels_.control->barrier();  // no rank may be inside a collective of the other channels
  if (member_) {
    channels_.sums->set_members(members);
    channels_.gradients->set_members(members);
  }
  channels_.control->barrier();
}

/// Replicas on unlike devices round differently: sharing the state now and then keeps them from drifting apart.
void Replica::share_state(bool with_optimizer) {
  if (replicas() == 1) return;
  const PhaseMark mark(Phase::kExchange);
  if (all_shared_ && !with_optimizer) return channels_.control->barrier();
  TensorMap state = trainer_->state();
  if (options_.local_batch_norm) average_statistics(state);
  broadcast(peers(), state, first_peer());
  if (replica() != 0 || options_.local_batch_norm) trainer_->load_state(state);
  if (!with_optimizer) return;
  TensorMap optimizer = trainer_->optimizer_state();
  broadcast(peers(), optimizer, first_peer());
  if (replica() != 0 && !optimizer.empty()) trainer_->load_optimizer_state(optimizer);
}

/// Averages running statistics over replicas, weighted with the number of samples that each has seen.
void Replica::average_statistics(TensorMap& state) {
  std::vector<double> sums = {static_cast<double>(trained_)};
  for (const auto& name : statistics_) {
    const HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) sums.push_back(static_cast<double>(trained_) * tensor.floats()[i]);
  }
  peers().all_reduce(sums);
  trained_ = 0;
  if (sums.front() == 0) return;  // no replica has trained since the last call
  std::size_t at = 1;
  for (const auto& name : statistics_) {
    HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) tensor.floats()[i] = static_cast<float>(sums[at++] / sums.front());
  }
}

/// Gathers on rank 0 the state of the whole network, or of its optimiser, from the stages of the first replica.
void Replica::gather_state(bool of_optimizer) {
  const PhaseMark mark(Phase::kExchange);
  TensorMap own;
  if (replica() == 0) own = of_optimizer ? trainer_->optimizer_state() : trainer_->state();
  const std::vector<std::string> heads = comm::gather_messages(*channels_.control, heads_of(own));
  if (rank() > 0 && replica() == 0) {
    for (const auto& [name, tensor] : own) channels_.control->send(tensor.bytes, 0);
  }
  if (rank() != 0) return;
  gathered_ = std::move(own);
  for (int stage = 1; stage < stages(); ++stage) {
    TensorMap tensors = tensors_with(heads[static_cast<std::size_t>(stage)]);
    for (auto& [name, tensor] : tensors) channels_.control->receive(tensor.bytes, stage);
    gathered_.merge(tensors);
  }
}

/// Every rank loads its stage's part of the state that rank 0 was given.
void Replica::load_given() {
  const PhaseMark mark(Phase::kExchange);
  const std::string own = rank() == 0 ? heads_of(*given_) : std::string();
  TensorMap state = tensors_with(comm::gather_messages(*channels_.control, own).front());
  if (rank() == 0) state = *given_;
  broadcast(*channels_.control, state, 0);
  trainer_->load_state(state);
}

}  // namespace evener::parallel
