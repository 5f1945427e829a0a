#include "train/steps/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "network/zoo.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

TrainingState state_of(float value) {
  return {{{"0.weight", HostTensor::of_floats({2}, {value, -value})}},
          {{"0.weight.momentum", HostTensor::of_floats({2}, {value, 0})}}};
}

const inference::ModelFacts kInfo{
    "mlp:2-2", {"a", "b"}, network::Shape{1, 1, 2}, data::ChannelStatistics{{0.5f}, {0.25f}}};

Progress progress_at(int epoch, std::int64_t step) {
  Progress progress;
  progress.epoch = epoch;
  progress.step = step;
  progress.partial =
      engine::classification_sums(0.1 + 0.2, 3, 7);  // not a short decimal: it has to come back to the last bit
  progress.best_epoch = 1;
  progress.best_accuracy = 2.0 / 3;
  progress.best_loss = 0.7 / 3;
  progress.epochs.reserve(2);
  record::EpochRecord& first = progress.epochs.emplace_back();
  first.epoch = 1;
  first.seconds = 2.5;
  first.lr = 0.1;
  first.train_loss = 1.0 / 3;
  first.train_accuracy = 0.75;
  progress.epochs.push_back(first);
  progress.epochs.back().epoch = 2;
  first.validate_seconds = 0.5;
  first.val_loss = 0.9;
  first.val_accuracy = 0.8;
  first.figures = {{"val_map_50", 0.1 + 0.2}};
  first.best = true;
  return progress;
}

std::string refusal(const fs::path& dir) {
  return test::thrown_by([&] { load_last(dir); }, "accepted");
}

fs::path resume_file(const fs::path& dir) {
  for (const auto& file : fs::directory_iterator(dir)) {
    if (file.path().filename().string().starts_with("last.resume-")) return file.path();
  }
  return {};
}

TEST(Checkpoint, NamesThatAreNotUtf8ComeBack) {
  const test::TestFolder dir;
  inference::ModelFacts info = kInfo;
  info.classes = {"Brasse", "Br\xE4tling"};
  const nlohmann::json config = {{"data", "fotos/\xFF"}};
  save_last(dir.path(), state_of(1), info, progress_at(2, 0), config);
  EXPECT_EQ(load_last(dir.path()).config, config);
  const auto metadata = weights::read_safetensors(dir.path() / "last.safetensors").metadata;
  EXPECT_EQ(weights::metadata_value(metadata.at("classes")), nlohmann::json(info.classes));
}

TEST(Checkpoint, ComesBackBitEqual) {
  const test::TestFolder dir;
  save_last(dir.path(), state_of(1.5f), kInfo, progress_at(2, 5), {{"batch", 8}});
  const Checkpoint read = load_last(dir.path());
  EXPECT_EQ(read.state, state_of(1.5f).state);
  EXPECT_EQ(read.optimizer_state, state_of(1.5f).optimizer_state);
  EXPECT_EQ(read.config["batch"], 8);
  EXPECT_EQ(read.progress.epoch, 2);
  EXPECT_EQ(read.progress.step, 5);
  EXPECT_EQ(read.progress.partial, engine::classification_sums(0.1 + 0.2, 3, 7));
  EXPECT_EQ(read.progress.best_accuracy, 2.0 / 3);
  EXPECT_EQ(read.progress.best_loss, 0.7 / 3);
  ASSERT_EQ(read.progress.epochs.size(), 2u);
  EXPECT_EQ(read.progress.epochs[0].train_loss, 1.0 / 3);
  EXPECT_TRUE(read.progress.epochs[0].best);
  EXPECT_FALSE(read.progress.epochs[1].val_loss.has_value());
}

TEST(Checkpoint, ReadsThatOfTheFirstRelease) {
  const Checkpoint read = load_last(test::source_folder() / "tests/golden/first_release/interrupted");
  const Progress& progress = read.progress;
  EXPECT_EQ(progress.epoch, 2);
  EXPECT_EQ(progress.step, 338);
  EXPECT_EQ(progress.partial_seconds, 0.042812295978365);
  EXPECT_EQ(progress.partial, engine::classification_sums(1438.7010287046432, 114, 676));
  EXPECT_EQ(progress.best_epoch, 2);
  EXPECT_EQ(progress.best_accuracy, 0.1975);
  EXPECT_EQ(progress.best_loss, 2.0388667918741703);
  ASSERT_EQ(progress.epochs.size(), 2u);
  EXPECT_EQ(progress.epochs[0].lr, 0.05);
  EXPECT_EQ(progress.epochs[0].validate_seconds, std::nullopt);
  EXPECT_FALSE(progress.epochs[0].best);
  EXPECT_EQ(progress.epochs[1].seconds, 1.777048114920035);
  EXPECT_EQ(progress.epochs[1].train_loss, 2.10975443162287);
  EXPECT_EQ(progress.epochs[1].validate_seconds, 0.6114275029976852);
  EXPECT_TRUE(progress.epochs[1].best);
}

