// The words of --frequency and --power-limit.
#include "measure/limits/limit_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace evener::measure {
namespace {

using testing::HasSubstr;

std::string refusal_of_frequency(const std::string& text) {
  try {
    parse_frequency_mhz(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_power(const std::string& text) {
  try {
    parse_power_limits(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(LimitOptions, FrequenciesHaveUnits) {
  EXPECT_DOUBLE_EQ(parse_frequency_mhz("2.5GHz"), 2500);
  EXPECT_DOUBLE_EQ(parse_frequency_mhz("1200 mhz"), 1200);
  EXPECT_DOUBLE_EQ(parse_frequency_mhz("800000kHz"), 800);
  for (const char* wrong : {"2.5", "GHz", "2Hz", "-2GHz", "0GHz", "nanGHz", "2GHz3", "1e9GHz", ""}) {
    EXPECT_THAT(refusal_of_frequency(wrong), HasSubstr("such as 2.0GHz or 2000MHz")) << wrong;
  }
}

TEST(LimitOptions, PowersAreOfGpusUnlessNamed) {
  EXPECT_EQ(parse_power_limits("250W").gpu, 250);
  EXPECT_EQ(parse_power_limits("250").cpu, std::nullopt);
  EXPECT_EQ(parse_power_limits("cpu=65.5w").cpu, 65.5);
  EXPECT_EQ(parse_power_limits("cpu=65W").gpu, std::nullopt);
  const PowerLimits both = parse_power_limits("gpu=250W + cpu=65");
  EXPECT_EQ(both.gpu, 250);
  EXPECT_EQ(both.cpu, 65);
}

TEST(LimitOptions, WrongPowersAreRefusedWithWhatIsTaken) {
  EXPECT_THAT(refusal_of_power("gpu=250W,cpu=65W"), HasSubstr("as in gpu=250W+cpu=65W"));
  EXPECT_THAT(refusal_of_power("npu=5W"), HasSubstr("'npu' has no power that can be limited; known: gpu, cpu"));
  EXPECT_THAT(refusal_of_power("250W+gpu=200W"), HasSubstr("limits gpu twice"));
  for (const char* wrong : {"cpu=", "cpu=65kW", "0W", "-5W", "cpu=nan", "+", "1e7"}) {
    EXPECT_THAT(refusal_of_power(wrong), HasSubstr("is no power in watts, such as 250W")) << wrong;
  }
}

}  // namespace
}  // namespace evener::measure
