// ONNX files as ONNX's own library reads them. What engines compute of them is in tests/engine/onnx_test.cpp.
#include "network/onnx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "network/onnx_networks.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

onnx::ModelProto read(const std::filesystem::path& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(read_file(path))) << path;
  return model;
}

std::string type_text(const onnx::ValueInfoProto& value) {
  const auto& type = value.type().tensor_type();
  std::string text = onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type.elem_type()));
  for (const auto& dim : type.shape().dim()) {
    text += " " + (dim.has_dim_param() ? dim.dim_param() : std::to_string(dim.dim_value()));
  }
  return text;
}

using Named = std::vector<std::pair<std::string, std::string>>;

template <class Values>
Named types_of(const Values& values) {
  Named types;
  for (const onnx::ValueInfoProto& value : values) types.emplace_back(value.name(), type_text(value));
  return types;
}

std::vector<std::string> kinds_of(const onnx::ModelProto& model) {
  std::vector<std::string> kinds;
  for (const auto& node : model.graph().node()) kinds.push_back(node.op_type());
  return kinds;
}

/// "kernel_shape 3 5": the node's attributes.
std::vector<std::string> attributes_of(const onnx::NodeProto& node) {
  std::vector<std::string> texts;
  for (const auto& attribute : node.attribute()) {
    std::ostringstream text;
    text << attribute.name();
    for (const auto value : attribute.ints()) text << ' ' << value;
    if (attribute.type() == onnx::AttributeProto::INT) text << ' ' << attribute.i();
    if (attribute.type() == onnx::AttributeProto::FLOAT) text << ' ' << attribute.f();
    texts.push_back(text.str());
  }
  return texts;
}

const onnx::NodeProto& node_of(const onnx::ModelProto& model, const std::string& kind) {
  for (const auto& node : model.graph().node()) {
    // Before `second` there is a layer of its own (network_of()).
    if (node.op_type() == kind && node.name() != "first") return node;
  }
  throw Error("no " + kind);
}

/// The values of a constant, and behind them its shape.
struct Constant {
  std::vector<double> values;
  Shape shape;
};
Constant constant_of(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() != name) continue;
    Constant constant{{}, Shape(tensor.dims().begin(), tensor.dims().end())};
    const std::string& bytes = tensor.raw_data();
    const auto take = [&](auto value) {
      for (std::size_t at = 0; at < bytes.size(); at += sizeof value) {
        std::memcpy(&value, bytes.data() + at, sizeof value);
        constant.values.push_back(static_cast<double>(value));
      }
    };
    if (tensor.data_type() == onnx::TensorProto::FLOAT) take(0.0F);
    if (tensor.data_type() == onnx::TensorProto::INT64) take(std::int64_t{});
    if (tensor.data_type() == onnx::TensorProto::INT8) take(std::int8_t{});
    return constant;
  }
  throw Error("no constant " + name);
}

class OnnxFile : public testing::Test {
 protected:
  onnx::ModelProto written(const Network& network, const OnnxOptions& options = {}) {
    write_onnx(path_, network, initial_state(network, 1), options);
    return read(path_);
  }

  /// By the rules of ONNX, and holding every weight bit by bit under its name.
  void expect_whole(const Network& network) {
    const TensorMap state = test::trained_looking_state(network, 1);
    write_onnx(path_, network, state);
    const onnx::ModelProto model = read(path_);
    EXPECT_NO_THROW(onnx::checker::check_model(model)) << network.model();
    std::map<std::string, const onnx::TensorProto*> tensors;
    for (const auto& tensor : model.graph().initializer()) tensors[tensor.name()] = &tensor;
    std::set<std::string> used;
    for (const auto& node : model.graph().node()) used.insert(node.input().begin(), node.input().end());
    std::set<std::string> outputs;
    for (const Output& output : network.outputs()) outputs.insert(output.name);
    for (const auto& [name, tensor] : state) {
      if (tensor.dtype != DType::kF32 || outputs.contains(name)) continue;
      ASSERT_TRUE(tensors.contains(name)) << network.model() << ": " << name;
      EXPECT_EQ(tensors[name]->raw_data().size(), tensor.bytes.size());
      EXPECT_EQ(std::memcmp(tensors[name]->raw_data().data(), tensor.bytes.data(), tensor.bytes.size()), 0) << name;
      EXPECT_TRUE(used.contains(name)) << network.model() << ": " << name;
    }
    Named expected;
    for (const Output& output : network.outputs()) {
      std::string type = "FLOAT N";
      for (const std::int64_t extent : network.output_shape(output)) type += " " + std::to_string(extent);
      expected.emplace_back(output.name, type);
    }
    EXPECT_EQ(types_of(model.graph().output()), expected) << network.model();
  }

