#include "infer/run/infer_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "infer/run/layer_profile.h"
#include "network/cost.h"
#include "network/passes/quantize.h"
#include "parallel/throttle.h"

namespace evener::inference {
namespace {

/// Operations that a processor does in the time in which it reads or writes a byte of memory: what layers without many
/// operations take of a step's time. A guess, where nothing is measured.
constexpr double kOperationsPerByte = 20;
/// A float32 that crosses a cut is read and written on either side, and so is its gradient.
constexpr double kBytesMovedPerNumber = 2 * 2 * sizeof(float);

/// A GPU computes on one call while the next one's images travel.
constexpr int kGpuCalls = 2;

std::int64_t memory_of(const network::Network& part, std::int64_t images) {
  const network::InferenceMemory memory = network::inference_memory(part);
  return memory.weight_bytes + images * memory.per_sample_bytes;
}

/// Images of the calls that a stage computes side by side.
std::int64_t images_in(const placement::PlanStage& stage, const InferSetup& setup) {
  return setup.batch * calls_side_by_side(stage, setup.streams);
}

/// What the largest stage takes, of which each has the device of the first replica's.
std::int64_t largest_stage(const std::vector<network::NetworkStage>& stages, const placement::Plan& plan,
                           const InferSetup& setup) {
  std::int64_t most = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    most = std::max(most, memory_of(stages[s].network, images_in(plan.replicas.front().stages[s], setup)));
  }
  return most;
}

/// What each layer takes in a pass of the whole network on the device of a stage.
std::vector<double> layer_seconds(const InferenceModel& model, const placement::PlanStage& stage, InferOptions options,
                                  const InferSetup& setup, const data::Samples& samples) {
  options.plan.replicas.front().stages = {stage};
  std::vector<double> seconds;
  for (const auto& layer : times_by_layer(profile_inference(model, setup, samples, options), *model.network())) {
    seconds.push_back(layer.forward_s);
  }
  return seconds;
}

network::StageCosts timed_costs(const InferenceModel& model, const InferOptions& options, const InferSetup& setup,
                                const data::Samples& samples) {
  const auto& stages = options.plan.replicas.front().stages;
  std::vector<std::vector<double>> seconds;
  for (const placement::PlanStage& stage : stages) {
    const auto alike = std::ranges::find_if(stages, [&](const placement::PlanStage& each) {
      return each.device == stage.device && each.threads == stage.threads;
    });
    const auto before = static_cast<std::size_t>(alike - stages.begin());
    seconds.push_back(before < seconds.size() ? seconds[before] : layer_seconds(model, stage, options, setup, samples));
  }
  return measured_costs(std::move(seconds), options.plan, setup.batch);
}

/// Cuts whose stages have memory enough under `plan`.
void limit_memory(network::StageCosts& costs, const network::Network& whole, const placement::Plan& plan,
                  const InferSetup& setup, std::int64_t limit_bytes) {
  costs.fits = [&whole, &plan, &setup, limit_bytes](std::size_t stage, int begin, int end) {
    const std::int64_t images = images_in(plan.replicas.front().stages[stage], setup);
    return memory_of(network::stretch(whole, begin, end).network, images) <= limit_bytes;
  };
}

network::StageCosts costs_of(const InferenceModel& model, const InferOptions& options, const InferSetup& setup,
                             const data::Samples& samples) {
  const network::Network& whole = *model.network();
  const std::int64_t limit = options.stage_memory_bytes;
  const bool holds_all = std::ranges::all_of(options.plan.replicas.front().stages, [&](const auto& stage) {
    return limit == 0 || memory_of(whole, images_in(stage, setup)) <= limit;
  });
  network::StageCosts costs = estimated_costs(whole, options.plan);
  if (holds_all && options.cut.empty()) {
    try {
      costs = timed_costs(model, options, setup, samples);
    } catch (const engine::OutOfMemory&) {  // stages are for networks that don't fit into one memory
    }
  }
  if (limit > 0) limit_memory(costs, whole, options.plan, setup, limit);
  return costs;
}

void require_memory(const InferenceModel& model, const InferOptions& options, const InferSetup& setup,
                    std::int64_t needed, const std::string& what) {
  const std::int64_t limit = options.stage_memory_bytes;
  if (limit == 0 || needed <= limit) return;
  const auto divided = [&](const placement::Plan& plan) {
    network::StageCosts costs = estimated_costs(*model.network(), plan);
    limit_memory(costs, *model.network(), plan, setup, limit);
    return largest_stage(divided_layers(plan, {}, *model.network(), costs), plan, setup);
  };
  const std::string fits = stages_that_fit(options.plan, placement::stage_count(options.plan) + 1, limit, divided);
  throw UsageError(
      fmt::format("{} on '{}' doesn't fit into the {} that --memory gives each device: {} takes about {}; {}",
                  model.name(), options.plan.text, bytes_text(static_cast<std::uint64_t>(limit)), what,
                  bytes_text(static_cast<std::uint64_t>(needed)),
                  fits.empty() ? "use a smaller --batch or a smaller --size" : fits));
}

}  // namespace

