// What a user names as a trained network.
#include "task/inference/trained_model.h"

#include <gmock/gmock.h>

#include <tuple>

#include "base/error.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "engine/graph_file.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/inference/inference_model.h"
#include "weights/safetensors.h"

namespace evener::task {
namespace {

using testing::HasSubstr;

class TrainedModelTest : public testing::Test {
 protected:
  /// Writes the weights of `model` with `classes` classes, and gives back the file's name.
  std::string write(const std::string& name, const char* model, std::int64_t classes,
                    const weights::Metadata& metadata) {
    const network::Network network = network::build(model, {.input = network::Shape{1, 20, 24}, .classes = classes});
    weights::write_safetensors(folder_ / name, network::initial_state(network, 9), metadata);
    return (folder_ / name).string();
  }
  std::string failure(const ModelRequest& request) {
    try {
      open_trained_model(request);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  test::TestFolder folder_;
  const weights::Metadata facts_ = {{"model", "resnet20"},
                                    {"classes", R"(["a","b","c"])"},
                                    {"input", "[1,20,24]"},
                                    {"mean", "[0.25]"},
                                    {"standard_deviation", "[0.5]"}};
};

TEST_F(TrainedModelTest, AFileSaysWhatItIsOf) {
  const TrainedModel model = open_trained_model({.model = write("best.safetensors", "resnet20", 3, facts_)});
  EXPECT_EQ(model.network.model(), "resnet20");
  EXPECT_EQ(model.network.input_shape(), (network::Shape{1, 20, 24}));
  EXPECT_EQ(model.network.output_shape(), (network::Shape{3}));
  EXPECT_EQ(model.classes, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_TRUE(model.normalization);
  EXPECT_EQ(model.normalization->mean, std::vector<float>{0.25F});
  EXPECT_EQ(model.state, network::initial_state(model.network, 9));
}

TEST_F(TrainedModelTest, ARunGivesItsBestWeightsOrElseItsLast) {
  const std::string last = write("last.safetensors", "resnet20", 3, facts_);
  EXPECT_EQ(open_trained_model({.model = folder_.path().string()}).weights, last);
  const std::string best = write("best.safetensors", "resnet20", 3, facts_);
  const TrainedModel model = open_trained_model({.model = folder_.path().string()});
  EXPECT_EQ(model.weights, best);
  EXPECT_EQ(model.run, folder_.path());
}

TEST_F(TrainedModelTest, WeightsOfTheZooTellTheNumberOfClasses) {
  const std::string file = write("w.safetensors", "resnet20", 7, {});
  const TrainedModel model = open_trained_model({.model = "resnet20", .weights = file, .channels = 1});
  EXPECT_EQ(model.network.output_shape(), (network::Shape{7}));
  EXPECT_FALSE(model.normalization);
}

TEST_F(TrainedModelTest, ADetectorsWeightsTellItsClassesWithoutTheBackground) {
  const std::string file = write("w.safetensors", "ssdlite_mobilenet_v2", 7, {});
  const TrainedModel model = open_trained_model({.model = "ssdlite_mobilenet_v2", .weights = file, .channels = 1});
  EXPECT_EQ(network::detected_classes(model.network), 7);
  EXPECT_THAT(failure({.model = "ssdlite_mobilenet_v2", .weights = file, .channels = 1, .classes = 5}),
              HasSubstr("has 7 classes, not 5: leave out --classes"));
}

TEST_F(TrainedModelTest, AnotherSizeIsTaken) {
  const std::string file = write("w.safetensors", "resnet20", 3, facts_);
  const TrainedModel model = open_trained_model({.model = file, .width = 64, .height = 40});
  EXPECT_EQ(model.network.input_shape(), (network::Shape{1, 40, 64}));
}

TEST_F(TrainedModelTest, RandomWeightsAreSaid) {
  const TrainedModel model = open_trained_model({.model = "resnet20"});
  EXPECT_TRUE(model.weights.empty());
  ASSERT_EQ(model.notes.size(), 1u);
  EXPECT_THAT(model.notes.front(), HasSubstr("random weights"));
}

TEST_F(TrainedModelTest, NetworksForFacesSeeThemAsTheyWereTrained) {
  const data::ChannelStatistics faces = InferenceModel({.model = {.model = "mobilefacenet"}}).normalization();
  EXPECT_EQ(faces.mean, (std::vector<float>{0.5F, 0.5F, 0.5F}));
  EXPECT_NEAR(faces.standard_deviation.front(), 128.0 / 255, 1e-4);
  EXPECT_EQ(InferenceModel({.model = {.model = "resnet20"}}).normalization().mean.front(), 0.485F);
}

TEST_F(TrainedModelTest, FilesThatTakeBytesNormalizeThemselves) {
  if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "openvino is not built";
  for (const auto& [type, least, most] : {std::tuple{"u8", 0.F, 255.F}, std::tuple{"i8", -128.F, 127.F}}) {
    test::GraphFile graph;
    const int value = graph.rounded(graph.converted("f32", graph.input(type, "1,1,2,2")), least, most, -1, 0.9921875F);
    graph.output(graph.node("ReLU", "opset1", "", {value}, "positive"));
    graph.write(folder_ / "model.xml");
    InferenceRequest request{.model = {.model = (folder_ / "model.xml").string()}};
    const InferenceModel as_it_is(request);
    EXPECT_THAT(as_it_is.notes(), testing::IsEmpty()) << type;
    EXPECT_EQ(as_it_is.normalization().mean, std::vector<float>{0});
    EXPECT_EQ(as_it_is.normalization().standard_deviation, std::vector<float>{1.0F / 255});

    request.describe = true;
    const InferenceModel described(request);
    EXPECT_THAT(described.notes(), testing::ElementsAre(HasSubstr("is quantised already"))) << type;
    EXPECT_NEAR(described.normalization().mean.front(), 128.0 / 255, 1e-6);
    EXPECT_NEAR(described.normalization().standard_deviation.front(), 128.0 / 255, 1e-6);

    request.normalization = parse_normalization("0.5/0.5");
    try {
      const InferenceModel refused(request);
      FAIL() << type;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("takes bytes as they are; leave out --normalize"));
    }
  }
}

TEST_F(TrainedModelTest, SaysWhatIsMissing) {
  EXPECT_THAT(failure({.model = folder_.path().string()}), HasSubstr("holds no weights"));
  const std::string nameless = write("w.safetensors", "resnet20", 3, {});
  EXPECT_THAT(failure({.model = nameless}), HasSubstr("which network"));
  EXPECT_THAT(failure({.model = nameless, .weights = nameless}), HasSubstr("--weights"));
  EXPECT_THAT(failure({.model = "resnet20", .weights = nameless, .channels = 1, .classes = 5}), HasSubstr("3 outputs"));
  EXPECT_THAT(failure({.model = "resnet21"}), HasSubstr("resnet20"));
}

}  // namespace
}  // namespace evener::task