  test::TestFolder folder_;
  std::filesystem::path path_ = folder_ / "model.onnx";
};

TEST_F(OnnxFile, HoldsEveryKindOfLayer) {
  for (const Network& network : test::networks_of_each_layer()) expect_whole(network);
}

class OnnxZoo : public OnnxFile, public testing::WithParamInterface<std::string> {};

TEST_P(OnnxZoo, Holds) {
  expect_whole(build(GetParam(), {}));
}

std::vector<std::string> zoo() {
  std::vector<std::string> names;
  for (const ModelInfo& model : known_models()) {
    names.push_back(model.name.starts_with("mlp") ? "mlp:784-30-10:tanh" : model.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Networks, OnnxZoo, testing::ValuesIn(zoo()));

TEST_F(OnnxFile, LeavesTheBatchOpen) {
  const auto model = written(build("resnet18", {Shape{3, 64, 96}, 5}));
  EXPECT_THAT(types_of(model.graph().input()), ElementsAre(Pair("input", "FLOAT N 3 64 96")));
  EXPECT_THAT(types_of(model.graph().output()), ElementsAre(Pair("output", "FLOAT N 5")));
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 14) << "what readers of 2021 and later take";
  EXPECT_EQ(model.producer_name(), "evener");
  for (const auto& value : model.graph().value_info()) EXPECT_THAT(type_text(value), HasSubstr("FLOAT N"));
}

TEST_F(OnnxFile, KeepsBatchNormsAndLeavesOutWhatOnlyTrainingDoes) {
  const auto model = written(build("efficientnet_b0", {}));
  EXPECT_THAT(kinds_of(model),
              AllOf(Contains("BatchNormalization"), Not(Contains("Dropout")), Not(Contains("Identity"))));
}

TEST_F(OnnxFile, ZerosAreWrittenWhereWindowsReachBeyondThem) {
  const auto kinds = [&](std::int64_t size, const AveragePool& pool) {
    return kinds_of(written(test::network_of("net", {2, size, size}, pool)));
  };
  AveragePool pool{.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true};
  EXPECT_THAT(kinds(7, pool), ElementsAre("Conv", "AveragePool")) << "comes out even";
  EXPECT_THAT(kinds(6, pool), ElementsAre("Conv", "Pad", "AveragePool"));
  pool.count_include_pad = false;
  EXPECT_THAT(kinds(6, pool), ElementsAre("Conv", "AveragePool")) << "no zeros are in the means";
}

TEST_F(OnnxFile, SlopesLieAlongTheChannels) {
  const auto slope = [&](const Shape& input) {
    const auto model = written(test::network_of("net", input, PRelu{}));
    for (const auto& tensor : model.graph().initializer()) {
      if (tensor.name() == "second.weight") return Shape(tensor.dims().begin(), tensor.dims().end());
    }
    return Shape{};
  };
  EXPECT_EQ(slope({4, 9, 10}), (Shape{4, 1, 1})) << "ONNX lines up last extents; OpenVINO would take {4} too";
  EXPECT_EQ(slope({7}), (Shape{7}));
}

TEST_F(OnnxFile, NormalizesPixelsWhereAsked) {
  const Network network = test::network_of("net", {2, 4, 4}, Activation{});
  EXPECT_THAT(kinds_of(written(network)), ElementsAre("Conv", "Relu"));
  const auto model = written(network, {.pixel_scale = {0.5F, 0.25F}, .pixel_shift = {-1.0F, 2.0F}});
  EXPECT_THAT(kinds_of(model), ElementsAre("Mul", "Add", "Conv", "Relu"));
  const auto by = [&](int node) { return constant_of(model, model.graph().node(node).input(1)); };
  EXPECT_THAT(by(0).values, ElementsAre(0.5, 0.25));
  EXPECT_THAT(by(1).values, ElementsAre(-1, 2));
  EXPECT_THAT(by(0).shape, ElementsAre(2, 1, 1)) << "one for each channel";
  EXPECT_THAT(types_of(model.graph().input()), ElementsAre(Pair("input", "FLOAT N 2 4 4")));
}

TEST_F(OnnxFile, SaysOfWindowsWhatEachSideHas) {
  const auto attributes = [&](const char* kind, const Op& op) {
    return attributes_of(node_of(written(test::network_of("net", {4, 9, 10}, op)), kind));
  };
  EXPECT_THAT(
      attributes("Conv", Conv2d{.out_channels = 6, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 2}, .groups = 2}),
      ElementsAre("kernel_shape 3 5", "strides 2 1", "pads 1 2 1 2", "group 2"));
  EXPECT_THAT(attributes("MaxPool", MaxPool{.kernel = {2, 3}, .stride = {2, 4}, .padding = {1, 0}}),
              ElementsAre("kernel_shape 2 3", "strides 2 4", "pads 1 0 1 0"));
  // 9 rows and the padding before them hold 5 windows of 2, 10 columns 3 of 3, of which the last goes one beyond.
  EXPECT_THAT(attributes("MaxPool", MaxPool{.kernel = {2, 3}, .stride = {2, 4}, .padding = {1, 0}, .ceil_mode = true}),
              ElementsAre("kernel_shape 2 3", "strides 2 4", "pads 1 0 1 1"));
  EXPECT_THAT(
      attributes("AveragePool", AveragePool{.kernel = 3, .stride = 2, .padding = 1, .count_include_pad = false}),
      ElementsAre("kernel_shape 3 3", "strides 2 2", "pads 1 1 1 1", "count_include_pad 0"));
  EXPECT_THAT(attributes("BatchNormalization", BatchNorm{.epsilon = 0.25}), ElementsAre("epsilon 0.25"));
  EXPECT_THAT(attributes("HardSigmoid", Activation{ActivationKind::kHardSigmoid}),
              ElementsAre("alpha 0.166667", "beta 0.5"));
  EXPECT_THAT(attributes("Transpose", Rows{2}), ElementsAre("perm 0 2 3 1"));
  EXPECT_THAT(attributes_of(node_of(written(test::network_of("net", {7}, Linear{.out_features = 3})), "Gemm")),
              ElementsAre("transB 1"));
}

