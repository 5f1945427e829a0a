// ONNX files as ONNX's own library reads them. What engines compute of them is in tests/engine/onnx_test.cpp.
#include "network/onnx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <fstream>
#include <set>

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
  EXPECT_THAT(types_of(model.graph().input()), ElementsAre(Pair("input", "FLOAT N 2 4 4")));
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
