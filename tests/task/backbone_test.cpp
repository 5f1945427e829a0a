// A detector's convolutional part from a classifier.
#include "task/training/backbone.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/real_data.h"
#include "network/init.h"
#include "network/zoo.h"
#include "weights/weights_file.h"

namespace evener::task {
namespace {

using testing::HasSubstr;

const network::Shape kInput{3, 64, 64};

network::Network zoo(const char* model, std::int64_t classes = 4) {
  return network::build(model, {.input = kInput, .classes = classes});
}

template <class Act>
std::string failure(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing failed";
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
  EXPECT_THAT(failure([&] { backbone_of_classifier(detector, other, "'w.pth'", 2); }),
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
}  // namespace evener::task