network::StageCosts estimated_costs(const network::Network& network, const placement::Plan& plan) {
  const std::vector<network::LayerCost> of_network = network::layer_costs(network);
  network::StageCosts costs;
  costs.of_number = kOperationsPerByte * kBytesMovedPerNumber;
  for (const auto& stage : plan.replicas.front().stages) {
    const double threads = stage.device.kind == DeviceKind::kCpu ? stage.threads : kThreadsOfAccelerator;
    std::vector<double>& layers = costs.of_layers.emplace_back();
    for (const network::LayerCost& cost : of_network) {
      layers.push_back((static_cast<double>(cost.forward_flops + cost.backward_flops) +
                        kOperationsPerByte * static_cast<double>(cost.activation_bytes)) /
                       threads);
    }
    costs.speeds.push_back(stage.factor);
  }
  return costs;
}

network::StageCosts measured_costs(std::vector<std::vector<double>> layer_seconds, const placement::Plan& plan,
                                   std::int64_t images) {
  network::StageCosts costs{std::move(layer_seconds), crossing_seconds(images)};
  for (const auto& stage : plan.replicas.front().stages) costs.speeds.push_back(stage.factor);
  return costs;
}

double crossing_seconds(std::int64_t images) {
  return static_cast<double>(images) * kBytesMovedPerNumber / kCopied_bytes_per_s;
}

std::vector<network::NetworkStage> divided_layers(const placement::Plan& plan, const std::vector<std::string>& cut,
                                                  const network::Network& network, const network::StageCosts& costs) {
  const auto stages = static_cast<std::size_t>(placement::stage_count(plan));
  std::vector<int> begins;
  if (cut.empty()) {
    begins = network::balanced_begins(network, costs);
  } else {
    if (cut.size() + 1 != stages) {
      throw UsageError(fmt::format("--cut names where {} stages begin after the first one, and placement '{}' has {}",
                                   cut.size(), plan.text, stages - 1));
    }
    begins = network::begins_of(network, cut);
  }
  return network::cut(network, begins);
}

std::string stages_that_fit(placement::Plan plan, int first, std::int64_t limit_bytes,
                            const std::function<std::int64_t(const placement::Plan&)>& largest_bytes) {
  constexpr int kMostStages = 16;
  for (int stages = first; stages <= kMostStages; ++stages) {
    for (auto& replica : plan.replicas) {
      replica.stages.assign(static_cast<std::size_t>(stages), placement::PlanStage(replica.stages.front()));
    }
    try {
      const std::int64_t needed = largest_bytes(plan);
      if (needed > limit_bytes) continue;
      return fmt::format(
          "divided over {} stages (as '..' in --on cpu/t1..cpu/t1 does), each takes no more than about {}", stages,
          bytes_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, needed))));
    } catch (const UsageError&) {
      return "";  // it has no layers for more
    }
  }
  return "";
}

