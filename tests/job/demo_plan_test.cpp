// What the demo compares, and how much of it.
#include <gmock/gmock.h>

#include <string>

#include "base/files.h"
#include "base/test_folder.h"
#include "job/demo/demo_job.h"
#include "job/sweep/sweep_job.h"
#include "placement/placement.h"
#include "report/reference.h"

namespace evener::job {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

placement::Machine machine_of(int cores) {
  placement::Machine machine;
  machine.cores = cores;
  return machine;
}

TEST(DemoPlan, HasEveryKindOfWay) {
  EXPECT_THAT(demo_ways(machine_of(1)), ElementsAre("cpu/t1"));
  EXPECT_THAT(demo_ways(machine_of(2)),
              ElementsAre("cpu/t1", "cpu/t2", "2xcpu/t1", "cpu/t1..cpu/t1", "cpu/t1+cpu/t1@0.5"));
  placement::Machine with_gpu = machine_of(16);
  with_gpu.cuda.devices.resize(1);
  const auto ways = demo_ways(with_gpu);
  EXPECT_THAT(ways, ElementsAre("cpu/t1", "cpu/t16", "2xcpu/t8", "cpu/t8..cpu/t8", "cpu/t8+cpu/t8@0.5", "cuda:0",
                                "cuda:0+cpu"));
  for (const std::string& way : ways) EXPECT_NO_THROW(placement::parse(way)) << way;
  EXPECT_THAT(ways_sentence(ways),
              AllOf(HasSubstr("cpu/t1, one thread; cpu/t16, all threads"), HasSubstr("2xcpu/t8, two equal replicas"),
                    HasSubstr("cpu/t8..cpu/t8, the layers are divided"), HasSubstr("@0.5, two unequal"),
                    HasSubstr("cuda:0+cpu, GPU and CPU share")));
  EXPECT_THAT(demo_precisions(machine_of(2)), ElementsAre("fp32"));
  EXPECT_THAT(demo_precisions(with_gpu), ElementsAre("fp32", "bf16"));
}

TEST(DemoPlan, MoreTimeGivesRepeatsFirstAndThenLongerRuns) {
  const DemoTraining& training = demo_trainings()[1];
  const ProbedTraining probed{.start_s = 1, .image_s = 0.001};
  const DemoSize hurried = demo_size(training, probed, 5, 6);
  EXPECT_EQ(hurried.repeats, 1);
  EXPECT_EQ(hurried.images, training.fewest_images);
  EXPECT_FALSE(hurried.learns);
  const DemoSize usual = demo_size(training, probed, 5, 90);
  EXPECT_EQ(usual.repeats, 3);
  EXPECT_TRUE(usual.learns);
  // Runs of 6 s, of which 5 s are training: 5000 trained images in 4 epochs.
  EXPECT_NEAR(usual.images, 5000 / 4.0 / training.train_share, 1);
  const DemoSize long_one = demo_size(training, probed, 5, 1000);
  EXPECT_EQ(long_one.repeats, 5);
  EXPECT_EQ(demo_size(training, probed, 5, 1e6).images, training.most_images);
}

TEST(DemoPlan, ExperimentsAreWhatSweepReads) {
  const test::TestFolder folder;
  for (const DemoTraining& training : demo_trainings()) {
    const auto file = folder / (training.name + ".toml");
    write_file_atomically(file, training_experiment(training, {3, 600, true}, {"cpu/t1", "2xcpu/t1"}, {"fp32", "bf16"},
                                                    7, 30, folder / "with \"quotes\""));
    SweepFlags flags;
    flags.what.read({file.string()});
    complete(flags);
    const record::SweepRecord sweep = asked_for(flags);
    EXPECT_EQ(sweep.cells.size(), 4U);
    EXPECT_EQ(sweep.repeats, 3);
    EXPECT_EQ(sweep.time_limit_s, 30);
    EXPECT_THAT(sweep.cells[0].words, testing::Contains("--seed=7"));
  }
  const auto file = folder / "inference.toml";
  write_file_atomically(
      file, inference_experiment(demo_trainings()[1], "resnet20", "resnet18", {"fp32", "bf16"}, 2, 7, folder / "out"));
  SweepFlags flags;
  flags.what.read({file.string()});
  complete(flags);
  const auto cells = cells_of(flags.plan);
  EXPECT_EQ(cells.size(), 3U) << "two precisions, and int8";
  EXPECT_THAT(cells[0].words, testing::IsSupersetOf({"synth:digits:4000", "--seed=8"})) << "images of another seed";
}

TEST(DemoPlan, PublishedFiguresNameCellsOfThePerceptron) {
  const test::TestFolder folder;
  write_file_atomically(folder / "published.csv", demo_reference(4));
  const auto rows = report::read_reference(folder / "published.csv");
  ASSERT_EQ(rows.size(), 5U);
  const auto ways = demo_ways(machine_of(4));
  for (const auto& row : rows) {
    EXPECT_THAT(ways, testing::Contains(row.measured.at("on"))) << row.cell;
  }
}

}  // namespace
}  // namespace evener::job
