// evener train on made-up GPUs (tests/made_up): a made-up driver shows them, LibTorch's late device computes, and a
// made-up NCCL exchanges. Every placement with them learns what one CPU learns.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/module.h"
#include "support/run_helpers.h"
#include "support/run_program.h"
#include "support/train_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::relative_distance;
using test::RunningProgram;
using test::Words;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class MadeUpCards : public test::TrainCommand {
 protected:
  void SetUp() override {
    TrainCommand::SetUp();
    const fs::path made_up = library_folder() / "made_up";
    if (!fs::exists(made_up / "cuda" / "libcuda.so.1")) GTEST_SKIP() << "built without the made-up CUDA driver";
    const char* others = std::getenv("LD_LIBRARY_PATH");
    environment_["LD_LIBRARY_PATH"] =
        (made_up / "cuda").string() + (others != nullptr ? std::string(":") + others : "");
    environment_["EVENER_MODULE_DIR"] = (made_up / "modules").string();
    environment_["MADE_UP_CARDS"] = "4";
    // The cards compute by LibTorch's kernels for CPUs, whose sums have another order on other numbers of threads.
    environment_["OMP_NUM_THREADS"] = environment_["MKL_NUM_THREADS"] = "1";
  }

  test::ProgramOptions program_options() const { return {.environment = environment_, .timeout_s = 200}; }

  /// 4 x 5 steps on batches of 11, which no number of replicas divides; the last of an epoch has 2 images. At so small
  /// a rate the momentum is a sum of the gradients at one point, as in train/replicas_test.cpp.
  static Words digits(const Words& more = {}) {
    return joined({"--data",    "synth:masks:54", "--size",   "24x20", "--split",  "85/5/10", "--batch",
                   "11",        "--momentum",     "0.9",      "--lr",  "1e-8",     "--seed",  "3",
                   "--augment", "flip,crop:2",    "--epochs", "4",     "--engine", "torch",   "--oversubscribe",
                   "--quiet"},
                  more);
  }

  fs::path trained(const std::string& model, const std::string& on, const Words& options) {
    const fs::path out = folder_ / ("run" + std::to_string(runs_++));
    const ProgramResult result =
        test::run_program(joined({"train", model, "--on", on, "--out", out.string()}, options), program_options());
    EXPECT_EQ(result.exit_code, 0) << model << " " << on << ": " << result.err;
    return out;
  }

  static TensorMap sums_of_gradients(const fs::path& run) {
    TensorMap tensors = weights::read_safetensors(test::resume_file(run)).tensors;
    std::erase_if(tensors, [](const auto& entry) { return !entry.first.ends_with(".momentum"); });
    return tensors;
  }

  static std::string notes_of(const fs::path& run) { return test::record_in(run)["notes"].dump(); }

  std::map<std::string, std::string> environment_;
  int runs_ = 0;
};

TEST_F(MadeUpCards, EveryPlacementLearnsWhatOneCpuLearns) {
  struct Case {
    const char* model;
    double tolerance;  // that of rounding: see train/replicas_test.cpp
    std::vector<std::string> placements;
  };
  const Case cases[] = {
      {"mlp:480-32-9",
       1e-5,
       {"cuda:0", "cuda:all", "cuda:0+cuda:1", "cuda:0+cpu/t1", "cpu/t1+cuda:0", "cuda:0+cuda:1+cpu/t1"}},
      {"resnet20", 0.03, {"cuda:0", "cuda:0+cuda:1", "cuda:all", "cuda:0+cpu/t1"}},
      {"resnet18", 0.03, {"cuda:0+cpu/t1", "cpu/t1..cuda:0+cuda:1..cpu/t1"}}};
  for (const Case& each : cases) {
    const TensorMap expected = sums_of_gradients(trained(each.model, "cpu/t1", digits()));
    for (const std::string& on : each.placements) {
      SCOPED_TRACE(std::string(each.model) + " on " + on);
      EXPECT_LT(relative_distance(sums_of_gradients(trained(each.model, on, digits())), expected), each.tolerance);
    }
  }
}

TEST_F(MadeUpCards, UnequalSharesAndStagesLearnIt) {
  const std::string mlp = "mlp:480-32-9";
  const TensorMap expected = sums_of_gradients(trained(mlp, "cpu/t1", digits()));
  const auto distance = [&](const std::string& on, const Words& more) {
    return relative_distance(sums_of_gradients(trained(mlp, on, digits(more))), expected);
  };
  EXPECT_LT(distance("cuda:0+cuda:1+cuda:2", {"--shares", "5:1:2"}), 1e-5);
  EXPECT_LT(distance("cuda:0..cpu/t1", {}), 1e-5);
  EXPECT_LT(distance("cpu/t1..cuda:0", {}), 1e-5);
  EXPECT_LT(distance("cpu/t1..cuda:0+cpu/t1..cuda:1", {}), 1e-5);
}

