#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/occurrences.h"
#include "base/test_folder.h"
#include "report/html_parts.h"
#include "support/browser_helpers.h"
#include "support/sample_records_helpers.h"

namespace evener::report {
namespace {

using test::occurrences;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<report::Run> sample_runs() {
  return {
      test::sample_run("masks-t1", {.placement = "cpu/t1", .images_per_s = 14.5}),
      test::sample_run("masks-t2", {.placement = "cpu/t2", .images_per_s = 26.9}),
      test::sample_run("digits", {.model = "mlp:784-10", .data = "synth:digits", .images_per_s = 40000, .epochs = 5})};
}

TEST(Html, TellsTheMainThingsWithoutPlots) {
  const std::string page = html_page(sample_runs(), "", "No plots: testing");
  EXPECT_THAT(page, HasSubstr("as fast as on cpu/t1"));
  EXPECT_THAT(page, HasSubstr("No plots: testing"));
  EXPECT_THAT(page, HasSubstr("AMD EPYC 9B14"));
  EXPECT_THAT(page, HasSubstr("<span>--data</span> <span>synth:masks</span>"));
  EXPECT_THAT(page, HasSubstr("no energy counters"));
  EXPECT_THAT(page, HasSubstr("torch 2.11.0"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(Html, TellsWhatEachReplicaDid) {
  std::vector<report::Run> runs = {test::sample_run("masks")};
  EXPECT_EQ(html_page(runs, "", "").find("<h2>Replicas"), std::string::npos) << "there was one";
  record::ReplicaRecord fast, slow;
  fast.stages = {{"cpu", 1, {0}, std::nullopt}};
  fast.samples = 750;
  fast.share = 0.75;
  fast.busy_s = 50;
  slow.host = "<b>";
  slow.stages = {{"cpu", 1, {1}, 0.25}};
  auto& record = runs.front().record;
  record.placement.replicas = {fast, slow};
  record.times.train = 60;
  record.placement.divisions = {{0, {10, 6}}, {4, {11, 5}}, {9, {12, 4}}};
  const std::string page = html_page(runs, "", "");
  EXPECT_THAT(page, HasSubstr("divided 10 : 6 at first and 12 : 4 from step 10 on, after 2 changes"));
  EXPECT_THAT(page, AllOf(HasSubstr("data-title=\"images/s while busy\"><span>15.0</span>"),
                          HasSubstr("data-title=\"share\"><span>75.0 %</span>"),
                          HasSubstr("data-title=\"busy\"><span>50.0 s</span>"),
                          HasSubstr("data-title=\"exchange, waiting, update\"><span>10.0 s</span>"),
                          HasSubstr("<span>&lt;b&gt;: cpu/t1, slowed to 25.0 % of its speed</span>")));
}

TEST(Html, TellsWhatWasTakenForWhat) {
  std::vector<report::Run> runs = {test::sample_run("masks")};
  EXPECT_EQ(html_page(runs, "", "").find("<h2>Classes"), std::string::npos) << "nothing was counted";
  runs.front().record.data.classes = {"bream", "<i>cod</i>", "empty"};
  runs.front().record.confusion = {"test", {{8, 2, 0}, {1, 3, 0}, {0, 0, 0}}};
  const std::string page = html_page(runs, "", "");
  EXPECT_THAT(page, AllOf(HasSubstr("<td>&lt;i&gt;cod&lt;/i&gt; (2 of 10)</td>"), HasSubstr("80.0"), HasSubstr("75.0"),
                          HasSubstr("<td class=\"number\">–</td><td>never</td>")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  // As a class and as a mistake in the list, as a column and as a row of the matrix, and in the table of all values.
  EXPECT_EQ(occurrences(page, "&lt;i&gt;cod&lt;/i&gt;"), 5u);
}

TEST(Html, SaysTheConclusionInSentences) {
  std::vector<report::Run> runs = sample_runs();
  runs[1].record.validity = {false, {{"other load", "others used 40 %", "end them"}}};
  const std::string page = html_page(runs, "", "");
  EXPECT_THAT(page, HasSubstr("<p class=\"lead\">Where resnet34 trains fastest stays undecided, "));
  EXPECT_THAT(page, HasSubstr("<p class=\"lead\">mlp:784-10 trained 5 epochs"));
  EXPECT_THAT(page, HasSubstr("<p class=\"lead\">masks-t2 ran beside other programs ("));
  EXPECT_THAT(page, AllOf(HasSubstr("<span class=\"badge in-passing\">beside other programs</span>"),
                          HasSubstr("<div class=\"why in-passing\">"), Not(HasSubstr("lead warns"))));
  runs[1].record.validity = {false, {{"swap", "1 GB were swapped out", "use a smaller --batch"}}};
  EXPECT_THAT(html_page(runs, "", ""),
              HasSubstr("<p class=\"lead warns\">INVALID as measurements: masks-t2 (swap).</p>"));
}

TEST(Html, CallsRunsByWhatSetsThemApart) {
  std::vector<report::Run> runs = sample_runs();
  runs[1].name = "a-name-of-a-folder-that-is-much-too-long-to-stand-beside-a-bar";
  const std::string page = html_page(runs, "/* Plotly */");
  EXPECT_THAT(page, HasSubstr("<div class=\"name\">cpu/t2 "));
  EXPECT_THAT(page, HasSubstr("<div class=\"way\">" + runs[1].name + ": fp32, batch 32</div>"));
  EXPECT_THAT(page, HasSubstr("\"label\":\"cpu/t2\""));
  runs[1].record.placement.text = "cpu/t1";
  EXPECT_THAT(html_page(runs, ""), HasSubstr("<div class=\"name\">cpu/t1 (" + runs[1].name + ") "));
}

TEST(Html, ManyRunsOfAJobGetATableOfWhatDiffers) {
  std::vector<report::Run> runs;
  for (int threads = 1; threads <= 7; ++threads) {
    const std::string placement = "cpu/t" + std::to_string(threads);
    runs.push_back(test::sample_run(placement, {.placement = placement.c_str(), .images_per_s = 10.0 * threads}));
  }
  const std::string page = html_page(runs, "", "");
  EXPECT_THAT(page, Not(HasSubstr("class=\"card run\"")));
  EXPECT_THAT(page, AllOf(HasSubstr("<th>placement</th>"), HasSubstr("<th class=\"number\">images/s</th>"),
                          HasSubstr("data-title=\"peak memory\"")));
  const std::size_t begin = page.find("<table class=\"figures\">");
  const std::string heads = page.substr(begin, page.find("</thead>", begin) - begin);
  for (const char* same : {">model<", ">precision<", ">batch<", ">energy<"}) {
    EXPECT_THAT(heads, Not(HasSubstr(same))) << "all runs have the same";
  }
  EXPECT_THAT(heads, HasSubstr(">valid<"));
}

TEST(Html, FetchesNothing) {
  const std::string page = html_page(sample_runs(), "/* Plotly */");
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy\" content=\"default-src 'none'"));
  for (const char* way_out : {"http://", "https://", "@import", "<link", "<iframe", "src=", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(way_out)));
  }
}

TEST(Html, TextFromOutsideStaysText) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  std::vector<report::Run> runs = sample_runs();
  report::Run& run = runs[0];
  run.name = evil;
  run.record.model.name = evil;
  run.record.data.location = evil;
  run.record.data.classes = {evil};
  run.record.confusion = {evil, {{1}}};
  run.record.placement.text = evil;
  run.record.command = {evil};
  run.record.machine.cpu = evil;
  run.record.machine.os = evil;
  run.record.versions[evil] = evil;
  run.record.notes = {evil};
  run.record.missing[evil] = evil;
  run.record.config[evil] = "\"evil\"";
  run.record.metrics[evil] = {.name = evil, .unit = evil, .title = evil, .label = evil};
  run.record.phases_s[evil] = 1;
  run.record.validity = {false, {{evil, evil, evil}}};
  const std::string page = html_page(runs, "/* Plotly */");
  EXPECT_EQ(occurrences(page, "alert(1)</script"), 0u);
  EXPECT_EQ(occurrences(page, "<img"), 0u);
  EXPECT_EQ(occurrences(page, "<script"), 4u);  // data, Plotly, plots of latency, and of the rest
}

TEST(Html, RunsWithHardlyAnythingStillGiveAPage) {
  report::Run empty;
  empty.name = "empty";
  const std::string page = html_page(std::vector<report::Run>{empty}, "");
  EXPECT_THAT(page, HasSubstr("empty"));
  EXPECT_THROW(html_page({}, ""), Error);
}

TEST(Html, PartsStandInTheirPlacesWithTheirDataAndScripts) {
  const std::vector<PagePart> parts = {
      {.html = "<b>details</b>", .is_detail = true},
      {.html = "<b>results</b>", .name = "hits", .plots = {7, nullptr, 9}, .style = ".hit {}", .script = "part_1();"}};
  const std::string page = html_page(sample_runs(), "/* Plotly */", "", parts);
  std::size_t last = 0;
  for (const char* next :
       {"<style>.hit {}</style>", "<div class=\"runs\">", "<b>results</b>", "<b>details</b>", "<h2>What was run",
        "\"hits\":7", "\"hits\":null", "\"hits\":9", "/* Plotly */", "<script>part_1();</script>", "draw_part"}) {
    ASSERT_NE(page.find(next, last), std::string::npos) << next;
    last = page.find(next, last);
  }
  EXPECT_THAT(page, Not(AnyOf(HasSubstr("<style></style>"), HasSubstr("<script></script>"))));
  EXPECT_THAT(html_page(sample_runs(), "", "", parts), AllOf(HasSubstr("<b>results</b>"), Not(HasSubstr("<script"))));
}

TEST(WriteHtml, WithoutPlotlyThePageIsWrittenWithAHint) {
  const test::TestFolder folder;
  const WrittenPage page = write_html(folder / "report.html", sample_runs(), {}, folder / "missing/plotly.min.js");
  EXPECT_THAT(page.hint, HasSubstr("missing/plotly.min.js"));
  EXPECT_THAT(page.hint, HasSubstr("EVENER_PLOTLY"));
  EXPECT_THAT(read_file(folder / "report.html"), HasSubstr("EVENER_PLOTLY"));
}

TEST(WriteHtml, AFileThatIsNotPlotlyIsRefused) {
  const test::TestFolder folder;
  std::ofstream(folder / "evil.js") << "Plotly </script>";
  EXPECT_THAT(write_html(folder / "report.html", sample_runs(), {}, folder / "evil.js").hint,
              HasSubstr("is not Plotly"));
}

TEST(WriteHtml, TheEnvironmentNamesPlotly) {
  setenv("EVENER_PLOTLY", "/somewhere/plotly.min.js", 1);
  EXPECT_EQ(plotly_path(), "/somewhere/plotly.min.js");
  unsetenv("EVENER_PLOTLY");
  EXPECT_NE(plotly_path(), "/somewhere/plotly.min.js");
}

class InBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  }
  test::TestFolder folder_;
};

class AtWidth : public InBrowser, public ::testing::WithParamInterface<int> {};

TEST_P(AtWidth, PlotsAreDrawnAndNothingIsFetched) {
  std::vector<report::Run> runs = sample_runs();
  runs[1].record.placement.text = "<b>bold</b> & </script>";
  runs[0].record.placement.replicas.push_back(runs[0].record.placement.replicas.front());
  runs[0].record.confusion = {"test", std::vector(9, std::vector<std::int64_t>(9, 11))};
  const WrittenPage page = write_html(folder_ / "report.html", runs);
  ASSERT_EQ(page.hint, "");
  const std::string dom = test::dom_of(page.path, folder_ / "profile", GetParam());
  // Parts of Plotly's own source stand in the DOM too: look at the page's body before the scripts.
  const std::string body = dom.substr(dom.find("<main"), dom.find("</main>") - dom.find("<main"));
  EXPECT_EQ(occurrences(body, "class=\"plot js-plotly-plot\""), 12u);  // six for each of two jobs
  EXPECT_GT(occurrences(body, "class=\"js-line\""), 20u);              // curves
  EXPECT_GT(occurrences(body, "class=\"point\""), 60u);                // bars, dots
  EXPECT_THAT(body, HasSubstr("id=\"problem\" hidden"));
  EXPECT_THAT(body, Not(HasSubstr("could not be drawn")));
  EXPECT_THAT(body, HasSubstr("&lt;b&gt;bold&lt;/b&gt;"));
  EXPECT_THAT(body, Not(HasSubstr(">bold</tspan>")));  // Plotly would have read it as markup
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
  EXPECT_THAT(dom, HasSubstr("data-saved=\"saved=training-speed-resnet34-on-synth-masks.svg "
                             "training-speed-resnet34-on-synth-masks.png \""));
  EXPECT_THAT(dom, HasSubstr("data-curves=\"curves=4 on a log axis\""));
  EXPECT_THAT(dom, HasSubstr("data-cut=\"cut=0 of 7\""));
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
}

TEST_F(InBrowser, LongPathsStayOnANarrowPage) {
  std::vector<report::Run> runs = sample_runs();
  runs[0].record.data.location = "/photos/" + std::string(200, 'x');
  const WrittenPage page = write_html(folder_ / "report.html", runs);
  const std::string dom = test::dom_of(page.path, folder_ / "profile", 400);
  EXPECT_THAT(dom, HasSubstr(std::string(200, 'x') + "</h2>"));
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
}

INSTANTIATE_TEST_SUITE_P(Narrow, AtWidth, ::testing::Values(1200, 400));

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

TEST_F(InBrowser, CurvesThatDifferByLessThanAMarkerAreDrawnOnce) {
  // From 2 to 0.02 there are 4.6 in natural logarithms; a fiftieth of that is 9 %. Others end earlier, or have a
  // training.
  std::vector<report::Run> runs = {run_of({2, 0.2, 0.02}), run_of({2, 0.2, 0.025}), run_of({2, 0.21, 0.021}),
                                   run_of({2, 0.2}), run_of({2, 0.2, 0.02})};
  runs[4].record.training.epochs[1].train_loss = 1;
  const WrittenPage page = write_html(folder_ / "report.html", runs);
  EXPECT_THAT(test::dom_of(page.path, folder_ / "profile", 1200), HasSubstr("data-curves=\"curves=5 on a log axis\""))
      << "four groups, of which one has a training too";
}

TEST_F(InBrowser, CurvesThatLieOnEachOtherAreDrawnOnce) {
  std::vector<report::Run> runs = sample_runs();
  runs[1].record.training = runs[0].record.training;
  const WrittenPage page = write_html(folder_ / "report.html", runs);
  const std::string dom = test::dom_of(page.path, folder_ / "profile", 1200);
  EXPECT_THAT(dom, HasSubstr("data-curves=\"curves=2 on a log axis\""));
  EXPECT_EQ(occurrences(dom, "The curves of cpu/t1 and cpu/t2 lie on each other and are drawn as one."), 2u);
}

TEST_F(InBrowser, PlotsThatWouldSayNothingAreLeftOut) {
  report::Run run = test::sample_run("masks", {.epochs = 2});
  run.samples.time_s.resize(4);
  for (auto* column :
       {&run.samples.cpu_percent, &run.samples.others_percent, &run.samples.rss_bytes, &run.samples.pss_bytes}) {
    column->resize(4);
  }
  const WrittenPage page = write_html(folder_ / "report.html", std::vector<report::Run>{run});
  EXPECT_THAT(test::dom_of(page.path, folder_ / "profile", 1200),
              AllOf(HasSubstr("id=\"plot-speed-0\""), Not(HasSubstr("id=\"plot-loss-0\"")),
                    Not(HasSubstr("id=\"plot-memory-0\"")),
                    HasSubstr("Accuracy and loss are not drawn: 2 epochs. CPU use and memory are not drawn: too short, "
                              "with 4 samples.")));
}

TEST_F(InBrowser, PartsDrawTheirPlots) {
  const std::vector<PagePart> parts = {
      {.html = "<div id=\"drawn\"></div>",
       .name = "hits",
       .plots = {7, 8, nullptr},
       .script = "(window.part_plots ||= []).push(({ plain }, job, runs) => { document.getElementById('drawn')"
                 ".textContent += plain(job + ':' + runs.map((run) => run.hits)) + ';'; });"}};
  const WrittenPage page = write_html(folder_ / "report.html", sample_runs(), parts);
  EXPECT_THAT(test::dom_of(page.path, folder_ / "profile", 1200), HasSubstr("<div id=\"drawn\">0:7,8;1:;"));
}

TEST_F(InBrowser, AnErrorInThePlotsIsShown) {
  std::ofstream(folder_ / "broken.js") << "window.Plotly = { react() { throw new Error('broken on purpose'); } };";
  const WrittenPage page = write_html(folder_ / "report.html", sample_runs(), {}, folder_ / "broken.js");
  EXPECT_THAT(test::dom_of(page.path, folder_ / "profile", 1400), HasSubstr("could not be drawn: broken on purpose"));
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace evener::report
