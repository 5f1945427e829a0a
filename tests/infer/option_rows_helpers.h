// What commands are handed that show images to a network, as JSON.
#pragma once

#include "app/option_rows_helpers.h"
#include "base/precision.h"
#include "infer/inference.h"

namespace evener::test {

inline nlohmann::json model_json(const inference::ModelRequest& request) {
  return {{"model", request.model},
          {"weights", request.weights.string()},
          {"width", value_or_null(request.width)},
          {"height", value_or_null(request.height)},
          {"channels", value_or_null(request.channels)},
          {"classes", value_or_null(request.classes)},
          {"seed", request.seed}};
}

inline nlohmann::json request_json(const inference::InferenceRequest& request) {
  nlohmann::json told = model_json(request.model);
  told["normalize"] = request.normalization.text;
  if (!request.normalization.given.mean.empty()) told["mean"] = request.normalization.given.mean;
  told["layout"] = request.layout ? nlohmann::json(static_cast<int>(*request.layout)) : nlohmann::json();
  told["bgr"] = request.reverse_channels.value_or(false);
  told["features"] = request.features;
  told["calibrated"] = request.calibrated;
  told["labels"] = request.labels.string();
  told["output"] = request.output;
  told["output_type"] = static_cast<int>(request.output_type);
  return told;
}

/// How a small network of the zoo would see pictures.
template <class Flags>
nlohmann::json seen_json(const Flags& flags) {
  static const inference::InferenceModel network([] {
    inference::InferenceRequest request;
    request.model.model = "resnet20";
    return request;
  }());
  const data::Preprocessing steps = flags.preprocessing(network);
  return {{"crop", static_cast<int>(steps.crop)},
          {"crop_fraction", steps.crop_fraction},
          {"filter", static_cast<int>(steps.filter)},
          {"keeps_fitting", steps.keeps_fitting}};
}

inline nlohmann::json infer_json(const inference::InferOptions& options) {
  return {{"plan", plan_json(options.plan)},
          {"engine", options.engine},
          {"precision", precision_name(options.precision)},
          {"batch", value_or_null(options.batch)},
          {"streams", value_or_null(options.streams)},
          {"reading_threads", options.reading_threads},
          {"strict", options.strict},
          {"cut", options.cut},
          {"stage_memory_bytes", options.stage_memory_bytes}};
}

/// Threads that read, as the jobs take them where --reading-threads says nothing.
inline int threads_of(const inference::InferPlacementFlags& flags) {
  return flags.reading_threads->value_or(-1);
}

}  // namespace evener::test
