// Options of the network, its initial weights and the optimisation.
#pragma once

#include "options/option.h"
#include "train/steps/train.h"

namespace evener::training {

struct ModelFlags : OptionGroup {
  ModelFlags();

  Option<std::string> model;
  Option<std::string> weights{
      *this, "--weights FILE", rules().kept_as("weights"),
      "Weights to start from, for fine-tuning (transfer learning): safetensors, a state dict saved by PyTorch, or "
      "imagenet or coco for published ones, which are downloaded once. With another number of classes the last layer "
      "begins anew. For a detector also those of the classifier that it is built on"};
  Option<std::string> quantize{
      *this, "--quantize FORMAT", one_of({"", "int8", "w7", "w6", "w5", "w4"}).kept_as("quantize"),
      "Quantisation-aware training (QAT): train the network of --weights as it will compute when it is quantised: "
      "int8, or w4 to w7, whose weights have fewer bits. A small learning rate is the default then"};
  Option<std::vector<std::string>> freeze{
      *this, "--freeze PATTERN", rules().kept_as("freeze"),
      "Parameters that are not trained, by a pattern of their names, e.g. 'layer*'; may be repeated. Frozen batch-norm "
      "layers go on updating their running statistics, as in PyTorch"};
  Option<std::string> linear_probing{
      *this, "--linear-probing WHEN", "auto", one_of({"auto", "on", "off"}).not_in_plans(),
      "Linear probing before fine-tuning: the last layer is fitted first, on features of the images that are computed "
      "once: auto (where that of --weights doesn't fit the data), on or off"};
  Option<std::string> normalize{
      *this, "--normalize RULE", rules().kept_as("normalize"),
      "Mean and deviation of images: data (of the training images), imagenet, MEAN/STD of values from 0 to 1, such as "
      "0.5/0.25, or pixels: 0 to 255 as they are (default: as the weights' file says, otherwise data)"};

  /// Throws UsageError.
  void fill(TrainOptions& options) const;
};

struct OptimisationFlags : OptionGroup {
  OptimisationFlags();

