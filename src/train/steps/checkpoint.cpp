#include "train/steps/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "infer/model/normalization.h"
#include "measure/run/out_folder.h"
#include "network/init.h"
#include "record/record_fields.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::engine {

/// [["loss", total, count], ...]
static void to_json(nlohmann::ordered_json& json, const Sums& sums) {
  json = nlohmann::ordered_json::array();
  for (const auto& entry : sums.entries()) json.push_back({entry.name, entry.total, entry.count});
}
static void from_json(const nlohmann::json& json, Sums& sums) {
  std::vector<Sums::Entry> entries;
  for (const auto& entry : json) entries.push_back({entry.at(0), entry.at(1), entry.at(2)});
  sums = Sums(std::move(entries));
}

}  // namespace evener::engine

namespace evener::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kBest = "best.safetensors";
constexpr const char* kNewBestPrefix = "best.new-";
constexpr const char* kResumePrefix = "last.resume-";

/// The number of a checkpoint, which grows with every checkpoint of a run.
std::string generation_of(const Progress& progress) {
  return std::to_string(progress.epoch) + "." + std::to_string(progress.step);
}

fs::path resume_path(const fs::path& dir, const std::string& generation) {
  return dir / (kResumePrefix + generation + ".safetensors");
}

/// Whether an epoch in a checkpoint has all values that a resumed run needs.
bool is_whole(const record::EpochRecord& epoch) {
  return epoch.epoch > 0 && epoch.seconds && epoch.train_loss && (epoch.lr || epoch.head_only);
}

weights::Metadata weights_metadata(const inference::ModelFacts& info, const std::string& generation) {
  weights::Metadata metadata = inference::model_metadata(info);
  metadata["format"] = "evener-weights-1";
  metadata["generation"] = generation;
  return metadata;
}

const std::string& entry(const weights::Metadata& metadata, const std::string& key, const fs::path& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    throw Error(path.string() + " is not a checkpoint of evener: its metadata has no '" + key + "'");
  }
  return found->second;
}

void remove_other_resume_files(const fs::path& dir, const fs::path& keep) {
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(dir, ignored)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with(kResumePrefix) && file.path() != keep) fs::remove(file.path(), ignored);
  }
}

fs::path new_best_path(const fs::path& dir, int epoch) {
  return dir / (kNewBestPrefix + std::to_string(epoch) + ".safetensors");
}

std::vector<fs::path> new_best_files(const fs::path& dir) {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(dir)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with(kNewBestPrefix) && name.ends_with(".safetensors")) files.push_back(file.path());
  }
  return files;
}

std::string best_generation(int epoch) {
  return std::to_string(epoch) + ".0";
}

/// The generation of best.safetensors; "" where it can't be read.
std::string generation_of_best(const fs::path& dir) {
  try {
    const weights::Metadata metadata = weights::read_safetensors_metadata(dir / kBest);
    const auto found = metadata.find("generation");
    return found == metadata.end() ? "" : found->second;
  } catch (const Error&) {
    return "";
  }
}

/// For a message: names of files may be no UTF-8.
std::string shown(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Whether both name one file or folder, such as "mnist" and "mnist/".
bool same_place(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& text) { return (fs::path(text) / "").lexically_normal(); };
  std::error_code none;
  return plain(a) == plain(b) || fs::equivalent(a, b, none);
}

/// Whether both say the same.
bool is_same(const std::string& key, const json& before, const json& now) {
  if (before == now) return true;
  if (!before.is_string() || !now.is_string()) return false;
  return (key == "data" || key == "weights") && same_place(before.get<std::string>(), now.get<std::string>());
}

}  // namespace

template <typename Visitor>
void describe(Visitor& visitor, Of<Progress> auto& progress) {
  visitor.required("epoch", progress.epoch);
  visitor.required("step", progress.step);
  visitor.group("partial", [&](auto& partial) {
    partial.required("sums", progress.partial);
    partial.required("seconds", progress.partial_seconds);
  });
  visitor.group("best", [&](auto& best) {
    best.required("epoch", progress.best_epoch);
    best.required("accuracy", progress.best_accuracy);
    best.required("loss", progress.best_loss);
  });
  visitor.required("epochs", progress.epochs);
  visitor.check("epochs", std::ranges::all_of(progress.epochs, is_whole),
                "expected epochs with their number, seconds, rate and loss");
}

bool is_finite(const TensorMap& state) {
  return std::ranges::all_of(state, [](const auto& entry) { return network::first_not_finite(entry.second) < 0; });
}

std::optional<fs::file_time_type> checkpoint_time(const fs::path& dir) {
  std::error_code error;
  const auto time = fs::last_write_time(dir / measure::kLastCheckpoint, error);
  return error ? std::nullopt : std::optional(time);
}

