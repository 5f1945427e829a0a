// Passes that were timed by hand become a profile: medians, and what layers cost.
#include "infer/run/layer_profile.h"

#include <gmock/gmock.h>

#include "network/cost.h"

namespace evener::inference {
namespace {

using engine::LayerTime;
using testing::ElementsAre;
using testing::IsEmpty;
using Passes = std::vector<std::vector<LayerTime>>;

/// 3x6x6 -> 4x6x6 (conv, bn, relu) -> 144 -> 5; a sum of two layers' results between.
network::Network small_network() {
  network::Network network("small", {3, 6, 6});
  const int conv = network.add("conv", network::Conv2d{.out_channels = 4, .kernel = 3, .padding = 1});
  const int bn = network.add("bn", network::BatchNorm{});
  network.add("relu", network::Activation{}, {bn});
  network.add("sum", network::Add{}, {bn + 1, conv});
  network.add("flat", network::Flatten{});
  network.add("fc", network::Linear{.out_features = 5});
  return network;
}

Passes inference_passes() {
  return {{{{}, "normalise images", 9}, {{"conv", "bn"}, "Conv2d", 1}, {{"fc"}, "Linear", 5}},
          {{{}, "normalise images", 1}, {{"conv", "bn"}, "Conv2d", 4}, {{"fc"}, "Linear", 6}},
          {{{}, "normalise images", 2}, {{"conv", "bn"}, "Conv2d", 3}, {{"fc"}, "Linear", 9}}};
}

TEST(LayerProfileRules, TimesAreTheMediansOfThePasses) {
  Passes passes = {{{{"a"}, "A", 5, 1.0}, {{"b"}, "B", 7}},
                   {{{"a"}, "A", 1, 8.0}, {{"b"}, "B", 3}},
                   {{{"a"}, "A", 2, 4.0}, {{"b"}, "B", 4}}};
  const std::vector<LayerTime> times = median_times(passes);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].forward_s, 2);
  EXPECT_EQ(times[0].backward_s, 4);
  EXPECT_EQ(times[0].what, "A");
  EXPECT_THAT(times[1].layers, ElementsAre("b"));
  EXPECT_EQ(times[1].forward_s, 4);
  EXPECT_FALSE(times[1].backward_s) << "there was none, which is not 0";
}

TEST(LayerProfileRules, LayersAreToldWithWhatTheyReadWriteAndCompute) {
  const network::Network network = small_network();
  const auto costs = network::layer_costs(network);
  NetworkProfile profile;
  profile.batch = 7;
  fill_profile(inference_passes(), &network, {}, profile);
  EXPECT_EQ(profile.passes, 3);
  ASSERT_EQ(profile.layers.size(), 3U);
  EXPECT_EQ(profile.layers[0].time.forward_s, 2);
  EXPECT_FALSE(profile.layers[0].flops) << "of no layer";
  EXPECT_FALSE(profile.layers[0].bytes);
  const std::int64_t conv_parameters = 4 * 3 * 9 + 2 * 4, values_in = 3 * 36, values_out = 4 * 36;
  EXPECT_EQ(profile.layers[1].flops, 7 * (costs[1].forward_flops + costs[2].forward_flops));
  EXPECT_EQ(profile.layers[1].bytes, 4 * (7 * (values_in + values_out) + conv_parameters));
  EXPECT_EQ(profile.layers[2].flops, 7 * costs[6].forward_flops);
  EXPECT_EQ(profile.layers[2].bytes, 4 * (7 * (144 + 5) + 144 * 5 + 5));
}

TEST(LayerProfileRules, TrainingReadsTwiceMoreAndWritesOnceMore) {
  const network::Network network = small_network();
  const auto costs = network::layer_costs(network);
  NetworkProfile profile;
  profile.batch = 2;
  fill_profile({{{{"sum"}, "Add", 1, 1.0}, {{"fc"}, "Linear", 1, 2.0}}}, &network, {}, profile);
  EXPECT_EQ(profile.layers[0].bytes, 4 * 2 * (2 * 144 + 144) + 4 * 2 * (2 * 2 * 144 + 144)) << "it reads two layers'";
  EXPECT_EQ(profile.layers[1].flops, 2 * (costs[6].forward_flops + costs[6].backward_flops));
  const std::int64_t in = 2 * 144, out = 2 * 5, parameters = 144 * 5 + 5;
  EXPECT_EQ(profile.layers[1].bytes, 4 * (in + out + parameters) + 4 * (2 * in + out + 2 * parameters));
}

