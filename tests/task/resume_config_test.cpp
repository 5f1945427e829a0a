#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "network/zoo.h"
#include "task/training/checkpoint.h"

namespace evener::task {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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
  EXPECT_EQ(engine_of(saved), "torch");
}

TEST(ResumeConfig, ACropIsTheSameUnderItsFormerName) {
  EXPECT_NO_THROW(require_same_config({{"crop", "border"}}, {{"crop", "letterbox"}}));
  EXPECT_NO_THROW(require_same_config({{"crop", "squash"}}, {{"crop", "stretch"}}));
  EXPECT_THROW(require_same_config({{"crop", "border"}}, {{"crop", "stretch"}}), UsageError);
  EXPECT_THROW(require_same_config({{"class", "border"}}, {{"class", "letterbox"}}), UsageError);
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
}  // namespace evener::task
