#include "task/training/engine_choice.h"

#include <algorithm>

#include "base/precision.h"

namespace evener::task {
namespace {

bool uses(const EngineQuestion& question, DeviceKind kind) {
  return std::ranges::any_of(question.plans, [&](const placement::Plan* plan) {
    return std::ranges::any_of(plan->replicas, [&](const placement::PlanReplica& replica) {
      return replica.stages.front().device.kind == kind;
    });
  });
}

bool does_all(const engine::Engine& native, const EngineQuestion& question) {
  engine::TrainerOptions options = question.trainer;
  if (!native.trainer_refusal(question.network, options).empty()) return false;
  return std::ranges::all_of(question.plans, [&](const placement::Plan* plan) {
    options.stage.count = placement::stage_count(*plan);
    return std::ranges::all_of(plan->replicas, [&](const placement::PlanReplica& replica) {
      options.device = replica.stages.front().device;
      return native.trainer_refusal(question.network, options).empty();
    });
  });
}

}  // namespace

EngineChoice choose_engine(const EngineQuestion& question, const engine::Engine* native, SimdLevel level) {
  if (question.trainer.native.kernels == engine::KernelChoice::kNaive) return {"native", "torch has no naive kernels"};
  if (native != nullptr && uses(question, DeviceKind::kOpencl)) return {"native", "torch knows no OpenCL"};
  const bool possible = native != nullptr && question.before != "torch" && does_all(*native, question);
  if (!question.before.empty()) {
    const std::string name = possible ? "native" : "torch";
    return {name, name == question.before ? "as the run began" : "native can't go on with this"};
  }
  if (!possible || uses(question, DeviceKind::kCuda) || level == SimdLevel::kBaseline) return {"torch", ""};
  // Another host's processor may have no dot products of bfloat16, and all hosts have to choose alike.
  if (activation_bits(question.trainer.precision) == 16 &&
      std::ranges::any_of(question.plans, [](const auto* plan) { return placement::has_other_hosts(*plan); })) {
    return {"torch", ""};
  }
  return {"native", "a perceptron on CPUs"};
}

}  // namespace evener::task