TEST_F(OnnxFile, HasTheConstantsOfEachLayer) {
  const auto values = [&](const std::string& name, const Op& op) {
    return constant_of(written(test::network_of("net", {4, 9, 10}, op)), "second." + name).values;
  };
  EXPECT_THAT(values("least", Activation{ActivationKind::kRelu6}), ElementsAre(0));
  EXPECT_THAT(values("most", Activation{ActivationKind::kRelu6}), ElementsAre(6));
  EXPECT_THAT(values("factor", Scale{0.25}), ElementsAre(0.25));
  EXPECT_THAT(values("shape", Rows{2}), ElementsAre(0, 9 * 10 * 2, 2));
  EXPECT_THAT(values("zeros", Pad{.before = {1, 2}, .after = {3, 4}}), ElementsAre(0, 0, 1, 2, 0, 0, 3, 4));
  const SubsamplePad fewer{.out_channels = 9, .stride = 3};
  EXPECT_THAT(values("zeros", fewer), ElementsAre(0, 2, 0, 0, 0, 3, 0, 0)) << "one more behind";
  EXPECT_THAT(values("strides", fewer), ElementsAre(3, 3));
  EXPECT_THAT(values("axes", fewer), ElementsAre(2, 3));
  EXPECT_THAT(values("begins", fewer), ElementsAre(0, 0));
}

TEST_F(OnnxFile, HasQuantisedWeightsAsWholeNumbersAndTheScalesThatAreMeant) {
  Network network("net", {2});
  network.add("rounded", FakeQuantize{.is_signed = false});
  network.add("fc", Linear{.out_features = 2, .bias = false, .weight_bits = 4});
  TensorMap state = initial_state(network, 1);
  state.at("rounded.scale") = HostTensor::of_floats({1}, {-1});  // training may move it there
  state.at("fc.weight") = HostTensor::of_floats({2, 2}, {0.5, -1.5, 100, 0});
  state.at("fc.weight_scale") = HostTensor::of_floats({2}, {0.5, 1});
  write_onnx(path_, network, state);
  const onnx::ModelProto model = read(path_);
  EXPECT_THAT(constant_of(model, "fc.weight.levels").values, ElementsAre(1, -3, 7, 0));
  EXPECT_THAT(constant_of(model, "fc.weight.levels").shape, ElementsAre(2, 2));
  EXPECT_THAT(constant_of(model, "fc.weight_scale").values, ElementsAre(0.5, 1));
  EXPECT_THAT(constant_of(model, "fc.weight.zeros").values, ElementsAre(0, 0));
  EXPECT_THAT(constant_of(model, "rounded.scale").values, ElementsAre(testing::DoubleNear(1e-9, 1e-15)));
  EXPECT_THAT(constant_of(model, "rounded.scale").shape, testing::IsEmpty()) << "a scalar";
  EXPECT_THAT(kinds_of(model), ElementsAre("DequantizeLinear", "QuantizeLinear", "DequantizeLinear", "Gemm"));
  EXPECT_THAT(attributes_of(model.graph().node(0)), ElementsAre("axis 0"));
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() != "rounded.zero") continue;
    EXPECT_EQ(tensor.data_type(), onnx::TensorProto::UINT8);
  }
}

