// Where a network looked.
#include "infer/run/activation_map.h"

#include <gmock/gmock.h>

#include "infer/model/fitted_calibration.h"
#include "network/zoo.h"

namespace evener::inference {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

TEST(ActivationMap, ChannelsAreWeightedAndWhatSpeaksAgainstIsNothing) {
  const std::vector<float> channels = {1, 0, 0, 2, /* the second: */ 0, 3, 1, 0};
  const ActivationMap map = class_map(channels, std::vector<float>{2, -1}, 2, 2);
  EXPECT_THAT(map.values, ElementsAre(FloatEq(0.5F), 0, 0, FloatEq(1)));
}

TEST(ActivationMap, WhereNothingSpeaksForTheClassAllIsNothing) {
  EXPECT_THAT(class_map(std::vector<float>{1, 2}, std::vector<float>{-1}, 1, 2).values, ElementsAre(0, 0));
}

TEST(ActivationMap, PicturesAreCoveredInProportion) {
  const ActivationMap map{1, 2, {0, 1}};
  EXPECT_FLOAT_EQ(map.at(0, 0, 4, 8), 0);
  EXPECT_FLOAT_EQ(map.at(3, 7, 4, 8), 1);
  EXPECT_FLOAT_EQ(map.at(0, 3, 1, 8), 0.375F);
  EXPECT_FLOAT_EQ(map.at(0, 4, 1, 8), 0.625F);
}

TEST(ActivationMap, OnlyHeadsOfMeansTellWhere) {
  const network::ModelOptions options{network::Shape{3, 64, 64}, 2};
  for (const char* model : {"resnet18", "resnet20", "mobilenet_v2", "efficientnet_b0"}) {
    const auto head = pooled_head(network::build(model, options));
    ASSERT_TRUE(head) << model;
    EXPECT_EQ(head->classes, 2) << model;
    EXPECT_GE(head->height * head->width, 4) << model;
  }
  network::Network with_features = network::build("resnet20", options);
  const auto before = pooled_head(with_features);
  with_features.mark_last_layer();
  with_features.set_output("features", linear_head(with_features).value().input);
  ASSERT_TRUE(pooled_head(with_features)) << "as a calibrated network has them";
  EXPECT_EQ(pooled_head(with_features)->map, before->map);
  EXPECT_FALSE(pooled_head(network::build("mobilenet_v3_large", options))) << "two linear layers";
  EXPECT_FALSE(pooled_head(network::build("mlp:12288-8-2", options)));
  EXPECT_FALSE(pooled_head(network::build("resnet18", {network::Shape{3, 32, 32}, 2}))) << "a map of one place";
}

}  // namespace
}  // namespace evener::inference
