// Files of other programs that take and give whole numbers, or are fixed to one image and run with several at once.
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/real_data.h"
#include "base/test_folder.h"
#include "engine/engine.h"
#include "engine/graph_file.h"

namespace evener {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ByteType {
  const char* name;
  float least, most;
};
constexpr ByteType kByteTypes[] = {{"u8", 0, 255}, {"i8", -128, 127}};

class WholeNumbers : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "openvino is not built";
    engine_ = engine::open_engine("openvino");
  }

  /// What the file makes of an image of those four pixels.
  std::map<std::string, std::vector<float>> answers(const std::vector<std::uint8_t>& pixels) const {
    engine::RunnerOptions options;
    options.mean = {0.5F};
    options.standard_deviation = {0.5F};
    const auto file = engine_->open_model_file(path_);
    const auto runner = std::move(file->make_runners({.shape = {1, 2, 2}}, options, 1).front());
    runner->start(std::span(pixels));
    std::map<std::string, std::vector<float>> found;
    for (const auto& [name, tensor] : runner->wait()) {
      found[name].assign(tensor.floats(), tensor.floats() + element_count(tensor.shape));
    }
    return found;
  }

  test::TestFolder folder_;
  const std::filesystem::path path_ = folder_ / "model.xml";
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(WholeNumbers, BytesAreTakenAsTheyAreAndGivenAsWhatTheyStandFor) {
  for (const auto& [type, least, most] : kByteTypes) {
    test::GraphFile graph;
    const int input = graph.input(type, "1,1,2,2");
    const int value = graph.rounded(graph.converted("f32", input), least, most, -1, 0.9921875F);
    graph.output(graph.converted("f32", value, "value"));
    // As TensorFlow Lite's: the softmax in 256ths, and scores in a scale of their own.
    graph.output(graph.converted(type, graph.rounded(value, 0, 0.99609375F, least, most), "probability"));
    graph.output(graph.converted(type, graph.rounded(value, -2, 3.1F, least, most), "score"));
    graph.write(path_);
    auto found = answers({0, 128, 192, 255});
    EXPECT_THAT(found["value"], ElementsAre(-1, 0, 0.5F, 0.9921875F)) << type;
    EXPECT_THAT(found["probability"], ElementsAre(0, 0, 0.5F, 0.9921875F)) << type;
    EXPECT_THAT(found["score"], testing::Pointwise(testing::FloatNear(0.0101F), {-1.F, 0.F, 0.5F, 0.9921875F})) << type;
  }
}

/// Operations on an input of (1, 3, 2, 2), each with the constant that follows it.
struct FirstOperations {
  std::vector<std::pair<const char*, std::vector<float>>> operations;
  bool scale;
};

TEST_F(WholeNumbers, AFileThatBeginsByScalingPixelsTakesThem) {
  const FirstOperations files[] = {
      {{{"Divide", {255}}}, true},
      {{{"Multiply", {1.0F / 255}}}, true},
      {{{"Multiply", {2}}, {"Divide", {255}}, {"Subtract", {1}}}, true},
      {{{"Subtract", {123.675F, 116.28F, 103.53F}}, {"Multiply", {2}}}, true},
      {{{"Add", {-104, -117, -123}}}, true},
      {{{"Subtract", {0.485F, 0.456F, 0.406F}}, {"Divide", {0.229F, 0.224F, 0.225F}}}, false},
      {{{"Multiply", {255}}, {"Subtract", {104}}}, false},
      {{{"Multiply", {0}}, {"Add", {60}}}, false},
      {{{"Maximum", {0}}, {"Divide", {255}}}, false},
  };
  for (const FirstOperations& file : files) {
    test::GraphFile graph;
    int value = graph.input("f32", "1,3,2,2");
    for (const auto& [kind, numbers] : file.operations) {
      value =
          graph.node(kind, "opset1", "auto_broadcast=\"numpy\"",
                     {graph.converted("f32", value), graph.constant(numbers, numbers.size() == 1 ? "" : "1,3,1,1")});
    }
    graph.output(value);
    graph.write(path_);
    EXPECT_EQ(engine_->open_model_file(path_)->scales_pixels(), file.scale) << file.operations.front().first;
  }
}