TEST_F(OnnxFile, TellsTheDistanceFromTheNearestOfItsPoints) {
  Network network("net", {3});
  network.add("features", Linear{.out_features = 2});
  network.add("scores", Linear{.out_features = 4});
  const OnnxDistance distance{
      .output = "unlike", .layer = 1, .whitening = {1, 2, 3, 4}, .points = {1, 2, 0, 3, -2, 2}, .limit = 0.25};
  const auto model = written(network, {.distance = distance});
  EXPECT_THAT(types_of(model.graph().output()), ElementsAre(Pair("output", "FLOAT N 4"), Pair("unlike", "FLOAT N 1")));
  EXPECT_THAT(constant_of(model, "unlike.points").values, ElementsAre(1, 2, 0, 3, -2, 2));
  EXPECT_THAT(constant_of(model, "unlike.points").shape, ElementsAre(3, 2));
  EXPECT_THAT(constant_of(model, "unlike.squares").values, ElementsAre(5, 9, 8));
  EXPECT_THAT(constant_of(model, "unlike.whitening").values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(constant_of(model, "unlike.share").values, ElementsAre(4)) << "of the limit";
  const auto computing = [&](const std::string& value) -> const onnx::NodeProto& {
    return *std::ranges::find_if(model.graph().node(), [&](const auto& node) { return node.output(0) == value; });
  };
  EXPECT_EQ(computing("unlike.length").input(0), "features");
  EXPECT_THAT(attributes_of(computing("unlike.whitened")), ElementsAre("transB 1"));
  const onnx::NodeProto& distances = computing("unlike.distances");
  EXPECT_THAT(attributes_of(distances), ElementsAre("transB 1", "alpha -2"));
  EXPECT_THAT(std::vector<std::string>(distances.input().begin(), distances.input().end()),
              ElementsAre("unlike.whitened", "unlike.points", "unlike.squares"));
}

TEST_F(OnnxFile, CarriesItsMetadata) {
  const OnnxOptions options{.metadata = {{"classes", R"(["Brasse","Br\u00e4tling"])"}, {"model", "net"}}};
  const auto model = written(test::network_of("net", {3}, Activation{}), options);
  std::map<std::string, std::string> metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  EXPECT_EQ(metadata, options.metadata);
}

TEST_F(OnnxFile, IsTheSameEveryTime) {
  const Network network = build("resnet20", {});
  const TensorMap state = initial_state(network, 1);
  write_onnx(path_, network, state);
  write_onnx(folder_ / "again.onnx", network, state);
  EXPECT_EQ(read_file(path_), read_file(folder_ / "again.onnx"));
}

TEST_F(OnnxFile, RefusesWhatDoesNotFitIntoIt) {
  const Network large = build("mlp:32768-20000", {});
  EXPECT_THAT(onnx_refusal(large), AllOf(HasSubstr("2.62 GB"), HasSubstr("ends at 2 GB")));
  EXPECT_THAT(test::thrown_by([&] { write_onnx(path_, large, {}); }), HasSubstr("ends at 2 GB"));
  EXPECT_EQ(onnx_refusal(build("resnet50", {})), "");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(OnnxFile, RefusesWeightsOfAnotherNetwork) {
  const Network network = build("resnet20", {});
  TensorMap state = initial_state(network, 1);
  state.at("bn1.weight").floats()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(test::thrown_by([&] { write_onnx(path_, network, state); }),
              AllOf(HasSubstr("model.onnx"), HasSubstr("bn1.weight")));
  state.erase("bn1.weight");
  EXPECT_THAT(test::thrown_by([&] { write_onnx(path_, network, state); }), HasSubstr("bn1.weight"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(OnnxFile, LeavesNothingHalfWritten) {
  const Network network = build("resnet20", {});
  const TensorMap state = initial_state(network, 1);
  EXPECT_THAT(test::thrown_by([&] { write_onnx(folder_ / "no" / "a.onnx", network, state); }),
              HasSubstr("does not exist"));
  EXPECT_THAT(test::thrown_by([&] { write_onnx("/dev/full", network, state); }), HasSubstr("/dev/full"));
  std::ofstream(path_) << "an older model";
  const std::filesystem::path other = folder_ / "folder.onnx";
  std::filesystem::create_directory(other);
  EXPECT_THAT(test::thrown_by([&] { write_onnx(other, network, state); }), HasSubstr("folder.onnx"));
  EXPECT_EQ(read_file(path_), "an older model");
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) left.insert(entry.path().filename());
  EXPECT_THAT(left, ElementsAre("folder.onnx", "model.onnx"));
}

}  // namespace
}  // namespace evener::network
