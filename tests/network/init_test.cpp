// First values: the formula of the header, computed again; PyTorch's side of it from the golden files; statistics.
#include "network/init.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "base/paths.h"
#include "base/random.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener::network {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<float> values_of(const HostTensor& tensor) {
  return {tensor.floats(), tensor.floats() + element_count(tensor.shape)};
}

// Two libraries' logarithms and cosines may differ in the last place.
constexpr float kLastPlace = 0x1p-22F;

TEST(Init, UniformFollowsTheFormulaOfTheHeader) {
  const Parameter parameter{{}, "0.weight", {4, 25}, 0, Init::kUniformFanIn, 25};
  const auto values = values_of(initial_value(parameter, 42));
  Random random(42, Purpose::kInit, hash_text("0.weight"));
  for (const float value : values) {
    EXPECT_FLOAT_EQ(value, static_cast<float>((2 * random.uniform() - 1) / 5));
    EXPECT_LE(std::abs(value), 0.2F);
  }
}

TEST(Init, NormalFollowsTheFormulaOfTheHeader) {
  const Parameter parameter{{}, "conv1.weight", {3, 1, 3, 3}, 0, Init::kHeNormalFanOut, 27};  // an odd number of values
  const auto values = values_of(initial_value(parameter, 42));
  ASSERT_EQ(values.size(), 27U);
  Random random(42, Purpose::kInit, hash_text("conv1.weight"));
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const double u = random.uniform(), v = random.uniform();
    const double radius = std::sqrt(2.0 / 27) * std::sqrt(-2 * std::log(1 - u));
    EXPECT_FLOAT_EQ(values[i], static_cast<float>(radius * std::cos(2 * std::numbers::pi * v)));
    if (i + 1 < values.size()) {
      EXPECT_FLOAT_EQ(values[i + 1], static_cast<float>(radius * std::sin(2 * std::numbers::pi * v)));
    }
  }
}

// make_golden.py computes the same values in numpy.
TEST(Init, FirstValuesAreThoseOfTheGoldenFiles) {
  for (const char* name : {"mlp_relu", "resnet18_rgb", "resnet34_grey"}) {
    const auto golden =
        weights::read_safetensors(test::source_folder() / "tests/golden" / (std::string(name) + ".safetensors"));
    const HostTensor& first = golden.tensors.at("initial.first");
    const bool grey = golden.metadata.at("input").starts_with("1x");
    const Network network =
        golden.metadata.at("model").starts_with("mlp")
            ? build(golden.metadata.at("model"), {})
            : build(golden.metadata.at("model"), {.input = Shape{grey ? 1 : 3, 48, 48}, .classes = 9});
    std::int64_t row = 0;
    for (Parameter parameter : network.parameters()) {
      if (!parameter.trained) continue;
      ASSERT_LT(row, first.shape[0]);
      parameter.shape = {std::min(first.shape[1], element_count(parameter.shape))};  // the values after it don't matter
      const HostTensor value = initial_value(parameter, std::stoull(golden.metadata.at("seed")));
      for (std::int64_t i = 0; i < parameter.shape[0]; ++i) {
        const float expected = first.floats()[row * first.shape[1] + i];
        EXPECT_NEAR(value.floats()[i], expected, std::abs(expected) * kLastPlace) << parameter.name << " " << i;
      }
      ++row;
    }
    EXPECT_EQ(row, first.shape[0]);
  }
}

TEST(Init, ValuesAreKeyedBySeedAndNameAlone) {
  const auto values = [](const char* name, std::uint64_t seed) {
    return values_of(initial_value({{}, name, {5, 3}, 0, Init::kHeNormalFanOut, 5}, seed));
  };
  EXPECT_EQ(values("layer1.0.conv1.weight", 1), values("layer1.0.conv1.weight", 1));
  EXPECT_NE(values("layer1.0.conv1.weight", 1), values("layer1.0.conv2.weight", 1));
  EXPECT_NE(values("layer1.0.conv1.weight", 1), values("layer1.0.conv1.weight", 2));
}

// The whole state is filled by several threads; each value is what it would be alone.
TEST(Init, TheWholeStateIsItsParts) {
  const Network network = build("mlp:784-2000-10", {});  // large enough for threads
  const TensorMap state = initial_state(network, 1);
  ASSERT_EQ(state.size(), network.parameters().size());
  for (const Parameter& parameter : network.parameters()) {
    EXPECT_EQ(state.at(parameter.name), initial_value(parameter, 1)) << parameter.name;
  }
}

TEST(Init, NormalisationStartsNeutral) {
  const TensorMap state = initial_state(build("resnet18", {}), 1);
  EXPECT_THAT(values_of(state.at("bn1.weight")), testing::Each(1.0F));
  EXPECT_THAT(values_of(state.at("bn1.bias")), testing::Each(0.0F));
  EXPECT_THAT(values_of(state.at("bn1.running_mean")), testing::Each(0.0F));
  EXPECT_THAT(values_of(state.at("bn1.running_var")), testing::Each(1.0F));
  EXPECT_EQ(state.at("bn1.num_batches_tracked"), HostTensor::scalar_i64(0));
}

