// What evener train refuses before the work: every kind of bad input, and disks without room or rights.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/in_process_helpers.h"
#include "support/train_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::run_in_process;
using test::small_run;
using test::TrainCommand;
using test::Words;
using testing::HasSubstr;
using testing::Not;

struct BadInput {
  std::string name;
  Words words;  // after `train`
  int exit_code;
  std::string message;
};

class TrainRefusals : public TrainCommand {};

class BadTrainInput : public TrainCommand, public testing::WithParamInterface<BadInput> {};

TEST_P(BadTrainInput, IsExplainedAndLeavesNothing) {
  Words words = {"train"};
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
  words.insert(words.end(), {"--out", out().string()});
  const ProgramResult result = run_in_process(words);
  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.err;
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
  EXPECT_FALSE(fs::exists(out())) << "left behind by: " << result.err;
}

const std::vector<BadInput> kBadInputs = {
    {"UnknownModel", {"resnet43", "--data", "synth:masks:90"}, 2, "resnet34"},
    {"UnknownOption", {"resnet18", "--data", "synth:masks:90", "--batc", "3"}, 2, "did you mean '--batch'"},
    {"UnknownPlacement", {"resnet18", "--data", "synth:masks:90", "--on", "cdua"}, 2, "did you mean 'cuda'"},
    {"AccumulatingStages",
     {"resnet18", "--data", "synth:masks:90", "--on", "cpu/t1..cpu/t1", "--accumulate", "2"},
     2,
     "--micro-batches instead"},
    {"UnknownPrecision", {"resnet18", "--data", "synth:masks:90", "--precision", "fp23"}, 2, "fp32"},
    {"UnknownSynthetic", {"resnet18", "--data", "synth:mask"}, 2, "did you mean 'masks'"},
    {"SecondFolder", {"--data", "photos", "sorted/"}, 2, "a further folder of data as --data sorted/"},
    {"SecondFolderOfNetwork",
     {"resnet18", "--data", "photos", "sorted"},
     2,
     "name --data before each value, as in --data photos --data sorted"},
    {"MissingData", {"resnet18", "--data", "no/such/folder"}, 1, "no/such/folder"},
    {"BadSize", {"resnet18", "--data", "synth:masks:90", "--size", "197y148"}, 2, "197x148"},
    {"BadSplit", {"resnet18", "--data", "synth:masks:90", "--split", "90/20"}, 2, "at most 100"},
    {"BadSchedule", {"resnet18", "--data", "synth:masks:90", "--schedule", "cosin"}, 2, "did you mean 'cosine'"},
    {"NoEpochs", {"resnet18", "--data", "synth:masks:90", "--epochs", "0"}, 2, "--epochs"},
    {"NegativeRate", {"resnet18", "--data", "synth:masks:90", "--lr", "-1"}, 2, "--lr"},
    {"WrongFirstLayer", {"mlp:784-10", "--data", "synth:masks:90", "--size", "20x20"}, 2, "784"},
    {"TooFewOutputs", {"mlp:784-5", "--data", "synth:digits:100"}, 2, "make its last number 10"},
    {"OutputsWithoutClasses", {"mlp:784-32", "--data", "synth:digits:100"}, 2, "32 outputs, but there are 10 classes"},
    {"OneValueForBatchNorm",
     {"resnet18", "--data", "synth:digits:100", "--size", "1x1", "--batch", "1"},
     2,
     "batch-norm"},
    {"SmoothedSquares",
     {"mlp:784-10", "--data", "synth:digits:100", "--loss", "mse", "--label-smoothing", "0.1"},
     2,
     "--label-smoothing"},
    {"UnknownAugmentation",
     {"mlp:784-10", "--data", "synth:digits:100", "--augment", "flop"},
     2,
     "did you mean 'flip'"},
    {"CropOfAll", {"mlp:784-10", "--data", "synth:digits:100", "--augment", "crop:999"}, 2, "Give it less than 28"},
    {"NegativeSeed", {"mlp:784-10", "--data", "synth:digits:100", "--seed", "-1"}, 2, "--seed '-1'"},
    {"UnknownDecoding", {"mlp:784-10", "--data", "synth:digits:100", "--decode", "quick"}, 2, "exact, fast"},
    {"ClassesOfSynthetic", {"mlp:784-10", "--data", "synth:digits:100", "--class", "a=b"}, 2, "leave --class out"},
    {"BatchTooLarge",
     {"resnet34", "--data", "synth:masks:9000", "--size", "590x445", "--batch", "9000"},
     1,
     "largest --batch"},
    {"SizeOutOfReach", {"resnet18", "--data", "synth:masks:90", "--size", "99999x99999"}, 2, "99999x99999"},
};

INSTANTIATE_TEST_SUITE_P(Train, BadTrainInput, testing::ValuesIn(kBadInputs),
                         [](const auto& info) { return info.param.name; });

TEST_F(TrainRefusals, AFullDiskIsFoundBeforeTheWork) {
  const test::SmallDisk disk("size=256k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const ProgramResult result = run_in_process(small_run(disk.path() / "run"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("free"));
  EXPECT_THAT(result.err, Not(HasSubstr("epoch 1/3")));
}

TEST_F(TrainRefusals, TheOptimisersStateNeedsRoomToo) {
  // 101,770 weights are 0.41 MB; last, best and a copy of both 1.6 MB, with the samples' 2.6 MB.
  const test::SmallDisk disk("size=3000k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const Words train = {"train", "mlp:784-128-10", "--data", "synth:digits:100", "--epochs", "1", "--on", "cpu/t1"};
  const ProgramResult plain = run_in_process(joined(train, {"--out", (disk.path() / "a").string()}));
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  fs::remove_all(disk.path() / "a");
  const ProgramResult adam =
      run_in_process(joined(train, {"--out", (disk.path() / "b").string(), "--optimizer", "adamw"}));
  EXPECT_EQ(adam.exit_code, 1);
  EXPECT_THAT(adam.err, HasSubstr("4.31 MB are needed and only"));
}

TEST_F(TrainRefusals, AReadOnlyFolderIsFoundBeforeTheWork) {
  const test::SmallDisk disk("ro");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const ProgramResult result = run_in_process(small_run(disk.path() / "run"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("read-only"));
}

}  // namespace
}  // namespace evener
