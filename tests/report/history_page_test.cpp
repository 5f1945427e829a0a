// The page of a history, as text and as a browser shows it.
#include "report/history_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/test_folder.h"
#include "report/browser_helpers.h"
#include "report/made_history_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A cell that became slower, with a run that doesn't count, and one that didn't.
History made_history() {
  std::vector<HistoryRun> runs = test::runs_of_nights({.slower_from = 35});
  runs[20].left_out = "INVALID: <swap>";
  for (HistoryRun& run : test::runs_of_nights({.count = 20, .placement = "cpu/t1"})) runs.push_back(std::move(run));
  return history_of(std::move(runs));
}

TEST(HistoryPage, SaysAllWithoutPlots) {
  const std::string page = history_page(made_history(), {"a <b>limit</b>"}, "", "No plots: testing");
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>1 change found</h1>"), HasSubstr("80 runs of 2 cells from 2026-10-01 to"),
                          HasSubstr("program bbbbbbbb"), HasSubstr("No plots: testing")));
  EXPECT_THAT(page, AllOf(HasSubstr("a &lt;b&gt;limit"), Not(HasSubstr("<swap>")), HasSubstr("&lt;swap&gt;")));
  EXPECT_LT(page.find("<h2>train resnet34 on synth:masks, cpu/t2"),
            page.find("<h2>train resnet34 on synth:masks, cpu/t1"))
      << "what changed comes first";
}

class HistoryInBrowser : public testing::TestWithParam<int> {};

TEST_P(HistoryInBrowser, PlotsEachFigureWithItsChange) {
  if (const std::string why = test::why_no_browser(); !why.empty()) GTEST_SKIP() << why;
  const test::TestFolder folder;
  const WrittenPage page = write_history_page(folder / "history.html", made_history(), {});
  ASSERT_EQ(page.hint, "");
  std::ofstream(page.path, std::ios::app) << R"(<script>
    window.addEventListener('load', () => {
      const plot = [...document.querySelectorAll('.plot')].find((one) => one.layout.annotations.length);
      document.body.dataset.change = 'change=' + plot.layout.annotations.map((one) => one.text).join();
      document.body.dataset.traces = 'traces=' + plot.data.map((one) => one.name + ' ' + one.x.length).join();
    });</script>)";
  const std::string dom = test::dom_of(page.path, folder / "profile", GetParam());
  const std::string body = dom.substr(dom.find("<main"), dom.find("</main>") - dom.find("<main"));
  std::size_t plots = 0;
  for (std::size_t at = 0; (at = body.find("class=\"plot js-plotly-plot\"", at)) != std::string::npos; ++at) ++plots;
  EXPECT_EQ(plots, 4U);  // three figures of the cell that changed, and the speed of the other
  EXPECT_THAT(body, HasSubstr("id=\"problem\" hidden"));
  EXPECT_THAT(dom, AllOf(HasSubstr("% slower&lt;/b&gt;&lt;br&gt;2026-11-05"),
                         HasSubstr("traces=runs 59,not counted 1,level 6")));
  EXPECT_THAT(dom, AllOf(HasSubstr("data-requests=\"requests=0 \""), HasSubstr("data-overflow=\"overflow=false\"")));
}

INSTANTIATE_TEST_SUITE_P(Widths, HistoryInBrowser, testing::Values(1400, 400));

}  // namespace
}  // namespace evener::report
