// Names, counters and first layers of weights from elsewhere: the bounds of what is taken, and what is told of it.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "base/thrown.h"
#include "network/init.h"
#include "network/weight_names.h"
#include "network/zoo.h"

namespace evener::network::foreign_weights {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const HostTensor kOne = HostTensor::of_floats({1}, {1});

Network perceptron() {  // 0.weight, 0.bias, 2.weight, 2.bias
  return build("mlp:4-3-2", {});
}

weights::SafetensorsFile file_of(const std::vector<std::string>& names) {
  weights::SafetensorsFile file;
  for (const std::string& name : names) file.tensors.emplace(name, kOne);
  return file;
}

std::vector<std::string> names_of(const weights::SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors) names.push_back(name);
  return names;
}

TEST(ForeignNames, APrefixCountsFromMoreThanHalfOfTheNames) {
  const Network network = perceptron();
  weights::SafetensorsFile half = file_of({"m.0.weight", "m.0.bias"});
  EXPECT_THAT(adapt_names(network, half, "x"), IsEmpty());
  EXPECT_THAT(names_of(half), ElementsAre("m.0.bias", "m.0.weight"));
  weights::SafetensorsFile more = file_of({"m.0.weight", "m.0.bias", "m.2.bias"});
  EXPECT_THAT(adapt_names(network, more, "x"),
              ElementsAre("x has its tensors under 'm.', which is taken from their names"));
  EXPECT_THAT(names_of(more), ElementsAre("0.bias", "0.weight", "2.bias"));
  weights::SafetensorsFile counted = file_of({"m.0.weight", "m.0.bias"});
  counted.passed_over.push_back({"m.2.bias", "BOOL", {2}});
  EXPECT_THAT(test::thrown_by([&] { adapt_names(network, counted, "x"); }),
              HasSubstr("tensor '2.bias' of x is of type BOOL"))
      << "what can't be read counts as well";
}

TEST(ForeignNames, ThePrefixWithMostNamesWinsOverAShorterOne) {
  const Network network = perceptron();
  weights::SafetensorsFile file = file_of(
      {"a.0.weight", "a.0.bias", "a.2.bias", "longer.0.weight", "longer.0.bias", "longer.2.weight", "longer.2.bias"});
  const std::vector<std::string> notes = adapt_names(network, file, "x");
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0], "x has its tensors under 'longer.', which is taken from their names");
  EXPECT_EQ(notes[1], "3 values of x that mlp:4-3-2 has no place for are left out: a.0.bias, a.0.weight, a.2.bias");
  EXPECT_EQ(file.tensors.size(), 4U);
}

TEST(ForeignNames, AllCopiesThatAreNotUsedAreTold) {
  weights::SafetensorsFile file;
  for (const char* prefix : {"ccc.", "b.", "aaaa."}) {
    for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
      file.tensors.emplace(std::string(prefix) + name, kOne);
    }
  }
  const std::vector<std::string> notes = adapt_names(perceptron(), file, "x");
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_THAT(notes[0], HasSubstr("under 'b.'"));
  EXPECT_THAT(notes[0], HasSubstr("those under 'ccc.', 'aaaa.' are not used"));
  EXPECT_EQ(notes[1],
            "8 values of x that mlp:4-3-2 has no place for are left out: aaaa.0.bias, aaaa.0.weight, aaaa.2.bias, "
            "aaaa.2.weight, ccc.0.bias, ccc.0.weight and 2 more");
}

