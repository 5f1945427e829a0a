// What the planner takes a training for.
#include <gtest/gtest.h>

#include "base/module.h"
#include "plan/planner.h"
#include "task/training/trial.h"

namespace evener::plan {
namespace {

TEST(Work, CountsWhatMicroBatchesExchangeAndHoldAtOnce) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  Work work;
  double memory_bytes = 0;
  task::TrainOptions options;
  options.model = "resnet20";
  options.engine = "torch";
  options.data.location = "synth:masks:400";
  options.data.width = options.data.height = 16;
  options.batch = 96;
  const auto find_work = [&] {
    task::TrainObserver observer;
    const task::PreparedTraining training(options, observer);
    work = work_of(task::Trials(training));
    placement::Plan two;
    two.replicas.resize(2, placement::PlanReplica{0, {placement::PlanStage{}}, {}});
    memory_bytes = work.memory_bytes(two);
  };
  find_work();
  const Work of_whole = work;
  const double of_whole_bytes = memory_bytes;
  EXPECT_EQ(of_whole.small_exchanges, 2 + 2 * 19) << "19 batch-norm layers";
  options.accumulate = 4;
  find_work();
  EXPECT_EQ(work.small_exchanges, 2 + 4 * 2 * 19);
  // Of each replica's 48 images of 16x16 pixels 12 are computed at once. A step keeps what each of the 19 convolutions
  // takes and gives: of an image about 2 x 47,104 values, and 8 % more for gaps.
  // In parts it keeps, besides, the gradients of those before: of 272,000 weights.
  const double kept_bytes = 2 * 47'104 * sizeof(float), gradient_bytes = 272'000 * sizeof(float);
  EXPECT_NEAR(of_whole_bytes - memory_bytes, 2 * ((48 - 12) * kept_bytes * 1.08 - gradient_bytes),
              0.05 * 72 * kept_bytes);
  options.local_batch_norm = true;
  find_work();
  EXPECT_EQ(work.small_exchanges, 2);
}

}  // namespace
}  // namespace evener::plan
