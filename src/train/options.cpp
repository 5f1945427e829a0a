#include "train/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "infer/model/cache_folder.h"
#include "infer/model/published_weights.h"
#include "infer/model/trained_model.h"
#include "network/zoo.h"
#include "options/data_flags.h"
#include "options/placement_values.h"
#include "placement/machine.h"
#include "placement/placement.h"
#include "record/record.h"
#include "train/steps/start.h"
#include "train/training.h"

namespace evener::training {
namespace {

/// The batch with which a job begins that is to find the largest one.
constexpr std::int64_t kBatchUntilFound = 64;

void require_batch_can_be_found(const TrainFlags& flags) {
  if (flags.output.resumes())
    throw UsageError("--resume goes on with the batch that the run had: give it instead of max");
  if (*flags.optimisation.epochs == 0)
    throw UsageError("--batch max is found by training, and --epochs 0 trains nothing");
  if (flags.placement.is_automatic())
    throw UsageError("--on auto compares placements for a batch of one size: give --batch a number");
  if (!flags.placement.hosts->empty() || *flags.placement.hosts_started > 0) {
    throw UsageError("--batch max is found for one replica, not for several hosts: give a number");
  }
}

/// Threads that read images on this host: as many as train.
int reading_threads(const placement::Plan& plan) {
  int threads = 0;
  for (const auto& process : plan.processes) {  // those of this host
    for (const int rank : process.ranks) threads += std::max(1, placement::stage_of(plan, rank).threads);
  }
  return threads;
}

std::shared_ptr<const nlohmann::json> settings_of(const TrainFlags& flags) {
  auto settings = std::make_shared<nlohmann::json>(nlohmann::json::object());
  for (const OptionGroup* group : flags.groups) group->keep(*settings);
  return settings;
}

/// Whether this is quantisation-aware training: because --quantize asks for it, or the weights have scales already.
bool learns_quantized(const TrainFlags& flags) {
  return !flags.model.quantize->empty() || !facts_in(*flags.model.weights).quantization.empty();
}

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

/// Whether the user said how the network learns: whoever chose one of these has the others in mind as they are without.
bool says_how_to_learn(const OptimisationFlags& learning) {
  const std::initializer_list<const OptionBase*> ways = {
      &learning.learning_rate, &learning.optimizer, &learning.momentum,     &learning.nesterov,
      &learning.schedule,      &learning.warmup,    &learning.weight_decay, &learning.clip_norm};
  return std::ranges::any_of(ways, &OptionBase::given);
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

/// With --resume RUN_DIR: options that were not given take the values that they had in the run in that folder, and
/// --out becomes that folder. Throws UsageError if there is no run.
void take_over_options(TrainFlags& flags) {
  if (!flags.output.resumes() || (*flags.output.resume)->empty()) return;
  const std::string& run = **flags.output.resume;
  record::Record record;
  try {
    record = record::read_record(run);
  } catch (const Error& error) {
    throw UsageError(std::string("nothing to resume: ") + error.what() +
                     ". The word after --resume is the folder of a run; MODEL comes before it");
  }
  GivenWords words(record.options.begin(), record.options.end());
  if (words.empty())
    throw UsageError("the record in " + run + " has no options: give all of them again, with --out " + run +
                     " --resume");
  // What the run found out itself isn't looked for again.
  if (words.contains("batch") && record.batch) words["batch"] = {std::to_string(*record.batch)};
  const auto minutes = record.config.find("minutes"), epochs = record.config.find("epochs");
  const bool was_timed = minutes != record.config.end() && minutes->second != "null";
  if (was_timed && epochs != record.config.end()) words["epochs"] = {epochs->second};
  const std::vector<std::int64_t>& shape = record.data.shape;
  if (words.contains("weights") && !words.contains("size") && shape.size() == 3) {
    words["size"] = {std::to_string(shape[2]) + "x" + std::to_string(shape[1])};
  }
  if (words.contains("on") && placement::parse(words["on"].front()).automatic) words["on"] = {record.placement.text};
  const bool names_dropped = flags.data.drop.given();
  for (OptionGroup* group : flags.groups) group->inherit(words);
  for (const OptionBase* option : flags.options().options()) words.erase(option->key());
  if (!words.empty())
    throw UsageError("the run in " + run + " was given --" + words.begin()->first + ", which is no option here");
  // The run keeps its own list, whatever has become of the file.
  const std::filesystem::path dropped = std::filesystem::path(run) / data::kDroppedFile;
  if (!names_dropped && !flags.data.drop->empty() && std::filesystem::exists(dropped)) {
    flags.data.drop.read({dropped.string()});
  }
  if (!flags.output.out.given()) flags.output.out.read({run});
}

/// Gives options that were not given the defaults that go on well from --weights of a classifier: images of the size
/// that the weights were trained for, the middle of those of another proportion, and, where nothing was said of how it
/// learns, a small rate with warm-up and a cosine, an average of the weights, and an end where validation no longer
/// gets better. Detectors get images of 320 pixels of the longer side, 40 epochs, and images that are flipped and
/// cropped. Both get suitable_split().
void choose_tuning_defaults(TrainFlags& flags) {
  const std::string &model = *flags.model.model, &weights = *flags.model.weights;
  if (weights.empty()) return;
  if (!network::classifier_of(model).empty()) return choose_detector_fine_tuning(flags);
  const inference::ModelFacts known = facts_in(weights);
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

}  // namespace

nlohmann::json config_of(const TrainFlags& flags) {
  nlohmann::json config = nlohmann::json::object();
  for (const OptionGroup* group : flags.groups) group->record(config);
  return config;
}

GivenWords words_of(const TrainFlags& flags) {
  GivenWords words;
  for (const OptionGroup* group : flags.groups) group->tell_words(words);
  return words;
}

/// A goal is what --on auto chooses by.
static void choose_by_goal(TrainFlags& flags) {
  if (!flags.goal.given()) return;
  if (!flags.placement.on.given()) flags.placement.on.preset("auto");
  if (!flags.placement.is_automatic()) {
    throw UsageError(
        "--for, --deadline, --budget and --price say what --on auto chooses by, and --on " + *flags.placement.on +
        " leaves nothing to choose: give --on auto, or leave it out; 'evener plan' compares a list of placements");
  }
  if (*flags.goal.deadline && *flags.optimisation.minutes) {
    throw UsageError(
        "--deadline chooses a placement that trains all --epochs in time, and --minutes trains as many as fit: give "
        "one of them");
  }
}

void choose_detector_defaults(TrainFlags& flags) {
  if (network::classifier_of(*flags.model.model).empty()) return;
  OptimisationFlags& learning = flags.optimisation;
  const auto preset = [](auto& option, auto value) {
    if (!option.given()) option.preset(value);
  };
  if (!learning.momentum.given() && !learning.nesterov.given()) preset(learning.optimizer, "adamw");
  if (*learning.optimizer == "sgd") preset(learning.momentum, 0.9);
  if (*learning.optimizer == "adamw") preset(learning.learning_rate, std::optional(0.002));
  preset(learning.schedule, "cosine");
  preset(learning.batch, "16");
  preset(learning.clip_norm, 10.0);
}

placement::PlanOptions plan_options(const TrainFlags& flags) {
  // Another host may have more CPUs than this one.
  const bool several_hosts = *flags.placement.hosts_started > 0 || !hosts_to_start(flags).empty();
  return flags.placement.plan_options(several_hosts);
}

placement::Plan plan_of(const TrainFlags& flags, const std::string& on) {
  return plan_on(on, plan_options(flags));
}

placement::Plan plan_of(const TrainFlags& flags) {
  return plan_of(flags, *flags.placement.on);
}

TrainOptions train_options(const TrainFlags& flags, const placement::Plan& plan) {
  const auto batch = flags.optimisation.batch_size();
  if (!batch) require_batch_can_be_found(flags);
  const bool has_weights = !flags.model.weights->empty();
  if (*flags.optimisation.epochs == 0 && (!has_weights || flags.output.resumes())) {
    throw UsageError(
        "--epochs 0 trains nothing, it evaluates the weights of a file: it goes with --weights FILE, and "
        "not with --resume");
  }
  if (*flags.placement.batch_norm == "frozen" && !has_weights && !flags.output.resumes()) {
    throw UsageError("--batch-norm frozen keeps the statistics of trained weights: it goes with --weights FILE");
  }
  const bool on_one_host = flags.placement.hosts->empty() && *flags.placement.hosts_started == 0;
  if (*flags.placement.elastic && on_one_host && plan.replicas.size() == 1 && !flags.placement.is_automatic()) {
    throw UsageError("--elastic goes on with the other replicas when one is lost, and '" + plan.text +
                     "' has only one; leave it out, or take --restarts 1");
  }
  if (*flags.placement.elastic && placement::stage_count(plan) > 1) {
    throw UsageError("--elastic goes on without a lost replica, and '" + plan.text +
                     "' has stages, which can't do without each other; leave it out, or take --restarts 1");
  }
  TrainOptions options;
  flags.model.fill(options);
  flags.optimisation.fill(options);
  flags.placement.fill(plan, options);
  options.batch = batch.value_or(kBatchUntilFound);
  options.finds_batch = !batch;
  options.data = flags.data.data_options();
  options.data.threads = reading_threads(plan);
  options.drop = flags.data.drop_list();
  options.augment = flags.data.augment_options();
  options.loader_threads = *flags.data.loader_threads;
  options.trainer.seed = *flags.data.seed;
  options.resume = flags.output.resumes();
  options.inherits_parts = !flags.data.split.given();
  options.settings = settings_of(flags);
  return options;
}

/// Downloads the weights that are named once the data has been looked at, whose mistakes cost no time then.
static void take_weights_for_data(TrainFlags& flags, measure::Observer* observer) {
  const std::string& model = *flags.model.model;
  if (flags.data.location->empty()) return;  // which is refused for want of it
  const auto named = inference::named_weights(*flags.model.weights, model);
  std::error_code none;
  if (named && observer != nullptr && !std::filesystem::exists(named->file, none)) look_at_data(flags);
  inference::take_weights(flags.model.weights, &flags.model.normalize, model, observer);
}

void complete_learning(TrainFlags& flags, measure::Observer* observer) {
  const std::string& model = *flags.model.model;
  const bool is_known = std::ranges::count(network::known_models(), model, &network::ModelInfo::name) > 0;
  if (!is_known && !flags.chooses && inference::names_a_path(model)) {
    throw UsageError(
        fmt::format("MODEL is the name of a network, and '{0}' a path: give a further folder of data as --data {0}, a "
                    "run or a file "
                    "of weights as --weights {0}",
                    printable(model)));
  }
  take_weights_for_data(flags, observer);
  choose_detector_defaults(flags);
  // Without batch-norms, which are folded, rates that train a network anew destroy it (ResNet-20 at 0.01 and a momentum
  // of 0.9 went back to chance; at 0.0005 it learnt).
  auto& rate = flags.optimisation.learning_rate;
  if (!rate.given() && learns_quantized(flags)) rate.read({"0.0005"});
  choose_tuning_defaults(flags);
}

void complete(TrainFlags& flags, measure::Observer* observer) {
  take_over_options(flags);
  choose_by_goal(flags);
  complete_learning(flags, observer);
}

void check_placement(const TrainFlags& flags) {
  placement::parse(*flags.placement.on);
  std::optional<placement::Plan> plan;
  try {
    plan = plan_of(flags);
  } catch (const UsageError&) {
    return;  // for want of a device: in a sweep that is a row, which says so
  }
  train_options(flags, *plan);
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

}  // namespace evener::training
