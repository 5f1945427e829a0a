// What a run begins with: patterns of frozen parameters, and how images are normalised.
#include "task/training/start.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "network/zoo.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Act>
std::string message_of(Act act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(MatchingParameters, FollowThePatterns) {
  const network::Network network = network::build("resnet20", {});
  EXPECT_THAT(matching_parameters(network, {"conv1*", "bn1.*"}), ElementsAre("conv1.weight", "bn1.weight", "bn1.bias"));
  EXPECT_THAT(matching_parameters(network, {"layer3.2.conv?.weight"}),
              ElementsAre("layer3.2.conv1.weight", "layer3.2.conv2.weight"));
  EXPECT_EQ(matching_parameters(network, {"*"}).size(), 59u) << "19 convolutions, 19 batch-norms, a linear layer";
  EXPECT_TRUE(matching_parameters(network, {}).empty());
}

TEST(MatchingParameters, PatternsThatMatchNothingAreErrors) {
  const network::Network network = network::build("resnet20", {});
  const auto message = [&](const char* pattern) {
    return message_of([&] { matching_parameters(network, {"conv1*", pattern}); });
  };
  EXPECT_THAT(message("layr1*"),
              AllOf(HasSubstr("'layr1*'"), HasSubstr("did you mean 'layer1*'?"), HasSubstr("resnet20")));
  EXPECT_THAT(message("fc*"), HasSubstr("conv1, bn1, layer1, layer2, layer3, linear"));
  EXPECT_THAT(message("*.running_mean"), HasSubstr("matches no parameter")) << "statistics are no parameters";
}

TEST(FreezeText, CountsParametersAndValues) {
  network::Network network = network::build("mlp:4-3-2", {});
  EXPECT_EQ(freeze_text(network), "");
  network.freeze({"0.weight"});
  EXPECT_EQ(freeze_text(network), "3 of 4 parameters are trained (11 of 23 values)");
}

TEST(Normalization, TakesNamesAndNumbers) {
  EXPECT_EQ(parse_normalization("").source, NormalizationRule::Source::kDefault);
  EXPECT_EQ(parse_normalization("data").source, NormalizationRule::Source::kData);
  const auto imagenet = for_channels(parse_normalization("imagenet"), 3);
  EXPECT_EQ(imagenet.mean, (std::vector<float>{0.485F, 0.456F, 0.406F}));
  EXPECT_EQ(imagenet.standard_deviation, (std::vector<float>{0.229F, 0.224F, 0.225F}));
  EXPECT_EQ(for_channels(parse_normalization("0.5/0.25"), 3).mean, (std::vector<float>{0.5F, 0.5F, 0.5F}));
  EXPECT_EQ(for_channels(parse_normalization("0.1:0.2:0.3/0.25:0.5:1"), 3).standard_deviation,
            (std::vector<float>{0.25F, 0.5F, 1}));
}

TEST(Normalization, OtherTextsAndNumbersOfChannelsAreRefused) {
  for (const char* text :
       {"imagnet", "0.5", "0.5/", "/0.5", "0.5/0", "0.5/-1", "0.5/x", "0.5:0.5/1", "0.5,0.5/1,1", "nan/1"}) {
    EXPECT_THAT(message_of([&] { parse_normalization(text); }), AllOf(HasSubstr(text), HasSubstr("0.5/0.25"))) << text;
  }
  EXPECT_THAT(message_of([] { for_channels(parse_normalization("imagenet"), 1); }), HasSubstr("--channels 3"));
}

TEST(Normalization, IsReadFromMetadata) {
  const weights::Metadata good = {{"mean", "[0.5,0.25,0.1]"}, {"standard_deviation", "[1.0,2.0,3.0]"}};
  ASSERT_TRUE(normalization_of(good, 3));
  EXPECT_EQ(normalization_of(good, 3)->mean, (std::vector<float>{0.5F, 0.25F, 0.1F}));
  EXPECT_FALSE(normalization_of(good, 1));
  EXPECT_FALSE(normalization_of({}, 3));
  EXPECT_FALSE(normalization_of({{"mean", "[0.5]"}, {"standard_deviation", "[0]"}}, 1));
  EXPECT_FALSE(normalization_of({{"mean", "0.5"}, {"standard_deviation", "[1]"}}, 1));
  EXPECT_FALSE(normalization_of({{"mean", "[["}, {"standard_deviation", "[1]"}}, 1));
}

}  // namespace
}  // namespace evener::task
