#include "report/figures.h"

#include <gtest/gtest.h>

namespace evener::report {
namespace {

std::optional<std::int64_t> overfits_from(const std::vector<double>& train, const std::vector<double>& val) {
  record::Record record;
  for (std::size_t i = 0; i < train.size(); ++i) {
    record::EpochRecord epoch;
    epoch.epoch = static_cast<std::int64_t>(i) + 1;
    epoch.train_loss = train[i];
    if (val[i] >= 0) epoch.val_loss = val[i];
    record.training.epochs.push_back(epoch);
  }
  return overfitting_epoch(record);
}

TEST(OverfittingEpoch, IsTheLowestValidationLossBeforeALastingRise) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 1.1}), 2);
}

TEST(OverfittingEpoch, AWobbleIsNone) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 0.82}), std::nullopt);
}

TEST(OverfittingEpoch, BothLossesRisingIsSomethingElse) {
  EXPECT_EQ(overfits_from({1, 0.5, 0.7, 0.9}, {1, 0.8, 1.2, 1.5}), std::nullopt);
}

TEST(OverfittingEpoch, EpochsThatWereNotValidatedDoNotCount) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {-1, 0.8, -1, 1.1}), 2);
  EXPECT_EQ(overfits_from({1, 0.7}, {-1, -1}), std::nullopt);
  EXPECT_EQ(overfits_from({}, {}), std::nullopt);
}

TEST(OtherTime, IsWhatNoPhaseCovers) {
  record::Record record;
  EXPECT_EQ(other_s(record), std::nullopt);
  record.times.total = 10;
  EXPECT_EQ(other_s(record), std::nullopt) << "no phases are known";
  record.phases_s = {{"forward", 4}, {"backward", 3.5}};
  EXPECT_EQ(other_s(record), 2.5);
  record.phases_s["read"] = 3;  // clocks are read at differing moments
  EXPECT_EQ(other_s(record), 0);
}

}  // namespace
}  // namespace evener::report
