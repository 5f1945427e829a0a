// What a user names as a trained network.
// Which networks weights are of, and what a network becomes with them; and exported networks: what the file says of
// itself, and the check that finds a file of other weights.
#include "infer/model/trained_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "engine/engine.h"
#include "engine/graph_file.h"
#include "infer/export/export.h"
#include "infer/model/inference_model.h"
#include "infer/model/metadata.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"
#include "network/zoo.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

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
    return message_of([&] { open_trained_model(request); });
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
    EXPECT_THAT(message_of([&] { const InferenceModel refused(request); }),
                HasSubstr("takes bytes as they are; leave out --normalize"));
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

network::Network small_resnet20(std::int64_t channels, std::int64_t classes) {
  return network::build("resnet20", {network::Shape{channels, 32, 32}, classes});
}

weights::SafetensorsFile file_of(const network::Network& network) {
  weights::SafetensorsFile file;
  file.tensors = network::initial_state(network, 3);
  return file;
}

WeightedNetwork with_file(std::int64_t asked_classes, bool keeps_classes, weights::SafetensorsFile file) {
  const NetworkBuilder build = [](const network::ModelOptions& options) { return network::build("resnet20", options); };
  return with_weights(build, {network::Shape{3, 32, 32}, asked_classes}, keeps_classes, std::move(file),
                      "'it.safetensors'", 1);
}

std::int64_t outputs_of(const network::Network& network) {
  return network.output_shape(network.outputs().front()).front();
}

TEST(WeightedNetworks, HaveAsManyOutputsAsTheirFile) {
  const network::Network seven = small_resnet20(3, 7);
  const WeightedNetwork found = with_file(10, false, file_of(seven));
  EXPECT_EQ(outputs_of(found.network), 7);
  EXPECT_EQ(found.state.at("conv1.weight"), network::initial_state(seven, 3).at("conv1.weight"));
  EXPECT_EQ(outputs_of(with_file(7, true, file_of(seven)).network), 7);
  EXPECT_THAT(message_of([&] { with_file(5, true, file_of(seven)); }),
              AllOf(HasSubstr("'it.safetensors' has 7 outputs, not 5"), HasSubstr("--classes")));
}

TEST(FittingNetworks, AreThoseOfTheZooWithTheirOutputsAndChannels) {
  for (const std::int64_t channels : {3, 1}) {
    const auto fitting = fitting_networks(file_of(small_resnet20(channels, 7)));
    ASSERT_EQ(fitting.size(), 1U) << channels;
    EXPECT_EQ(fitting[0].model, "resnet20");
    EXPECT_EQ(fitting[0].outputs, 7);
    EXPECT_EQ(fitting[0].channels, channels == 1 ? 1 : 0);
  }
  weights::SafetensorsFile part = file_of(small_resnet20(3, 7));
  part.tensors.erase("conv1.weight");
  EXPECT_TRUE(fitting_networks(part).empty());
}

TEST(FittingNetworks, AreToldWithTheCommandThatTakesThem) {
  const FittingNetwork usual{.model = "resnet20", .outputs = 7, .notes = {}};
  const FittingNetwork grey{.model = "vgg16", .channels = 1, .notes = {}};
  EXPECT_EQ(usual.usage("a b.pt"), "resnet20 --weights a b.pt");
  EXPECT_EQ(grey.usage("w.pt"), "vgg16 --weights w.pt --channels 1");
  EXPECT_EQ(fitting_text({usual, grey}, "w.pt"), "they fit resnet20: name it, as in 'resnet20 --weights w.pt'");
  EXPECT_THAT(fitting_text({}, "w.pt"), AllOf(HasSubstr("no network of the zoo"), HasSubstr("'evener info w.pt'")));
}

class Export : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("onnx").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the module 'onnx' is not built";
    if (const std::string refusal = export_check_refusal(); !refusal.empty()) GTEST_SKIP() << refusal;
  }

  static TrainedModel model(std::uint64_t seed) {
    TrainedModel model(network::build("resnet20", {network::Shape{3, 16, 16}, 2}));
    model.state = network::initial_state(model.network, seed);
    model.classes = {"Brasse", "Br\xE4tling"};
    return model;
  }

  const data::ChannelStatistics kImages{{0.4F, 0.5F, 0.6F}, {0.2F, 0.25F, 0.3F}};
  test::TestFolder folder_;
  ExportOptions options_{folder_ / "model.onnx", kImages};
};

TEST_F(Export, SaysWhatIsNeededToUseIt) {
  for (const bool inside : {false, true}) {
    options_.normalize_inside = inside;
    write_export(model(1), options_);
    const auto metadata = engine::open_engine("openvino")->open_model_file(options_.onnx)->metadata();
    EXPECT_EQ(metadata.at("format"), "evener-onnx-1");
    EXPECT_EQ(metadata.at("model"), "resnet20");
    EXPECT_EQ(metadata.at("input"), "[3,16,16]");
    EXPECT_EQ(weights::metadata_value(metadata.at("classes")), nlohmann::json(model(1).classes));
    EXPECT_EQ(nlohmann::json::parse(metadata.at("mean")).get<std::vector<float>>(), kImages.mean);
    EXPECT_EQ(nlohmann::json::parse(metadata.at("standard_deviation")).get<std::vector<float>>(),
              kImages.standard_deviation);
    EXPECT_EQ(model_facts(metadata).normalizes_inside, inside);
    const ExportCheck check = check_export(model(1), options_);
    EXPECT_LT(check.largest_difference, 1e-4 * check.largest_output);
    EXPECT_GT(check.largest_output, 0);
  }
}

