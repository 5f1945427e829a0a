// Exported networks: what the file says of itself, and the check that finds a file of other weights.
#include "task/inference/export.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "engine/engine.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/inference/model_metadata.h"
#include "weights/metadata_json.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

  template <class Act>
  static std::string message_of(const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
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

TEST_F(Export, WhereNothingCanBeWrittenIsKnownBefore) {
  EXPECT_EQ(message_of([&] { require_export(options_.onnx); }), "no error");
  EXPECT_THAT(message_of([&] { require_export(folder_.path()); }), HasSubstr("is a folder"));
  EXPECT_THAT(message_of([&] { require_export("/proc/none/a.onnx"); }), HasSubstr("/proc/none"));
}

}  // namespace
}  // namespace evener::task
