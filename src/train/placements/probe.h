// The measurements that a planner needs, as an interface so that a planner can be tested on made-up machines.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/sensors/open_sensors.h"
#include "placement/plan.h"
#include "record/energy.h"
#include "train/placements/candidates.h"
#include "train/steps/stages.h"
#include "train/steps/trial.h"

namespace evener::training {

/// A measurement: `images` took `seconds`.
struct Timing {
  double images = 0, seconds = 0;
};

/// The duration of a step on n images: fixed_s + per_image_s * n.
struct StepModel {
  double fixed_s = 0, per_image_s = 0;

  double seconds(double images) const { return fixed_s + per_image_s * images; }
};

/// Fits a line to the two largest sizes only (`timings` ascend), because smaller batches may be slowed by costs that
/// large ones don't have. With a single timing, or if the larger size took no longer, assumes time in proportion to
/// images.
StepModel fit_step(std::span<const Timing> timings);

/// Seconds of an epoch of `images` images in batches of `batch`, of which the last may be smaller.
double epoch_seconds(const StepModel& step, double images, double batch);

/// The duration of an all-reduce: latency + bytes / bandwidth.
struct ExchangeModel {
  double latency_s = 0, s_per_byte = 0;

  double seconds(double bytes) const { return latency_s + s_per_byte * bytes; }
};
/// Fits the model to the times of a small and a large all-reduce.
ExchangeModel fit_exchange(double small_bytes, double small_s, double large_bytes, double large_s);

/// The model of a group of replicas that share each batch.
struct Group {
  std::vector<StepModel> replicas;        // of each replica alone
  std::vector<double> weights;            // fixed shares of the batch; empty: shares by speed
  std::function<double(int)> exchange_s;  // all-reduces of a step, by the number of replicas (2 or more)
  double images_per_s_limit = 0;          // of each replica's loader; 0 = none
};

struct GroupStep {
  double seconds = 0;
  std::vector<double> images;  // of each replica; 0 = left out
};

/// A step in which all replicas take part. Shares by speed let all replicas finish together; a replica whose fixed cost
/// alone is longer than that gets no images.
GroupStep step_together(const Group& group, double batch);

/// A step as a run will finally do it: with shares by speed, the slowest replica leaves the group as long as the others
/// are faster without it (parallel/data_parallel.h). Rank 0 always stays.
GroupStep step_of_run(const Group& group, double batch);

/// The upper bound of the replicas' joint speed, as a multiple of the fastest replica's: the sum of speeds over the
/// highest.
double ceiling(std::span<const double> images_per_s);

/// The power during a trial's steps.
struct TrialPower {
  std::vector<double> watts;  // mean power in consecutive, equally long parts; empty: unknown
  double seconds = 0;         // of all parts together
  double used_share = 1;      // of the energy: by devices that the placement computes on
  record::EnergyClass kind = record::EnergyClass::kAbsent;
  std::string reason = {};  // why `watts` is empty
};

/// The energy that was used until a time.
struct EnergyReading {
  double at_s = 0;         // by now_s()
  double joules = 0;       // of all devices that add up
  double used_joules = 0;  // of those that the placement computes on
};
/// The power from `begin_s` to `end_s`, between which `readings` lie, ascending. A part is as long as `step_s`, in
/// which the slowest sensor has a new value, or longer, and there are 20 at most. Without a power, and with a reason,
/// where there would be fewer than three.
TrialPower power_between(const std::vector<EnergyReading>& readings, double begin_s, double end_s, double step_s);

struct Trial {
  std::vector<Timing> timings;  // median step time for each batch size, ascending
  std::vector<double> blocks;   // step time of the largest size in consecutive blocks of steps
  std::optional<double> evaluate_images_per_s;
  TrialPower power;  // while the steps of the largest size were taken
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual double now_s() const = 0;
  /// All that is asked afterwards is asked in this precision; absent: the one of the training's options. Throws Error
  /// where it is impossible.
  virtual void set(std::optional<Precision> precision) = 0;
  /// Why this plan can't train; "" = it can.
  virtual std::string refusal(const placement::Plan& plan) = 0;
  /// Trains on `plan` for about `seconds`. Throws Error if training fails.
  virtual Trial trial(const placement::Plan& plan, double seconds) = 0;
  /// Predicts the times and the memory of the stages of `plan`, which has several. Throws Error if layers can't be
  /// timed.
  virtual StageForecast forecast(const placement::Plan& plan) = 0;
  /// Measures the all-reduce between the plan's ranks.
  virtual ExchangeModel exchange(const placement::Plan& plan) = 0;
  virtual double loader_images_per_s() = 0;
  /// The share of the machine's CPU time that other programs have used since the probe was made; absent if unknown.
  virtual std::optional<double> others_share() = 0;
  /// Why energy can't be measured; "" = it can.
  virtual std::string energy_refusal() = 0;
};

/// The energy options for the devices of a plan.
using EnergyOfPlan = std::function<measure::EnergyOptions(const placement::Plan&)>;
/// A probe that measures `training` on this machine and leaves it in the precision that was set last. `training` must
/// outlive it.
std::unique_ptr<Probe> make_probe(PreparedTraining& training, EnergyOfPlan energy);

/// Mean step times of consecutive blocks of steps. A block lasts at least 0.05 s, so that short disturbances are
/// averaged out. Returns `seconds` unchanged if there would be fewer than three blocks.
std::vector<double> step_blocks(const std::vector<double>& seconds);

}  // namespace evener::training