TEST_F(WholeNumbers, NumbersThatNothingWasRoundedToAreLeftAsTheyAre) {
  test::GraphFile graph;
  const int value = graph.converted("f32", graph.input("f32", "1,1,2,2"));
  const int doubled = graph.node("Add", "opset1", "auto_broadcast=\"numpy\"", {value, graph.constant({3})});
  graph.output(graph.converted("u8", doubled, "class"));
  graph.write(path_);
  EXPECT_THAT(answers({255, 255, 0, 0})["class"], ElementsAre(4, 4, 2, 2));
}

TEST_F(WholeNumbers, OneValueBecomesTwoClasses) {
  test::GraphFile graph;
  const int value = graph.input("f32", "1,1");
  const int sigmoid = graph.node("Sigmoid", "opset1", "", {value});
  graph.output(graph.converted("f32", value, "score"));
  graph.output(graph.converted("f32", sigmoid, "probability"));
  graph.output(graph.converted("u8", graph.rounded(sigmoid, 0, 0.99609375F, 0, 255), "byte"));
  graph.write(path_);
  const auto two = [&](const std::string& output, bool is_probability) {
    const auto file = engine_->open_model_file(path_);
    engine::ModelInput input{
        .shape = {1}, .is_image = false, .two_classes_of = output, .one_is_probability = is_probability};
    engine::RunnerOptions options;
    options.values = engine::ImageValues::kFloats;
    const auto runner = std::move(file->make_runners(input, options, 1).front());
    const std::vector<float> one = {1.0986123F};  // of which the sigmoid is 3/4
    runner->start(std::span<const float>(one));
    const TensorMap outputs = runner->wait();
    const HostTensor& tensor = outputs.at(output);
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{1, 2}));
    return std::vector<float>(tensor.floats(), tensor.floats() + 2);
  };
  const auto near = [](float first, float second) {
    return ElementsAre(testing::FloatNear(first, 0.003F), testing::FloatNear(second, 0.003F));
  };
  EXPECT_THAT(two("score", false), near(0, 1.0986F));
  EXPECT_THAT(two("score", true), near(-0.0986F, 1.0986F));
  EXPECT_THAT(two("probability", false), near(0.25F, 0.75F));
  EXPECT_THAT(two("byte", false), near(0.25F, 0.75F));
}

TEST_F(WholeNumbers, LayersAreToldWithTheirParameters) {
  test::GraphFile graph;
  const int input = graph.input("f32", "1,1,2,2");
  const int scaled = graph.node("Multiply", "opset1", "auto_broadcast=\"numpy\"",
                                {input, graph.constant({1, 2}, "1,1,1,2")}, "scaled");
  graph.output(graph.node("Sigmoid", "opset1", "", {scaled}, "squashed"));
  graph.write(path_);
  const auto layers = engine_->open_model_file(path_)->layers();
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name + " " + layers[0].kind, "scaled Multiply");
  EXPECT_EQ(layers[0].parameters, 2);
  EXPECT_EQ(layers[1].kind, "Sigmoid");
  EXPECT_EQ(layers[1].shape, (std::vector<std::int64_t>{1, 1, 2, 2}));
}

TEST_F(WholeNumbers, AGraphWithoutTheFileOfItsWeightsNamesIt) {
  test::GraphFile graph;
  graph.output(graph.converted("f32", graph.input("f32", "1,1,2,2"), "value"));
  graph.write(path_);
  std::filesystem::remove(folder_ / "model.bin");
  EXPECT_THAT([&] { engine_->open_model_file(path_); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("'model.bin' beside it, which is missing")));
}

