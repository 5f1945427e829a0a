// Jobs as another program uses them: in one process, two at once, with callbacks and a stop; nothing is printed.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/module.h"
#include "base/test_folder.h"
#include "infer/inference.h"
#include "train/training.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;

/// Counts epochs, and asks its own training to stop after some.
struct EpochWatcher : training::TrainWatcher {
  void epoch(const record::EpochRecord& /*epoch*/) override {
    if (++epochs == stop_after) stop.request();
  }
  int epochs = 0, stop_after = 0;
  StopFlag stop;
};

training::TrainingOutcome learn_digits(const fs::path& out, EpochWatcher& watcher, const std::string& epochs) {
  training::TrainFlags flags;
  const OptionSet options = flags.options();
  options.give("MODEL", {"mlp:784-16-10"});
  options.give("--data", {"synth:digits:200"});
  options.give("--engine", {"native"});
  options.give("--on", {"cpu/t1"});
  options.give("--batch", {"16"});
  options.give("--epochs", {epochs});
  options.give("--out", {out.string()});
  options.check();
  complete(flags, &watcher);
  return training::train(flags, watcher, &watcher.stop);
}

double share_recognised(const fs::path& run) {
  inference::InferCommandFlags flags;
  flags.options().give("MODEL", {run.string()});
  measure::Observer nobody;
  complete(flags, &nobody);
  const inference::InferenceRun answers = inference::infer(flags, nobody);
  return static_cast<double>(answers.scores.correct) / static_cast<double>(answers.scores.images);
}

/// Whether trained networks can be run in this build.
bool can_infer() {
  return module_status("torch").state != ModuleState::kNotBuilt &&
         module_status("openvino").state != ModuleState::kNotBuilt;
}

void train_and_use(const fs::path& out) {
  EpochWatcher watcher;
  const training::TrainingOutcome outcome = learn_digits(out, watcher, "3");
  EXPECT_EQ(outcome.status, record::Status::kDone);
  EXPECT_EQ(watcher.epochs, 3);
  EXPECT_TRUE(fs::exists(out / "record.json"));
  ASSERT_TRUE(outcome.record.training.accuracy.test);
  if (can_infer()) {
    EXPECT_NEAR(share_recognised(out), *outcome.record.training.accuracy.test, 1e-6);
  }
}

class SideBySide : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  }
  test::TestFolder folder_;
};

TEST_F(SideBySide, TwoThreadsTrainAndInferTwice) {
  const auto twice = [&](const std::string& name) {
    for (const char* time : {"1", "2"}) train_and_use(folder_ / (name + time));
  };
  std::jthread one([&] { twice("one"); }), other([&] { twice("other"); });
}

TEST_F(SideBySide, AStopEndsOneJobAlone) {
  EpochWatcher stopped, undisturbed;
  stopped.stop_after = 2;
  {
    std::jthread one([&] {
      const training::TrainingOutcome outcome = learn_digits(folder_ / "stopped", stopped, "200");
      EXPECT_EQ(outcome.status, record::Status::kInterrupted);
    });
    std::jthread other([&] {
      const training::TrainingOutcome outcome = learn_digits(folder_ / "whole", undisturbed, "5");
      EXPECT_EQ(outcome.status, record::Status::kDone);
    });
  }
  EXPECT_LT(stopped.epochs, 10);
  EXPECT_EQ(undisturbed.epochs, 5);
  EXPECT_TRUE(fs::exists(folder_ / "stopped" / "last.safetensors")) << "a stop saves";
}

}  // namespace
}  // namespace evener::app
