// How a network is made ready for calls: engines, batch, and the runners of each lane.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/module.h"
#include "base/simd_level.h"
#include "infer/run/infer.h"
#include "infer/run/infer_stages.h"
#include "parallel/throttle.h"

namespace evener::inference {
namespace {

/// A batch that keeps processors busy without making the first answer late.
constexpr std::int64_t kUsualBatch = 8;

std::int64_t divided_up(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

}  // namespace

engine::RunnerOptions options_for_stage(const placement::PlanStage& stage, const data::Samples& samples,
                                        Precision precision, std::int64_t batch) {
  engine::RunnerOptions options;
  options.device = stage.device;
  options.cpus = stage.cpus;
  options.threads = std::max(1, stage.threads);
  options.precision = precision;
  options.batch = batch;
  options.values = samples.is_bytes() ? engine::ImageValues::kBytes : engine::ImageValues::kFloats;
  return options;
}

InferJob::InferJob(const InferenceModel& model, const data::Samples& samples, InferOptions options)
    : model_(model), options_(std::move(options)) {
  const Stopwatch clock;
  require_possible_stages(model_, options_);
  choose_batch(samples);
  choose_engines();
  require_devices(samples);
  make_lanes(samples);
  setup_.init_s = clock.seconds();
}

void InferJob::choose_engines() {
  for (const auto& replica : options_.plan.replicas) {
    const auto [name, reason] = engine_for(replica.stages.front());
    setup_.engines.push_back(name);
    setup_.reasons.push_back(reason);
    if (!engines_.contains(name)) {
      engines_.emplace(name, options_.open_engine ? options_.open_engine(name) : engine::open_engine(name));
    }
  }
}

RunnerChoice InferJob::engine_for(const placement::PlanStage& stage) const {
  if (options_.engine != "auto") return {options_.engine, ""};
  if (stage.device.kind == DeviceKind::kCpu && !options_.usual_engine && options_.stage_memory_bytes == 0) {
    const auto replicas = static_cast<std::int64_t>(options_.plan.replicas.size());
    RunnerChoice choice =
        choose_runner_engine({.network = model_.network(),
                              .precision = options_.precision,
                              .batch = setup_.batch,
                              .images = options_.coming.value_or(shown_) / replicas,
                              .threads = stage.threads,
                              .streams = setup_.streams,
                              .level = simd_level(),
                              .has_torch = [] { return module_status("torch").state == ModuleState::kUsable; }});
    if (choice.engine == "torch" || module_status("openvino").state == ModuleState::kUsable) return choice;
  }
  const std::string name = engine::usual_runner_engine(stage.device.kind);
  return {name, stage.device.kind != DeviceKind::kCpu ? "computes on CUDA"
                : name == "openvino"                  ? "the usual one on CPUs"
                                                      : "OpenVINO can't be used here"};
}

void InferJob::require_devices(const data::Samples& samples) const {
  for (std::size_t r = 0; r < options_.plan.replicas.size(); ++r) {
    for (const auto& stage : options_.plan.replicas[r].stages) {
      if (stage.device.kind == DeviceKind::kCpu) continue;
      const std::string why =
          model_.refusal(*engines_.at(setup_.engines[r]), runner_options(stage, samples, setup_.batch));
      if (!why.empty()) throw UsageError(why);
    }
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
  shown_ = options_.repeated ? kManyImages : static_cast<std::int64_t>(samples.size());
  setup_.batch = options_.batch.value_or(
      model_.fixed_batch().value_or(std::clamp<std::int64_t>(divided_up(shown_, lanes), 1, kUsualBatch)));
  if (setup_.batch < 1) throw UsageError("--batch has to be at least 1");
  // A stream for each thread gives the most images per second: threads that share a layer wait for each other. Where
  // there are fewer calls than threads, they share.
  const auto replicas = static_cast<std::int64_t>(options_.plan.replicas.size());
  const std::int64_t calls = divided_up(divided_up(shown_, setup_.batch), replicas);
  const int usual = static_cast<int>(std::clamp<std::int64_t>(calls, 1, threads));
  setup_.streams = std::min(options_.streams.value_or(usual), threads);
  if (const int asked = options_.streams.value_or(0); asked > setup_.streams) {
    setup_.fallbacks.push_back(
        fmt::format("--streams {} came to {}: of a replica's calls side by side each takes a CPU thread of its own, "
                    "which --on {} has no more of",
                    asked, setup_.streams, options_.plan.text));
  }
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
  division_ = divided_for_inference(model_, options_, setup_, samples);
  setup_.stages = stage_setups(model_, division_, options_, setup_);
  for (std::size_t r = 0; r < options_.plan.replicas.size(); ++r) {
    make_lanes_of(options_.plan.replicas[r], *engines_.at(setup_.engines[r]), samples);
  }
  warm_up(samples);
  setup_.executed = lanes_.front()->executed();
  for (const auto& lane : lanes_) {
    const std::string note = lane->note();
    if (!note.empty() && std::ranges::count(setup_.call_notes, note) == 0) setup_.call_notes.push_back(note);
  }
}

void InferJob::make_lanes_of(const placement::PlanReplica& replica, engine::Engine& engine,
                             const data::Samples& samples) {
  const placement::PlanStage& stage = replica.stages.front();
  const auto make = [&](std::int64_t size) {
    if (!division_.empty()) {
      const auto line =
          make_line(model_, engine, division_, replica, runner_options(stage, samples, size), setup_.streams);
      if (size == setup_.batch) lines_.push_back(line);
      return parallel::StageLine::lanes(line, calls_under_way(replica, setup_.streams));
    }
    const engine::RunnerOptions options = runner_options(stage, samples, size);
    if (const std::string why = model_.refusal(engine, options); !why.empty()) throw UsageError(why);
    Runners runners = model_.make_runners(engine, samples.shape(), options, calls_side_by_side(stage, setup_.streams));
    for (auto& runner : runners) {
      if (stage.factor < 1) runner = std::make_unique<parallel::ThrottledRunner>(std::move(runner), stage.factor);
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

engine::RunnerOptions InferJob::runner_options(const placement::PlanStage& stage, const data::Samples& samples,
                                               std::int64_t batch) const {
  engine::RunnerOptions options = options_for_stage(stage, samples, options_.precision, batch);
  options.cache = options_.cache;
  return options;
}

/// The first call takes memory and wakes threads; it is no answer's time. An accelerator has some more until it calls
/// as it does from then on.
void InferJob::warm_up(const data::Samples& samples) {
  const int rounds = placement::uses_accelerator(options_.plan) ? 3 : 1;
  const auto together = [](const std::vector<engine::Runner*>& runners, const SampleValues& values) {
    for (engine::Runner* runner : runners) start(*runner, values);
    for (engine::Runner* runner : runners) runner->wait();
  };
  for (int round = 0; round < rounds; ++round) {
    for (const std::int64_t size : smaller_batches()) {
      std::vector<engine::Runner*> runners;
      for (const auto& of_lane : smaller_) runners.push_back(of_lane.at(size).get());
      together(runners, values_like(samples, size, 0));
    }
    const SampleValues zeros = values_like(samples, setup_.batch, 0);
    std::vector<engine::Runner*> runners;
    for (const auto& lane : lanes_) runners.push_back(lane.get());
    const Stopwatch clock;
    together(runners, zeros);
    call_s_.assign(lanes_.size(), clock.seconds());
  }
  const SampleValues zeros = values_like(samples, setup_.batch, 0);
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

}  // namespace evener::inference