TEST_F(WholeNumbers, ADescriptionTellsWhatBytesStandFor) {
  for (const auto& [type, least, most] : kByteTypes) {
    test::GraphFile graph;
    const int value = graph.rounded(graph.converted("f32", graph.input(type, "1,1,2,2")), least, most, -1, 0.9921875F);
    graph.output(graph.node("ReLU", "opset1", "", {value}, "positive"));
    graph.write(path_);
    const engine::DescribedNetwork found = engine_->open_model_file(path_)->describe({.shape = {1, 2, 2}});
    ASSERT_TRUE(found.pixels) << type;
    EXPECT_THAT(found.pixels->scale, ElementsAre(2.0F / 256)) << type;
    EXPECT_THAT(found.pixels->shift, ElementsAre(-1)) << type;
    EXPECT_EQ(found.network.layers().size(), 2U);
    EXPECT_THROW(engine_->open_model_file(path_)->describe({.shape = {1, 2, 2}, .is_image = false}), Error) << type;
  }
}

/// A TensorFlow Lite file of unsigned bytes that takes and gives signed ones: their type, and the byte that is 0.
std::string with_signed_bytes(std::string file) {
  const auto number = [&]<class T>(T, std::size_t at) {
    T value;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
  };
  const auto referred = [&](std::size_t at) { return at + number(std::uint32_t{}, at); };
  const auto field = [&](std::size_t table, std::size_t which) {
    const auto vtable = static_cast<std::size_t>(static_cast<std::int64_t>(table) - number(std::int32_t{}, table));
    return table + number(std::uint16_t{}, vtable + 4 + 2 * which);
  };
  const auto element = [&](std::size_t vector, std::size_t i) { return referred(vector) + 4 * (i + 1); };
  const std::size_t graph = referred(element(field(referred(0), 2), 0));
  for (const std::size_t ports : {1, 2}) {
    const auto which = number(std::uint32_t{}, element(field(graph, ports), 0));
    const std::size_t tensor = referred(element(field(graph, 0), which));
    file.at(field(tensor, 1)) = 9;  // INT8
    const std::size_t zero_at = element(field(referred(field(tensor, 4)), 3), 0);
    const std::int64_t zero = number(std::int64_t{}, zero_at) - 128;
    std::memcpy(file.data() + zero_at, &zero, sizeof zero);
  }
  return file;
}

// MobileNetV2 as TensorFlow Lite's converter wrote it.
TEST_F(WholeNumbers, SignedBytesOfTensorFlowLiteAnswerAsUnsignedOnes) {
  constexpr const char* kName = "mobilenet_v2/tf2_mobilenet_v2_1.0_224_ptq.tflite";
  if (const std::string why = test::without_real_data({kName}); !why.empty()) GTEST_SKIP() << why;
  const std::filesystem::path real = test::real_data(kName);
  const auto probabilities = [&](const std::string& file) {
    test::write_text(folder_ / "model.tflite", file);
    const auto opened = engine_->open_model_file(folder_ / "model.tflite");
    const auto runner = std::move(
        opened->make_runners({.shape = {3, 224, 224}, .channels = engine::ChannelPlace::kLast}, {}, 1).front());
    std::vector<std::uint8_t> pixels(std::size_t{3} * 224 * 224);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i / 224 + i % 224);
    runner->start(std::span<const std::uint8_t>(pixels));
    const HostTensor found = runner->wait().begin()->second;
    return std::vector<float>(found.floats(), found.floats() + 1001);
  };
  const std::vector<float> expected = probabilities(read_file(real));
  EXPECT_THAT(*std::max_element(expected.begin(), expected.end()), testing::AllOf(testing::Gt(0.05F), testing::Lt(1)));
  EXPECT_THAT(probabilities(with_signed_bytes(read_file(real))),
              testing::Pointwise(testing::FloatNear(1.5F / 256), expected));
}

