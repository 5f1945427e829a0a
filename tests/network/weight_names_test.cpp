// From the names that files have for a network's tensors to the network's own.
#include "network/weight_names.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WeightNames : public testing::Test {
 protected:
  weights::SafetensorsFile with_prefix(const std::string& prefix) const {
    weights::SafetensorsFile file;
    for (const auto& [name, tensor] : state_) file.tensors.emplace(prefix + name, tensor);
    return file;
  }

  const Network network_ = build("resnet20", {.input = Shape{3, 8, 8}, .classes = 2});
  const TensorMap state_ = initial_state(network_, 1);
  const HostTensor one_ = HostTensor::of_floats({1}, {1});
};

TEST_F(WeightNames, ThoseOfTheNetworkStayAsTheyAre) {
  weights::SafetensorsFile file = with_prefix("");
  EXPECT_THAT(adapt_names(network_, file, "x"), IsEmpty());
  EXPECT_TRUE(file.tensors == state_);
}

TEST_F(WeightNames, APrefixIsTakenAwayAndTold) {
  for (const char* prefix : {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module.", "model.", "net.",
                             "backbone.", "model.model.", "module.module.", "student.encoder."}) {
    weights::SafetensorsFile file = with_prefix(prefix);
    EXPECT_THAT(adapt_names(network_, file, "x"),
                ElementsAre(HasSubstr("x has its tensors under '" + std::string(prefix) + "'")));
    EXPECT_TRUE(file.tensors == state_) << prefix;
  }
}

TEST_F(WeightNames, WhatLiesBesideIsLeftOutAndTold) {
  for (const char* prefix : {"", "model.", "module."}) {
    weights::SafetensorsFile file = with_prefix(prefix);
    file.tensors.emplace("criterion.weight", one_);
    file.tensors.emplace("n_averaged", HostTensor::scalar_i64(9));
    file.passed_over.push_back({"mask", "BOOL", {4}});
    EXPECT_THAT(
        adapt_names(network_, file, "x"),
        testing::Contains(AllOf(HasSubstr("3 values of x that resnet20 has no place for are left out"),
                                HasSubstr("criterion.weight"), HasSubstr("n_averaged"), HasSubstr("mask (BOOL)"))));
    EXPECT_TRUE(file.tensors == state_) << prefix;
    EXPECT_THAT(file.passed_over, IsEmpty());
  }
}

TEST_F(WeightNames, LayersThatTheNetworkLacksAreOfAnotherNetwork) {
  const Network deeper = build("resnet32", {.input = Shape{3, 8, 8}, .classes = 2});
  weights::SafetensorsFile file;
  file.tensors = initial_state(deeper, 1);
  adapt_names(network_, file, "x");
  EXPECT_THROW(fit_state(network_, file.tensors, "x", 1), Error);
}

TEST_F(WeightNames, OfTwoCopiesTheOneWithTheShorterPrefixIsTaken) {
  weights::SafetensorsFile file = with_prefix("ema_model.");
  for (const auto& [name, tensor] : state_)
    file.tensors.emplace("model." + name, tensor.dtype == DType::kF32 ? one_ : tensor);
  EXPECT_THAT(adapt_names(network_, file, "x"), testing::Contains(HasSubstr("those under 'ema_model.' are not used")));
  EXPECT_EQ(file.tensors.at("conv1.weight"), one_);
}

TEST_F(WeightNames, ATensorOfATypeThatIsNotReadIsNamed) {
  weights::SafetensorsFile file = with_prefix("model.");
  file.tensors.erase("model.conv1.weight");
  file.passed_over.push_back({"model.conv1.weight", "F8_E4M3", {16, 3, 3, 3}});
  try {
    adapt_names(network_, file, "'x'");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("tensor 'conv1.weight' of 'x'"), HasSubstr("F8_E4M3")));
  }
}

TEST_F(WeightNames, OtherNamesStayForTheErrorThatTellsThem) {
  weights::SafetensorsFile file;
  file.tensors.emplace("encoder.bias", one_);
  file.foreign_names = {"argparse.Namespace"};
  EXPECT_THAT(adapt_names(network_, file, "x"),
              ElementsAre(HasSubstr("x asks for argparse.Namespace beside its tensors")));
  EXPECT_TRUE(file.tensors.contains("encoder.bias"));
}

}  // namespace
}  // namespace evener::network
