// What the planner takes a training for.
#include <gtest/gtest.h>

#include "base/module.h"
#include "plan/planner.h"
#include "task/trial.h"

namespace evener::plan {
namespace {

TEST(Work, CountsWhatMicroBatchesExchangeAndHoldAtOnce) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  Work work;
  task::TrainOptions options;
  options.model = "resnet20";
  options.engine = "torch";
  options.data.location = "synth:masks:40";
  options.data.width = options.data.height = 16;
  options.batch = 12;
  options.choose_plan = [&](const task::Trials& trials) {
    work = work_of(trials);
    return std::nullopt;
  };
  task::TrainObserver observer;
  const task::TrainJob whole(options, observer);
  const Work of_whole = work;
  EXPECT_EQ(of_whole.small_exchanges, 2 + 2 * 19) << "19 batch-norm layers";
  options.accumulate = 4;
  const task::TrainJob in_parts(options, observer);
  EXPECT_EQ(work.small_exchanges, 2 + 4 * 2 * 19);
  EXPECT_DOUBLE_EQ(work.per_image_bytes, of_whole.per_image_bytes / 4);
  options.local_batch_norm = true;
  const task::TrainJob local(options, observer);
  EXPECT_EQ(work.small_exchanges, 2);
}

}  // namespace
}  // namespace evener::plan