class FreeBatch : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "openvino is not built";
    engine_ = engine::open_engine("openvino");
  }

  static int integers(test::GraphFile& graph, const std::vector<float>& values) {
    return graph.converted("i64", graph.constant(values, std::to_string(values.size())));
  }

  /// The places of an image (2, 2, 3), each with its two values: as a list by way of (2, 3, 1, 2).
  static int places(test::GraphFile& graph, const std::vector<float>& list = {1, -1, 2}) {
    const int moved =
        graph.node("Transpose", "opset1", "", {graph.input("f32", "1,2,2,3"), integers(graph, {2, 3, 0, 1})});
    return graph.node("Reshape", "opset1", "special_zero=\"false\"", {moved, integers(graph, list)}, "places");
  }

  /// What the file gives for images of counted values.
  std::vector<float> outputs(std::int64_t batch, float first) const {
    engine::RunnerOptions options;
    options.batch = batch;
    options.values = engine::ImageValues::kFloats;
    engine::ModelInput input{.shape = {2, 2, 3}};
    input.is_image = false;
    const auto runner = std::move(engine_->open_model_file(path_)->make_runners(input, options, 1).front());
    std::vector<float> values(static_cast<std::size_t>(batch) * 12);
    std::iota(values.begin(), values.end(), first);
    runner->start(std::span<const float>(values));
    const TensorMap found = runner->wait();
    const HostTensor& output = found.begin()->second;
    EXPECT_EQ(output.shape.front(), batch);
    return {output.floats(), output.floats() + element_count(output.shape)};
  }

  test::TestFolder folder_;
  const std::filesystem::path path_ = folder_ / "model.xml";
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(FreeBatch, ListsOfPlacesStayThoseOfTheirImages) {
  for (const std::vector<float>& list : {std::vector<float>{1, -1, 2}, std::vector<float>{-1, 2}}) {
    test::GraphFile graph;
    graph.output(places(graph, list));
    graph.write(path_);
    const std::vector<float> first = outputs(1, 0), second = outputs(1, 12);
    EXPECT_THAT(first, testing::ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
    std::vector<float> both = first;
    both.insert(both.end(), second.begin(), second.end());
    EXPECT_EQ(outputs(2, 0), both);
  }
}

TEST_F(FreeBatch, AResizeToAFixedShapeTakesAnyBatch) {
  test::GraphFile graph;
  const int larger = integers(graph, {1, 2, 4, 6});
  graph.output(graph.node("Interpolate", "opset11",
                          "mode=\"nearest\" shape_calculation_mode=\"sizes\" "
                          "coordinate_transformation_mode=\"asymmetric\" nearest_mode=\"floor\" antialias=\"false\" "
                          "pads_begin=\"0\" pads_end=\"0\" cube_coeff=\"-0.75\"",
                          {graph.input("f32", "1,2,2,3"), larger}, "larger"));
  graph.write(path_);
  const std::vector<float> first = outputs(1, 0), second = outputs(1, 12);
  EXPECT_THAT(std::vector<float>(first.begin(), first.begin() + 8), testing::ElementsAre(0, 0, 1, 1, 2, 2, 0, 0));
  std::vector<float> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(outputs(2, 0), both);
}

// What reads more of it than its order: the batch has to stay where the file puts it.
TEST_F(FreeBatch, AGraphThatMixesImagesTakesOneAtATime) {
  test::GraphFile graph;
  const int list = places(graph);
  graph.output(graph.node("ReduceSum", "opset1", "keep_dims=\"true\"", {list, integers(graph, {0, 1})}, "sum"));
  graph.write(path_);
  EXPECT_EQ(outputs(1, 0), (std::vector<float>{15, 51}));
  EXPECT_THAT([&] { outputs(2, 0); }, testing::ThrowsMessage<Error>(HasSubstr("Try --batch 1")));
}

}  // namespace

}  // namespace evener