TEST(Checkpoint, RefusesAProgressThatLacksWhatARunCountsOn) {
  const test::TestFolder dir;
  save_last(dir.path(), state_of(1), kInfo, progress_at(2, 5), {});
  const fs::path resume = resume_file(dir.path());
  const weights::SafetensorsFile file = weights::read_safetensors(resume);
  const auto whole = nlohmann::json::parse(file.metadata.at("progress"));
  for (const char* pointer :
       {"/epoch", "/step", "/partial/sums", "/partial/seconds", "/best/epoch", "/best/accuracy", "/best/loss",
        "/epochs", "/epochs/1/epoch", "/epochs/1/seconds", "/epochs/1/train_loss", "/epochs/1/lr"}) {
    const nlohmann::json::json_pointer path(pointer);
    nlohmann::json progress = whole;
    progress.at(path.parent_pointer()).erase(path.back());
    weights::Metadata metadata = file.metadata;
    metadata["progress"] = progress.dump();
    weights::write_safetensors(resume, file.tensors, metadata);
    EXPECT_THAT(refusal(dir.path()), HasSubstr("can't resume")) << pointer;
  }
}

TEST(Checkpoint, KeepsOnlyTheNewestPair) {
  const test::TestFolder dir;
  save_last(dir.path(), state_of(1), kInfo, progress_at(1, 0), {});
  save_last(dir.path(), state_of(2), kInfo, progress_at(2, 0), {});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 2);
  EXPECT_EQ(load_last(dir.path()).progress.epoch, 2);
}

TEST(Checkpoint, AKillBetweenTheTwoFilesLeavesTheOlderPair) {
  const test::TestFolder dir, newer;
  save_last(dir.path(), state_of(1), kInfo, progress_at(1, 0), {});
  // What a kill before the rename of last.safetensors leaves: the new resume file beside the old pair.
  save_last(newer.path(), state_of(2), kInfo, progress_at(2, 0), {});
  fs::copy(resume_file(newer.path()), dir.path());
  const Checkpoint read = load_last(dir.path());
  EXPECT_EQ(read.progress.epoch, 1);
  EXPECT_EQ(read.state, state_of(1).state);
  EXPECT_EQ(read.optimizer_state, state_of(1).optimizer_state);
}

TEST(Checkpoint, AKillBetweenTwoCheckpointsOfOneEpochLeavesTheOlderPair) {
  const test::TestFolder dir, newer;
  save_last(dir.path(), state_of(1), kInfo, progress_at(1, 4), {});
  save_last(newer.path(), state_of(2), kInfo, progress_at(1, 8), {});
  fs::copy(resume_file(newer.path()), dir.path(), fs::copy_options::overwrite_existing);
  const Checkpoint read = load_last(dir.path());
  EXPECT_EQ(read.progress.step, 4);
  EXPECT_EQ(read.state, state_of(1).state);
  EXPECT_EQ(read.optimizer_state, state_of(1).optimizer_state);
}

TEST(Checkpoint, WeightsSayWhatTheyAre) {
  const test::TestFolder dir;
  save_best(dir.path(), state_of(1).state, kInfo, 3);
  const weights::Metadata metadata = weights::read_safetensors_metadata(dir.path() / "best.safetensors");
  EXPECT_EQ(metadata.at("model"), "mlp:2-2");
  EXPECT_EQ(metadata.at("classes"), R"(["a","b"])");
  EXPECT_EQ(metadata.at("input"), "[1,1,2]");
  EXPECT_EQ(load_best(dir.path()), state_of(1).state);
}

TEST(Checkpoint, RefusesWhatIsMissingOrDamaged) {
  const test::TestFolder dir;
  EXPECT_THAT(refusal(dir.path()), HasSubstr("nothing to resume"));
  save_last(dir.path(), state_of(1), kInfo, progress_at(1, 0), {});
  const fs::path resume = resume_file(dir.path());
  const fs::path aside = dir.path() / "aside";
  fs::rename(resume, aside);
  EXPECT_THAT(refusal(dir.path()), HasSubstr("is missing"));
  fs::rename(aside, resume);
  fs::resize_file(dir.path() / "last.safetensors", fs::file_size(dir.path() / "last.safetensors") - 1);
  EXPECT_THAT(refusal(dir.path()), HasSubstr("last.safetensors"));
  weights::write_safetensors(dir.path() / "last.safetensors", state_of(1).state);
  EXPECT_THAT(refusal(dir.path()), HasSubstr("not a checkpoint of evener"));
}

