// Real photos and MNIST, where they are at hand.
#include "base/real_data.h"

#include <gmock/gmock.h>

#include "data/boxes.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"

namespace evener::data {
namespace {

DataOptions options_for(const std::string& name) {
  DataOptions options;
  options.location = evener::test::real_data(name).string();
  options.threads = 2;
  return options;
}

TEST(RealData, AllPhotosOfAntsAndBeesDecode) {
  if (const std::string why = evener::test::without_real_data({"ants_bees"}); !why.empty()) GTEST_SKIP() << why;
  DataOptions options = options_for("ants_bees");
  options.width = options.height = 64;
  const OpenedData opened = open_data(options);
  EXPECT_TRUE(opened.skipped.empty()) << opened.skipped.front().file << ": " << opened.skipped.front().reason;
  EXPECT_EQ(opened.dataset->shape().channels, 3);
  EXPECT_THAT(opened.dataset->classes(), ::testing::ElementsAre("ants", "bees"));
  EXPECT_FALSE(opened.split.train.empty());
  EXPECT_FALSE(opened.split.val.empty());
  const ChannelStatistics statistics = channel_statistics(*opened.dataset, opened.split.train, 2);
  for (const float mean : statistics.mean) EXPECT_NEAR(mean, 0.45, 0.15);
}

TEST(RealData, BloodCellsHaveTheirBoxes) {
  if (const std::string why = evener::test::without_real_data({"voc/bccd"}); !why.empty()) GTEST_SKIP() << why;
  DataOptions options = options_for("voc/bccd");
  options.look_only = true;
  const OpenedData opened = open_data(options);
  EXPECT_EQ(opened.split.train.size(), 205u);
  EXPECT_EQ(opened.split.val.size(), 87u);
  EXPECT_EQ(opened.split.test.size(), 72u);
  EXPECT_THAT(opened.dataset->classes(), ::testing::ElementsAre("Platelets", "RBC", "WBC"));
  ASSERT_EQ(opened.skipped.size(), 2u);
  for (const Skipped& skipped : opened.skipped) EXPECT_THAT(skipped.reason, ::testing::HasSubstr("has zero area"));
  EXPECT_EQ(count_boxes(*opened.dataset).boxes, 4886u);
}

TEST(RealData, MnistHasItsKnownMean) {
  if (const std::string why = evener::test::without_real_data({"mnist"}); !why.empty()) GTEST_SKIP() << why;
  DataOptions options = options_for("mnist");
  options.split = {100, 0};
  const OpenedData opened = open_data(options);
  EXPECT_EQ(opened.split.train.size(), 60000u);
  EXPECT_EQ(opened.split.test.size(), 10000u);
  EXPECT_EQ(opened.dataset->classes().size(), 10u);
  const ChannelStatistics statistics = channel_statistics(*opened.dataset, opened.split.train, 2);
  EXPECT_NEAR(statistics.mean[0], 0.1307, 0.0001);
  EXPECT_NEAR(statistics.standard_deviation[0], 0.3081, 0.0001);
}

TEST(RealData, FacesInPgmFilesDecode) {
  if (const std::string why = evener::test::without_real_data({"faces_orl"}); !why.empty()) GTEST_SKIP() << why;
  const OpenedData opened = open_data(options_for("faces_orl"));
  EXPECT_EQ(opened.dataset->size(), 400u);
  EXPECT_EQ(opened.dataset->classes().size(), 40u);
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{1, 112, 92}));
  EXPECT_TRUE(opened.skipped.empty());
}

TEST(RealData, CifarHasItsKnownMean) {
  if (const std::string why = evener::test::without_real_data({"cifar10"}); !why.empty()) GTEST_SKIP() << why;
  DataOptions options = options_for("cifar10/cifar10_train_2000.bin.gz");
  options.split = {100, 0};
  const OpenedData opened = open_data(options);
  EXPECT_EQ(opened.split.train.size(), 2000u);
  const ChannelStatistics statistics = channel_statistics(*opened.dataset, opened.split.train, 2);
  // Of all 50000 training images; 2000 of them come near.
  EXPECT_NEAR(statistics.mean[0], 0.4914, 0.01);
  EXPECT_NEAR(statistics.mean[1], 0.4822, 0.01);
  EXPECT_NEAR(statistics.mean[2], 0.4465, 0.01);
}

}  // namespace
}  // namespace evener::data
