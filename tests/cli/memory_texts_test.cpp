// What plan, train --dry-run and info say of the memory of one training.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/built_modules.h"
#include "base/names.h"
#include "cli/in_process_helpers.h"
#include "placement/machine.h"

namespace evener::cli {
namespace {

using nlohmann::json;

/// From `begin` to before `end`.
std::string part(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "no '" + begin + "' in " + text;
  return text.substr(from, text.find(end, from) - from);
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
}  // namespace evener::cli
