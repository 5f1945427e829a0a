// The options of a training: for `evener train`, and for commands that prepare one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "infer/calibrate/options.h"
#include "measure/run/observer.h"
#include "options/data_flags.h"
#include "options/option.h"
#include "options/run_flags.h"
#include "placement/plan.h"
#include "train/learning_options.h"
#include "train/placement_options.h"
#include "train/steps/train.h"

namespace evener::training {

struct TrainFlags {
  ModelFlags model;
  DataFlags data;
  OptimisationFlags optimisation;
  inference::TrainCalibrationFlags calibration;
  PlacementFlags placement;
  GoalFlags goal;
  TrainOutputFlags output;
  MeasuringFlags measuring;
  EnergyFlags energy;
  /// All of them, in the order of --help.
  const std::vector<OptionGroup*> groups = {&model, &data,   &optimisation, &calibration, &placement,
                                            &goal,  &output, &measuring,    &energy};

  double begin_s = now_s();            // when the command began: --minutes counts from here
  bool chooses = false;                // whether the network, or its image size, is chosen automatically (job/choose/)
  double tried_epoch_s = 0;            // seconds of an epoch in the trial of the chosen network; 0 = not tried
  std::vector<std::string> decisions;  // sentences on options that were chosen automatically, for the record

  /// When --minutes are over; absent: it wasn't given.
  std::optional<double> end_by_s() const {
    const std::optional<double>& minutes = *optimisation.minutes;
    if (!minutes) return std::nullopt;
    return begin_s + 60 * *minutes;
  }

  OptionSet options() const { return OptionSet(groups); }
};

/// The config of the record of a run with these options, as they were given.
nlohmann::json config_of(const TrainFlags& flags);

/// The words of all options that were given, which the record keeps for --resume RUN_DIR.
GivenWords words_of(const TrainFlags& flags);

/// Sets options that were not given: to those of the run that is resumed, or to defaults that suit the network. To be
/// called once, before any other use of the flags. `observer`: of a download; null: nothing is to be done yet. Throws
/// UsageError and Error.
void complete(TrainFlags& flags, measure::Observer* observer);

/// The part of complete() that decides what is learnt and how, for all commands that have a training's options: sets
/// --weights to the file that a name or a run stands for, after a look at the data, and defaults that suit the network
/// and its weights.
void complete_learning(TrainFlags& flags, measure::Observer* observer);

/// Throws UsageError for mistakes that show without the data: options of different groups that don't go together, and
/// an invalid placement. Doesn't check whether this machine has the devices.
void check_placement(const TrainFlags& flags);

/// Gives options that were not given the defaults that detectors learn with: adamw at 0.002, a cosine, batches of 16,
/// gradients clipped; with sgd, a momentum. Other networks keep those of --help.
void choose_detector_defaults(TrainFlags& flags);

/// Lists and divides the data by these options without decoding it. Throws as data::open_data does.
data::OpenedData look_at_data(const TrainFlags& flags);

/// A value for --split that leaves enough of this data for validation; "" where the data comes with a validation part.
std::string suitable_split(const TrainFlags& flags, const data::OpenedData& data);

/// The message that refuses --on auto with --dry-run and several hosts.
inline constexpr const char* kAutoIsMeasured =
    "--on auto is chosen by measuring on this host: 'evener plan' does so and trains nothing; name what it finds";

/// The plan of placement `on` on this host. For "auto", which can be decided only with the data, that of "cpu". Throws
/// UsageError.
placement::Plan plan_of(const TrainFlags& flags, const std::string& on);
placement::Plan plan_of(const TrainFlags& flags);
placement::PlanOptions plan_options(const TrainFlags& flags);

/// Checks what options of different groups demand of each other, and turns all of them into what TrainJob takes;
/// each group has checked its own. Throws UsageError.
TrainOptions train_options(const TrainFlags& flags, const placement::Plan& plan);

}  // namespace evener::training
