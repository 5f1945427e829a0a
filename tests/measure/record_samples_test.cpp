// What the sampler knows, as the record has it.
#include "measure/record_samples.h"

#include <gtest/gtest.h>

#include "record/record_json.h"

namespace evener::measure {
namespace {

TEST(RecordSamples, CpusThatWereGivenAwayAreInTheRecord) {
  record::Record record;
  EXPECT_FALSE(to_json(record)["cpu"].contains("exchanged")) << "nobody counted";
  SamplerSummary summary;
  summary.exchanged = 7;
  summary.lent = 11;
  take_samples(record, summary);
  const auto json = to_json(record);
  EXPECT_EQ(json["cpu"]["exchanged"], 7);
  EXPECT_EQ(json["cpu"]["lent"], 11);
}

}  // namespace
}  // namespace evener::measure
