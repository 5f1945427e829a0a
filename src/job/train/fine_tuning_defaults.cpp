// Good options for fine-tuning pretrained weights.
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/error.h"
#include "job/options/image_size.h"
#include "job/train/train_flags.h"
#include "network/zoo.h"
#include "task/training/start.h"

namespace evener::job {
namespace {

/// "224x224": the images that the weights were trained with, or what published weights of the network were; "" where
/// that is no image.
std::string size_of_weights(const std::string& model, std::optional<network::Shape> shape) {
  if (!shape) {
    try {
      shape = network::build(model, {}).input_shape();
    } catch (const Error&) {
      return "";  // no network has that name, which is told where it is built for the data
    }
  }
  if (shape->size() != 3) return "";
  return std::to_string((*shape)[2]) + "x" + std::to_string((*shape)[1]);
}

/// Of images of any shape, scaled so that their longer side has as many pixels as a detector's usually has; "" where it
/// has no more.
std::string detector_size(const data::ImageShape& image) {
  constexpr std::int64_t kLongerSide = 320, kStep = 8;
  if (std::max(image.width, image.height) <= kLongerSide) return "";
  const ImageSize size = scaled_size(image, kLongerSide, kStep);
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

/// Nothing where the data can't be looked at, which is told where it is opened.
std::optional<data::OpenedData> looked_at(const TrainFlags& flags) {
  try {
    return look_at_data(flags);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool any_given(std::initializer_list<const OptionBase*> options) {
  return std::ranges::any_of(options, &OptionBase::given);
}

/// Whether the user said how the network learns: whoever chose one of these has the others in mind as they are without.
bool says_how_to_learn(const OptimisationFlags& learning) {
  return any_given({&learning.learning_rate, &learning.optimizer, &learning.momentum, &learning.nesterov,
                    &learning.schedule, &learning.warmup, &learning.weight_decay, &learning.clip_norm});
}

/// The rate stays that of detectors: on 205 images of blood cells, with a backbone of ImageNet, half of it with warm-up
/// came to less in ten epochs, with an average of the weights too.
void choose_detector_fine_tuning(TrainFlags& flags) {
  OptimisationFlags& learning = flags.optimisation;
  const bool is_said = learns_quantized(flags) || says_how_to_learn(learning);
  const bool wants_size = !flags.data.size.given(), wants_split = !is_said && !flags.data.split.given();
  if (const auto data = wants_size || wants_split ? looked_at(flags) : std::nullopt) {
    if (wants_size) flags.data.size.preset(detector_size(data->dataset->shape()));
    if (wants_split) flags.data.split.preset(suitable_split(flags, *data));
  }
  if (is_said) return;
  if (!learning.epochs.given()) learning.epochs.preset(40);
  if (!flags.data.augment.given()) flags.data.augment.preset("flip,iou-crop");
}

}  // namespace

bool learns_quantized(const TrainFlags& flags) {
  return !flags.model.quantize->empty() || !task::facts_in(*flags.model.weights).quantization.empty();
}

data::OpenedData look_at_data(const TrainFlags& flags) {
  data::DataOptions options = flags.data.data_options();
  options.look_only = true;
  return data::open_data(options);
}

std::string suitable_split(const TrainFlags& flags, const data::OpenedData& data) {
  if (!data.came_divided) return "70/15/15";
  data::DataOptions options = flags.data.data_options();
  options.look_only = true;
  options.split = {85, 15};
  try {
    data::open_data(options);  // only where it has no validation part
    return "85/15";
  } catch (const Error&) {
    return "";
  }
}

void choose_tuning_defaults(TrainFlags& flags) {
  const std::string &model = *flags.model.model, &weights = *flags.model.weights;
  if (weights.empty()) return;
  if (!network::classifier_of(model).empty()) return choose_detector_fine_tuning(flags);
  const task::ModelFacts known = task::facts_in(weights);
  if (!flags.data.size.given()) flags.data.size.preset(size_of_weights(model, known.input));
  // Published weights saw the middle of images, in their own proportion.
  if (!flags.data.crop.given()) flags.data.crop.preset(crop_mode_name(known.crop.value_or(data::CropMode::kCentre)));
  if (learns_quantized(flags)) return;
  OptimisationFlags& learning = flags.optimisation;
  const bool only_evaluates = learning.epochs.given() && *learning.epochs == 0;
  if (!learning.patience.given() && !only_evaluates) learning.patience.preset(3);
  if (says_how_to_learn(learning)) return;
  // The validation part should be so large that the best epoch isn't chosen by chance.
  if (const auto data = flags.data.split.given() ? std::nullopt : looked_at(flags)) {
    flags.data.split.preset(suitable_split(flags, *data));
  }
  if (only_evaluates) return;
  learning.optimizer.preset("sgd");
  learning.momentum.preset(0.9);
  learning.learning_rate.preset(std::optional(0.0002));
  learning.schedule.preset("cosine");
  if (!learning.epochs.given()) learning.epochs.preset(6);
  learning.warmup.preset(1);
  if (!learning.batch.given()) learning.batch.preset("12");
  if (!learning.average_decay.given()) learning.average_decay.preset(0.9);
}

}  // namespace evener::job
