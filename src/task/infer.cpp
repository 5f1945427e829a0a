#include "task/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/module.h"
#include "network/cost.h"
#include "parallel/dealing.h"
#include "parallel/paced_runner.h"
#include "task/infer_stages.h"
#include "task/runner_trial.h"

namespace evener::task {
namespace {

using parallel::FlowStep;

/// A batch that keeps processors busy without making the first answer late.
constexpr std::int64_t kUsualBatch = 8;
/// So many calls may a fast device be ahead of a slow one, whose answers come first.
constexpr std::size_t kAnswersAhead = 1024;
/// Samples that no setup has too few of.
constexpr std::int64_t kMany = std::int64_t{1} << 40;

struct ReadSample {
  std::size_t index = 0;
  SampleValues values;
};

struct RawAnswer {
  std::size_t index = 0;
  std::map<std::string, std::vector<float>> outputs;
};

/// What samples have been read to, for a call.
SampleValues batch_of(const std::vector<ReadSample>& samples, std::int64_t batch) {
  std::vector<const SampleValues*> values;
  for (const ReadSample& sample : samples) values.push_back(&sample.values);
  return gathered(values, batch);
}

std::vector<RawAnswer> answers_of(const TensorMap& outputs, const std::vector<ReadSample>& samples) {
  std::vector<RawAnswer> answers;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    RawAnswer answer{samples[i].index, {}};
    for (const auto& [name, tensor] : outputs) {
      const auto each = static_cast<std::size_t>(element_count(tensor.shape) / tensor.shape.front());
      const float* const begin = tensor.floats() + i * each;
      answer.outputs.emplace(name, std::vector<float>(begin, begin + each));
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

/// Softmax in bytes, as quantised networks give it, doesn't add up to 1: small probabilities are rounded to 0.
bool look_like_probabilities(std::span<const float> scores) {
  constexpr float kByteStep = 1.0F / 256;
  const bool in_range = std::ranges::all_of(scores, [](float score) { return score >= 0 && score <= 1; });
  if (!in_range) return false;
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  const auto is_byte = [](float score) { return std::fmod(score, kByteStep) == 0; };
  return std::abs(sum - 1) < 0.01 || (sum > 0.1 && sum < 2 && std::ranges::all_of(scores, is_byte));
}

std::int64_t divided_up(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

const placement::PlanStage& stage_of(const placement::PlanReplica& replica) {
  return replica.stages.front();
}

}  // namespace

SampleValues read_values(const data::Samples& samples, std::size_t index) {
  const auto count = static_cast<std::size_t>(element_count(samples.shape()));
  SampleValues values;
  if (samples.is_bytes()) {
    values.bytes.resize(count);
    samples.read(index, std::span(values.bytes));
  } else {
    values.floats.resize(count);
    samples.read(index, std::span(values.floats));
  }
  return values;
}

SampleValues gathered(const std::vector<const SampleValues*>& samples, std::int64_t batch) {
  SampleValues all;
  const auto gather = [&](auto member) {
    auto& to = all.*member;
    const std::size_t each = (samples.front()->*member).size();
    to.resize(each * static_cast<std::size_t>(batch));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::ranges::copy(samples[i]->*member, to.begin() + static_cast<std::ptrdiff_t>(i * each));
    }
  };
  gather(&SampleValues::bytes);
  gather(&SampleValues::floats);
  return all;
}

void start(engine::Runner& runner, const SampleValues& values) {
  if (values.floats.empty()) {
    runner.start(std::span<const std::uint8_t>(values.bytes));
  } else {
    runner.start(std::span<const float>(values.floats));
  }
}

InferJob::InferJob(const InferenceModel& model, const data::Samples& samples, InferOptions options)
    : model_(model), options_(std::move(options)) {
  const Stopwatch clock;
  require_possible_stages(model_, options_);
  choose_engines();
  choose_batch(samples);
  make_lanes(samples);
  setup_.init_s = clock.seconds();
}

InferJob::~InferJob() = default;

void InferJob::choose_engines() {
  for (const auto& replica : options_.plan.replicas) {
    const Device device = stage_of(replica).device;
    std::string name = options_.engine, reason;
    if (name == "auto") {
      name = engine::usual_runner_engine(device.kind);
      reason = device.kind != DeviceKind::kCpu ? "computes on CUDA"
               : name == "openvino"            ? "the faster one on CPUs"
                                               : "OpenVINO can't be used here";
    }
    setup_.engines.push_back(name);
    setup_.reasons.push_back(reason);
    if (!engines_.contains(name)) engines_.emplace(name, engine::open_engine(name));
  }
}

void InferJob::choose_batch(const data::Samples& samples) {
  int threads = 1;
  std::int64_t lanes = 0;
  for (const auto& replica : options_.plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (stage.device.kind == DeviceKind::kCpu) threads = std::max(threads, stage.threads);
      lanes += calls_side_by_side(stage, stage.threads);
    }
  }
  if (options_.streams && *options_.streams < 1) throw UsageError("--streams has to be at least 1");
  shown_ = options_.repeated ? kMany : static_cast<std::int64_t>(samples.size());
  setup_.batch = options_.batch.value_or(
      model_.fixed_batch().value_or(std::clamp<std::int64_t>(divided_up(shown_, lanes), 1, kUsualBatch)));
  if (setup_.batch < 1) throw UsageError("--batch has to be at least 1");
  // A stream for each thread gives the most images per second: threads that share a layer wait for each other. Where
  // there are fewer calls than threads, they share.
  const auto replicas = static_cast<std::int64_t>(options_.plan.replicas.size());
  const std::int64_t calls = divided_up(divided_up(shown_, setup_.batch), replicas);
  const int usual = static_cast<int>(std::clamp<std::int64_t>(calls, 1, threads));
  setup_.streams = std::min(options_.streams.value_or(usual), threads);
}

void InferJob::make_lanes(const data::Samples& samples) {
  const auto& shape = model_.input_shape();
  const bool fits = shape.size() == samples.shape().size() &&
                    std::ranges::equal(shape, samples.shape(), [](std::int64_t wanted, std::int64_t given) {
                      return wanted == given || wanted < 0;
                    });
  if (!fits) {
    throw Error(fmt::format("{} takes samples of shape {}, but these have {}", model_.name(), shape_text(shape),
                            shape_text(samples.shape())));
  }
  if (may_gain_by_torch()) try_torch(samples);
  division_ = divided_for_inference(model_, options_, setup_, samples);
  setup_.stages = stage_setups(model_, division_, options_, setup_);
  for (std::size_t r = 0; r < options_.plan.replicas.size(); ++r) {
    make_lanes_of(options_.plan.replicas[r], *engines_.at(setup_.engines[r]), samples);
  }
  warm_up(samples);
  setup_.executed = lanes_.front()->executed();
}

void InferJob::make_lanes_of(const placement::PlanReplica& replica, engine::Engine& engine,
                             const data::Samples& samples) {
  const placement::PlanStage& stage = stage_of(replica);
  const auto make = [&](std::int64_t size) {
    if (!division_.empty()) {
      const auto line =
          make_line(model_, engine, division_, replica, runner_options(stage, samples, size), setup_.streams);
      if (size == setup_.batch) lines_.push_back(line);
      return parallel::StageLine::lanes(line, calls_under_way(replica, setup_.streams));
    }
    Runners runners = make_runners(stage, engine, samples, size);
    for (auto& runner : runners) {
      if (stage.factor < 1) runner = std::make_unique<parallel::PacedRunner>(std::move(runner), stage.factor);
    }
    return runners;
  };
  const std::size_t first = lanes_.size();
  std::ranges::move(make(setup_.batch), std::back_inserter(lanes_));
  smaller_.resize(lanes_.size());
  for (const std::int64_t size : smaller_batches()) {
    auto runners = make(size);
    for (std::size_t i = 0; i < runners.size(); ++i) smaller_[first + i].emplace(size, std::move(runners[i]));
  }
}

std::vector<std::int64_t> InferJob::smaller_batches() const {
  std::vector<std::int64_t> batches;
  if (!options_.suits_few || model_.fixed_batch()) return batches;
  for (std::int64_t size = 1; size < setup_.batch; size *= 2) batches.push_back(size);
  return batches;
}

Runners InferJob::make_runners(const placement::PlanStage& stage, engine::Engine& engine, const data::Samples& samples,
                               std::int64_t batch) const {
  const engine::RunnerOptions options = runner_options(stage, samples, batch);
  if (const std::string why = model_.refusal(engine, options); !why.empty()) throw UsageError(why);
  return model_.make_runners(engine, samples.shape(), options, calls_side_by_side(stage, setup_.streams));
}

engine::RunnerOptions InferJob::runner_options(const placement::PlanStage& stage, const data::Samples& samples,
                                               std::int64_t batch) const {
  engine::RunnerOptions options;
  options.device = stage.device;
  options.cpus = stage.cpus;
  options.threads = std::max(1, stage.threads);
  options.precision = options_.precision;
  options.batch = batch;
  options.values = samples.is_bytes() ? engine::ImageValues::kBytes : engine::ImageValues::kFloats;
  options.cache = options_.cache;
  return options;
}

bool InferJob::may_gain_by_torch() const {
  constexpr std::int64_t kWorthATrial = 1000;  // fewer images would be answered before the trial has ended
  constexpr double kEnough = 0.5;
  return options_.tries_engines && options_.stage_memory_bytes == 0 && options_.engine == "auto" &&
         options_.precision == Precision::kFp32 && shown_ >= kWorthATrial &&
         std::ranges::find(setup_.engines, "openvino") != setup_.engines.end() && model_.network() != nullptr &&
         network::share_of_winograd(*model_.network()) >= kEnough &&
         module_status("torch").state == ModuleState::kUsable;
}

void InferJob::try_torch(const data::Samples& samples) {
  constexpr double kTrial_s = 0.5, kClearly = 1.05;
  const auto first = std::ranges::find(setup_.engines, "openvino") - setup_.engines.begin();
  const auto& stage = stage_of(options_.plan.replicas[static_cast<std::size_t>(first)]);
  auto torch = engine::open_engine("torch");
  double ratio = 0;
  try {
    ratio =
        speed_against(make_runners(stage, *engines_.at("openvino"), samples, setup_.batch),
                      make_runners(stage, *torch, samples, setup_.batch), zeros_for(samples, setup_.batch), kTrial_s);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    for (std::size_t r = 0; r < setup_.engines.size(); ++r) {
      if (setup_.engines[r] == "openvino") {
        setup_.reasons[r] = fmt::format("torch was tried and failed: {}", error.what());
      }
    }
    return;
  }
  const bool faster = ratio > kClearly;
  if (faster) engines_.emplace("torch", std::move(torch));
  for (std::size_t r = 0; r < setup_.engines.size(); ++r) {
    if (setup_.engines[r] != "openvino") continue;
    if (faster) setup_.engines[r] = "torch";
    setup_.reasons[r] = fmt::format("in a trial {} was {:.2f} times as fast as {}", faster ? "it" : "torch", ratio,
                                    faster ? "openvino" : "it");
  }
}

SampleValues InferJob::zeros_for(const data::Samples& samples, std::int64_t batch) const {
  const auto values = static_cast<std::size_t>(batch * element_count(samples.shape()));
  SampleValues zeros;
  (samples.is_bytes() ? zeros.bytes.resize(values) : zeros.floats.resize(values));
  return zeros;
}

/// The first call takes memory and wakes threads; it is no answer's time.
void InferJob::warm_up(const data::Samples& samples) {
  for (const std::int64_t size : smaller_batches()) {
    const SampleValues few = zeros_for(samples, size);
    for (const auto& runners : smaller_) start(*runners.at(size), few);
    for (const auto& runners : smaller_) runners.at(size)->wait();
  }
  const SampleValues zeros = zeros_for(samples, setup_.batch);
  const Stopwatch clock;
  for (const auto& lane : lanes_) start(*lane, zeros);
  for (const auto& lane : lanes_) lane->wait();
  call_s_.assign(lanes_.size(), clock.seconds());
  const auto& replicas = options_.plan.replicas;
  const auto alike_stages = [](const placement::PlanStage& a, const placement::PlanStage& b) {
    return a.device.kind == b.device.kind && a.device_name == b.device_name && a.threads == b.threads &&
           a.factor == b.factor;
  };
  const bool alike = std::ranges::all_of(replicas, [&](const placement::PlanReplica& replica) {
    return std::ranges::equal(replica.stages, replicas.front().stages, alike_stages);
  });
  if (alike) return;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Stopwatch call;
    start(*lanes_[i], zeros);
    lanes_[i]->wait();
    call_s_[i] = call.seconds();
  }
}

InferResult InferJob::run(const data::Samples& samples, InferObserver& observer) {
  std::size_t next = 0;
  const auto batch = static_cast<std::size_t>(setup_.batch);
  const std::size_t waiting = batch * std::max<std::size_t>(2, lanes_.size() + 1);
  const FlowStep reading{
      .name = "read",
      .workers = std::max(1, options_.reading_threads),
      .on_failure = options_.strict ? parallel::OnFailure::kEndFlow : parallel::OnFailure::kSetAside};
  parallel::Dealing dealing(call_s_, divided_up(static_cast<std::int64_t>(samples.size()), setup_.batch));
  FlowStep computing{.name = "run", .workers = static_cast<int>(lanes_.size()), .capacity = waiting};
  computing.goes_on = [&](int worker) { return dealing.takes(static_cast<std::size_t>(worker), now_s()); };
  InferResult result;
  result.images_at_once = batch * lanes_.size();
  const auto next_index = [&]() -> std::optional<std::size_t> {
    return next < samples.size() ? std::optional(next++) : std::nullopt;
  };
  const auto read = [&](std::size_t index) { return ReadSample{index, read_values(samples, index)}; };
  const auto compute = [&](const std::vector<ReadSample>& taken, int worker) {
    const auto lane = static_cast<std::size_t>(worker);
    const Stopwatch call;
    start(*lanes_[lane], batch_of(taken, setup_.batch));
    auto answers = answers_of(lanes_[lane]->wait(), taken);
    dealing.gave(lane, call.seconds(), now_s());
    return answers;
  };
  const auto tell = [&](const RawAnswer& raw) {
    Answer answer{raw.index, {}};
    for (const auto& [name, values] : raw.outputs) answer.outputs.emplace(name, values);
    ++result.answered;
    observer.on_answer(answer);
  };
  const auto name_of = [&](const std::size_t& index) { return samples.name(index); };
  parallel::Flow flow = parallel::flow_from<std::size_t>({.name = "list"}, next_index, name_of)
                            .map(reading, read)
                            .batch(batch)
                            .expand(computing, compute)
                            .into({.name = "answer", .capacity = std::max(waiting, kAnswersAhead)}, tell);
  watch_stages();
  const Stopwatch clock;
  flow.run();
  result.seconds = clock.seconds();
  result.stages = stage_uses();
  result.flow = flow.report();
  for (const auto& item : result.flow.set_aside) result.skipped.push_back({item.name, item.reason});
  return result;
}

void InferJob::watch_stages() {
  watched_.clear();
  for (const auto& line : lines_) watched_.push_back(line->work());
  watched_from_s_ = now_s();
}

StageUses InferJob::stage_uses() const {
  const double seconds = now_s() - watched_from_s_;
  StageUses uses(watched_.size());
  for (std::size_t r = 0; r < watched_.size(); ++r) {
    const auto work = lines_[r]->work();
    for (std::size_t s = 0; s < work.size(); ++s) {
      const std::int64_t calls = work[s].calls - watched_[r][s].calls;
      const double busy_s = work[s].busy_s - watched_[r][s].busy_s;
      // A call that was under way when the watch began counts whole.
      const double share = busy_s / (seconds * static_cast<double>(work[s].runners));
      uses[r].push_back({.busy_share = std::min(1.0, share),
                         .calls = calls,
                         .call_s = calls == 0 ? 0 : busy_s / static_cast<double>(calls)});
    }
  }
  return uses;
}

TensorMap InferJob::call(std::size_t lane, const std::vector<const SampleValues*>& samples, CallTimes* times) {
  const auto smaller = smaller_[lane].lower_bound(std::ssize(samples));
  const bool is_small = smaller != smaller_[lane].end();
  engine::Runner& runner = is_small ? *smaller->second : *lanes_[lane];
  const Stopwatch gathering;
  const SampleValues batch = gathered(samples, is_small ? smaller->first : setup_.batch);
  if (times != nullptr) times->gather_s = gathering.seconds();
  const Stopwatch computing;
  start(runner, batch);
  TensorMap outputs = runner.wait();
  if (times != nullptr) times->compute_s = computing.seconds();
  return outputs;
}

std::vector<double> InferJob::network_rates(const data::Samples& samples, double seconds) {
  std::vector<ReadSample> first;
  for (std::size_t i = 0; i < samples.size() && std::ssize(first) < setup_.batch; ++i) {
    try {
      first.push_back({i, read_values(samples, i)});
    } catch (const Error&) {  // told where it was run
    }
  }
  if (first.empty()) return {};
  const SampleValues batch = batch_of(first, setup_.batch);
  constexpr int kBlocks = 10;
  std::vector<double> rates = division_.empty() ? call_rates(lanes_, batch, seconds, kBlocks)
                                                : steady_call_rates(lanes_, batch, seconds, kBlocks);
  for (double& rate : rates) rate *= static_cast<double>(setup_.batch);
  return rates;
}

std::vector<ClassScore> top_classes(std::span<const float> scores, std::size_t count, OutputType type) {
  if (scores.empty()) return {};
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  // NaN comes last: a comparison with it would break the order.
  const auto value = [&](std::size_t i) { return std::isnan(scores[i]) ? -INFINITY : scores[i]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
  const bool are_probabilities =
      type == OutputType::kProbabilities || (type == OutputType::kAuto && look_like_probabilities(scores));
  double exponentials = 0;
  const double largest = value(order.front());
  for (const float score : scores) exponentials += std::exp(score - largest);
  std::vector<ClassScore> top;
  for (std::size_t i = 0; i < count; ++i) {
    const double score = value(order[i]);
    const bool as_it_is = are_probabilities || type == OutputType::kLogits;
    top.push_back({order[i], static_cast<float>(as_it_is ? score : std::exp(score - largest) / exponentials)});
  }
  return top;
}

}  // namespace evener::task
