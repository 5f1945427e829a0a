// Checkpoints: last.safetensors and best.safetensors hold parameters and buffers with what is needed to use them;
// last.resume-N.safetensors beside it holds the optimiser's state and the progress.
// The two files of a checkpoint belong together by a generation number. The resume file is written first and
// last.safetensors renamed into place after it, so a kill at any moment leaves a matching pair. New best weights wait
// as best.new-EPOCH.safetensors until the checkpoint that speaks of them is there, and take their place then.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess.h"
#include "engine/engine.h"
#include "network/passes/quantize.h"
#include "task/training/train.h"

namespace evener::task {

/// Where a run stands.
struct Progress {
  int epoch = 0;          // complete epochs
  std::int64_t step = 0;  // steps done in the next one
  engine::Sums partial;   // sums over those steps
  double partial_seconds = 0;
  int best_epoch = 0;
  double best_accuracy = -1, best_loss = 0;
  std::vector<record::EpochRecord> epochs;
};

/// What a weights file says of itself, so that it can be used without the command that made it.
struct WeightsInfo {
  std::string model;
  std::vector<std::string> classes;
  data::ImageShape image;
  std::vector<float> mean, standard_deviation;
  std::optional<data::CropMode> crop = {};
  network::QuantizationScheme quantization = {};
};

struct Checkpoint {
  TensorMap state, optimizer_state;
  Progress progress;
  nlohmann::json config;
  data::ChannelStatistics normalization;
};

/// Whether all values are finite: only such weights are worth a checkpoint.
bool is_finite(const TensorMap& state);

/// Whether `dir` holds last.safetensors.
bool has_checkpoint(const std::filesystem::path& dir);
/// When it was written; nothing if there is none.
std::optional<std::filesystem::file_time_type> checkpoint_time(const std::filesystem::path& dir);

/// What a training has come to: parameters and buffers, and the optimiser's values.
struct TrainingState {
  TensorMap state, optimizer_state;
};

/// Writes the pair and removes the older resume file. `config`: what must be equal for a resume.
void save_last(const std::filesystem::path& dir, const TrainingState& training, const WeightsInfo& info,
               const Progress& progress, const nlohmann::json& config);
/// Writes best weights, those of epoch `epoch`, that wait for the checkpoint.
void stage_best(const std::filesystem::path& dir, const TensorMap& state, const WeightsInfo& info, int epoch);
/// Those that wait become best.safetensors.
void publish_best(const std::filesystem::path& dir);
/// Both at once, where there will be no checkpoint that speaks of them.
void save_best(const std::filesystem::path& dir, const TensorMap& state, const WeightsInfo& info, int epoch);
/// After a run was killed: makes best.safetensors the weights that `progress`, which is its checkpoint's, speaks of.
/// False where they are not there; then `progress` knows no best epoch any more.
bool settle_best(const std::filesystem::path& dir, Progress& progress);

/// The parameters and buffers in best.safetensors.
TensorMap load_best(const std::filesystem::path& dir);

/// Reads the pair. Throws Error naming the file that is missing, cut short, or not of the other's generation.
Checkpoint load_last(const std::filesystem::path& dir);

}  // namespace evener::task