TEST(LayerProfileRules, ValuesOfHalfTheBitsAreHalfTheBytesAndParametersAreNot) {
  const network::Network network = small_network();
  NetworkProfile profile;
  profile.batch = 3;
  profile.precision = Precision::kBf16;
  fill_profile({{{{"fc"}, "Linear", 1}}}, &network, {}, profile);
  EXPECT_EQ(profile.layers[0].bytes, 2 * 3 * (144 + 5) + 4 * (144 * 5 + 5));
  NetworkProfile in_int8;
  in_int8.in_int8 = true;
  fill_profile({{{{"fc"}, "Linear", 1}}}, &network, {}, in_int8);
  EXPECT_FALSE(in_int8.layers[0].bytes);
  EXPECT_TRUE(in_int8.layers[0].flops);
}

TEST(LayerProfileRules, ForeignNetworksHaveTimesAlone) {
  NetworkProfile profile;
  fill_profile(inference_passes(), nullptr, {}, profile);
  ASSERT_EQ(profile.layers.size(), 3U);
  EXPECT_EQ(profile.layers[1].time.forward_s, 3);
  EXPECT_FALSE(profile.layers[1].flops);
  EXPECT_THAT(profile.layers[1].time.layers, ElementsAre("conv", "bn"));
}

TEST(LayerProfileRules, NamesThatTheNetworkLacksAreLeftOut) {
  const network::Network network = small_network();
  NetworkProfile profile;
  fill_profile({{{{"fc", "cast"}, "Linear", 1}, {{"reorder"}, "Reorder", 2}}}, &network, {}, profile);
  EXPECT_THAT(profile.layers[0].time.layers, ElementsAre("fc"));
  EXPECT_THAT(profile.layers[1].time.layers, IsEmpty());
  EXPECT_FALSE(profile.layers[1].flops);
}

// The folded convolution has the normalisation's name, and is told under both.
TEST(LayerProfileRules, FoldedConvolutionsAreToldUnderTheirOwnNamesToo) {
  network::Network network("folds", {3, 6, 6});
  network.add("conv", network::Conv2d{.out_channels = 4, .kernel = 3});
  network.add("bn", network::BatchNorm{});
  network.add("flat", network::Flatten{});
  network.add("fc", network::Linear{.out_features = 5});
  NetworkProfile folded, plain;
  fill_inference_profile({{{{"bn"}, "Conv2d", 1}, {{"fc"}, "Linear", 1}}}, network, {}, folded);
  EXPECT_THAT(folded.layers[0].time.layers, ElementsAre("conv", "bn"));
  EXPECT_EQ(folded.layers[0].bytes, 4 * (3 * 36 + 4 * 16 + 4 * 27 + 4)) << "weights with a bias, and no statistics";
  EXPECT_THAT(folded.layers[1].time.layers, ElementsAre("fc"));
  fill_inference_profile({{{{"conv"}, "Conv2d", 1}, {{"bn"}, "BatchNorm", 1}}}, network, {}, plain);
  EXPECT_THAT(plain.layers[0].time.layers, ElementsAre("conv"));
  EXPECT_EQ(plain.layers[0].bytes, 4 * (3 * 36 + 4 * 16 + 4 * 27)) << "without a bias";
  EXPECT_THAT(plain.layers[1].time.layers, ElementsAre("bn"));
}

TEST(LayerProfileRules, TimesByLayerStandWhereTheFirstOfThoseComputedAsOneStands) {
  const network::Network network = small_network();
  NetworkProfile profile;
  profile.layers = {{{{}, "normalise images", 1, 2.0}, {}, {}}, {{{"conv", "bn"}, "Conv2d", 3, 5.0}, {}, {}},
                    {{{"conv"}, "again", 7}, {}, {}},           {{{"fc"}, "Linear", 11, 13.0}, {}, {}},
                    {{{}, "loss", 17, 19.0}, {}, {}},           {{{"cast"}, "Cast", 23, 29.0}, {}, {}}};
  const auto times = times_by_layer(profile, network);
  ASSERT_EQ(times.size(), 7U);
  EXPECT_EQ(times[0].forward_s, 1 + 23);
  EXPECT_EQ(times[0].backward_s, 2 + 29);
  EXPECT_EQ(times[1].forward_s, 3 + 7);
  EXPECT_EQ(times[1].backward_s, 5);
  EXPECT_EQ(times[2].forward_s, 0);
  EXPECT_EQ(times[6].forward_s, 11 + 17) << "the loss comes after all";
  EXPECT_EQ(times[6].backward_s, 13 + 19);
}

}  // namespace
}  // namespace evener::inference