void require_possible_stages(const InferenceModel& model, const InferOptions& options) {
  if (placement::stage_count(options.plan) == 1 && options.stage_memory_bytes == 0) return;
  const bool divided = placement::stage_count(options.plan) > 1;
  const std::string what = divided ? "'" + options.plan.text + "' divides layers over stages, and " : "--memory: ";
  if (model.network() == nullptr) {
    throw UsageError(
        what + "the layers of '" + model.name() +
        "', a file of another program, are not known; name one of this program's networks, or leave it out");
  }
  if (divided && network::is_quantized(*model.network())) {
    throw UsageError(what + "a quantised network computes in int8 only where it stays in one piece; leave out '..'");
  }
}

int calls_side_by_side(const placement::PlanStage& stage, int streams) {
  return stage.device.kind == DeviceKind::kCpu ? std::clamp(streams, 1, std::max(1, stage.threads)) : kGpuCalls;
}

int calls_under_way(const placement::PlanReplica& replica, int streams) {
  int calls = 0;
  for (const auto& stage : replica.stages) calls += 2 * calls_side_by_side(stage, streams);
  return calls;
}

std::vector<network::NetworkStage> divided_for_inference(const InferenceModel& model, const InferOptions& options,
                                                         const InferSetup& setup, const data::Samples& samples) {
  const auto& first = options.plan.replicas.front().stages.front();
  if (placement::stage_count(options.plan) == 1) {
    if (options.stage_memory_bytes > 0) {
      require_memory(model, options, setup, memory_of(*model.network(), images_in(first, setup)), "it");
    }
    return {};
  }
  auto stages = divided_layers(options.plan, options.cut, *model.network(), costs_of(model, options, setup, samples));
  require_memory(model, options, setup, largest_stage(stages, options.plan, setup), "the largest stage");
  return stages;
}

std::vector<StageSetup> stage_setups(const InferenceModel& model, const std::vector<network::NetworkStage>& stages,
                                     const InferOptions& options, const InferSetup& setup) {
  std::vector<StageSetup> setups;
  if (stages.empty()) return setups;
  const auto& layers = model.network()->layers();
  const double all =
      static_cast<double>(std::max<std::int64_t>(1, network::total_cost(*model.network()).forward_flops));
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const network::NetworkStage& stage = stages[s];
    const network::LayerCost cost = network::total_cost(stage.network);
    StageSetup& made = setups.emplace_back();
    made.first = layers[static_cast<std::size_t>(stage.first)].name;
    made.last = layers[static_cast<std::size_t>(stage.last)].name;
    made.operations = static_cast<double>(cost.forward_flops) / all;
    made.parameters = cost.parameters;
    for (const int layer : stage.sent) {
      made.sent_bytes +=
          element_count(layers[static_cast<std::size_t>(layer)].shape) * static_cast<std::int64_t>(sizeof(float));
    }
    made.memory_bytes = memory_of(stage.network, images_in(options.plan.replicas.front().stages[s], setup));
  }
  return setups;
}

std::shared_ptr<parallel::StageLine> make_line(const InferenceModel& model, engine::Engine& engine,
                                               const std::vector<network::NetworkStage>& stages,
                                               const placement::PlanReplica& replica,
                                               const engine::RunnerOptions& common, int streams) {
  std::vector<parallel::StageLine::Stage> line;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const placement::PlanStage& place = replica.stages[s];
    engine::RunnerOptions options = common;
    options.device = place.device;
    options.cpus = place.cpus;
    options.threads = std::max(1, place.threads);
    options.later_stage = s > 0;
    if (const std::string why = engine.runner_refusal(stages[s].network, options); !why.empty()) throw UsageError(why);
    parallel::StageLine::Stage& stage = line.emplace_back();
    stage.runners = model.make_stage_runners(engine, stages[s].network, options, calls_side_by_side(place, streams));
    for (auto& runner : stage.runners) {
      if (place.factor < 1) runner = std::make_unique<parallel::ThrottledRunner>(std::move(runner), place.factor);
    }
    if (s + 1 == stages.size()) continue;
    for (const network::Output& output : stages[s].network.outputs()) stage.sent.push_back(output.name);
  }
  return std::make_shared<parallel::StageLine>(std::move(line));
}

}  // namespace evener::inference
