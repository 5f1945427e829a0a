// Options about what is learnt in each step, for how long, and what becomes of the probabilities in the end.
#pragma once

#include "job/options/option.h"
#include "task/training/train.h"

namespace evener::job {

struct OptimisationFlags : OptionGroup {
  OptimisationFlags();

  Option<int> epochs{*this,
                     {"--epochs", "N", "Passes over the training images; 0: evaluate --weights only"},
                     10,
                     {.range = zero_or_more(), .in_plans = false}};
  Option<std::optional<double>> minutes{
      *this,
      {"--minutes", "N",
       "End by then, counted from the start of the command: as many epochs as fit, by their measured speed, and no "
       "more "
       "than --epochs where that is given (default: as --epochs says; 10 where the network is chosen, too)"},
      {},
      {.range = more_than_zero(), .in_plans = false, .inherited = false}};
  Option<std::string> batch{*this,
                            {"--batch",
                             "N|max",
                             "Images per step, over all devices together (detectors: 16); or max: the largest batch "
                             "that the device has memory for",
                             {"--batch-size", "--batchsize", "--bs"}},
                            "64"};
  Option<std::optional<double>> learning_rate{*this,
                                              {"--lr",
                                               "RATE",
                                               "Learning rate (default: 0.05; adamw 0.001; adamw for detectors 0.002)",
                                               {"--learning-rate", "--rate"}},
                                              {},
                                              {.range = more_than_zero(), .in_plans = false, .stays = {"lr"}}};
  Option<double> backbone_rate{
      *this,
      {"--backbone-rate", "SHARE",
       "Learning rate of all layers but the last (of a detector: of its backbone), as a share of --lr"},
      1,
      {.range = more_than_zero(), .in_plans = false, .stays = {"backbone rate"}}};
  Option<std::string> schedule{
      *this,
      {"--schedule", "RULE",
       "Learning-rate schedule: constant, cosine, one-cycle or step:EPOCHS[:FACTOR] (detectors: cosine)"},
      "constant",
      {.suggestions = {"constant", "cosine", "one-cycle", "step:"}, .in_plans = false, .stays = {"schedule"}}};
  Option<double> warmup{*this,
                        {"--warmup", "EPOCHS", "Warm-up: epochs over which the learning rate grows from 0"},
                        0,
                        {.range = zero_or_more(), .in_plans = false}};
  Option<std::string> optimizer{*this,
                                {"--optimizer", "NAME", "sgd or adamw (detectors: adamw)"},
                                "sgd",
                                {.one_of = {"sgd", "adamw"}, .stays = {"optimizer/kind"}}};
  Option<double> momentum{*this,
                          {"--momentum", "SHARE", "Momentum of sgd (detectors: 0.9)"},
                          0,
                          {.range = momentum_range(), .stays = {"momentum", true}}};
  Option<bool> nesterov{*this,
                        {"--nesterov", "", "Let sgd look ahead along its momentum"},
                        false,
                        {.in_plans = false, .stays = {"optimizer/nesterov"}}};
  Option<std::optional<double>> weight_decay{
      *this,
      {"--weight-decay", "FACTOR",
       "sgd: L2 term added to the gradient (default: 0); adamw: weights shrink by lr x this (default: 0.01)"},
      {},
      {.range = zero_or_more(), .in_plans = false, .stays = {"weight decay"}}};
  Option<double> clip_norm{
      *this,
      {"--clip-norm", "NORM", "Gradient clipping: scale gradients down to this norm (detectors: 10); 0: never"},
      0,
      {.range = zero_or_more(), .stays = {"optimizer/clip norm"}}};
  Option<double> average_decay{*this,
                               {"--ema", "SHARE",
                                "Exponential moving average: validate, test and keep as best an average of the weights "
                                "over the steps, with this "
                                "decay, such as 0.999; 0: the weights themselves"},
                               0,
                               {.range = share(), .stays = {"optimizer/average decay"}}};
  Option<int> accumulate{*this,
                         {"--accumulate", "N", "Gradient accumulation: compute each batch in N parts, for less memory"},
                         1,
                         {.range = more_than_zero(), .stays = {"accumulate"}}};
  Option<std::string> loss{*this,
                           {"--loss", "NAME", "cross-entropy or mse"},
                           "cross-entropy",
                           {.one_of = {"cross-entropy", "mse"}, .stays = {"loss", true}}};
  Option<std::string> box_loss{*this,
                               {"--box-loss", "NAME", "Of boxes, for detectors: smooth-l1 or giou"},
                               "smooth-l1",
                               {.one_of = {"smooth-l1", "giou"}, .stays = {"box loss", true}}};
  Option<double> label_smoothing{*this,
                                 {"--label-smoothing", "SHARE", "Share of the target that goes to all classes"},
                                 0,
                                 {.range = share(), .in_plans = false, .stays = {"label smoothing"}}};
  Option<int> validate_every{*this,
                             {"--validate-every", "EPOCHS", "Validate every so many epochs"},
                             1,
                             {.range = more_than_zero(), .in_plans = false}};
  Option<int> patience{
      *this,
      {"--patience", "EPOCHS",
       "Early stopping: end after so many epochs without a better validation accuracy, or mAP@0.5; 0: never"},
      0,
      {.range = zero_or_more(), .in_plans = false}};
  Option<double> until_accuracy{
      *this,
      {"--until-accuracy", "SHARE",
       "End when the validation accuracy, or mAP@0.5, is this, such as 0.98, and tell the time it took; 0: never"},
      0,
      {.range = share_or_all(), .in_plans = false}};

  /// The number of --batch; absent: the largest that fits is to be found. Throws UsageError.
  std::optional<std::int64_t> batch_size() const;
  task::Schedule rate_schedule() const;
  /// --lr, or the optimiser's usual one.
  double rate() const;

  /// Fills in all but the batch. Throws UsageError.
  void fill(task::TrainOptions& options) const;

 private:
  static ValueRange momentum_range() { return {0, 1, false, true, "0 or more, and less than 1"}; }
  static ValueRange share_or_all() { return {0, 1, false, false, "a share, such as 0.9"}; }
  bool is_adam() const { return *optimizer == "adamw"; }
  double decay() const { return weight_decay->value_or(is_adam() ? 0.01 : 0); }
  engine::OptimizerOptions optimizer_options() const;
  void check_together() const override;
};

/// The option of all commands that calibrate.
struct UnknownFlags : OptionGroup {
  UnknownFlags() : OptionGroup("Calibration") {}

  Option<double> unknown{
      *this,
      {"--unknown", "SHARE",
       "Of images like those of the training, how many may be called unknown, from 0 to 0.5; 0: nothing is unknown"},
      0.05,
      {.range = from_to(0, 0.5), .in_plans = false}};
};

/// The options of a training.
struct TrainCalibrationFlags : UnknownFlags {
  Option<bool> no_calibration{*this,
                              {"--no-calibration", "",
                               "Leave a classifier's probabilities as they are learnt, and call nothing unknown; "
                               "'evener calibrate' does both later"},
                              false,
                              {.in_plans = false}};
};

}  // namespace evener::job
