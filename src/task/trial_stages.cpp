// What a planner and a run find out about stages before the first step: where the cuts lie, and what stages will take.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parallel/pipeline.h"
#include "task/job.h"
#include "task/layer_profile.h"
#include "task/run_apart.h"
#include "task/stage_memory.h"
#include "task/stages.h"
#include "task/trial.h"

namespace evener::task {

Division Trials::division_of(const placement::Plan& plan) const {
  const auto found = divisions_.find(plan.text);
  if (found != divisions_.end()) return found->second;
  const TrainOptions options = with_plan(job_.options, plan);
  const network::Network& network = job_.setup.network;
  Division division;
  division.micro_batches = micro_batch_count(options, network);
  network::StageCosts costs;
  if (options.cut.empty()) {
    const std::int64_t images = images_of_micro_batch(options, division.micro_batches);
    std::vector<std::vector<double>> seconds;
    for (const auto& stage : plan.replicas.front().stages) {
      std::vector<double>& of_layers = seconds.emplace_back();
      for (const auto& layer : layer_times(stage, images)) of_layers.push_back(layer.forward_s + layer.backward_s);
    }
    costs = measured_costs(std::move(seconds), plan, images);
  }
  division.stages = divided_layers(options, network, std::move(costs));
  require_stage_memory(options, network, division);
  return divisions_[plan.text] = std::move(division);
}

StageForecast Trials::forecast(const placement::Plan& plan) const {
  const Division division = division_of(plan);
  const std::int64_t images = images_of_micro_batch(with_plan(job_.options, plan), division.micro_batches);
  StageForecast forecast;
  forecast.micro_batches = division.micro_batches;
  forecast.schedule = job_.options.pipeline_schedule;
  for (const StageMemory& stage : stage_memory(with_plan(job_.options, plan), job_.setup.network, division)) {
    forecast.memory_bytes.push_back(stage.bytes());
  }
  for (const auto& replica : plan.replicas) {
    std::vector<std::vector<parallel::StageTimes>> layers;
    for (const auto& stage : replica.stages) layers.push_back(layer_times(stage, images));
    auto times = stage_times(job_.setup.network, division.stages, layers, images, replica);
    if (parallel::splits_backward(forecast.schedule)) {
      for (auto& stage : times) stage.weights_s = stage.backward_s /= 2;  // each has the same multiplications
    }
    forecast.replicas.push_back(std::move(times));
    forecast.update_s.push_back(update_seconds(division.stages, replica));
  }
  return forecast;
}

const std::vector<parallel::StageTimes>& Trials::layer_times(const placement::PlanStage& device,
                                                             std::int64_t images) const {
  const std::string key = fmt::format("{} {} {}", device_text(device.device), device.threads, images);
  if (const auto found = layer_times_.find(key); found != layer_times_.end()) return found->second;
  TrainOptions options = with_plan(job_.options, plan_of_one());
  options.plan.replicas.front().stages.front() = device;
  options.batch = images;
  options.accumulate = 1;
  const auto body = [&](const parallel::Seat&) {
    return pack_message(times_by_layer(profile_training(job_.setup, options), job_.setup.network));
  };
  return layer_times_[key] = run_apart<std::vector<parallel::StageTimes>>(options.plan, body);
}

}  // namespace evener::task
