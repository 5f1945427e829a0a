// evener data info and synth as a user runs them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace evener::test {
namespace {

using ::testing::HasSubstr;

TEST(DataCommand, WritesSyntheticImagesThatInfoDescribes) {
  const TemporaryFolder folder;
  const std::string fish = (folder / "fish").string();
  const ProgramResult synth =
      run_program({"data", "synth", "masks", "--out", fish, "--count", "27", "--size", "59x44"});
  ASSERT_EQ(synth.exit_code, 0) << synth.err;
  EXPECT_THAT(synth.out, HasSubstr("27 images of 59x44 pixels in 9 classes"));

  std::ofstream(folder / "fish/trout/broken.jpg") << "text";
  const ProgramResult info = run_program({"data", "info", fish, "--split", "34/33/33", "--json", "-"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const auto json = nlohmann::json::parse(info.out);
  EXPECT_EQ(json["images"], 27);
  EXPECT_EQ(json["classes"].size(), 9u);
  EXPECT_EQ(json["per_class"]["shrimp"], 3);
  EXPECT_EQ(json["shape"]["channels"], 1);
  EXPECT_EQ(json["shape"]["width"], 59);
  EXPECT_EQ(json["split"]["val"], 9);
  EXPECT_EQ(json["boxes"], 0);
  ASSERT_EQ(json["skipped"].size(), 1u);
  EXPECT_THAT(json["skipped"][0]["file"].get<std::string>(), HasSubstr("trout/broken.jpg"));
  EXPECT_EQ(json["skipped"][0]["reason"], "neither JPEG nor PNG, but a text file");

  const ProgramResult text = run_program({"data", "info", fish});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("27 of 59x44 pixels, grey"));
  EXPECT_THAT(text.out, HasSubstr("broken.jpg: neither"));
  EXPECT_EQ(run_program({"data", "info", fish, "--strict"}).exit_code, 1);
}

TEST(DataCommand, EndsWithTheRightCodeAndReason) {
  const TemporaryFolder folder;
  const ProgramResult nowhere = run_program({"data", "info", (folder / "nowhere").string()});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("no such data"));
  const ProgramResult misspelt = run_program({"data", "info", "synth:digit"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean 'digits'"));
  std::ofstream(folder / "file") << "x";
  const ProgramResult taken =
      run_program({"data", "synth", "digits", "--count", "10", "--out", folder.path().string()});
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_THAT(taken.err, HasSubstr("not an empty folder"));
}

}  // namespace
}  // namespace evener::test