  Option<int> epochs{*this, "--epochs N", 10, within(zero_or_more()).not_in_plans(),
                     "Passes over the training images; 0: evaluate --weights only"};
  Option<std::optional<double>> minutes{
      *this, "--minutes N", within(more_than_zero()).not_in_plans().not_inherited(),
      "End by then, counted from the start of the command: as many epochs as fit, by their measured speed, and no more "
      "than --epochs where that is given (default: as --epochs says; 10 where the network is chosen, too)"};
  Option<std::string> batch{*this, "--batch N|max", "64", rules().called({"--batch-size", "--batchsize", "--bs"}),
                            "Images per step, over all devices together (detectors: 16); or max: the largest batch "
                            "that the device has memory for"};
  Option<std::optional<double>> learning_rate{
      *this, "--lr RATE", within(more_than_zero()).called({"--learning-rate", "--rate"}).kept_as("lr").not_in_plans(),
      "Learning rate (default: 0.05; adamw 0.001; adamw for detectors 0.002)"};
  Option<double> backbone_rate{
      *this, "--backbone-rate SHARE", 1, within(more_than_zero()).kept_as("backbone rate").not_in_plans(),
      "Learning rate of all layers but the last (of a detector: of its backbone), as a share of --lr"};
  Option<std::string> schedule{
      *this, "--schedule RULE", "constant",
      suggesting({"constant", "cosine", "one-cycle", "step:"}).kept_as("schedule").not_in_plans(),
      "Learning-rate schedule: constant, cosine, one-cycle or step:EPOCHS[:FACTOR] (detectors: cosine)"};
  Option<double> warmup{*this, "--warmup EPOCHS", 0, within(zero_or_more()).not_in_plans(),
                        "Warm-up: epochs over which the learning rate grows from 0"};
  Option<std::string> optimizer{*this, "--optimizer NAME", "sgd", one_of({"sgd", "adamw"}).kept_as("optimizer/kind"),
                                "sgd or adamw (detectors: adamw)"};
  Option<double> momentum{*this, "--momentum SHARE", 0, within(momentum_range()).kept_as("momentum", true),
                          "Momentum of sgd (detectors: 0.9)"};
  Option<bool> nesterov{*this, "--nesterov", rules().kept_as("optimizer/nesterov").not_in_plans(),
                        "Let sgd look ahead along its momentum"};
  Option<std::optional<double>> weight_decay{
      *this, "--weight-decay FACTOR", within(zero_or_more()).kept_as("weight decay").not_in_plans(),
      "sgd: L2 term added to the gradient (default: 0); adamw: weights shrink by lr x this (default: 0.01)"};
  Option<double> clip_norm{*this, "--clip-norm NORM", 0, within(zero_or_more()).kept_as("optimizer/clip norm"),
                           "Gradient clipping: scale gradients down to this norm (detectors: 10); 0: never"};
  Option<double> average_decay{*this, "--ema SHARE", 0, within(share()).kept_as("optimizer/average decay"),
                               "Exponential moving average: validate, test and keep as best an average of the weights "
                               "over the steps, with this decay, such as 0.999; 0: the weights themselves"};
  Option<int> accumulate{*this, "--accumulate N", 1, within(more_than_zero()).kept_as("accumulate"),
                         "Gradient accumulation: compute each batch in N parts, for less memory"};
  Option<std::string> loss{*this, "--loss NAME", "cross-entropy",
                           one_of({"cross-entropy", "mse"}).kept_as("loss", true), "cross-entropy or mse"};
  Option<std::string> box_loss{*this, "--box-loss NAME", "smooth-l1",
                               one_of({"smooth-l1", "giou"}).kept_as("box loss", true),
                               "Of boxes, for detectors: smooth-l1 or giou"};
  Option<double> label_smoothing{*this, "--label-smoothing SHARE", 0,
                                 within(share()).kept_as("label smoothing").not_in_plans(),
                                 "Share of the target that goes to all classes"};
  Option<int> validate_every{*this, "--validate-every EPOCHS", 1, within(more_than_zero()).not_in_plans(),
                             "Validate every so many epochs"};
  Option<int> patience{
      *this, "--patience EPOCHS", 0, within(zero_or_more()).not_in_plans(),
      "Early stopping: end after so many epochs without a new best one: of the highest validation accuracy (detectors: "
      "mAP@0.5), among equals of the lowest validation loss; 0: never"};
  Option<double> until_accuracy{
      *this, "--until-accuracy SHARE", 0, within(share_or_all()).not_in_plans(),
      "End when the validation accuracy, or mAP@0.5, is this, such as 0.98, and tell the time it took; 0: never"};

  /// The number of --batch; absent: the largest that fits is to be found. Throws UsageError.
  std::optional<std::int64_t> batch_size() const;
  Schedule rate_schedule() const {
    Schedule rule = parse_schedule(*schedule);
    rule.warmup_epochs = *warmup;
    return rule;
  }
  /// --lr, or the optimiser's default. complete_learning() may preset --lr before, for fine-tuning.
  double rate() const { return learning_rate->value_or(is_adam() ? 0.001 : 0.05); }

  /// Fills in all but the batch. Throws UsageError.
  void fill(TrainOptions& options) const;

 private:
  static ValueRange momentum_range() { return {0, 1, false, true, "0 or more, and less than 1"}; }
  static ValueRange share_or_all() { return {0, 1, false, false, "a share, such as 0.9"}; }
  bool is_adam() const { return *optimizer == "adamw"; }
  double decay() const { return weight_decay->value_or(is_adam() ? 0.01 : 0); }
  engine::OptimizerOptions optimizer_options() const;
  void check_together() const override;
};

}  // namespace evener::training
