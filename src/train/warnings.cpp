#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <variant>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "record/statistics.h"
#include "report/figures.h"
#include "train/copies_table.h"
#include "train/steps/blank_images.h"
#include "train/training.h"

namespace evener::training {
namespace {

/// A class with fewer images is learnt badly, and its accuracy can't be measured.
constexpr std::int64_t kFewImages = 10;
/// Warn where the largest class has at least so many times as many images as the smallest.
constexpr std::int64_t kImbalance = 10;
/// Warn where the loss rose to this multiple of its minimum, which is more than fluctuation.
constexpr double kRisen = 1.5;
/// Warn where the training accuracy is this far above the confidence interval of the validation accuracy.
constexpr double kFarAbove = 0.1;
/// Fewer validation images than this tell nothing of these.
constexpr std::int64_t kLeastJudged = 10;
/// Results with a smaller probability don't count as chance.
constexpr double kUnlikely = 0.05;

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

constexpr const char* kValidationMap = "val_map_50";

std::string class_text(const TrainSetup& setup, std::size_t index) {
  return "'" + printable(setup.classes[index]) + "'";
}

const record::EpochRecord* best_epoch_of(const TrainResult& result) {
  const auto found = std::ranges::find(result.epochs, result.best_epoch, &record::EpochRecord::epoch);
  return found == result.epochs.end() ? nullptr : &*found;
}

const record::EpochRecord* best_of(const TrainResult& result) {
  const record::EpochRecord* best = best_epoch_of(result);
  return best != nullptr && best->val_accuracy ? best : nullptr;
}

/// A figure of the best weights: of their epoch, or of what was only evaluated.
std::optional<double> figure_of(const TrainResult& result, const std::string& name) {
  const record::EpochRecord* best = best_epoch_of(result);
  for (const auto* figures : {best != nullptr ? &best->figures : nullptr, &result.figures}) {
    if (figures == nullptr) continue;
    if (const auto found = figures->find(name); found != figures->end()) return found->second;
  }
  return std::nullopt;
}

/// Batches are drawn anew in each epoch, so that a small loss, which a few images make, wavers with them also where
/// hardly anything is learnt, as with a rate next to nothing. Steps that are too large make the network name fewer of
/// its own images, or do worse than guessing.
bool wavered_by_chance(const TrainSetup& setup, const record::EpochRecord& least, const record::EpochRecord& last) {
  const double of_guessing = std::log(static_cast<double>(setup.classes.size()));
  if (!least.train_accuracy || !last.train_accuracy || !(*last.train_loss <= of_guessing)) return false;
  const auto images = static_cast<std::int64_t>(setup.train_images);
  return *last.train_accuracy >= *least.train_accuracy ||
         !record::shares_differ(*last.train_accuracy, images, *least.train_accuracy, images);
}

std::string rising_loss(const TrainSetup& setup, const TrainResult& result) {
  const record::EpochRecord *first = nullptr, *least = nullptr, *last = nullptr;
  for (const record::EpochRecord& epoch : result.epochs) {
    if (epoch.head_only) continue;
    if (first == nullptr) first = &epoch;
    if (least == nullptr || epoch.train_loss < least->train_loss) least = &epoch;
    last = &epoch;
  }
  // A loss that is small already may fluctuate by the same factor, below its first value.
  if (last == nullptr || last->train_loss < first->train_loss || *last->train_loss < kRisen * *least->train_loss) {
    return "";
  }
  if (wavered_by_chance(setup, *least, *last)) return "";
  return fmt::format(
      "diverging: the training loss rose from {:.3g} in epoch {} to {:.3g} in epoch {}: the steps are too large. Give "
      "a smaller --lr (it was {:.3g}), such as {:.1g}, or --warmup 1",
      *least->train_loss, least->epoch, *last->train_loss, last->epoch, last->lr.value_or(0),
      last->lr.value_or(0) / 10);
}

/// Told only where both are known beyond chance: so many right answers would be no wonder if the largest class was said
/// of every image, and so few would be one if half of what that leaves wrong had been learnt. Few images leave it open.
std::string no_better_than_guessing(const TrainSetup& setup, const record::EpochRecord& best) {
  const auto images = static_cast<std::int64_t>(setup.val_images);
  if (setup.val_counts.empty() || images == 0) return "";
  const auto largest = std::ranges::max_element(setup.val_counts);
  const double share = static_cast<double>(*largest) / static_cast<double>(images), learnt = (1 + share) / 2;
  const std::int64_t right = std::llround(*best.val_accuracy * static_cast<double>(images));
  const bool may_be_guessed = record::chance_of_at_least(right, images, share) > kUnlikely;
  const bool may_be_learnt = 1 - record::chance_of_at_least(right + 1, images, learnt) > kUnlikely;
  if (!may_be_guessed || may_be_learnt) return "";
  const std::string name = class_text(setup, static_cast<std::size_t>(largest - setup.val_counts.begin()));
  return fmt::format(
      "the validation accuracy, {} of {} (95 %: {}), is no surer than to say {} of every image ({}): nothing, or too "
      "little, was learnt. Look whether the images lie in the folders of their classes and show what tells these "
      "apart; more --epochs, --weights of a trained network, or another --lr may help",
      percent(*best.val_accuracy), counted(images, "image"), record::share_interval_text(*best.val_accuracy, images),
      name, percent(share));
}

std::string no_boxes_found(const TrainResult& result) {
  constexpr double kNothing = 0.1;
  const std::optional<double> quality = figure_of(result, kValidationMap);
  if (!result.is_detector || best_epoch_of(result) == nullptr || !quality || *quality >= kNothing) return "";
  return fmt::format(
      "the validation mAP@0.5 is {:.2g}: nothing, or too little, was learnt. --weights of a trained network (imagenet) "
      "help most; then more --epochs or --minutes, a smaller --size, which makes them shorter, and more images",
      *quality);
}

/// Where all boxes lie alike, such a detector has a good mAP all the same.
std::string same_box_in_blank_images(const TrainResult& result) {
  const std::optional<double> share = figure_of(result, kFoundInBlank);
  if (!share || *share < kBlindShare) return "";
  const std::optional<double> quality = figure_of(result, kValidationMap);
  return fmt::format(
      "the detector finds the same box in blank images (grey, noise) as in {} of the validation images it was shown: "
      "it has learnt where boxes usually are, not what they look like{}, and finds that box in any image. Add images "
      "whose boxes lie elsewhere, and some without any; --augment flip,iou-crop moves boxes, and --weights of a "
      "trained network (imagenet) or more --epochs help it to look",
      percent(*share),
      quality ? fmt::format("; its validation mAP@0.5 of {:.2g} comes of boxes that lie alike", *quality) : "");
}

/// Warns where the confidence intervals of validation and test don't overlap. One 95 % interval alone would warn by
/// chance in one of twenty trainings.
std::string parts_apart(const TrainSetup& setup, const TrainResult& result) {
  const auto val = result.is_detector           ? figure_of(result, kValidationMap)
                   : best_of(result) != nullptr ? best_of(result)->val_accuracy
                                                : result.val_accuracy;
  const auto test = result.is_detector ? figure_of(result, "test_map_50") : result.test_accuracy;
  const auto val_images = static_cast<std::int64_t>(setup.val_images);
  const auto test_images = static_cast<std::int64_t>(setup.test_images);
  if (!val || !test || val_images == 0 || test_images == 0) return "";
  const record::Interval of_val = record::share_interval(*val, val_images);
  const record::Interval of_test = record::share_interval(*test, test_images);
  if (of_val.low <= of_test.high && of_test.low <= of_val.high) return "";
  const char* const what = result.is_detector ? "mAP@0.5" : "accuracy";
  return fmt::format(
      "the test {} ({} of {}; 95 %: {}) is far {} the validation's ({} of {}; 95 %: {}), more than so few images "
      "explain: the parts show different things, or one of them is like the images to train on. Look how the data was "
      "divided: images of one series (a place, a day, a person) belong into one part",
      what, percent(*test), counted(test_images, "image"), record::share_interval_text(*test, test_images),
      *test < *val ? "below" : "above", percent(*val), counted(val_images, "image"),
      record::share_interval_text(*val, val_images));
}

std::string overfitting(const TrainSetup& setup, const record::EpochRecord& best) {
  const auto images = static_cast<std::int64_t>(setup.val_images);
  if (!best.train_accuracy || images < kLeastJudged) return "";
  const double most = record::share_interval(*best.val_accuracy, images).high;
  if (*best.train_accuracy < most + kFarAbove) return "";
  return fmt::format(
      "{}{} of the images to train on were right in epoch {}, and {} of those to validate (95 %: {}). More "
      "images help most; then --augment flip,resized-crop:0.5, --weights of a trained network, --weight-decay",
      report::kOverfitting, percent(*best.train_accuracy), best.epoch, percent(*best.val_accuracy),
      record::share_interval_text(*best.val_accuracy, images));
}

std::string few_images(const TrainSetup& setup) {
  const auto& counts = setup.train_counts;
  const auto few = std::ranges::count_if(counts, [](std::int64_t count) { return count < kFewImages; });
  if (few == 0) return "";
  const auto least = std::ranges::min_element(counts);
  const std::string name = class_text(setup, static_cast<std::size_t>(least - counts.begin()));
  return fmt::format(
      "{} of {} have fewer than {} images to train on ({} has {}): such classes are recognised by chance. Add images "
      "of them, or leave them out{}",
      few, counted(counts.size(), "class", "classes"), kFewImages, name, *least,
      setup.val_images > 0 ? "" : "; none are left to validate on, so that nothing tells how good the network is");
}

std::string class_imbalance(const TrainSetup& setup) {
  const auto& counts = setup.train_counts;
  if (counts.empty()) return "";
  const auto [least, most] = std::ranges::minmax_element(counts);
  if (*most < kImbalance * std::max<std::int64_t>(1, *least) || *most < kFewImages) return "";
  return fmt::format(
      "class imbalance: {} has {} images to train on, and {} has {}: the larger class is preferred where the network "
      "is unsure, and the accuracy says little of the smaller one; look at each class in the report, and add images of "
      "{}",
      class_text(setup, static_cast<std::size_t>(most - counts.begin())), *most,
      class_text(setup, static_cast<std::size_t>(least - counts.begin())), *least,
      class_text(setup, static_cast<std::size_t>(least - counts.begin())));
}

std::string data_leakage(const TrainSetup& setup, const TrainResult& result) {
  if (result.copies.pairs.empty()) return "";
  return fmt::format(
      "data leakage: {} of the {} to validate or test on {} also among those to train on ({}): the accuracy is told "
      "too high. Take the copies out of one of the parts: {} has all pairs",
      result.copies.judged, counted(setup.val_images + setup.test_images, "image"),
      result.copies.judged == 1 ? "is" : "are", copies_text(result.copies), kCopiesFile);
}

template <class IsOne>
bool uses(const placement::Plan& plan, IsOne is_one) {
  return std::ranges::any_of(
      plan.replicas, [&](const placement::PlanReplica& replica) { return is_one(replica.stages.front().device.kind); });
}

}  // namespace

std::vector<std::string> training_warnings(const TrainSetup& setup, const TrainResult& result) {
  std::vector<std::string> sentences = {rising_loss(setup, result), no_boxes_found(result),
                                        same_box_in_blank_images(result), parts_apart(setup, result)};
  if (const record::EpochRecord* best = best_of(result)) {
    const std::string guessing = no_better_than_guessing(setup, *best);
    sentences.push_back(guessing.empty() ? overfitting(setup, *best) : guessing);
  }
  sentences.push_back(few_images(setup));
  sentences.push_back(class_imbalance(setup));
  sentences.push_back(data_leakage(setup, result));
  std::erase(sentences, "");
  return sentences;
}

std::string quantization_loss(const TrainFlags& flags, const record::Record& record) {
  const std::filesystem::path weights = *flags.model.weights;
  if (flags.model.quantize->empty() || weights.empty()) return "";
  record::Record before;
  try {
    before = record::read_record(weights.parent_path());
  } catch (const Error&) {  // weights of another program, or that lie alone
    return "";
  }
  const auto &was = before.training.accuracy.val, &is = record.training.accuracy.val;
  const std::int64_t were_judged = before.data.val.value_or(0), judged = record.data.val.value_or(0);
  if (!was || !is || !record::share_fell(*was, were_judged, *is, judged)) return "";
  return fmt::format(
      "quantisation lost much: the validation accuracy is {} of {}, and that of the float weights was {} of {} ('{}'): "
      "more --epochs, a smaller --lr, or 'evener quantize' with --accuracy-drop, which keeps layers in float, may help",
      percent(*is), counted(judged, "image"), percent(*was), counted(were_judged, "image"),
      printable(weights.string()));
}

std::vector<std::string> ignored_options(const TrainFlags& flags, const TrainOptions& options,
                                         const TrainSetup& setup) {
  std::vector<std::string> sentences;
  // Adds a sentence that names those of the options that were given.
  const auto ignore = [&](std::initializer_list<const OptionBase*> useless, const std::string& reason) {
    std::vector<std::string> names;
    for (const OptionBase* option : useless) {
      if (option->given()) names.push_back(option->name());
    }
    if (names.empty()) return;
    sentences.push_back(
        fmt::format("{} {} nothing: {}", fmt::join(names, ", "), names.size() == 1 ? "changes" : "change", reason));
  };
  const OptimisationFlags& learning = flags.optimisation;
  const PlacementFlags& placement = flags.placement;
  const bool evaluates = options.epochs == 0;
  if (evaluates) {
    ignore({&learning.learning_rate, &learning.schedule, &learning.warmup, &learning.optimizer, &learning.momentum,
            &learning.nesterov, &learning.weight_decay, &learning.clip_norm, &learning.average_decay,
            &learning.accumulate, &learning.validate_every, &learning.patience, &learning.until_accuracy,
            &flags.model.freeze, &flags.model.linear_probing, &flags.data.augment},
           "with --epochs 0 nothing is trained");
  } else if (setup.val_images == 0) {
    ignore({&learning.validate_every, &learning.patience, &learning.until_accuracy},
           "there are no images to validate on");
  }
  if (options.weights.empty()) ignore({&flags.model.linear_probing}, "there are no --weights to go on from");
  if (setup.network.anchors().empty()) {
    ignore({&learning.box_loss}, "the network is no detector");
  } else {
    ignore({&learning.loss, &learning.label_smoothing}, "a detector has a loss of its own (--box-loss)");
  }
  const bool native = setup.engine == "native";
  if (native) {
    ignore({&placement.layout}, "the native engine has one memory layout");
    ignore({&placement.convolution}, "the native engine computes no convolutions");
  }
  if (!uses(options.plan, [](DeviceKind kind) { return kind != DeviceKind::kCpu; })) {
    ignore({&placement.step_graph}, "there is no GPU in the placement");
  } else if (!uses(options.plan, [](DeviceKind kind) { return kind == DeviceKind::kCuda; })) {
    ignore({&placement.step_graph}, "only steps on CUDA's GPUs are replayed");
  }
  const bool divided = placement::stage_count(options.plan) > 1;
  if (!divided) {
    ignore({&placement.cut, &placement.micro_batches, &placement.pipeline_schedule},
           "the placement has no stages ('..')");
  }
  const bool alone = options.plan.replicas.size() == 1 && !divided;
  if (alone) {
    ignore({&placement.replicas, &placement.oversubscribe, &placement.shares}, "there is one replica");
    if (!options.frozen_batch_norm) ignore({&placement.batch_norm}, "there is one replica");
    if (!options.always_exchange) ignore({&placement.communication_dtype}, "one replica exchanges no gradients");
  } else if (std::ranges::none_of(setup.network.layers(), [](const network::Layer& layer) {
               return std::holds_alternative<network::BatchNorm>(layer.op);
             })) {
    ignore({&placement.batch_norm}, "the network has no batch-norm layer");
  }
  if (alone && *placement.hosts_started == 0) {
    ignore({&placement.restarts}, "a run of one replica is not started again by itself");
  }
  if (!placement.is_automatic()) ignore({&flags.measuring.plan_seconds}, "it is for --on auto");
  return sentences;
}

}  // namespace evener::training