TEST_F(Export, SaysNothingOfWhatIsNotKnown) {
  options_.normalization.reset();
  TrainedModel nameless = model(1);
  nameless.classes.clear();
  write_export(nameless, options_);
  const auto metadata = engine::open_engine("openvino")->open_model_file(options_.onnx)->metadata();
  for (const char* key : {"classes", "mean", "standard_deviation"}) EXPECT_FALSE(metadata.contains(key)) << key;
  EXPECT_NO_THROW(check_export(nameless, options_));
  options_.normalize_inside = true;
  EXPECT_THAT(message_of([&] { write_export(nameless, options_); }), HasSubstr("--normalize"));
}

TEST_F(Export, TheCheckFindsOtherWeights) {
  write_export(model(1), options_);
  EXPECT_THAT(message_of([&] { check_export(model(2), options_); }),
              AllOf(HasSubstr("model.onnx"), HasSubstr("away from the network's")));
  options_.normalize_inside = true;  // the file doesn't
  EXPECT_THAT(message_of([&] { check_export(model(1), options_); }), HasSubstr("away from the network's"));
}

/// Of int8, with plausible scales.
TrainedModel quantized(TrainedModel model) {
  model.quantization =
      network::choose_quantization(network::fold_batch_norm(model.network, model.state).network, 8, {});
  network::NetworkWithState folded = network::fold_batch_norm(model.network, model.state);
  model.network = network::with_quantization(folded.network, model.quantization);
  model.state = std::move(folded.state);
  for (const auto& parameter : model.network.parameters()) {
    if (parameter.name.ends_with(".quantized.scale")) {
      model.state[parameter.name] = HostTensor::of_floats({1}, {0.03F});
    } else if (parameter.name.ends_with(".weight_scale")) {
      const HostTensor& weight = model.state.at(parameter.name.substr(0, parameter.name.size() - 6));
      const float* values = weight.floats();
      float largest = 0;
      for (std::int64_t i = 0; i < element_count(weight.shape); ++i) largest = std::max(largest, std::abs(values[i]));
      const std::vector<float> scales(static_cast<std::size_t>(element_count(parameter.shape)), largest / 127);
      model.state[parameter.name] = HostTensor::of_floats(parameter.shape, scales);
    }
  }
  return model;
}

TEST_F(Export, OfInt8TheCheckFindsFaultsAndNoRounding) {
  const TrainedModel deep = quantized(model(1));
  options_.normalize_inside = true;
  write_export(deep, options_);
  const auto images = data::random_samples(5, {3, 16, 16}, 3);
  for (const data::Samples* shown : std::initializer_list<const data::Samples*>{nullptr, images.get()}) {
    const ExportCheck check = check_export(deep, options_, shown);
    EXPECT_EQ(check.images, shown == nullptr ? 8u : 4u);
    EXPECT_EQ(check.same_class, check.images);
    EXPECT_LT(check.median_difference, 1e-3);
    const auto refusal = [&](const TrainedModel& faulty, const ExportOptions& options) {
      return message_of([&] { check_export(faulty, options, shown); });
    };
    ExportOptions other_mean = options_;
    other_mean.normalization->mean = {0, 0, 0};
    EXPECT_THAT(refusal(deep, other_mean), HasSubstr("don't use it")) << "normalised otherwise";
    TrainedModel swapped = deep;
    HostTensor& weight = std::ranges::find_if(swapped.state, [](const auto& tensor) {
                           return tensor.second.shape.size() == 4 && tensor.second.shape[1] == 3;
                         })->second;
    const std::int64_t kernel = weight.shape[2] * weight.shape[3];
    for (std::int64_t out = 0; out < weight.shape[0]; ++out) {
      float* red = weight.floats() + out * 3 * kernel;
      std::swap_ranges(red, red + kernel, red + 2 * kernel);
    }
    EXPECT_THAT(refusal(swapped, options_), HasSubstr("don't use it")) << "red and blue are swapped";
    TrainedModel other_layer = deep;
    HostTensor& scale = std::ranges::find_if(other_layer.state, [](const auto& tensor) {
                          return tensor.first.starts_with("layer2.1") && tensor.first.ends_with("weight_scale");
                        })->second;
    for (std::int64_t i = 0; i < element_count(scale.shape); ++i) scale.floats()[i] *= 2;
    EXPECT_THAT(refusal(other_layer, options_), HasSubstr("don't use it")) << "a layer has another scale";
  }
}

TEST_F(Export, WhereNothingCanBeWrittenIsKnownBefore) {
  EXPECT_EQ(message_of([&] { require_export(options_.onnx); }), "no error");
  EXPECT_THAT(message_of([&] { require_export(folder_.path()); }), HasSubstr("is a folder"));
  EXPECT_THAT(message_of([&] { require_export("/proc/none/a.onnx"); }), HasSubstr("/proc/none"));
}

}  // namespace

}  // namespace evener::inference
