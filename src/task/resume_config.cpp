#include "task/resume_config.h"

#include "base/error.h"
#include "base/precision.h"

namespace evener::task {
namespace {

using nlohmann::json;

// Options that came later are null where they weren't used, as in the checkpoints from before them.
json unless_zero(double value) {
  return value == 0 ? json() : json(value);
}

/// The options --class as they were given; null without any.
json class_config(const std::vector<data::ClassFiles>& classes) {
  json words;
  for (const auto& files : classes) words.push_back(files.name + "=" + files.pattern);
  return words;
}

json optimizer_config(const engine::OptimizerOptions& optimizer) {
  json config;
  if (optimizer.kind != engine::OptimizerKind::kSgd) config["kind"] = engine::optimizer_name(optimizer.kind);
  if (optimizer.nesterov) config["nesterov"] = true;
  if (optimizer.clip_norm != 0) config["clip norm"] = optimizer.clip_norm;
  if (optimizer.average_decay != 0) config["average decay"] = optimizer.average_decay;
  return config;
}

}  // namespace

nlohmann::json resume_config(const TrainOptions& options, const TrainSetup& setup) {
  const auto& trainer = options.trainer;
  const auto text = [](const std::string& value) { return value.empty() ? json() : json(value); };
  return {{"engine", setup.engine},
          {"model", options.model},
          {"data", options.data.location},
          {"classes", setup.classes},
          {"size", {setup.image.channels, setup.image.height, setup.image.width}},
          {"train images", setup.train_images},
          {"validation images", setup.val_images},
          {"batch", options.batch},
          {"lr", options.learning_rate},
          {"schedule",
           {static_cast<int>(options.schedule.kind), options.schedule.drop_epochs, options.schedule.drop_factor,
            options.schedule.warmup_epochs}},
          {"seed", trainer.seed},
          {"precision", precision_name(trainer.precision)},
          {"loss", engine::loss_name(trainer.loss)},
          {"momentum", trainer.optimizer.momentum},
          {"weight decay", trainer.optimizer.weight_decay},
          {"layout", static_cast<int>(trainer.layout)},
          {"weights", text(options.weights.string())},
          {"freeze", options.freeze.empty() ? json() : json(options.freeze)},
          {"normalize", text(options.normalization.text)},
          {"augment", options.augment.any() ? json(data::augment_text(options.augment)) : json()},
          {"decode", options.data.decode == data::DecodeMode::kExact ? json() : json("fast")},
          {"class", class_config(options.data.classes)},
          {"optimizer", optimizer_config(trainer.optimizer)},
          {"label smoothing", unless_zero(trainer.label_smoothing)},
          {"batch norm", options.local_batch_norm ? json("local") : json()},
          {"accumulate", options.accumulate == 1 ? json() : json(options.accumulate)}};
}

std::string engine_of(const json& saved) {
  return saved.value("engine", "torch");  // which it was, before checkpoints said so
}

void require_same_config(const json& saved, const json& now) {
  std::string differences;
  for (const auto& [key, value] : now.items()) {
    if (key == "engine") continue;  // each goes on with the other's checkpoints
    const json before = saved.contains(key) ? saved[key] : json();
    if (before != value)
      differences += "\n  " + key + ": " + before.dump() + " in the checkpoint, " + value.dump() + " now";
  }
  if (!differences.empty()) {
    throw UsageError("can't resume with other settings than the run was started with:" + differences +
                     "\nRepeat them, or start a new run with another --out");
  }
}

}  // namespace evener::task