TEST(Init, SpreadIsHes) {
  const auto values = values_of(initial_state(build("resnet18", {}), 3).at("layer4.1.conv2.weight"));
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(values.size());  // 2.4 million: errors of 0.05 %
  const double deviation = std::sqrt(2.0 / (512 * 9));
  EXPECT_NEAR(std::sqrt(squares / count), deviation, 0.003 * deviation);
  EXPECT_NEAR(sum / count, 0, 0.003 * deviation);
}

TEST(CheckState, ListsWhatIsMissingExtraAndOfAnotherShape) {
  const Network network = build("resnet18", {.input = Shape{3, 32, 32}, .classes = 9});
  TensorMap state = initial_state(network, 1);
  EXPECT_NO_THROW(check_state(network, state, "good.safetensors"));

  state.erase("bn1.bias");
  state["head.weight"] = HostTensor::scalar_i64(1);
  state["fc.weight"] = HostTensor::of_floats({2, 2}, {1, 2, 3, 4});
  state["conv1.weight"].dtype = DType::kI32;
  std::string message;
  try {
    check_state(network, state, "bad.safetensors");
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("bad.safetensors does not fit resnet18 with input 3x32x32 and 9 outputs"),
                             HasSubstr("missing (1): bn1.bias"), HasSubstr("not in the network (1): head.weight"),
                             HasSubstr("fc.weight is 2x2 and should be 9x512"),
                             HasSubstr("neither float32 nor a counter's int64 (1): conv1.weight")));
  try {
    check_state(network, {}, "empty.safetensors");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("missing (122): conv1.weight"), HasSubstr("and 116 more")));
  }
}

TEST(CheckState, SaysWhichChannelsWeightsAreFor) {
  const Network colour = build("resnet20", {.input = Shape{3, 20, 20}, .classes = 2});
  try {
    check_state(colour, initial_state(build("resnet20", {.input = Shape{1, 20, 20}, .classes = 2}), 1), "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("conv1.weight is 16x1x3x3 and should be 16x3x3x3"),
                                    HasSubstr("for images with 1 channel: give --channels 1")));
  }
}

TEST(CheckState, NamesTensorsWithNanAndInfinity) {
  const Network network = build("mlp:4-3-2", {});
  TensorMap state = initial_state(network, 1);
  state["0.bias"].floats()[1] = std::numeric_limits<float>::quiet_NaN();
  state["2.weight"].floats()[5] = std::numeric_limits<float>::infinity();
  try {
    check_state(network, state, "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("with NaN or infinity (2)"), HasSubstr("0.bias (value 1 is nan)"),
                                    HasSubstr("2.weight (value 5 is inf)")));
  }
}

