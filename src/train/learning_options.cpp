#include "train/learning_options.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "network/zoo.h"
#include "options/model_names.h"

namespace evener::training {
namespace {

using nlohmann::json;

std::string schedule_name(const Schedule& schedule) {
  constexpr const char* kNames[] = {"constant", "step", "cosine", "one-cycle"};
  if (schedule.kind != Schedule::Kind::kStep) return name_in(kNames, schedule.kind);
  return "step:" + std::to_string(schedule.drop_epochs) + ":" + json(schedule.drop_factor).dump();
}

}  // namespace

ModelFlags::ModelFlags()
    : OptionGroup("Network"),
      model(
          *this,
          {"MODEL", "NAME", "Network: " + model_list() + "; auto, or none: the one that suits the data, see --minutes"},
          "", {.suggestions = model_names(), .stays = {"model", true}}) {}

void ModelFlags::fill(TrainOptions& options) const {
  options.model = *model;
  options.weights = *weights;
  options.freeze = *freeze;
  options.linear_probing = *linear_probing == "on"    ? LinearProbing::kAlways
                           : *linear_probing == "off" ? LinearProbing::kNever
                                                      : LinearProbing::kNew;
  if (!quantize->empty()) options.quantize_bits = *quantize == "int8" ? 8 : quantize->back() - '0';
  options.normalization = inference::parse_normalization(*normalize);
}

OptimisationFlags::OptimisationFlags() : OptionGroup("Optimisation") {
  const auto tell_rate = [this](json& value) { value = rate(); };
  learning_rate.record_as(tell_rate);
  learning_rate.stay_as(tell_rate);
  const auto tell_decay = [this](json& value) { value = decay(); };
  weight_decay.record_as(tell_decay);
  weight_decay.stay_as(tell_decay);
  schedule.record_as([this](json& value) { value = schedule_name(rate_schedule()); });
  schedule.stay_as([this](json& value) {  // with the warm-up, which is a part of it
    const Schedule rule = rate_schedule();
    value = {static_cast<int>(rule.kind), rule.drop_epochs, rule.drop_factor, rule.warmup_epochs};
  });
}

std::optional<std::int64_t> OptimisationFlags::batch_size() const {
  constexpr std::int64_t kMost = 1'000'000;
  if (*batch == "max") return std::nullopt;
  std::int64_t size = 0;
  const char* const end = batch->data() + batch->size();
  const auto [stop, error] = std::from_chars(batch->data(), end, size);
  if (error == std::errc::invalid_argument || stop != end) {
    throw UsageError("--batch '" + *batch + "' is not a whole number, and not max");
  }
  if (error != std::errc() || size > kMost) throw UsageError("--batch is " + *batch + "; the most is 1000000");
  if (size < 1) throw UsageError("--batch is " + *batch + "; it has to be more than 0");
  return size;
}

engine::OptimizerOptions OptimisationFlags::optimizer_options() const {
  engine::OptimizerOptions options;
  options.kind = is_adam() ? engine::OptimizerKind::kAdamW : engine::OptimizerKind::kSgd;
  options.momentum = *momentum;
  options.nesterov = *nesterov;
  options.weight_decay = decay();
  options.clip_norm = *clip_norm;
  options.average_decay = *average_decay;
  return options;
}

void OptimisationFlags::fill(TrainOptions& options) const {
  options.epochs = *epochs;
  options.learning_rate = rate();
  options.backbone_rate = *backbone_rate;
  options.schedule = rate_schedule();
  options.accumulate = *accumulate;
  options.patience = *patience;
  options.until_accuracy = *until_accuracy;
  options.validate_every = *validate_every;
  options.trainer.optimizer = optimizer_options();
  options.box_loss = *box_loss == "giou" ? network::BoxLoss::kGiou : network::BoxLoss::kSmoothL1;
  options.trainer.criterion = *loss == "mse" ? network::mean_squared_error() : network::cross_entropy(*label_smoothing);
}

void OptimisationFlags::check_together() const {
  if (const auto size = batch_size(); size && *accumulate > *size) {
    throw UsageError(
        fmt::format("--accumulate {} makes more parts than a batch has images (--batch {})", *accumulate, *size));
  }
  if (*epochs > 0 && *warmup > *epochs) {
    throw UsageError(fmt::format("--warmup {} is longer than the run (--epochs {})", *warmup, *epochs));
  }
  if (is_adam() && (*momentum != 0 || *nesterov)) {
    throw UsageError("--momentum and --nesterov are sgd's; adamw keeps averages of its own. Leave them out");
  }
  if (*nesterov && *momentum == 0) throw UsageError("--nesterov needs --momentum, such as 0.9");
  if (*loss == "mse" && *label_smoothing > 0) {
    throw UsageError("--label-smoothing changes the targets of cross-entropy alone; leave it out with --loss mse");
  }
}

}  // namespace evener::training