TEST_F(MadeUpCards, OptionsOfTrainingsMeanTheSame) {
  const std::string mlp = "mlp:480-32-9";
  for (const Words& more : {Words{"--accumulate", "2"}, Words{"--ema", "0.9"}, Words{"--clip-norm", "0.01"},
                            Words{"--augment", "flip,mixup:0.4"}, Words{"--optimizer", "adamw", "--momentum", "0"}}) {
    SCOPED_TRACE(testing::PrintToString(more));
    const Words options = digits(joined({"--lr", "0.001"}, more));
    const TensorMap expected = test::last_weights(trained(mlp, "cpu/t1", options));
    for (const std::string on : {"cuda:0", "cuda:0+cuda:1"}) {
      EXPECT_LT(relative_distance(test::last_weights(trained(mlp, on, options)), expected), 1e-5) << on;
    }
  }
}

// The mean of a batch's losses is over the matched anchors of all cards, of which each knows its own.
TEST_F(MadeUpCards, DetectorsLearnIt) {
  const Words shapes = {"--data", "synth:shapes:14", "--size", "64x64",  "--split", "80/20/0", "--batch", "4", "--lr",
                        "1e-8",   "--epochs",        "2",      "--seed", "3",       "--quiet"};
  const auto loss_of = [&](const std::string& on, const Words& more) {
    const fs::path run = trained("ssdlite_mobilenet_v2", on, joined(shapes, more));
    return test::record_in(run)["epochs"][1]["train_loss"].get<double>();
  };
  const double expected = loss_of("cpu/t1", {});
  EXPECT_NEAR(loss_of("cuda:0+cuda:1", {"--shares", "3:1"}), expected, 1e-4 * expected);
}

TEST_F(MadeUpCards, TellWhoExchangedAndHow) {
  const std::string mlp = "mlp:480-32-9";
  const Words long_enough = digits({"--epochs", "6", "--batch", "9"});
  const std::string replayed = "whole steps were replayed as a graph";
  EXPECT_THAT(notes_of(trained(mlp, "cuda:0+cuda:1", long_enough)),
              AllOf(HasSubstr("NCCL 2.28.9"), HasSubstr(replayed)));
  EXPECT_THAT(notes_of(trained(mlp, "cuda:0", joined(long_enough, {"--exchange", "always"}))),
              AllOf(HasSubstr("NCCL 2.28.9"), HasSubstr(replayed)));
  EXPECT_THAT(notes_of(trained(mlp, "cuda:0+cuda:1", joined(long_enough, {"--exchange", "host"}))),
              AllOf(Not(HasSubstr("NCCL")), HasSubstr("through host memory")));
}

TEST_F(MadeUpCards, AResumedRunEndsAsAnUndisturbedOne) {
  const Words options =
      digits({"--lr", "0.001", "--shares", "1:1"});  // measured shares needn't be those of the first part
  const auto whole = trained("resnet20", "cuda:0+cuda:1", options);
  const auto half = trained("resnet20", "cuda:0+cuda:1", joined(options, {"--epochs", "2"}));
  const ProgramResult result =
      test::run_program({"train", "--resume", half.string(), "--epochs", "4", "--quiet"}, program_options());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(relative_distance(test::last_weights(half), test::last_weights(whole)), 1e-6);
}

TEST_F(MadeUpCards, ALostRankIsNamed) {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    SCOPED_TRACE(signal);
    const fs::path out = folder_ / ("lost" + std::to_string(signal));
    RunningProgram program(test::program_path(),
                           joined({"train", "mlp:480-32-9", "--on", "cuda:0+cuda:1", "--out", out.string()},
                                  joined(digits(), {"--epochs", "2000"})),
                           program_options());
    const auto trains = [&] { return fs::exists(out / "epochs.csv") && fs::file_size(out / "epochs.csv") > 200; };
    for (int i = 0; i < 4000 && !trains(); ++i) usleep(50'000);
    const auto ranks = program.children();
    ASSERT_THAT(ranks, SizeIs(2)) << program.err();
    kill(ranks[1], signal);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, ContainsRegex("rank 1 \\(process " + std::to_string(ranks[1]) + ", cuda:1\\)"));
    for (const pid_t rank : ranks) EXPECT_NE(kill(rank, 0), 0) << "rank still runs";
  }
}

}  // namespace
}  // namespace evener