TEST(FirstNotFinite, IsFoundWhereverItStands) {
  std::vector<float> values(10'001, -1e38F);
  const auto first_with = [&](std::size_t at, float value) {
    std::vector<float> changed = values;
    changed[at] = value;
    return first_not_finite(HostTensor::of_floats({10'001}, changed));
  };
  EXPECT_EQ(first_not_finite(HostTensor::of_floats({10'001}, values)), -1);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::size_t at : {0, 4095, 4096, 5000, 10'000}) {
    for (const float value : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
      EXPECT_EQ(first_with(at, value), static_cast<std::int64_t>(at));
    }
  }
}

class FitState : public testing::Test {
 protected:
  Network network_ = build("resnet20", {.input = Shape{3, 8, 8}, .classes = 4});
  TensorMap given_ = initial_state(network_, 1);
};

TEST_F(FitState, LeavesAsItIsWhatFits) {
  const FittedState fitted = fit_state(network_, given_, "x", 2);
  EXPECT_EQ(fitted.state, given_);
  EXPECT_TRUE(fitted.new_head.empty());
  EXPECT_EQ(fitted.new_counters + fitted.converted, 0u);
}

TEST_F(FitState, AnotherNumberOfClassesGetsANewHead) {
  given_["linear.weight"] = HostTensor::of_floats({10, 64}, std::vector<float>(640, 1.0F));
  given_["linear.bias"] = HostTensor::of_floats({10}, std::vector<float>(10, 1.0F));
  const FittedState fitted = fit_state(network_, given_, "x", 2);
  EXPECT_THAT(fitted.new_head, testing::ElementsAre("linear.weight", "linear.bias"));
  EXPECT_EQ(fitted.file_outputs, 10);
  EXPECT_EQ(fitted.state.at("linear.weight"), initial_state(network_, 2).at("linear.weight"));
  EXPECT_EQ(fitted.state.at("conv1.weight"), given_.at("conv1.weight"));
  given_["linear.weight"] = HostTensor::of_floats({10, 32}, std::vector<float>(320, 1.0F));
  EXPECT_THROW(fit_state(network_, given_, "x", 2), Error) << "another number of features is another network";
}

// The head of each output is found through layers without parameters, also where it isn't the last layer.
TEST(FitStateOfOutputs, EachOutputsLastLayerWithParametersMayBeginAnew) {
  const auto network_for = [](std::int64_t classes) {
    Network network("net", {3, 8, 8});
    const int trunk = network.add("trunk", Conv2d{.out_channels = 4, .kernel = 3});
    const int scores = network.add("scores", Conv2d{.out_channels = classes, .kernel = 3, .bias = true}, {trunk});
    network.add("pool", GlobalAveragePool{});
    network.set_output("scores", network.add("flatten", Flatten{}));
    network.set_output("boxes", network.add("boxes", Conv2d{.out_channels = 4 * classes}, {trunk}));
    network.set_output("map", network.add("sigmoid", Activation{ActivationKind::kSigmoid}, {scores}));
    network.add("bypassed", Conv2d{.out_channels = 2}, {trunk});
    return network;
  };
  const TensorMap given = initial_state(network_for(5), 1);
  const Network network = network_for(3);
  const FittedState fitted = fit_state(network, given, "x", 2);
  EXPECT_THAT(fitted.new_head, testing::ElementsAre("scores.weight", "scores.bias", "boxes.weight"));
  EXPECT_EQ(fitted.file_outputs, 5) << "of the first";
  EXPECT_EQ(fitted.state.at("boxes.weight"), initial_state(network, 2).at("boxes.weight"));
  EXPECT_EQ(fitted.state.at("trunk.weight"), given.at("trunk.weight"));

  TensorMap other = given;
  other["bypassed.weight"] = HostTensor::of_floats({3, 4, 1, 1}, std::vector<float>(12, 1.0F));
  EXPECT_THROW(fit_state(network, other, "x", 2), Error) << "the last layer is no head where it is no output";
  other = given;
  other["trunk.weight"] = HostTensor::of_floats({5, 3, 3, 3}, std::vector<float>(135, 1.0F));
  try {
    fit_state(network, other, "x", 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not fit net with input 3x8x8 and outputs scores 3, boxes 12x6x6"));
  }
}

TEST(FitStateOfOutputs, AHeadThatEndsInABatchNormHasACounterWithoutExtents) {
  const Network network = build("inception_resnet_v1", {});
  TensorMap given;
  given.emplace("last_bn.num_batches_tracked",
                HostTensor{DType::kI64, {1}, std::vector<std::byte>(sizeof(std::int64_t))});
  EXPECT_THROW(fit_state(network, std::move(given), "a hostile file", 1), Error);
}

TEST_F(FitState, CountersOfOlderPyTorchBeginAtZero) {
  std::erase_if(given_, [](const auto& item) { return item.first.ends_with("num_batches_tracked"); });
  const FittedState fitted = fit_state(network_, given_, "x", 2);
  EXPECT_EQ(fitted.new_counters, 19u);
  EXPECT_EQ(fitted.state.at("bn1.num_batches_tracked"), HostTensor::scalar_i64(0));
  given_.erase("bn1.running_mean");
  EXPECT_THROW(fit_state(network_, given_, "x", 2), Error) << "statistics are more than a counter";
}

TEST_F(FitState, CountersMayBeListsOfOneOrWrittenAsWeights) {
  given_["bn1.num_batches_tracked"].shape = {1};
  given_["layer1.0.bn1.num_batches_tracked"] = HostTensor::of_floats({1}, {7});
  given_["layer1.0.bn2.num_batches_tracked"] = {DType::kI32, {}, std::vector<std::byte>(4)};
  const FittedState fitted = fit_state(network_, given_, "x", 2);
  EXPECT_EQ(fitted.state.at("bn1.num_batches_tracked"), HostTensor::scalar_i64(0));
  EXPECT_EQ(fitted.state.at("layer1.0.bn1.num_batches_tracked"), HostTensor::scalar_i64(7));
  given_["bn1.num_batches_tracked"] = HostTensor::of_floats({2}, {1, 2});
  EXPECT_THROW(fit_state(network_, given_, "x", 2), Error);
}

TEST_F(FitState, OtherPrecisionsAreConverted) {
  const std::uint16_t half[4] = {0x3c00, 0xc000, 0, 0x3800};  // 1, -2, 0, 0.5
  HostTensor& bias = given_["linear.bias"];
  bias = {DType::kF16, {4}, std::vector<std::byte>(8)};
  std::memcpy(bias.bytes.data(), half, 8);
  const FittedState fitted = fit_state(network_, given_, "x", 2);
  EXPECT_EQ(fitted.converted, 1u);
  EXPECT_EQ(fitted.state.at("linear.bias"), HostTensor::of_floats({4}, {1, -2, 0, 0.5}));
}

}  // namespace
}  // namespace evener::network
