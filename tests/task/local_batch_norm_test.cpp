// Batch-norm that takes each replica's samples alone (--batch-norm local).
#include <gtest/gtest.h>

#include "base/module.h"
#include "base/relative_distance.h"
#include "base/test_folder.h"
#include "task/train_helpers.h"
#include "task/training/checkpoint.h"

namespace evener::task {
namespace {

// The mean over the whole batch is that of the replicas' means, each weighed by its samples. In one step, and in the
// first layer, nothing else differs from one replica's mean.
TEST(LocalBatchNorm, StatisticsAreAveragedBySamples) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  const test::TestFolder folder;
  TrainOptions options;
  options.model = "resnet20";
  options.engine = "torch";
  options.data.location = "synth:masks:20";
  options.data.width = options.data.height = 16;
  options.data.split = {80, 20};
  options.batch = 20;  // an epoch is one step
  options.epochs = 1;
  options.out = folder.path();
  options.plan = test::cpu_replicas(1);
  const auto first_means = [&]() -> TensorMap {
    test::train(options);
    return {{"mean", load_last(folder.path()).state.at("bn1.running_mean")}};
  };
  const TensorMap whole = first_means();
  options.local_batch_norm = true;
  options.plan = test::cpu_replicas(2);
  options.plan.replicas[0].share = 3;
  EXPECT_LT(test::relative_distance(first_means(), whole), 1e-5);
}

}  // namespace
}  // namespace evener::task
