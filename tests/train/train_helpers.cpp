#include "train/train_helpers.h"

#include "parallel/launcher.h"

namespace evener::test {

placement::Plan cpu_replicas(int count) {
  placement::Plan plan;
  plan.text = (count > 1 ? std::to_string(count) + "x" : "") + "cpu/t1";
  plan.processes.emplace_back();
  for (int rank = 0; rank < count; ++rank) {
    plan.replicas.push_back({rank, {placement::PlanStage{}}, 1.0});
    plan.processes[0].ranks.push_back(rank);
  }
  return plan;
}

training::TrainResult train(const training::TrainOptions& options, training::TrainObserver& observer) {
  training::TrainResult result;
  training::TrainJob job(training::PreparedTraining(options, observer));
  const auto body = [&](const parallel::RankContext& context) {
    training::TrainResult own = job.run(context);
    if (context.rank == 0) result = std::move(own);
    return std::string();
  };
  parallel::LaunchOptions launch;
  launch.shared_bytes = job.shared_bytes();
  parallel::run_ranks(job.plan(), body, launch);
  return result;
}

training::TrainResult train(const training::TrainOptions& options) {
  training::TrainObserver observer;
  return train(options, observer);
}

}  // namespace evener::test