TEST(ForeignNames, AListOfSixIsWholeAndOneValueIsSingular) {
  const auto note = [](int others) {
    weights::SafetensorsFile file = file_of({"0.weight", "0.bias", "2.weight", "2.bias"});
    for (int i = 0; i < others; ++i) file.tensors.emplace("other" + std::to_string(i), kOne);
    const std::vector<std::string> notes = adapt_names(perceptron(), file, "x");
    return notes.empty() ? std::string() : notes.back();
  };
  EXPECT_EQ(note(0), "");
  EXPECT_EQ(note(1), "1 value of x that mlp:4-3-2 has no place for is left out: other0");
  EXPECT_EQ(note(2), "2 values of x that mlp:4-3-2 has no place for are left out: other0, other1");
  EXPECT_THAT(note(6), testing::EndsWith("other4, other5"));
  EXPECT_THAT(note(7), testing::EndsWith("other5 and 1 more"));
}

TEST(ForeignNames, LayersOfItsModulesAndWhatLacksSomeNamesStay) {
  const Network network = perceptron();
  weights::SafetensorsFile file = file_of({"0.weight", "0.bias", "2.weight", "2.bias", "2.extra", "4.weight"});
  EXPECT_THAT(adapt_names(network, file, "x"), ElementsAre(HasSubstr("left out: 4.weight")));
  EXPECT_TRUE(file.tensors.contains("2.extra")) << "of a module that the network has";
  weights::SafetensorsFile incomplete = file_of({"0.weight", "0.bias", "2.weight", "4.weight"});
  incomplete.passed_over.push_back({"mask", "BOOL", {4}});
  EXPECT_THAT(adapt_names(network, incomplete, "x"), IsEmpty());
  EXPECT_TRUE(incomplete.tensors.contains("4.weight"));
  EXPECT_EQ(incomplete.passed_over.size(), 1U);
}

TEST(ForeignNames, ATensorThatIsThereInAReadableTypeIsTaken) {
  weights::SafetensorsFile file = file_of({"m.0.weight", "m.0.bias", "m.2.weight", "m.2.bias"});
  file.passed_over.push_back({"0.bias", "BOOL", {3}});
  file.passed_over.push_back({"m.mask", "BOOL", {3}});
  const std::vector<std::string> notes = adapt_names(perceptron(), file, "x");
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_THAT(notes[1], HasSubstr("2 values of x")) << "the name of the other place isn't the network's";
  EXPECT_THAT(notes[1], testing::EndsWith("0.bias (BOOL), mask (BOOL)"));
}

TEST(ForeignNames, CountersAreNotNeeded) {
  Network network("net", {2, 3, 3});
  network.add("bn", BatchNorm{});
  TensorMap tensors = initial_state(network, 1);
  EXPECT_TRUE(has_all_names(network, tensors));
  tensors.erase("bn.num_batches_tracked");
  EXPECT_TRUE(has_all_names(network, tensors));
  tensors.erase("bn.running_var");
  EXPECT_FALSE(has_all_names(network, tensors));
}

// --- counters --------------------------------------------------------------------------------------------------------

template <class T>
HostTensor counter(DType type, Shape shape, T value) {
  HostTensor tensor{type, std::move(shape), std::vector<std::byte>(sizeof value)};
  std::memcpy(tensor.bytes.data(), &value, sizeof value);
  return tensor;
}

