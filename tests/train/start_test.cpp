// What a run begins with: patterns of frozen parameters, and how images are normalised.
// A detector's convolutional part from a classifier.
#include "train/steps/start.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/real_data.h"
#include "base/thrown.h"
#include "network/init.h"
#include "network/zoo.h"
#include "weights/weights_file.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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
    return test::thrown_by<UsageError>([&] { matching_parameters(network, {"conv1*", pattern}); });
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
  EXPECT_EQ(inference::parse_normalization("").source, inference::NormalizationRule::Source::kDefault);
  EXPECT_EQ(inference::parse_normalization("data").source, inference::NormalizationRule::Source::kData);
  const auto imagenet = inference::for_channels(inference::parse_normalization("imagenet"), 3);
  EXPECT_EQ(imagenet.mean, (std::vector<float>{0.485F, 0.456F, 0.406F}));
  EXPECT_EQ(imagenet.standard_deviation, (std::vector<float>{0.229F, 0.224F, 0.225F}));
  EXPECT_EQ(inference::for_channels(inference::parse_normalization("0.5/0.25"), 3).mean,
            (std::vector<float>{0.5F, 0.5F, 0.5F}));
  EXPECT_EQ(inference::for_channels(inference::parse_normalization("0.1:0.2:0.3/0.25:0.5:1"), 3).standard_deviation,
            (std::vector<float>{0.25F, 0.5F, 1}));
}

TEST(Normalization, OtherTextsAndNumbersOfChannelsAreRefused) {
  for (const char* text :
       {"imagnet", "0.5", "0.5/", "/0.5", "0.5/0", "0.5/-1", "0.5/x", "0.5:0.5/1", "0.5,0.5/1,1", "nan/1"}) {
    EXPECT_THAT(test::thrown_by<UsageError>([&] { inference::parse_normalization(text); }),
                AllOf(HasSubstr(text), HasSubstr("0.5/0.25")))
        << text;
  }
  EXPECT_THAT(
      test::thrown_by<UsageError>([] { inference::for_channels(inference::parse_normalization("imagenet"), 1); }),
      HasSubstr("--channels 3"));
}

TEST(Normalization, IsReadFromMetadata) {
  const weights::Metadata good = {{"mean", "[0.5,0.25,0.1]"}, {"standard_deviation", "[1.0,2.0,3.0]"}};
  ASSERT_TRUE(inference::normalization_of(good, 3));
  EXPECT_EQ(inference::normalization_of(good, 3)->mean, (std::vector<float>{0.5F, 0.25F, 0.1F}));
  EXPECT_FALSE(inference::normalization_of(good, 1));
  EXPECT_FALSE(inference::normalization_of({}, 3));
  EXPECT_FALSE(inference::normalization_of({{"mean", "[0.5]"}, {"standard_deviation", "[0]"}}, 1));
  EXPECT_FALSE(inference::normalization_of({{"mean", "0.5"}, {"standard_deviation", "[1]"}}, 1));
  EXPECT_FALSE(inference::normalization_of({{"mean", "[["}, {"standard_deviation", "[1]"}}, 1));
}

const network::Shape kInput{3, 64, 64};

network::Network zoo(const char* model, std::int64_t classes = 4) {
  return network::build(model, {.input = kInput, .classes = classes});
}

TEST(Backbone, OfAClassifierHasItsTensorsWhereTheyFit) {
  const network::Network detector = zoo("ssdlite_mobilenet_v2");
  const TensorMap classifier = network::initial_state(zoo("mobilenet_v2", 9), 5);
  EXPECT_TRUE(is_of_backbone(detector, classifier));
  EXPECT_FALSE(is_of_backbone(detector, network::initial_state(detector, 1)));
  EXPECT_FALSE(is_of_backbone(zoo("mobilenet_v2"), classifier));
  const TensorMap first = network::initial_state(detector, 2);
  const Backbone backbone = backbone_of_classifier(detector, classifier, "w", 2);
  std::size_t taken = 0;
  for (const auto& [name, tensor] : backbone.state) {
    const bool is_shared = name.starts_with("backbone.features.");
    const std::string theirs = is_shared ? name.substr(std::string("backbone.").size()) : "";
    EXPECT_EQ(tensor, is_shared ? classifier.at(theirs) : first.at(name)) << name;
    taken += is_shared ? 1 : 0;
  }
  EXPECT_THAT(backbone.notes.front(), HasSubstr(std::to_string(taken) + " tensors are those of the classifier"));
}

TEST(Backbone, OfMobileNetV3SaysWhatIsNarrowerInTheDetector) {
  const network::Network detector = zoo("ssdlite320_mobilenet_v3_large");
  const TensorMap classifier = network::initial_state(zoo("mobilenet_v3_large"), 5);
  const Backbone backbone = backbone_of_classifier(detector, classifier, "w", 2);
  EXPECT_EQ(backbone.state.at("backbone.features.0.0.0.weight"), classifier.at("features.0.0.weight"));
  EXPECT_EQ(backbone.state.at("backbone.features.0.4.block.2.fc1.weight"),
            classifier.at("features.4.block.2.fc1.weight"));
  ASSERT_EQ(backbone.notes.size(), 2U);
  EXPECT_THAT(backbone.notes[1], HasSubstr("have another shape than the detector's"));
}

TEST(Backbone, OfAnotherNetworkIsRefused) {
  const network::Network detector = zoo("ssdlite_mobilenet_v2");
  const TensorMap other = network::initial_state(zoo("mobilenet_v3_large"), 5);
  EXPECT_THAT(test::thrown_by([&] { backbone_of_classifier(detector, other, "'w.pth'", 2); }),
              AllOf(HasSubstr("'w.pth'"), HasSubstr("it is no mobilenet_v2")));
}

TEST(Backbone, OfPublishedWeightsIsWhatTheyHave) {
  constexpr const char* kFile = "models/mobilenet_v2-b0353104.pth";
  if (const std::string why = test::without_real_data({kFile}); !why.empty()) GTEST_SKIP() << why;
  const network::Network detector = zoo("ssdlite_mobilenet_v2");
  weights::SafetensorsFile file = weights::read_weights(test::real_data(kFile));
  EXPECT_THAT(adapt_to_network_or_backbone(detector, file, kFile), testing::IsEmpty());
  ASSERT_TRUE(is_of_backbone(detector, file.tensors));
  const Backbone backbone = backbone_of_classifier(detector, file.tensors, kFile, 3);
  EXPECT_EQ(backbone.state.at("backbone.features.18.0.weight"), file.tensors.at("features.18.0.weight"));
}

}  // namespace

}  // namespace evener::training
