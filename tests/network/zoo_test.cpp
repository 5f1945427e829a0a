// The models: sizes and names as in torchvision, specifications of perceptrons, data that does not fit.
#include "network/zoo.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/error.h"
#include "base/paths.h"
#include "base/thrown.h"
#include "network/cost.h"
#include "weights/safetensors.h"

namespace evener::network {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(std::string_view model, const ModelOptions& options = {}) {
  return test::thrown_by<UsageError>([&] { build(model, options); }, "no error");
}

std::vector<std::string> names_of(const Network& network, bool trained) {
  std::vector<std::string> names;
  for (const Parameter& parameter : network.parameters()) {
    if (parameter.trained == trained && !parameter.shape.empty()) names.push_back(parameter.name);
  }
  return names;
}

std::vector<std::string> listed(const weights::Metadata& metadata, const std::string& key) {
  std::vector<std::string> names;
  std::istringstream stream(metadata.at(key));
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

// Counts of torchvision 0.26 (torchvision.models, num_params and _ops of the weights' metadata).
TEST(Zoo, ResNetsHaveTorchvisionsParametersAndOperations) {
  const Network resnet18 = build("resnet18", {});
  EXPECT_EQ(total_cost(resnet18).parameters, 11'689'512);
  EXPECT_NEAR(static_cast<double>(forward_macs(resnet18)), 1.814e9, 0.0005e9);
  EXPECT_EQ(resnet18.input_shape(), (Shape{3, 224, 224}));
  EXPECT_EQ(resnet18.output_shape(), Shape{1000});
  const Network resnet34 = build("resnet34", {});
  EXPECT_EQ(total_cost(resnet34).parameters, 21'797'672);
  EXPECT_NEAR(static_cast<double>(forward_macs(resnet34)), 3.664e9, 0.0005e9);
  const Network resnet50 = build("resnet50", {});
  EXPECT_EQ(total_cost(resnet50).parameters, 25'557'032);
  EXPECT_NEAR(static_cast<double>(forward_macs(resnet50)), 4.089e9, 0.0005e9);
}

TEST(Zoo, ModelsWithSqueezeAndExcitationHaveTorchvisionsParametersAndOperations) {
  const Network mobilenet = build("mobilenet_v3_large", {});
  EXPECT_EQ(total_cost(mobilenet).parameters, 5'483'032);
  EXPECT_NEAR(static_cast<double>(forward_macs(mobilenet)), 0.217e9, 0.0005e9);
  EXPECT_EQ(mobilenet.output_shape(), Shape{1000});
  for (const Layer& layer : mobilenet.layers()) {
    if (const auto* norm = std::get_if<BatchNorm>(&layer.op)) {
      EXPECT_EQ(norm->epsilon, 1e-3) << layer.name;
      EXPECT_EQ(norm->momentum, 0.01) << layer.name;
    }
  }
  const Network efficientnet = build("efficientnet_b0", {});
  EXPECT_EQ(total_cost(efficientnet).parameters, 5'288'548);
  EXPECT_NEAR(static_cast<double>(forward_macs(efficientnet)), 0.386e9, 0.0005e9);
  EXPECT_EQ(efficientnet.output_shape(), Shape{1000});
  std::vector<double> dropped;
  for (const Layer& layer : efficientnet.layers()) {
    if (const auto* depth = std::get_if<StochasticDepth>(&layer.op)) dropped.push_back(depth->probability);
  }
  std::vector<double> expected;  // of the blocks that keep the shape: those that aren't the first of their stage
  for (const int block : {2, 4, 6, 7, 9, 10, 12, 13, 14}) expected.push_back(0.2 * block / 16);
  EXPECT_THAT(dropped, testing::Pointwise(testing::DoubleEq(), expected));
}

TEST(Zoo, MobileNetV2HasTorchvisionsParametersAndOperations) {
  const Network network = build("mobilenet_v2", {});
  EXPECT_EQ(total_cost(network).parameters, 3'504'872);
  EXPECT_NEAR(static_cast<double>(forward_macs(network)), 0.301e9, 0.0005e9);
  EXPECT_EQ(network.output_shape(), Shape{1000});
  const auto names = names_of(network, true);
  EXPECT_THAT(names, testing::IsSupersetOf({"features.0.0.weight", "features.1.conv.0.0.weight",
                                            "features.1.conv.1.weight", "features.2.conv.1.0.weight",
                                            "features.17.conv.3.bias", "features.18.1.weight", "classifier.1.bias"}));
}

// Parameters: the values that the weights passed around for them hold, less the running statistics (resnet_cifar10's
// LAYERS.txt); for ResNet-20 the paper has 0.27 M, for ResNet-56 0.85 M.
TEST(Zoo, SmallResNetsHaveThePapersParameters) {
  const std::vector<std::pair<const char*, std::int64_t>> models = {
      {"resnet20", 269'722}, {"resnet32", 464'154}, {"resnet44", 658'586}, {"resnet56", 853'018}};
  for (const auto& [name, parameters] : models) {
    const Network network = build(name, {});
    EXPECT_EQ(total_cost(network).parameters, parameters) << name;
    EXPECT_EQ(network.input_shape(), (Shape{3, 32, 32}));
    EXPECT_EQ(network.output_shape(), Shape{10});
  }
  EXPECT_NEAR(static_cast<double>(forward_macs(build("resnet20", {}))), 40.55e6, 0.01e6);
  EXPECT_NEAR(static_cast<double>(forward_macs(build("resnet56", {}))), 125.49e6, 0.01e6);
  EXPECT_EQ(build("resnet20", {.input = Shape{1, 5, 3}, .classes = 7}).output_shape(), Shape{7});
}

// Counted from facenet-pytorch's description (inception_resnet_v1.py, 23,482,624 without the layer for its classes;
// mtcnn.py) and from the weights that are passed around for MobileFaceNet.
TEST(Zoo, NetworksForFacesHaveTheParametersOfTheirOrigins) {
  const Network embedder = build("inception_resnet_v1", {});
  EXPECT_EQ(total_cost(embedder).parameters, 23'482'624);
  EXPECT_EQ(embedder.input_shape(), (Shape{3, 160, 160}));
  EXPECT_EQ(embedder.output_shape(), Shape{512});
  EXPECT_NEAR(static_cast<double>(forward_macs(embedder)), 1.425e9, 0.01e9);
  EXPECT_THAT(names_of(embedder, true),
              testing::IsSupersetOf({"conv2d_1a.conv.weight", "repeat_1.0.branch1.1.bn.bias", "repeat_1.4.conv2d.bias",
                                     "mixed_6a.branch1.2.conv.weight", "repeat_2.9.branch1.2.bn.weight",
                                     "mixed_7a.branch2.2.conv.weight", "repeat_3.4.branch0.conv.weight",
                                     "block8.conv2d.weight", "last_linear.weight", "last_bn.bias"}));
  const Network small = build("mobilefacenet", {});
  EXPECT_EQ(small.input_shape(), (Shape{3, 112, 96}));
  EXPECT_EQ(small.output_shape(), Shape{128});
  EXPECT_EQ(total_cost(small).parameters, 999'552);
  EXPECT_EQ(total_cost(build("mtcnn_pnet", {})).parameters, 6'632);
  EXPECT_EQ(total_cost(build("mtcnn_rnet", {})).parameters, 100'178);
  EXPECT_EQ(total_cost(build("mtcnn_onet", {})).parameters, 389'040);
}

TEST(Zoo, TheDetectorsNetworksLookAtTheirSizes) {
  // A cell has 12 pixels; 2 more are the next place, and pooling rounds up.
  EXPECT_EQ(build("mtcnn_pnet", {}).output_shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(build("mtcnn_pnet", {.input = Shape{3, 16, 25}}).output_shape(), (Shape{2, 3, 8}));
  const Network last = build("mtcnn_onet", {});
  ASSERT_EQ(last.outputs().size(), 3U);
  EXPECT_EQ(last.outputs()[2].name, "landmarks");
  EXPECT_EQ(last.output_shape(last.outputs()[2]), Shape{10});
  EXPECT_THAT(message_of("mtcnn_rnet", {.input = Shape{3, 32, 32}}), HasSubstr("24x24"));
  EXPECT_THAT(message_of("mtcnn_onet", {.input = Shape{3, 24, 24}}), HasSubstr("48x48"));
}

// The golden files carry the names that PyTorch's own models have.
TEST(Zoo, ParametersHavePyTorchsNamesInItsOrder) {
  for (const char* name : {"resnet18_rgb", "resnet34_grey", "resnet50", "resnet20", "mobilenet_v2",
                           "mobilenet_v3_large", "efficientnet_b0", "mlp_relu"}) {
    const auto golden = weights::read_safetensors_metadata(test::source_folder() / "tests/golden" /
                                                           (std::string(name) + ".safetensors"));
    const Network network = build(golden.at("model"), {});
    EXPECT_EQ(names_of(network, true), listed(golden, "trained")) << name;
    EXPECT_EQ(names_of(network, false), listed(golden, "buffers")) << name;
  }
}

TEST(Zoo, ResNetsTakeAnyChannelsClassesAndSize) {
  for (const char* model : {"resnet18", "resnet34"}) {
    for (const std::int64_t classes : {1, 9, 1000}) {
      const Network network = build(model, {.input = Shape{1, 148, 197}, .classes = classes});
      EXPECT_EQ(network.output_shape(), Shape{classes});
      EXPECT_EQ(network.parameters().front().shape, (Shape{64, 1, 7, 7}));
    }
    // 148x197 -> 74x99 -> 37x50 -> 37x50 -> 19x25 -> 10x13 -> 5x7
    const Network network = build(model, {.input = Shape{1, 148, 197}});
    EXPECT_EQ(network.layers()[network.layers().size() - 4].shape, (Shape{512, 5, 7}));
    EXPECT_EQ(build(model, {.input = Shape{4, 1, 1}}).output_shape(), Shape{1000}) << "padding makes a pixel enough";
  }
  EXPECT_THROW(build("resnet18", {.classes = 0}), Error);
}

TEST(Zoo, PerceptronsFollowTheirSpecification) {
  const Network network = build("mlp:784-500-300-10:sigmoid", {});
  EXPECT_EQ(network.model(), "mlp:784-500-300-10:sigmoid");
  EXPECT_EQ(network.input_shape(), Shape{784});
  EXPECT_THAT(names_of(network, true), ElementsAre("0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"));
  std::vector<std::string> kinds;
  for (const Layer& layer : network.layers()) kinds.emplace_back(op_name(layer.op));
  EXPECT_THAT(kinds, ElementsAre("input", "flatten", "linear", "sigmoid", "linear", "sigmoid", "linear"))
      << "no activation after the last layer";
  EXPECT_STREQ(op_name(build("mlp:4-3-2", {}).layers()[3].op), "relu") << "the default";
  EXPECT_STREQ(op_name(build("mlp:4-3-2:tanh", {}).layers()[3].op), "tanh");
  EXPECT_EQ(build("mlp:4-2", {}).layers().size(), 3U) << "two sizes are one layer";
  EXPECT_EQ(build("mlp:3072-10", {.input = Shape{3, 32, 32}, .classes = 10}).input_shape(), (Shape{3, 32, 32}));
}

TEST(Zoo, MalformedSpecificationsSayWhatIsWrong) {
  for (const auto& [model, part] :
       std::vector<std::pair<const char*, const char*>>{{"mlp", "missing"},
                                                        {"mlp:", "missing"},
                                                        {"mlp:784", "at least two"},
                                                        {"mlp:784-", "''"},
                                                        {"mlp:-784-10", "''"},
                                                        {"mlp:784-abc-10", "'abc'"},
                                                        {"mlp:784-0-10", "'0'"},
                                                        {"mlp:784-10x", "'10x'"},
                                                        {"mlp:784--10", "''"},
                                                        {"mlp:784-99999999999999999999-10", "'99999999999999999999'"},
                                                        {"mlp:16000000-16000000-16000000", "parameters"},
                                                        {"mlp:784-10:relu:relu", "too many"}}) {
    EXPECT_THAT(message_of(model),
                AllOf(HasSubstr(std::string("model '") + model), HasSubstr(part), HasSubstr("mlp:784-256-10")));
  }
  EXPECT_THAT(message_of("mlp:784-10:sigmoit"), HasSubstr("did you mean 'sigmoid'"));
  EXPECT_THAT(message_of("resnet18:relu"), HasSubstr("takes nothing after its name"));
}

TEST(Zoo, UnknownModelsGetTheNearestName) {
  EXPECT_THAT(message_of("resnet43"), AllOf(HasSubstr("'resnet43'"), HasSubstr("did you mean 'resnet34'")));
  EXPECT_THAT(message_of("mpl:784-10"), HasSubstr("did you mean 'mlp'"));
  EXPECT_THAT(message_of("ResNet18"), HasSubstr("did you mean 'resnet18'"));
  EXPECT_THAT(message_of("vgg"),
              AllOf(HasSubstr("vgg"), HasSubstr("resnet34"), testing::Not(HasSubstr("did you mean"))));
  EXPECT_THAT(message_of(""), HasSubstr("resnet18"));
}

TEST(Zoo, DataThatDoesNotFitSaysWhatWould) {
  EXPECT_THAT(message_of("mlp:784-256-10", {.input = Shape{1, 30, 28}}),
              AllOf(HasSubstr("784"), HasSubstr("1x30x28 = 840"), HasSubstr("--size 28x28"), HasSubstr("mlp:840-")));
  EXPECT_THAT(message_of("mlp:784-256-10", {.input = Shape{3, 28, 28}}), HasSubstr("--size 28x28 --channels 1"));
  EXPECT_THAT(message_of("mlp:3072-10", {.input = Shape{3, 64, 64}}), HasSubstr("--size 32x32"));
  EXPECT_THAT(message_of("mlp:785-10", {.input = Shape{1, 28, 28}}), testing::Not(HasSubstr("--size")))
      << "785 pixels are no square";
  for (const char* outputs : {"9", "32"}) {
    EXPECT_THAT(message_of(std::string("mlp:784-256-") + outputs, {.classes = 10}),
                AllOf(HasSubstr(std::string(outputs) + " outputs"), HasSubstr("10 classes: make its last number 10")));
  }
}

TEST(Zoo, ListsItsModels) {
  std::vector<std::string> names;
  for (const ModelInfo& model : known_models()) {
    names.push_back(model.name);
    EXPECT_FALSE(model.description.empty());
  }
  EXPECT_THAT(names, ElementsAre("mlp:SIZES[:ACTIVATION]", "efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large",
                                 "inception_resnet_v1", "mobilefacenet", "mtcnn_pnet", "mtcnn_rnet", "mtcnn_onet",
                                 "ssdlite320_mobilenet_v3_large", "ssdlite_mobilenet_v2", "resnet18", "resnet34",
                                 "resnet50", "resnet20", "resnet32", "resnet44", "resnet56"));
}

TEST(SeesWholePictures, IsSoOfNetworksForSmallImagesAndNotOfImageNets) {
  for (const char* model : {"resnet20", "resnet56", "mlp:784-10", "mobilefacenet"})
    EXPECT_TRUE(sees_whole_pictures(model));
  for (const char* model : {"resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "a.onnx"}) {
    EXPECT_FALSE(sees_whole_pictures(model)) << model;
  }
}

}  // namespace
}  // namespace evener::network
