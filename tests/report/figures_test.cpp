#include "report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/terminal_text.h"
#include "base/utf8.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

using testing::ElementsAre;

std::optional<std::int64_t> overfits_from(const std::vector<double>& train, const std::vector<double>& val) {
  record::Record record;
  for (std::size_t i = 0; i < train.size(); ++i) {
    record::EpochRecord epoch;
    epoch.epoch = static_cast<std::int64_t>(i) + 1;
    epoch.train_loss = train[i];
    if (val[i] >= 0) epoch.val_loss = val[i];
    record.training.epochs.push_back(epoch);
  }
  return overfitting_epoch(record);
}

TEST(OverfittingEpoch, IsTheLowestValidationLossBeforeALastingRise) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 1.1}), 2);
}

TEST(OverfittingEpoch, AWobbleIsNone) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {1, 0.8, 0.9, 0.82}), std::nullopt);
}

TEST(OverfittingEpoch, BothLossesRisingIsSomethingElse) {
  EXPECT_EQ(overfits_from({1, 0.5, 0.7, 0.9}, {1, 0.8, 1.2, 1.5}), std::nullopt);
}

TEST(OverfittingEpoch, EpochsThatWereNotValidatedDoNotCount) {
  EXPECT_EQ(overfits_from({1, 0.7, 0.5, 0.3}, {-1, 0.8, -1, 1.1}), 2);
  EXPECT_EQ(overfits_from({1, 0.7}, {-1, -1}), std::nullopt);
  EXPECT_EQ(overfits_from({}, {}), std::nullopt);
}

TEST(OtherTime, IsWhatNoPhaseCovers) {
  record::Record record;
  EXPECT_EQ(other_s(record), std::nullopt);
  record.times.total = 10;
  EXPECT_EQ(other_s(record), std::nullopt) << "no phases are known";
  record.phases_s = {{"forward", 4}, {"backward", 3.5}};
  EXPECT_EQ(other_s(record), 2.5);
  record.phases_s["read"] = 3;  // clocks are read at differing moments
  EXPECT_EQ(other_s(record), 0);
}

TEST(Format, NumbersHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(number_text(26.94), "26.9");
  EXPECT_EQ(number_text(1.846), "1.85");
  EXPECT_EQ(number_text(0.01234), "0.0123");
  EXPECT_EQ(number_text(523), "523");
  EXPECT_EQ(number_text(52345), "52,300");
  EXPECT_EQ(number_text(1234567), "1,230,000");
  EXPECT_EQ(number_text(-5234), "-5,230");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(std::nan("")), "-");
}

TEST(Format, PercentsOrADash) {
  EXPECT_EQ(percent_text(0.972), "97.2 %");
  EXPECT_EQ(percent_text(std::optional<double>()), "-");
}

TEST(Format, HtmlIsHarmless) {
  EXPECT_EQ(escape_html("<b onclick='x'>\"&\x01"), "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;");
}

TEST(Format, JsonCantEndAScriptElement) {
  EXPECT_EQ(escape_json_for_script("{\"a\":\"</script><!-- & \xe2\x80\xa8\"}"),
            "{\"a\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"}");
}

TEST(Format, CsvIsQuotedWhereNeeded) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  const std::string name = "caf\xe9, b\"r", told = to_utf8_text(name);
  EXPECT_EQ(csv_cell(name), "\"caf\xEF\x9F\xA9, b\"\"r\"");
  EXPECT_EQ(csv_cell(told), csv_cell(name)) << "once";
  EXPECT_EQ(escape_html("caf\xe9"), "caf\xEF\x9F\xA9");
  EXPECT_EQ(escape_markdown("caf\xe9"), "caf\xEF\x9F\xA9");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"hi\""), "\"say \"\"hi\"\"\"");
}

TEST(Format, MarkdownCantBreakATable) {
  EXPECT_EQ(escape_markdown("a|b\n<i>"), "a\\|b \\<i\\>");
  EXPECT_EQ(escape_markdown("\x1b[2J"), "?\\[2J");
}

TEST(Format, TerminalsObeyNothing) {
  EXPECT_EQ(one_line("a\x1b[31mred\n"), "a?[31mred?");
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "31m \xc2\x80\xc2\x9f"),
            "a?31m ??");
  EXPECT_EQ(one_line("\u00a0größer \u0400 \xc2"), "\u00a0größer \u0400 \xc2");
  EXPECT_EQ(display_width("größer"), 6u);
}

TEST(Format, ListsTheFirstOfMany) {
  EXPECT_EQ(listed({"a", "b", "c"}, 3), "a, b and c");
  EXPECT_EQ(listed({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(listed({"a", "b"}, 1), "a and 1 more");
}

/// Validation alone.
report::Run run_of(const std::vector<double>& losses) {
  report::Run run;
  for (const double loss : losses) {
    record::EpochRecord& epoch = run.record.training.epochs.emplace_back();
    epoch.epoch = static_cast<std::int64_t>(run.record.training.epochs.size());
    epoch.val_loss = loss;
    epoch.val_accuracy = 1 - loss / 4;
  }
  return run;
}

std::vector<std::vector<std::size_t>> groups(const std::vector<report::Run>& runs, Curve curve = Curve::kLoss) {
  std::vector<std::size_t> job;
  for (std::size_t n = 0; n < runs.size(); ++n) job.push_back(n);
  return coinciding(runs, job, curve);
}

TEST(Coinciding, CurvesThatDifferByLessThanAMarkerAreOne) {
  // From 2 to 0.02 there are 4.6 in natural logarithms; a fiftieth of that is 9 %.
  const report::Run first = run_of({2, 0.2, 0.02}), near = run_of({2, 0.21, 0.021}), far = run_of({2, 0.2, 0.025});
  EXPECT_THAT(groups({first, far, near}), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(groups({first, far, near}, Curve::kAccuracy), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(Coinciding, IsOfTrainingToo) {
  report::Run other = run_of({2, 1});
  other.record.training.epochs[1].train_loss = 1;
  EXPECT_THAT(groups({run_of({2, 1}), other}), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(Coinciding, RunsOfOtherLengthsAreNot) {
  EXPECT_THAT(groups({run_of({2, 1}), run_of({2, 1, 0.5}), run_of({})}),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(groups({}), ElementsAre());
}

TEST(Coinciding, LossesWithoutALogarithmAreLeftOut) {
  EXPECT_THAT(groups({run_of({1, 0}), run_of({1, 0})}), ElementsAre(ElementsAre(0, 1)));
}

}  // namespace

}  // namespace evener::report
