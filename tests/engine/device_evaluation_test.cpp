// Evaluations on a device, whose results are read at their end, against those on the CPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/device_helpers.h"

namespace evener {
namespace {

using test::DeviceTest;
using test::kColour;
using test::make_trainer;
using test::OwnedBatch;
using test::random_batch;

TEST_P(DeviceTest, EvaluatesAsTheCpuDoes) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(test::small_mobilenet(kColour, 5)),
             there = make_trainer(test::small_mobilenet(kColour, 5), on_device());
  std::vector<std::int32_t> expected, found;
  const engine::Sums a = here->evaluate(batch.view(), &expected);
  EXPECT_TRUE(here->end_evaluation(&expected).entries().empty()) << "the CPU has told all";
  for (int pass = 0; pass < 2; ++pass) {
    // No batch is waited for: all is told at the end, and forgotten then.
    found.clear();
    for (const auto& [begin, end] : {std::pair{0, 3}, {3, 4}, {4, 8}}) {
      EXPECT_TRUE(there->evaluate(batch.view(begin, end), &found).entries().empty());
    }
    EXPECT_TRUE(found.empty());
    const engine::Sums b = there->end_evaluation(&found);
    EXPECT_EQ(found, expected);
    EXPECT_NEAR(b.total("loss"), a.total("loss"), 1e-4);
    EXPECT_EQ(b.total("correct"), a.total("correct"));
    EXPECT_EQ(b.count("loss"), 8);
    EXPECT_TRUE(there->end_evaluation(&found).entries().empty());
    EXPECT_EQ(found.size(), 8U);
  }
  // Classes are of the batches for which they were wanted.
  there->evaluate(batch.view(0, 2));
  there->evaluate(batch.view(2, 5), &found);
  found.clear();
  EXPECT_EQ(there->end_evaluation(&found).count("correct"), 5);
  EXPECT_EQ(found, std::vector<std::int32_t>(expected.begin() + 2, expected.begin() + 5));
}

// Sums of these losses in float32 would be multiples of 128.
TEST_P(DeviceTest, AddsUpEvaluationsInDoublePrecision) {
  if (GetParam().kind != DeviceKind::kCpu) GTEST_SKIP() << "the same sums as on the CPU";
  const OwnedBatch batch = random_batch(1, kColour, 5);
  const auto there = make_trainer(test::small_mlp(kColour, 5), on_device());
  TensorMap state = there->state();
  state.at("2.bias").floats()[(batch.labels[0] + 1) % 5] = 30000006;
  there->load_state(state);
  constexpr int kTimes = 40;
  for (int i = 0; i < kTimes; ++i) there->evaluate(batch.view());
  const double loss = there->end_evaluation().total("loss");
  there->evaluate(batch.view());
  EXPECT_DOUBLE_EQ(loss, kTimes * there->end_evaluation().total("loss"));
}

}  // namespace
}  // namespace evener
