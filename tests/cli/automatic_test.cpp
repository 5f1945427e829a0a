// evener train without a network's name, and --minutes, as a user runs them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

class Automatic : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino", "native"}) {
      if (!test::module_is_built(name)) GTEST_SKIP() << "the " << name << " engine is not built";
    }
  }

  ProgramResult train(const std::string& name, const Words& words) const {
    return run_program(joined({"train", "--on", "cpu/t1", "--out", file(name)}, words), options_);
  }
  /// The same in the test's own process: for what is refused.
  ProgramResult refused(const std::string& name, const Words& words) const {
    return run_in_process(joined({"train", "--on", "cpu/t1", "--out", file(name)}, words), options_);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  /// A folder of grey images of one class, `count` of them, whose first `damaged` can't be read.
  void write_class(const fs::path& folder, int count, int damaged = 0) const {
    fs::create_directories(folder);
    for (int i = 0; i < count; ++i) {
      std::ofstream image(folder / (std::to_string(i) + ".pgm"), std::ios::binary);
      image << (i < damaged ? "P9" : "P5") << "\n16 16\n255\n" << std::string(256, static_cast<char>(i * 9));
    }
  }

  test::TemporaryFolder folder_;
  /// Weights that were downloaded before are not for tests.
  const test::ProgramOptions options_{.environment = {{"XDG_CACHE_HOME", file("cache")}}};
};

TEST_F(Automatic, NoModelTriesNetworksAndTellsWhatItChoseAndWhy) {
  const ProgramResult result = train("run", {"--data", "synth:digits:300", "--minutes", "0.1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("tried"), HasSubstr("mlp:784-256-10 at 28x28"), HasSubstr("was chosen: "),
                                HasSubstr("without choosing: evener train "), HasSubstr("--split 70/15/15")));
  const json record = record_in(file("run"));
  EXPECT_EQ(record["config"]["model"], record["model"]["name"]);
  EXPECT_EQ(record["config"]["minutes"], 0.1);
  EXPECT_THAT(record["notes"], AllOf(Contains(HasSubstr("tried: mlp:784-256-10 at 28x28: ")),
                                     Contains(HasSubstr("was chosen: ")), Contains(HasSubstr("--minutes 0.1: "))));
  const ProgramResult resumed = run_program({"train", "--resume", file("run")}, options_);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(Automatic, AutoWithWeightsTakesTheirNetworkAndSize) {
  const ProgramResult before =
      train("digits", {"resnet20", "--data", "synth:digits:200", "--size", "20x20", "--epochs", "1"});
  ASSERT_EQ(before.exit_code, 0) << before.err;
  const ProgramResult result = train("masks", {"auto", "--data", "synth:masks:90", "--split", "60/40", "--minutes",
                                               "0.1", "--weights", file("digits/best.safetensors")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("resnet20 at 20x20 was chosen"), HasSubstr("linear probing")));
  EXPECT_EQ(record_in(file("masks"))["config"]["size"], "20x20");
}

TEST_F(Automatic, BoxesGetADetector) {
  const ProgramResult result =
      train("run", {"--data", "synth:shapes:40", "--size", "96x96", "--minutes", "0.05", "--dry-run"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("choosing a detector for 40 images with boxes of 3 classes"),
                                HasSubstr("ssdlite_mobilenet_v2 at 96x96 was chosen")));
  EXPECT_THAT(result.out, HasSubstr("ssdlite_mobilenet_v2, 3 classes, 3x96x96"));
  EXPECT_FALSE(fs::exists(file("run")));
}

TEST_F(Automatic, UnusableDataIsToldAndNothingIsLeft) {
  EXPECT_THAT(refused("run", {"--data", file("none")}).err, HasSubstr("no such data"));
  write_class(folder_ / "one" / "ants", 5);
  const ProgramResult one = refused("run", {"--data", file("one")});
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_THAT(one.err, HasSubstr("class"));
  write_class(folder_ / "bad" / "ants", 5, 5);
  write_class(folder_ / "bad" / "bees", 5, 5);
  const ProgramResult bad = refused("run", {"--data", file("bad"), "--minutes", "0.1"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("evener: "), Not(HasSubstr("was chosen"))));
  EXPECT_FALSE(fs::exists(file("run")));
}

TEST_F(Automatic, SomeUnreadableImagesAreLeftOut) {
  write_class(folder_ / "some" / "ants", 20, 2);
  write_class(folder_ / "some" / "bees", 20);
  const ProgramResult result = train("run", {"--data", file("some"), "--minutes", "0.1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 files left out"));
}

TEST_F(Automatic, WrongWordsAreToldBeforeAnythingIsTried) {
  for (const char* minutes : {"0", "-1", "x"}) {
    const ProgramResult result = refused("run", {"--data", "synth:digits", "--minutes", minutes});
    EXPECT_EQ(result.exit_code, 2) << minutes;
    EXPECT_THAT(result.err, HasSubstr("--minutes"));
  }
  EXPECT_THAT(run_in_process({"train"}).err, HasSubstr("needs --data"));
  EXPECT_THAT(run_in_process({"plan", "--data", "synth:digits"}).err,
              HasSubstr("'evener plan' needs MODEL; see 'evener"));
  EXPECT_THAT(run_in_process({"plan"}).err, HasSubstr("'evener plan' needs MODEL and --data; see"));
  EXPECT_THAT(run_in_process({"plan", "--help"}).out, AllOf(HasSubstr("[OPTIONS] MODEL\n"), Not(HasSubstr("or none"))));
  EXPECT_THAT(refused("run", {"--data", "synth:digits", "--resume"}).err, HasSubstr("name it"));

  EXPECT_THAT(refused("run", {"--data", "synth:digits", "--epochs", "0"}).err, HasSubstr("evaluates the weights"));
  EXPECT_THAT(refused("run", {"--data", "synth:digits", "--hosts", "a,b"}).err, HasSubstr("for several hosts name it"));
  write_class(folder_ / "two" / "ants", 1);
  const ProgramResult weights =
      refused("run", {"--data", "synth:masks", "--weights", file("two/ants/0.pgm"), "--minutes", "0.1"});
  EXPECT_NE(weights.exit_code, 0);
  EXPECT_FALSE(fs::exists(file("run")));
}

TEST_F(Automatic, MinutesFitTheEpochsOfANamedNetwork) {
  const Words words = {"mlp:784-32-10", "--data", "synth:digits:300", "--minutes", "0.5"};
  const ProgramResult result = train("run", joined(words, {"--epochs", "4", "--schedule", "cosine"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = record_in(file("run"));
  EXPECT_EQ(record["epochs"].size(), 4u) << "--epochs are the most";
  EXPECT_EQ(record["config"]["epochs"], 4);
  EXPECT_THAT(record["notes"], Contains(HasSubstr("--minutes 0.5: 4 epochs")));
  const ProgramResult more = train("more", words);
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(record_in(file("more"))["config"]["epochs"], 100);
}

TEST_F(Automatic, TimeThatIsOverEndsAnEpochAndAResumedRunGoesOn) {
  const ProgramResult result = train("run", {"resnet20", "--data", "synth:digits:2000", "--minutes", "0.00001"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = record_in(file("run"));
  EXPECT_EQ(record["epochs"].size(), 1u);
  EXPECT_EQ(record["status"], "done");
  EXPECT_FALSE(record["accuracy"]["test"].is_null()) << "what there is gets tested";
}

}  // namespace
}  // namespace evener
