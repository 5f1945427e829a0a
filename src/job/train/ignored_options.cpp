#include "job/train/ignored_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <variant>

namespace evener::job {
namespace {

template <class IsOne>
bool uses(const placement::Plan& plan, IsOne is_one) {
  return std::ranges::any_of(
      plan.replicas, [&](const placement::PlanReplica& replica) { return is_one(replica.stages.front().device.kind); });
}

bool has_batch_norm(const network::Network& network) {
  return std::ranges::any_of(network.layers(), [](const network::Layer& layer) {
    return std::holds_alternative<network::BatchNorm>(layer.op);
  });
}

class Finder {
 public:
  /// Adds a sentence that names those of the options that were given.
  void ignore(std::initializer_list<const OptionBase*> options, const std::string& reason) {
    std::vector<std::string> names;
    for (const OptionBase* option : options) {
      if (option->given()) names.push_back(option->name());
    }
    if (names.empty()) return;
    sentences.push_back(
        fmt::format("{} {} nothing: {}", fmt::join(names, ", "), names.size() == 1 ? "changes" : "change", reason));
  }

  std::vector<std::string> sentences;
};

}  // namespace

std::vector<std::string> ignored_options(const TrainFlags& flags, const task::TrainOptions& options,
                                         const task::TrainSetup& setup) {
  Finder found;
  const OptimisationFlags& learning = flags.optimisation;
  const PlacementFlags& placement = flags.placement;
  const bool evaluates = options.epochs == 0;
  if (evaluates) {
    found.ignore({&learning.learning_rate, &learning.schedule, &learning.warmup, &learning.optimizer,
                  &learning.momentum, &learning.nesterov, &learning.weight_decay, &learning.clip_norm,
                  &learning.average_decay, &learning.accumulate, &learning.validate_every, &learning.patience,
                  &learning.until_accuracy, &flags.model.freeze, &flags.model.linear_probing, &flags.data.augment},
                 "with --epochs 0 nothing is trained");
  } else if (setup.val_images == 0) {
    found.ignore({&learning.validate_every, &learning.patience, &learning.until_accuracy},
                 "there are no images to validate on");
  }
  if (options.weights.empty()) found.ignore({&flags.model.linear_probing}, "there are no --weights to go on from");
  if (setup.network.anchors().empty()) {
    found.ignore({&learning.box_loss}, "the network is no detector");
  } else {
    found.ignore({&learning.loss, &learning.label_smoothing}, "a detector has a loss of its own (--box-loss)");
  }
  const bool native = setup.engine == "native";
  if (native) {
    found.ignore({&placement.layout}, "the native engine has one memory layout");
    found.ignore({&placement.convolution}, "the native engine computes no convolutions");
  }
  if (!uses(options.plan, [](DeviceKind kind) { return kind != DeviceKind::kCpu; })) {
    found.ignore({&placement.step_graph}, "there is no GPU in the placement");
  } else if (!uses(options.plan, [](DeviceKind kind) { return kind == DeviceKind::kCuda; })) {
    found.ignore({&placement.step_graph}, "only steps on CUDA's GPUs are replayed");
  }
  const bool divided = placement::stage_count(options.plan) > 1;
  if (!divided) {
    found.ignore({&placement.cut, &placement.micro_batches, &placement.pipeline_schedule},
                 "the placement has no stages ('..')");
  }
  const bool alone = options.plan.replicas.size() == 1 && !divided;
  if (alone) {
    found.ignore({&placement.replicas, &placement.oversubscribe, &placement.shares}, "there is one replica");
    if (!options.frozen_batch_norm) found.ignore({&placement.batch_norm}, "there is one replica");
    if (!options.always_exchange) found.ignore({&placement.communication_dtype}, "one replica exchanges no gradients");
  } else if (!has_batch_norm(setup.network)) {
    found.ignore({&placement.batch_norm}, "the network has no batch-norm layer");
  }
  if (alone && *placement.hosts_started == 0) {
    found.ignore({&placement.restarts}, "a run of one replica is not started again by itself");
  }
  if (!placement.is_automatic()) found.ignore({&flags.measuring.plan_seconds}, "it is for --on auto");
  return std::move(found.sentences);
}

}  // namespace evener::job
