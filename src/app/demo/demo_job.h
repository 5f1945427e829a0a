// `evener demo`: the same trainings in every way that this machine has, then what was trained in each precision, as one
// table on one page, on data that it generates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "measure/run/observer.h"
#include "options/measured_command.h"
#include "options/option.h"
#include "placement/machine.h"

namespace evener::app {

struct DemoFlags : OptionGroup {
  DemoFlags() : OptionGroup("Demo") {}

  Option<std::string> out{*this, "--out DIR", "runs/demo",
                          "Folder for the runs and the report; replaced if it is there"};
  Option<double> minutes{*this, "--minutes MINUTES", 4, within(from_to(0.2, 24 * 60)),
                         "About how long it may take; it is sized by a short probe"};
  Option<std::uint64_t> seed{*this, "--seed N", 1, "Of the images, the first weights and the order"};
};

/// Runs the demo and tells `observer` its tables and conclusions. Throws UsageError where the folder holds something
/// else, Interrupted after a stop request, and Error where a run failed that all others need.
void demo(const DemoFlags& flags, const MeasuredCommands& commands, measure::Observer& observer,
          const StopFlag* stop = nullptr);

/// The placements that are compared: one thread, all, two replicas, two stages, two unequal replicas (the second at
/// half its speed), and with GPUs one, and one with the CPU. On a single core one thread alone.
std::vector<std::string> demo_ways(const placement::Machine& machine);
/// What each of the ways means, in a sentence.
std::string ways_sentence(const std::vector<std::string>& ways);
/// The precisions of trainings: fp32, and bf16 where a processor is fast at it.
std::vector<std::string> demo_precisions(const placement::Machine& machine);

/// A training as it was timed.
struct ProbedTraining {
  double start_s = 0;  // of the process without its training: starting, loading, testing
  double image_s = 0;  // to train an image once
};

/// How often each cell is run, and on how much data.
struct DemoSize {
  int repeats = 1;
  int images = 0;       // of the data set
  bool learns = false;  // enough images to learn what is in them
};

/// A training that all ways do.
struct DemoTraining {
  std::string name, title, model, data;
  std::string size = {};             // "14x14"; "" = as the images are
  std::vector<std::string> options;  // further lines of the experiment's file
  int epochs = 1;
  double train_share = 0.7;                                   // of the images
  int fewest_images = 0, enough_images = 0, most_images = 0;  // enough: to learn what is in them
};
/// A perceptron on digits, and a small residual network on smaller ones.
const std::vector<DemoTraining>& demo_trainings();

/// The size with which `cells` cells take about `seconds`: five repeats if the runs are still long enough to be
/// measured, else three, which are the fewest that can be compared, else one with as few images as can be measured.
DemoSize demo_size(const DemoTraining& training, const ProbedTraining& probed, std::size_t cells, double seconds);

/// What the files of the experiments begin with.
inline constexpr const char* kWrittenByDemo = "# Written by 'evener demo'";
/// The files of the experiments, for `evener sweep`. `limit_s`: no run begins later; 0 = no limit.
std::string training_experiment(const DemoTraining& training, const DemoSize& size,
                                const std::vector<std::string>& ways, const std::vector<std::string>& precisions,
                                std::uint64_t seed, double limit_s, const std::filesystem::path& out);
/// `trained`, `quantized`: folders of a training with this seed and of its int8 network; "" = there is none. They see
/// images that no training saw, of another seed.
std::string inference_experiment(const DemoTraining& training, const std::filesystem::path& trained,
                                 const std::filesystem::path& quantized, const std::vector<std::string>& precisions,
                                 int repeats, std::uint64_t seed, const std::filesystem::path& out);

/// Published figures beside ours, as evener's CSV of references.
std::string demo_reference(int cores);

}  // namespace evener::app
