// A few training steps under some plan, on the run's own data, in processes of their own that leave nothing behind:
// what a planner measures. The largest batch that a device has memory for, and the time of each layer, are found in the
// same way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "infer/run/layer_profile.h"
#include "network/network.h"
#include "placement/plan.h"
#include "train/steps/stages.h"
#include "train/steps/train.h"

namespace evener::training {

/// The largest number from 1 to `most` for which `fits` is true; `fits` has to be true for all smaller numbers, too.
/// Found by doubling and then by bisection, to within a 32nd of the result. 0 where not even 1 fits.
std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits);

/// Whether a new trainer has memory to train and evaluate with batches of `images` images, and then to train with the
/// shorter last batch of an epoch of `all` images: its buffers come on top of those kept for whole batches. Nothing is
/// learnt: the learning rate is 0.
bool can_train(engine::Engine& engine, const network::Network& network, const engine::TrainerOptions& options,
               const TensorMap& state, std::int64_t images, std::int64_t all);

/// Steps of one size of the batch, warm-up left out.
struct TrialSteps {
  std::int64_t images = 0;  // of the batch, over all replicas
  std::vector<double> seconds;
  double begin_s = 0, end_s = 0;  // by now_s()
};

struct TrialResult {
  /// Ascending. The last is the whole batch, or less where there was no time for it.
  std::vector<TrialSteps> sizes;
  std::optional<double> evaluate_images_per_s;  // absent: nothing to validate on, or no time
};

/// Tries out plans, batches and steps for a prepared training before one of each is chosen.
class Trials {
 public:
  /// `training` must outlive them.
  explicit Trials(const PreparedTraining& training) : job_(training.state()) {}

  const TrainSetup& setup() const;
  const TrainOptions& options() const;
  /// Images of a whole batch: no more than there are to train on.
  std::int64_t batch() const;

  /// Why this plan can't train here; "" = it can.
  std::string refusal(const placement::Plan& plan) const;
  /// Trains with a learning rate of 0 for about `seconds`, the start of the processes included, but always at least
  /// some steps of a few images, however long they take. Throws Interrupted, or Error when a replica failed.
  TrialResult run(const placement::Plan& plan, double seconds) const;
  /// The largest batch, of no more images than there are to train on, that the only replica of `plan` can train with.
  /// A GPU is tried with real steps, in a process of its own; for a CPU it is predicted. 0: not even one. Throws
  /// UsageError for several replicas.
  std::int64_t largest_batch(const placement::Plan& plan) const;
  /// How the network is divided over the stages of `plan`: as --cut says, or by measured times of the layers.
  Division division_of(const placement::Plan& plan) const;
  /// How long the stages of `plan` take, by the measured times of their layers.
  StageForecast forecast(const placement::Plan& plan) const;
  /// Images/s that the loader of one replica on the CPU prepares with nothing else to do.
  double loader_images_per_s(double seconds) const;

 private:
  /// The time of each layer of the network, by its index, in a training step of `images` images on the device of a
  /// stage at full speed. Layers that are fused into one have their time at the first of them and 0 at the others.
  /// Measured once for each device and number of threads.
  const std::vector<parallel::StageTimes>& layer_times(const placement::PlanStage& device, std::int64_t images) const;

  const PreparedTraining::State& job_;
  mutable std::map<std::string, std::vector<parallel::StageTimes>> layer_times_;
  mutable std::map<std::string, Division> divisions_;  // by the plan's text
};

/// Takes the largest batch for --batch max, and tells it in a sentence. Throws Error where not even one image fits, and
/// as largest_batch() does.
std::string take_largest_batch(PreparedTraining& training);

/// Times steps of a trainer of its own on the first replica's device, on noise as images and as many of them as that
/// replica has of a batch. The trained weights stay as they are. Throws Error, and Interrupted between two passes.
inference::NetworkProfile profile_training(const TrainSetup& setup, const TrainOptions& options);

}  // namespace evener::training
