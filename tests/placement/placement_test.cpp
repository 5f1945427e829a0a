#include "placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace evener::placement {
namespace {

using testing::HasSubstr;

TEST(Parse, OneStage) {
  const Placement p = parse("cuda:1");
  ASSERT_EQ(p.replicas.size(), 1U);
  EXPECT_EQ(p.replicas[0].count, 1);
  ASSERT_EQ(p.replicas[0].stages.size(), 1U);
  const Stage& stage = p.replicas[0].stages[0];
  EXPECT_EQ(stage.kind, DeviceKind::kCuda);
  EXPECT_EQ(stage.index, 1);
  EXPECT_FALSE(stage.all);
  EXPECT_FALSE(stage.threads);
  EXPECT_FALSE(stage.factor);
  EXPECT_FALSE(p.automatic);
}

TEST(Parse, EverythingAtOnce) {
  const Placement p = parse("2xcpu/t3@0.5..cuda+opencl:7@.25..intel..npu+cuda:all");
  ASSERT_EQ(p.replicas.size(), 3U);
  EXPECT_EQ(p.replicas[0].count, 2);
  ASSERT_EQ(p.replicas[0].stages.size(), 2U);
  EXPECT_EQ(p.replicas[0].stages[0].threads, 3);
  EXPECT_EQ(p.replicas[0].stages[0].factor, 0.5);
  EXPECT_EQ(p.replicas[0].stages[0].column, 2U);
  EXPECT_EQ(p.replicas[0].stages[1].kind, DeviceKind::kCuda);
  EXPECT_FALSE(p.replicas[0].stages[1].index);
  ASSERT_EQ(p.replicas[1].stages.size(), 3U);
  EXPECT_EQ(p.replicas[1].stages[0].index, 7);
  EXPECT_EQ(p.replicas[1].stages[0].factor, 0.25);
  EXPECT_EQ(p.replicas[1].stages[1].kind, DeviceKind::kIntel);
  EXPECT_EQ(p.replicas[1].stages[2].kind, DeviceKind::kNpu);
  EXPECT_TRUE(p.replicas[2].stages[0].all);
  EXPECT_EQ(p.replicas[2].column, 44U);
}

TEST(Parse, AutoStandsAlone) {
  EXPECT_TRUE(parse("auto").automatic);
  EXPECT_TRUE(parse("auto").replicas.empty());
}

TEST(Parse, AWholeNumberIsNoFactorButTheNextStageMayFollowAtOnce) {
  const Placement p = parse("cpu@0.5..cpu@0.25");
  ASSERT_EQ(p.replicas[0].stages.size(), 2U);
  EXPECT_EQ(p.replicas[0].stages[0].factor, 0.5);
  EXPECT_EQ(p.replicas[0].stages[1].factor, 0.25);
}

TEST(ToText, GivesTheShortestForm) {
  for (const char* text : {"auto", "cpu", "cpu/t8", "4xcpu/t1", "cuda", "cuda:all", "cuda:0+cpu", "cuda:0..cuda:1",
                           "2xcpu/t1..cuda", "cpu/t1@0.5+npu", "opencl:3..intel:1@0.125"}) {
    EXPECT_EQ(to_text(parse(text)), text);
  }
  EXPECT_EQ(to_text(parse("1xcpu/t02@0.50+01xcuda:00")), "cpu/t2@0.5+cuda:0");
}

struct Bad {
  const char* text;
  std::size_t column;  // where '^' points
  const char* reason;
};

class Refused : public testing::TestWithParam<Bad> {};

TEST_P(Refused, PointsAtTheCharacter) {
  const auto& [text, column, reason] = GetParam();
  try {
    parse(text);
    FAIL() << "'" << text << "' was understood";
  } catch (const UsageError& error) {
    const std::string expected_end = "\n  " + std::string(text) + "\n  " + std::string(column, ' ') + "^";
    EXPECT_THAT(error.what(), testing::StartsWith("placement '" + std::string(text) + "' is not understood: "));
    EXPECT_THAT(error.what(), testing::EndsWith(expected_end));
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Placements, Refused,
    testing::Values(Bad{"", 0, "it is empty"}, Bad{"cpu/t1+cdua:0", 7, "unknown device 'cdua'; did you mean 'cuda'?"},
                    Bad{"CPU", 0, "did you mean 'cpu'?"}, Bad{"cpu8", 0, "unknown device 'cpu8'"},
                    Bad{"+cpu", 0, "a device is missing"}, Bad{"cpu+", 4, "a replica is missing at the end"},
                    Bad{"cpu++cpu", 4, "a replica is missing here"}, Bad{"cpu..", 5, "a stage is missing at the end"},
                    Bad{"..cpu", 0, "a device is missing"}, Bad{"cpu....cpu", 5, "a stage is missing here"},
                    Bad{"cpu.cpu", 3, "two dots"}, Bad{"cpu,cpu", 3, "commas"},
                    Bad{"cpu cpu", 3, "' ' can't stand here"}, Bad{" cpu", 0, "a device is missing"},
                    Bad{"cpu/t0", 5, "from 1 to 4096, not 0"}, Bad{"cpu/t4097", 5, "not 4097"},
                    Bad{"cpu/t99999999999999999999999999", 5, "not 999999999999999999999999"},
                    Bad{"cpu/t", 5, "threads is missing"}, Bad{"cpu/t-1", 5, "threads is missing"},
                    Bad{"cpu/8", 4, "after '/' comes 't'"}, Bad{"cpu/", 4, "after '/' comes 't'"},
                    Bad{"cpu/t1/t2", 6, "comes once"}, Bad{"cpu@0.5/t2", 7, "before '@'"},
                    Bad{"cuda/t2", 4, "'cuda' takes none"}, Bad{"cpu:1", 3, "'cpu' takes no number"},
                    Bad{"npu:0", 3, "'npu' takes no number"}, Bad{"cuda:", 5, "device's number is missing"},
                    Bad{"cuda:x", 5, "a device number or 'all'"}, Bad{"cuda:1024", 5, "from 0 to 1023"},
                    Bad{"cuda:0:1", 6, "comes once"}, Bad{"opencl:all", 7, "only 'cuda' knows ':all'"},
                    Bad{"2xcuda:all", 2, "takes no 'N x'"}, Bad{"cuda:all..cpu", 0, "no further stage"},
                    Bad{"cpu..cuda:all", 5, "no further stage"}, Bad{"cpu@", 4, "between 0 and 1"},
                    Bad{"cpu@x", 4, "between 0 and 1"}, Bad{"cpu@0", 4, "not 0;"}, Bad{"cpu@1", 4, "not 1;"},
                    Bad{"cpu@1.5", 4, "not 1.5;"}, Bad{"cpu@0.0", 4, "not 0.0;"}, Bad{"cpu@-0.5", 4, "between 0 and 1"},
                    Bad{"cpu@nan", 4, "between"}, Bad{"cpu@0.5@0.5", 7, "once per stage"},
                    Bad{"0xcpu", 0, "from 1 to 1024, not 0"}, Bad{"1025xcpu", 0, "not 1025"},
                    Bad{"4cpu", 1, "'x' must follow"}, Bad{"4", 1, "'x' must follow"}, Bad{"2x", 2, "after 'x'"},
                    Bad{"1000xcpu+1000xcpu", 9, "more than 1024 replicas"}, Bad{"auto+cpu", 0, "'auto' stands alone"},
                    Bad{"cpu..auto", 5, "'auto' stands alone"}, Bad{"autp", 0, "did you mean 'auto'?"}));

TEST(Parse, ShowsOddCharactersSafely) {
  try {
    parse("cpü+x\n+cuda");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\n  cpü+x?+cuda\n  ^"));  // the control character is not passed on
  }
  try {
    parse("cpu/té");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::EndsWith("\n  cpu/té\n       ^"));
  }
  EXPECT_THROW(parse(std::string(100000, 'c')), UsageError);
  EXPECT_THROW(parse(std::string("cpu\0", 4)), UsageError);
}

// Any text made of the grammar's own pieces is understood or refused in good order, and what is understood
// comes back the same after to_text.
TEST(Parse, SurvivesRandomTexts) {
  const std::vector<std::string> pieces = {"cpu", "cuda", "npu", "opencl", "auto", ":",   "all", "0", "17", "x", "+",
                                           "..",  ".",    "/t",  "/",      "@",    "0.5", "1",   "t", "-",  " ", "2x"};
  Random random(3, Purpose::kSynthetic);
  int understood = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(8) + 1; n > 0; --n) text += pieces[random.below(pieces.size())];
    try {
      const std::string shortest = to_text(parse(text));
      EXPECT_EQ(to_text(parse(shortest)), shortest) << text;
      ++understood;
    } catch (const UsageError&) {
    }
  }
  EXPECT_GT(understood, 200);
  EXPECT_LT(understood, 19000);
}

}  // namespace
}  // namespace evener::placement