/// What a run in `dir` has for its best weights after a kill, where its checkpoint is `progress`; -1 = none.
float best_after_kill(const fs::path& dir, Progress& progress) {
  if (!settle_best(dir, progress)) return -1;
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1) << "something was left behind";
  return load_best(dir).at("0.weight").floats()[0];
}

TEST(Checkpoint, BestWeightsAreThoseOfTheCheckpointWhereverTheRunWasKilled) {
  const auto at = [](int best_epoch) {
    Progress progress = progress_at(best_epoch, 0);
    progress.best_epoch = best_epoch;
    return progress;
  };
  const auto written = [](const fs::path& dir) {
    save_best(dir, state_of(1).state, kInfo, 1);
    stage_best(dir, state_of(2).state, kInfo, 2);
  };
  Progress older = at(1), newer = at(2);
  const test::TestFolder before, between, after, lost;
  written(before.path());  // killed before the checkpoint of epoch 2
  EXPECT_EQ(best_after_kill(before.path(), older), 1);
  written(between.path());  // killed between that and publish_best()
  EXPECT_EQ(best_after_kill(between.path(), newer), 2);
  written(after.path());
  publish_best(after.path());
  EXPECT_EQ(best_after_kill(after.path(), newer), 2);
  save_best(lost.path(), state_of(2).state, kInfo, 2);  // as a run that diverged leaves it
  EXPECT_EQ(best_after_kill(lost.path(), older), -1);
  EXPECT_EQ(older.best_epoch, 0);
  EXPECT_LT(older.best_accuracy, 0);
}

TEST(Checkpoint, WithoutValidationTheLastWeightsAreTheBest) {
  const test::TestFolder dir;
  Progress progress = progress_at(3, 0);
  progress.best_epoch = 0;
  stage_best(dir.path(), state_of(3).state, kInfo, 3);
  EXPECT_EQ(best_after_kill(dir.path(), progress), 3);
}

TrainSetup small_setup() {
  TrainSetup setup(network::build("mlp:4-2", {}));
  setup.engine = "native";
  setup.classes = {"a", "b"};
  setup.image = {1, 2, 2};
  setup.train_images = 8;
  setup.val_images = 3;
  return setup;
}

TEST(ResumeConfig, IsTheCallersSettingsAndWhatTheJobFoundOut) {
  TrainOptions options;
  options.batch = 4;
  const json found = {{"engine", "native"}, {"classes", {"a", "b"}},  {"size", {1, 2, 2}},
                      {"train images", 8},  {"validation images", 3}, {"batch", 4}};
  EXPECT_EQ(resume_config(options, small_setup()), found);
  options.settings = std::make_shared<json>(json{{"lr", 0.5}});
  json all = found;
  all["lr"] = 0.5;
  EXPECT_EQ(resume_config(options, small_setup()), all);
}

TEST(ResumeConfig, AllButTheEngineHasToBeTheSame) {
  const json saved = {{"engine", "torch"}, {"lr", 0.5}, {"seed", 1}};
  EXPECT_NO_THROW(require_same_config(saved, {{"engine", "native"}, {"lr", 0.5}, {"seed", 1}}));
  try {
    require_same_config(saved, {{"engine", "native"}, {"lr", 0.25}, {"seed", 1}});
    FAIL() << "another rate";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\n  lr: 0.5 in the checkpoint, 0.25 now\n"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("seed")));
  }
}

TEST(ResumeConfig, CheckpointsFromBeforeAnOptionExistedCanBeResumedWithoutIt) {
  const json saved = {{"lr", 0.5}};
  EXPECT_NO_THROW(require_same_config(saved, {{"lr", 0.5}, {"mixing", nullptr}}));
  EXPECT_THROW(require_same_config(saved, {{"lr", 0.5}, {"mixing", 0.2}}), UsageError);
}

TEST(ResumeConfig, OneFolderMayBeWrittenInSeveralWays) {
  const test::TestFolder folder;
  const std::string data = (folder / "mnist").string();
  std::filesystem::create_directory(data);
  std::filesystem::create_directory_symlink(data, folder / "link");
  for (const std::string& other : {data + "/", data + "/.", (folder / "link").string()}) {
    EXPECT_NO_THROW(require_same_config({{"data", data}}, {{"data", other}})) << other;
  }
  EXPECT_NO_THROW(require_same_config({{"data", "gone/"}}, {{"data", "./gone"}}));
  EXPECT_THROW(require_same_config({{"data", "synth:masks:54"}}, {{"data", "synth:masks:90"}}), UsageError);
  EXPECT_THROW(require_same_config({{"model", data}}, {{"model", data + "/"}}), UsageError);
}

}  // namespace

}  // namespace evener::training