void save_last(const fs::path& dir, const TrainingState& training, const inference::ModelFacts& info,
               const Progress& progress, const json& config) {
  const std::string generation = generation_of(progress);
  const fs::path resume = resume_path(dir, generation);
  weights::write_safetensors(resume, training.optimizer_state,
                             {{"format", "evener-resume-1"},
                              {"generation", generation},
                              {"progress", record::described_json(progress).dump()},
                              {"config", weights::metadata_text(config)}});
  weights::write_safetensors(dir / measure::kLastCheckpoint, training.state, weights_metadata(info, generation));
  remove_other_resume_files(dir, resume);
}

void stage_best(const fs::path& dir, const TensorMap& state, const inference::ModelFacts& info, int epoch) {
  for (const fs::path& older : new_best_files(dir)) fs::remove(older);
  weights::write_safetensors(new_best_path(dir, epoch), state, weights_metadata(info, best_generation(epoch)));
}

void publish_best(const fs::path& dir) {
  for (const fs::path& file : new_best_files(dir)) fs::rename(file, dir / kBest);
}

void save_best(const fs::path& dir, const TensorMap& state, const inference::ModelFacts& info, int epoch) {
  stage_best(dir, state, info, epoch);
  publish_best(dir);
}

bool settle_best(const fs::path& dir, Progress& progress) {
  // Without validation the last weights count as the best.
  const int epoch = progress.best_epoch != 0 ? progress.best_epoch : progress.epoch;
  std::error_code none;  // another host of the run may do the same at this moment
  fs::rename(new_best_path(dir, epoch), dir / kBest, none);
  for (const fs::path& other : new_best_files(dir)) fs::remove(other, none);
  if (progress.best_epoch == 0 || generation_of_best(dir) == best_generation(epoch)) return true;
  progress.best_epoch = 0;
  progress.best_accuracy = Progress().best_accuracy;
  progress.best_loss = Progress().best_loss;
  return false;
}

TensorMap load_best(const fs::path& dir) {
  return weights::read_safetensors(dir / kBest).tensors;
}

Checkpoint load_last(const fs::path& dir) {
  const fs::path last = dir / measure::kLastCheckpoint;
  measure::require_checkpoint(dir);
  weights::SafetensorsFile weights = weights::read_safetensors(last);
  const fs::path resume = resume_path(dir, entry(weights.metadata, "generation", last));
  if (!fs::exists(resume)) {
    throw Error("can't resume: " + resume.string() + ", which belongs to " + last.string() + ", is missing");
  }
  weights::SafetensorsFile rest = weights::read_safetensors(resume);
  Checkpoint checkpoint;
  try {
    const json progress = json::parse(entry(rest.metadata, "progress", resume));
    record::read_described(progress, "can't resume: " + resume.string(), checkpoint.progress);
    checkpoint.config = weights::metadata_value(entry(rest.metadata, "config", resume));
  } catch (const json::exception& error) {
    throw Error("can't resume: " + resume.string() + " is damaged: " + error.what());
  }
  // Written above as (C, H, W).
  const json input = json::parse(entry(weights.metadata, "input", last), nullptr, false);
  const bool shaped = input.is_array() && !input.empty() && input[0].is_number_integer();
  const auto normalization = inference::normalization_of(weights.metadata, shaped ? input[0].get<std::int64_t>() : 0);
  if (!normalization) throw Error("can't resume: " + last.string() + " does not say how its images were normalised");
  checkpoint.normalization = *normalization;
  checkpoint.state = std::move(weights.tensors);
  checkpoint.optimizer_state = std::move(rest.tensors);
  return checkpoint;
}

json resume_config(const TrainOptions& options, const TrainSetup& setup) {
  json config = options.settings ? *options.settings : json::object();
  config["engine"] = setup.engine;
  config["classes"] = setup.classes;
  config["size"] = {setup.image.channels, setup.image.height, setup.image.width};
  config["train images"] = setup.train_images;
  config["validation images"] = setup.val_images;
  config["batch"] = options.batch;
  return config;
}

void require_same_config(const json& saved, const json& now) {
  std::string differences;
  for (const auto& [key, value] : now.items()) {
    if (key == "engine") continue;  // each engine goes on with the other's checkpoints
    const json before = saved.contains(key) ? saved[key] : json();
    if (!is_same(key, before, value))
      differences += "\n  " + key + ": " + shown(before) + " in the checkpoint, " + shown(value) + " now";
  }
  if (!differences.empty()) {
    throw UsageError("can't resume with other settings than the run was started with:" + differences +
                     "\nRepeat them, or start a new run with another --out");
  }
}

}  // namespace evener::training
