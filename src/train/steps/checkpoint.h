// Checkpoints: last.safetensors and best.safetensors hold parameters and buffers with what is needed to use them;
// last.resume-N.safetensors beside it holds the optimiser's state and the progress.
// The two files of a checkpoint belong together by a generation number. The resume file is written first and
// last.safetensors renamed into place after it, so a kill at any moment leaves a matching pair. New best weights wait
// as best.new-EPOCH.safetensors until the checkpoint that speaks of them is there, and take their place then.
// A resumed run must have the settings of the run that it goes on with.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "infer/model/metadata.h"
#include "train/steps/train.h"

namespace evener::training {

/// How far a run has come.
struct Progress {
  int epoch = 0;          // complete epochs
  std::int64_t step = 0;  // steps done in the next one
  engine::Sums partial;   // sums over those steps
  double partial_seconds = 0;
  int best_epoch = 0;
  double best_accuracy = -1, best_loss = 0;
  std::vector<record::EpochRecord> epochs;
};

struct Checkpoint {
  TensorMap state, optimizer_state;
  Progress progress;
  nlohmann::json config;
  data::ChannelStatistics normalization;
};

/// Whether all values are finite: only such weights are worth a checkpoint.
bool is_finite(const TensorMap& state);

/// When last.safetensors in `dir` was written; absent if there is none.
std::optional<std::filesystem::file_time_type> checkpoint_time(const std::filesystem::path& dir);

/// The state of a training: parameters and buffers, and the optimiser's state.
struct TrainingState {
  TensorMap state, optimizer_state;
};

/// Writes the pair and removes the older resume file. `config`: what must be equal for a resume.
void save_last(const std::filesystem::path& dir, const TrainingState& training, const inference::ModelFacts& info,
               const Progress& progress, const nlohmann::json& config);
/// Writes the best weights, those of epoch `epoch`, as best.new-EPOCH.safetensors: they wait for the checkpoint.
void stage_best(const std::filesystem::path& dir, const TensorMap& state, const inference::ModelFacts& info, int epoch);
/// Renames the best weights that wait to best.safetensors.
void publish_best(const std::filesystem::path& dir);
/// Does both at once, for a run that ends without another checkpoint.
void save_best(const std::filesystem::path& dir, const TensorMap& state, const inference::ModelFacts& info, int epoch);
/// After a run was killed: makes best.safetensors the weights of the best epoch of `progress`, which comes from the
/// run's checkpoint. Returns false where these weights are missing, and then resets the best epoch of `progress`.
bool settle_best(const std::filesystem::path& dir, Progress& progress);

/// The parameters and buffers in best.safetensors.
TensorMap load_best(const std::filesystem::path& dir);

/// Reads last.safetensors and its resume file. Throws Error naming the file that is missing or cut short, or whose
/// generation is not that of the other.
Checkpoint load_last(const std::filesystem::path& dir);

/// Everything that decides the weights: the caller's settings (TrainOptions::settings), and what the job found out: the
/// engine, the data's classes, the numbers and size of its images, the batch. A resumed run must agree in all of this
/// but the engine, or it would be another training. Settings that nobody chose are null, which counts as absent, so
/// that checkpoints from before an option existed can be resumed.
nlohmann::json resume_config(const TrainOptions& options, const TrainSetup& setup);

/// Throws UsageError listing the settings that differ.
void require_same_config(const nlohmann::json& saved, const nlohmann::json& now);

}  // namespace evener::training
