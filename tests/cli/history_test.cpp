#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/in_process_helpers.h"
#include "record/record.h"

namespace evener {
namespace {

using test::run_in_process;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class HistoryCommand : public ::testing::Test {
 protected:
  /// A run for each day of a month, slower from the `slower_from`th on.
  void write_runs(int count, int slower_from, bool is_valid = true) {
    for (int day = 1; day <= count; ++day) {
      record::Record record;
      record.started = fmt::format("2026-10-{:02}T02:00:00Z", day);
      record.model.name = "resnet34\x1b[2J";
      record.data.location = "photos";
      record.placement.text = "cpu/t1";
      record.versions = {{"evener", "0.7.0"}, {"program", day < slower_from ? "aaaaaaaaaaaa" : "bbbbbbbbbbbb"}};
      record.images_per_s.median = (day < slower_from ? 100 : 90) + 0.1 * (day * 7 % 5);
      if (!is_valid) record.validity = {false, {{"swap", "1 GB were swapped out", "use less"}}};
      const auto run = folder_ / fmt::format("{:02}", day);
      std::filesystem::create_directories(run);
      record::write_record(run, record);
    }
  }
  test::ProgramResult history(std::vector<std::string> more) {
    more.insert(more.begin(), {"history", folder_.path().string()});
    return run_in_process(more);
  }

  TemporaryFolder folder_;
};

TEST_F(HistoryCommand, NamesTheProgramThatIsSlowerAndWritesAPage) {
  write_runs(24, 15);
  const auto result = history({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("training speed: 10.0 % slower (95 %: "), HasSubstr("from 2026-10-15 on"),
                                HasSubstr("program aaaaaaaa of 2026-10-14 and evener 0.7.0, program bbbbbbbb of"),
                                Not(HasSubstr("\x1b"))));
  EXPECT_THAT(result.err, HasSubstr("report: " + (folder_ / "history.html").string()));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "history.html"));
}

TEST_F(HistoryCommand, ALimitThatIsExceededEndsWithOne) {
  write_runs(24, 15);
  const auto failed = history({"--fail-on", "slower=5%,memory=10%", "--no-html"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.err, HasSubstr("training speed is 10.0 % slower, surely by more than 5 %, since 2026-10-15"));
  EXPECT_EQ(history({"--fail-on", "slower=15%", "--no-html"}).exit_code, 0);
  EXPECT_EQ(history({"--fail-on", "slower=5%", "--since", "2026-10-15", "--no-html"}).exit_code, 0);
  const auto wrong = history({"--fail-on", "slower=fast"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("no percentage"));
}

TEST_F(HistoryCommand, JsonOnStdoutIsAlone) {
  write_runs(12, 100);
  const auto result = history({"--json", "-", "--no-html"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["series"][0]["runs"].size(), 12U);
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(HistoryCommand, InvalidRunsCountWhereAskedFor) {
  write_runs(24, 15, false);
  EXPECT_THAT(history({"--no-html"}).out,
              AllOf(HasSubstr("no run counts"), HasSubstr("24 runs not counted: INVALID: swap (--count-invalid")));
  EXPECT_THAT(history({"--no-html", "--count-invalid"}).out, HasSubstr("10.0 % slower"));
}

TEST_F(HistoryCommand, WithoutRunsItSaysWhatARunIs) {
  const auto result = history({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("a folder with a record.json"));
}

}  // namespace
}  // namespace evener