TEST(ForeignCounters, OfEachReadableTypeKeepTheirValue) {
  Network network("net", {2, 3, 3});
  network.add("bn", BatchNorm{});
  TensorMap state = initial_state(network, 1);
  const auto fitted = [&](const HostTensor& value) {
    state["bn.num_batches_tracked"] = value;
    HostTensor result;
    const std::string why = test::thrown_by([&] {
      FittedState made = fit_state(network, state, "x", 2);
      EXPECT_EQ(made.new_counters + made.converted, 0U);
      result = made.state.at("bn.num_batches_tracked");
    });
    if (why != "nothing was thrown") return why;
    std::int64_t whole = -1;
    EXPECT_EQ(result.shape, Shape{});
    EXPECT_EQ(result.dtype, DType::kI64);
    std::memcpy(&whole, result.bytes.data(), sizeof whole);
    return std::to_string(whole);
  };
  EXPECT_EQ(fitted(counter(DType::kI64, {1}, std::int64_t{41})), "41");
  EXPECT_EQ(fitted(counter(DType::kI64, {1, 1}, std::int64_t{1} << 40)), std::to_string(std::int64_t{1} << 40));
  EXPECT_EQ(fitted(counter(DType::kI32, {}, std::int32_t{70'000})), "70000");
  EXPECT_EQ(fitted(counter(DType::kF32, {}, 12.0F)), "12");
  EXPECT_EQ(fitted(counter(DType::kF64, {1}, 13.0)), "13");
  EXPECT_EQ(fitted(counter(DType::kF16, {}, std::uint16_t{0x4500})), "5");
  EXPECT_EQ(fitted(counter(DType::kF32, {}, 9e17F)), std::to_string(static_cast<std::int64_t>(9e17F)));
  const auto refused = HasSubstr("bn.num_batches_tracked");
  EXPECT_THAT(fitted(counter(DType::kF32, {}, 1e19F)), refused) << "beyond whole numbers of 64 bits";
  EXPECT_THAT(fitted(counter(DType::kF32, {}, -1e19F)), refused);
  EXPECT_THAT(fitted(counter(DType::kF32, {}, std::numeric_limits<float>::infinity())), refused);
  EXPECT_THAT(fitted(counter(DType::kF32, {}, std::numeric_limits<float>::quiet_NaN())), refused);
  EXPECT_THAT(fitted(counter(DType::kU8, {}, std::uint8_t{3})), refused);
  EXPECT_THAT(fitted(counter(DType::kI8, {}, std::int8_t{3})), refused);
}

// --- first layers ----------------------------------------------------------------------------------------------------

TEST(FirstConvolution, OfOtherChannelsIsToldByTheirNumberWhereThatIsAll) {
  const auto told = [](std::int64_t given, std::int64_t wanted, const std::string& changed = "conv1.weight") {
    const auto network = [](std::int64_t channels) {
      return build("resnet20", {.input = Shape{channels, 20, 20}, .classes = 2});
    };
    TensorMap state = initial_state(network(given), 1);
    if (changed != "conv1.weight") {
      Shape& shape = state.at(changed).shape;
      std::swap(shape[1], shape[2]);
    }
    return test::thrown_by([&] { check_state(network(wanted), state, "x"); });
  };
  EXPECT_THAT(told(3, 1), HasSubstr("the weights are for images with 3 channels: give --channels 3"));
  EXPECT_THAT(told(1, 3), HasSubstr("the weights are for images with 1 channel: give --channels 1"));
  EXPECT_THAT(told(4, 3), Not(HasSubstr("--channels"))) << "no images of this program's";
  EXPECT_EQ(told(3, 3), "nothing was thrown");
  const std::string later = told(3, 3, "layer1.0.conv1.weight");
  EXPECT_THAT(later, HasSubstr("layer1.0.conv1.weight is 16x3x16x3"));
  EXPECT_THAT(later, Not(HasSubstr("--channels")));

  Network two("net", {5, 8, 8});
  two.add("first", Conv2d{.out_channels = 6, .kernel = 3});
  two.add("second", Conv2d{.out_channels = 7, .kernel = 3});
  TensorMap state = initial_state(two, 1);
  state["second.weight"] = HostTensor::of_floats({7, 3, 3, 3}, std::vector<float>(189, 1.0F));
  EXPECT_THAT(test::thrown_by([&] { check_state(two, state, "x"); }), Not(HasSubstr("--channels")))
      << "it isn't the first";
  state = initial_state(two, 1);
  state["first.weight"] = HostTensor::of_floats({4, 3, 3, 3}, std::vector<float>(108, 1.0F));
  EXPECT_THAT(test::thrown_by([&] { check_state(two, state, "x"); }), Not(HasSubstr("--channels")))
      << "other filters as well";
}

}  // namespace
}  // namespace evener::network::foreign_weights
