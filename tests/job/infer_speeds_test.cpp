// Speeds of inference as records tell them.
#include <gmock/gmock.h>

#include "job/infer/record.h"
#include "job/inference/session_record.h"

namespace evener::job {
namespace {

TEST(InferSpeeds, EachBlockOfAnswersHasItsOwnTime) {
  record::Record record;
  record.kind = "infer";
  task::InferResult result;
  result.answered = 80;
  result.seconds = 8;
  std::vector<double> times_s;  // ten images a second
  for (int i = 1; i <= 80; ++i) times_s.push_back(i * 0.1);
  fill_inference_speeds(record, result, times_s, {});
  ASSERT_EQ(record.images_per_s.samples.size(), 20U);
  for (const double rate : record.images_per_s.samples) EXPECT_NEAR(rate, 10, 1e-6);
}

}  // namespace
}  // namespace evener::job
