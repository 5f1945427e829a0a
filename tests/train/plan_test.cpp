// evener plan and --on auto as a user meets them.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/built_modules.h"
#include "base/names.h"
#include "placement/machine.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Words = test::Words;
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

class PlanCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  }
  Words plan(const Words& more) const {
    return test::joined({"plan", "mlp:784-32-10", "--data", "synth:digits:400", "--batch", "16", "--split", "70/10/20",
                         "--seconds", "1"},
                        more);
  }
  test::TemporaryFolder folder_;
};

TEST_F(PlanCommand, ComparesPlacementsAndLeavesNothingBehind) {
  const auto result = run_program(plan({"--on", "cpu/t1,2xcpu/t1,opencl:77", "--json", "-"}), {{}, folder_.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json comparison = json::parse(result.out);
  ASSERT_EQ(comparison.at("placements").size(), 3U);
  for (std::size_t i : {0, 1}) {
    const json& row = comparison["placements"][i];
    EXPECT_GT(row.at("images_per_s"), 0) << row;
    EXPECT_GT(row.at("epoch_s"), row.at("train_s")) << row;
    EXPECT_GT(row.at("memory_bytes"), 784 * 32 * 4) << row;
    EXPECT_EQ(row.at("ceiling").is_null(), row.at("placement") == "cpu/t1") << row;
  }
  EXPECT_EQ(comparison["placements"][2].at("placement"), "opencl:77");
  EXPECT_THAT(comparison["placements"][2].at("refusal"), HasSubstr("opencl:77"));
  EXPECT_THAT((Words{"cpu/t1", "2xcpu/t1"}), testing::Contains(comparison.at("choice").get<std::string>()));
  EXPECT_THAT(comparison.at("reason").get<std::string>(), HasSubstr(comparison["choice"].get<std::string>()));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(PlanCommand, PrintsATable) {
  const auto result = run_program(plan({"--on", "cpu/t1", "--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("mlp:784-32-10, 10 classes, 1x28x28: 280 images to train on"));
  EXPECT_THAT(result.out, HasSubstr("cpu/t1 is the only one that can be used"));
}

// A processor whose idle power is not stated always draws the same, whatever else runs here.
TEST_F(PlanCommand, StatedPowersBecomeJoulesOfAnImage) {
  Words words = plan({"--on", "cpu/t1", "--for", "energy", "--assume-power", "cpu=40W", "--json", "-"});
  *(std::ranges::find(words, "--seconds") + 1) = "4";
  const auto result = run_program(words, {{}, folder_.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json row = json::parse(result.out).at("placements").at(0);
  ASSERT_TRUE(row.at("power").is_object()) << row;
  EXPECT_NEAR(row["power"].at("watts").get<double>(), 40, 2);
  EXPECT_EQ(row["power"].at("class"), "estimated");
  EXPECT_NEAR(row.at("joules_per_image").get<double>() * row.at("images_per_s").get<double>(), 40, 2);
}

// 36,000 epochs of 280 images in 0.6 s: 17 million images a second are more than anything has.
TEST_F(PlanCommand, ATrainingThatNothingEndsInTimeIsNotBegun) {
  const Words words = {"train",          "mlp:784-32-10",
                       "--data",         "synth:digits:400",
                       "--batch",        "16",
                       "--split",        "70/10/20",
                       "--epochs",       "36000",
                       "--deadline",     "0.01",
                       "--plan-seconds", "1",
                       "--out",          (folder_ / "run").string()};
  const auto result = run_program(words, {{}, folder_.path()});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("ends within 600 ms: the nearest is "));
  EXPECT_FALSE(fs::exists(folder_ / "run/record.json"));
}

// Nothing is recommended, by a star, a line or in the JSON, and the exit code is that of the training.
TEST_F(PlanCommand, WhatNothingKeepsToIsNotRecommended) {
  const Words limits = {"--on", "cpu/t1", "--epochs", "36000", "--deadline", "0.01"};
  const auto table = run_program(plan(limits), {{}, folder_.path()});
  EXPECT_EQ(table.exit_code, 2) << table.err;
  EXPECT_THAT(table.err, HasSubstr("ends within 600 ms: the nearest is cpu/t1 with "));
  EXPECT_THAT(table.out, HasSubstr("cpu/t1"));
  EXPECT_THAT(table.out, AllOf(Not(HasSubstr("cpu/t1 *")), Not(HasSubstr("to train so"))));
  Words words = plan(limits);
  words.insert(words.end(), {"--json", "-"});
  const auto asked = run_program(words, {{}, folder_.path()});
  EXPECT_EQ(asked.exit_code, 2) << asked.err;
  const json comparison = json::parse(asked.out);
  EXPECT_TRUE(comparison.at("choice").is_null());
  EXPECT_FALSE(comparison.at("within_limits"));
  EXPECT_THAT(comparison.at("reason").get<std::string>(), HasSubstr("the nearest is cpu/t1"));
}

TEST_F(PlanCommand, RefusesBadCandidatesBeforeMeasuring) {
  const auto misspelt = run_in_process(plan({"--on", "cpu/t1,cdua:0"}));
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean 'cuda'?"));
  const auto none = run_in_process(plan({"--on", "opencl:77"}));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("none of the placements can be used"));
  const auto seconds = run_in_process(plan({"--seconds", "0"}));
  EXPECT_EQ(seconds.exit_code, 2);
  EXPECT_THAT(seconds.err, HasSubstr("--seconds is 0"));
  EXPECT_THAT(run_in_process(plan({"--batch", "max"})).err, HasSubstr("give --batch a number"));
  EXPECT_EQ(run_in_process(plan({"--hosts", "a,b"})).exit_code, 2);
}

TEST_F(PlanCommand, EndsAtCtrlC) {
  test::RunningProgram program(test::program_path(), plan({"--seconds", "60", "--on", "2xcpu/t1"}));
  ASSERT_TRUE(program.wait_for("trying 2xcpu/t1"));
  program.send(SIGINT);
  const auto result = program.finish();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted while placements were tried out"));
}

TEST_F(PlanCommand, AutoTrainsOnWhatItChoseAndRecordsWhy) {
  const fs::path out = folder_ / "run";
  const auto result = run_program({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--on", "auto",
                                   "--plan-seconds", "1", "--epochs", "2", "--out", out.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream file(out / "record.json");
  const json record = json::parse(file);
  EXPECT_EQ(record.at("config").at("on"), "auto");
  const std::string chosen = record.at("placement").at("text");
  EXPECT_THAT(chosen, HasSubstr("cpu/t"));
  EXPECT_EQ(record.at("placement").at("replicas").size(), chosen.starts_with("cpu") ? 1U : std::stoul(chosen));
  ASSERT_FALSE(record.at("notes").empty());
  EXPECT_THAT(record["notes"].dump(), HasSubstr("--on auto: " + chosen + " is "));
  EXPECT_THAT(result.err, HasSubstr("--on auto: " + chosen + " is "));
  EXPECT_EQ(record.at("epochs").size(), 2U);
}

TEST_F(PlanCommand, AutoIsNotForDryRunsAndEvaluations) {
  const auto dry =
      run_in_process({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--on", "auto", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 2);
  EXPECT_THAT(dry.err, HasSubstr("evener plan"));
  const auto evaluation = run_in_process({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--on", "auto",
                                          "--epochs", "0", "--weights", "w.safetensors"});
  EXPECT_EQ(evaluation.exit_code, 2);
  EXPECT_THAT(evaluation.err, HasSubstr("--epochs 0"));
}

// evener train without a network's name, and --minutes, as a user runs them.

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

// What plan, train --dry-run and info say of the memory of one training.

/// From `begin` to before `end`.
std::string part(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "no '" + begin + "' in " + text;
  return text.substr(from, text.find(end, from) - from);
}

TEST(MemoryTexts, OfADryRunAreOfTheLargestBatch) {
  if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  const auto said = [](const char* accumulate) {
    const auto result =
        test::run_in_process({"train", "resnet20", "--data", "synth:masks:400", "--size", "16x16", "--split", "50/50",
                              "--batch", "max", "--accumulate", accumulate, "--dry-run"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_THAT(said("1"), testing::AllOf(testing::HasSubstr("activations of 202 images at once"),
                                        testing::HasSubstr("--batch max: 202 images")));
  EXPECT_THAT(said("8"), testing::HasSubstr("activations of 26 images at once"));
}

// 400 images: more than loaders hold of either part. The decoded ones are what info can't know.
TEST(MemoryTexts, OfPlanDryRunAndInfoHaveTheSameFiguresInTheSameWords) {
  if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  const std::vector<std::string> training = {"resnet20", "--data", "synth:masks:400", "--size", "16x16",
                                             "--batch",  "16",     "--split",         "50/50"};
  const auto command = [&](const std::string& name, std::vector<std::string> rest) {
    std::vector<std::string> words = {name};
    words.insert(words.end(), training.begin(), training.end());
    words.insert(words.end(), rest.begin(), rest.end());
    const auto result = test::run_in_process(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string dry_run = part(command("train", {"--dry-run"}), "memory: about", "; ");
  EXPECT_THAT(dry_run, testing::HasSubstr("activations of 16 images at once"));
  const std::string plan =
      command("plan", {"--seconds", "1", "--on", "cpu/t" + std::to_string(placement::machine().cores)});
  EXPECT_EQ(part(plan, "memory: about", "; "), dry_run);
  EXPECT_THAT(plan, testing::ContainsRegex(part(dry_run, "about ", " at").substr(6))) << "in the table, too";

  const auto info = test::run_in_process(
      {"info", "resnet20", "--size", "16x16", "--channels", "1", "--classes", "9", "--batch", "16"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  std::string in_one_line = info.out;
  for (std::size_t at = in_one_line.find("\n  "); at != std::string::npos; at = in_one_line.find("\n  ", at)) {
    in_one_line.replace(at, 3, " ");
  }
  EXPECT_EQ(part(in_one_line, "peak: ", "\n"), part(dry_run, "peak: ", ", 102 kB for decoded images"));
  const auto figures = test::run_in_process(
      {"info", "resnet20", "--size", "16x16", "--channels", "1", "--classes", "9", "--batch", "16", "--json", "-"});
  const std::int64_t peak_bytes = json::parse(figures.out)["training_memory"]["peak_bytes"];
  const std::uint64_t with_images = static_cast<std::uint64_t>(peak_bytes) + 400 * 16 * 16;
  EXPECT_EQ(part(dry_run, "about ", " at"), "about " + bytes_text(with_images));
}

}  // namespace
}  // namespace evener
