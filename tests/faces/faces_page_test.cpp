// The page about faces: who is in which part, escaped names, and how it fits a small window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/base64.h"
#include "base/test_folder.h"
#include "faces/page/page.h"
#include "support/browser_helpers.h"

namespace evener::faces {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

FacesPage sample() {
  FacesPage page;
  page.title = "photos/";
  page.summary = {"5 faces on 4 photos."};
  page.photos = 4;
  page.all_faces = 5;
  page.faces = {{"a.jpg", "one", 0.99, 6, true},
                {"b.jpg", "two", 0.9999, 6, true},
                {"c.jpg", "three", 0.98, -1, true},
                {"d.jpg", "four", 0.71, -1, false},
                {"d.jpg", "five", 0.8, 6, false}};
  page.pairs = {{0, 1, 0.25}};
  page.histogram.assign(100, 0);
  page.histogram[12] = 1;
  page.histogram[70] = 9;
  return page;
}

/// What stands between a heading and the next.
std::string part(const std::string& html, const std::string& heading) {
  const std::size_t begin = html.find("<h2>" + heading);
  return begin == std::string::npos ? "" : html.substr(begin, html.find("<h2>", begin + 4) - begin);
}

std::string picture(const std::string& bytes) {
  return "base64," + to_base64(bytes) + "\"";
}

TEST(FacesPage, EveryFaceStandsInItsPart) {
  const std::string html = faces_html(sample());
  EXPECT_THAT(
      part(html, "Who is who"),
      AllOf(HasSubstr("Person 7"), HasSubstr("on 3 photos"), HasSubstr(picture("one")), HasSubstr(picture("two")),
            HasSubstr(picture("five")), Not(HasSubstr(picture("three"))), Not(HasSubstr(picture("four")))));
  EXPECT_LT(html.find(picture("two")), html.find(picture("one"))) << "the likeliest stands for the person";
  EXPECT_THAT(part(html, "Seen once"), AllOf(HasSubstr(picture("three")), Not(HasSubstr(picture("four")))));
  EXPECT_THAT(part(html, "Unclear"), AllOf(HasSubstr(picture("four")), Not(HasSubstr(picture("three")))));
  EXPECT_THAT(part(html, "Most alike"),
              AllOf(HasSubstr("0.250"), HasSubstr(picture("one")), HasSubstr(picture("two"))));
  EXPECT_THAT(html, AllOf(HasSubstr("<b>1</b><span>person seen more than once"), HasSubstr("<b>4</b><span>photos")));
  EXPECT_THAT(html, Not(HasSubstr("The page shows")));
}

TEST(FacesPage, NotesStandBeforeTheFaces) {
  FacesPage page = sample();
  page.notes = {"random weights, <b>mind</b>"};
  const std::string html = faces_html(page);
  EXPECT_LT(html.find("random weights, &lt;b&gt;mind"), html.find("Who is who"));
}

TEST(FacesPage, GroupsByRandomWeightsAreNoPersons) {
  FacesPage page = sample();
  page.tells_persons = false;
  const std::string html = faces_html(page);
  EXPECT_THAT(part(html, "Who is who"), HasSubstr("the embedder has random weights, so that these groups"));
  EXPECT_THAT(html, Not(HasSubstr("person seen more than once")));
}

TEST(FacesPage, AFaceStandsInOnePairOnly) {
  FacesPage page = sample();
  page.pairs = {{0, 1, 0.25}, {0, 2, 0.3}, {1, 2, 0.35}, {2, 3, 0.4}};
  const std::string pairs = part(faces_html(page), "Most alike");
  EXPECT_THAT(pairs, AllOf(HasSubstr("0.250"), HasSubstr("0.400"), Not(HasSubstr("0.300")), Not(HasSubstr("0.350"))));
}

TEST(FacesPage, NamesOfFilesAreNoMarkup) {
  FacesPage page = sample();
  page.title = "<script>alert(1)</script>";
  page.faces[0].file = "a\"><img src=x onerror=alert(1)>&.jpg";
  page.summary = {"<b>bold</b>"};
  const std::string html = faces_html(page);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<img src=x")), Not(HasSubstr("<b>bold"))));
  EXPECT_THAT(html, AllOf(HasSubstr("&lt;script&gt;"), HasSubstr("&quot;&gt;&lt;img"), HasSubstr("&amp;.jpg")));
}

TEST(FacesPage, APageWithoutFacesSaysSo) {
  FacesPage page;
  page.title = "empty/";
  page.photos = 1;
  const std::string html = faces_html(page);
  EXPECT_THAT(html,
              AllOf(HasSubstr("No two faces are alike"), HasSubstr("<b>1</b><span>photo<"), HasSubstr("<b>0</b>")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<svg")), Not(HasSubstr("Most alike")), Not(HasSubstr("Unclear"))));
}

TEST(FacesPage, JudgedPairsHaveTheirCurve) {
  FacesPage page = sample();
  EXPECT_THAT(faces_html(page), Not(HasSubstr("told apart")));
  page.judgement = {"<9 pairs>", {{0, 0}, {0.25, 0.5}, {1, 1}}, 0.25};
  const std::string html = part(faces_html(page), "How well persons are told apart");
  EXPECT_THAT(html, AllOf(HasSubstr("<svg id=\"judgement\""), HasSubstr("&lt;9 pairs&gt;")));
  EXPECT_THAT(faces_html(page),
              AllOf(HasSubstr("\"curve\":[[0.0,0.0],[0.25,0.5],[1.0,1.0]]"), HasSubstr("\"equal_error_rate\":0.25")));
}

TEST(FacesPage, AFaceLeadsToItsPhoto) {
  FacesPage page = sample();
  page.faces[0].link = "../photos/a%20b.jpg";
  page.faces[0].box = {10, 20.5, 30, 44};
  const std::string html = faces_html(page);
  EXPECT_THAT(part(html, "Who is who"),
              AllOf(HasSubstr("<a class=\"face\" href=\"../photos/a%20b.jpg\" data-box=\"10.0 20.5 30.0 44.0\""),
                    HasSubstr("data-words=\"Person 7, a.jpg (99.0 %)\"")));
  EXPECT_THAT(html, HasSubstr("<dialog id=\"photo\">"));
}

TEST(FacesPage, PersonsHaveTheirNames) {
  FacesPage page = sample();
  page.names = {{6, "Ann <b>"}, {11, "Bo \"B\""}};
  page.names_file = "runs/family/names.csv";
  const std::string who = part(faces_html(page), "Who is who");
  EXPECT_THAT(who, AllOf(HasSubstr("data-group=\"7\" value=\"Ann &lt;b&gt;\""), HasSubstr("runs/family/names.csv"),
                         HasSubstr("--resume"), HasSubstr("Person 7, on 3 photos")));
  EXPECT_THAT(who, HasSubstr("data-others=\"&quot;12,\\&quot;Bo \\&quot;\\&quot;B"))
      << "the file that it saves keeps the names of others";
}

TEST(FacesPage, CostsOfAFewChunksAreATableAndOfMorePlots) {
  FacesPage page;
  const auto costs = [&page] { return part(faces_html(page), "What it cost"); };
  EXPECT_EQ(costs(), "");
  page.chunks = {{.worker = 1, .photos = 30, .begin_s = 0, .seconds = 10, .cpu_percent = 80, .rss_bytes = 5'000'000},
                 {.worker = 0, .photos = 20, .begin_s = 5, .seconds = 4, .cpu_percent = 50, .rss_bytes = 4'000'000},
                 {.worker = 0, .photos = 90, .begin_s = 0, .seconds = 3, .cpu_percent = 90, .rss_bytes = 3'000'000}};
  EXPECT_THAT(costs(), HasSubstr("<td>1</td><td>90</td><td>3.0 s</td><td>30.0</td><td>90 %</td><td>3 MB</td></tr>"
                                 "<tr><td>1</td><td>20</td><td>4.0 s</td><td>5.00</td><td>50 %</td><td>4 MB</td></tr>"
                                 "<tr><td>2</td><td>30</td><td>10.0 s</td><td>3.00</td><td>80 %</td>"));
  EXPECT_THAT(costs(), Not(HasSubstr("<svg")));
  page.chunks.push_back({.worker = 2, .photos = 1, .begin_s = 0, .seconds = 0});  // took no time: none
  EXPECT_THAT(costs(), Not(HasSubstr("<svg")));
  page.chunks.back() = {
      .worker = 2, .photos = 24, .begin_s = 12, .seconds = 8, .cpu_percent = 10, .rss_bytes = 6'000'000};
  EXPECT_THAT(costs(), AllOf(HasSubstr("<svg id=\"speed\""), HasSubstr("<svg id=\"memory\""), Not(HasSubstr("<table")),
                             HasSubstr("computing for 54 % of the time")))
      << "(800 + 200 + 270 + 80) / 25 seconds";
  EXPECT_THAT(faces_html(page), HasSubstr("{\"begin_s\":12.0,\"color\":\"#009e73\",\"end_s\":20.0,\"rate\":3.0,"
                                          "\"rss_bytes\":6000000}"));
  for (ChunkOnPage& chunk : page.chunks) chunk.seconds /= 100;
  EXPECT_THAT(costs(), HasSubstr("computing for 54 % of the time")) << "of a quarter of a second";
}

TEST(FacesPage, FitsASmallWindowAndFetchesNothing) {
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  FacesPage page = sample();
  page.title = "/a/very/long/path/without/any/space/whatsoever/to/photos/of/a/long/summer/in/the/south/of/france";
  for (int i = 0; i < 40; ++i) page.faces.push_back(page.faces[0]);
  page.names_file = "/a/very/long/path/without/any/space/whatsoever/to/photos/of/a/long/summer/in/names.csv";
  for (int i = 0; i < 6; ++i) page.chunks.push_back({i % 2, 10, 1.0 * i, 1, 80, 300'000'000});
  page.judgement = {"9 pairs.", {{0, 0}, {0.25, 0.5}, {1, 1}}, 0.25};
  std::ofstream(folder / "faces.html") << faces_html(page);
  const std::string dom = test::dom_of(folder / "faces.html", folder / "profile", 500);
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
  for (const char* drawn : {"class=\"near\"", "class=\"limit\"", "class=\"chance\"", "class=\"chunk\"",
                            "points=\"60,330 140,170 380,10\"", ">10</text>", ">300 MB</text>"}) {
    EXPECT_THAT(dom, HasSubstr(drawn));
  }
}

FaceOnPage face(int group, double probability, bool clear = true) {
  FaceOnPage made;
  made.file = "p" + std::to_string(static_cast<int>(100 * probability)) + ".jpg";
  made.image = "x";
  made.probability = probability;
  made.group = group;
  made.clear = clear;
  return made;
}

TEST(FacesPageRules, PersonsWithMostFacesComeFirstAndTheirClearestFaceLeads) {
  FacesPage page;
  page.photos = 1;
  page.all_faces = 7;
  page.faces = {face(4, 0.5), face(4, 0.6),  face(2, 0.7, false), face(2, 0.2),
                face(2, 0.3), face(-1, 0.9), face(-1, 0.4, false)};
  const std::string html = faces_html(page);
  EXPECT_THAT(html, HasSubstr("<b>1</b><span>photo</span>"));
  EXPECT_THAT(html, HasSubstr("<b>7</b><span>faces</span>"));
  EXPECT_THAT(html, HasSubstr("<b>2</b><span>persons seen more than once</span>"));
  EXPECT_LT(html.find("Person 3"), html.find("Person 5"));
  const std::size_t three = html.find("on 3 photos"), two = html.find("on 2 photos");
  ASSERT_LT(three, two);
  EXPECT_LT(html.find("p30.jpg"), html.find("p20.jpg")) << "clear and surest";
  EXPECT_LT(html.find("p20.jpg"), html.find("p70.jpg")) << "surer, but not clear";
  EXPECT_LT(html.find("p60.jpg"), html.find("p50.jpg"));
  EXPECT_THAT(html, HasSubstr("Seen once <span class=\"soft\">1</span>"));
  EXPECT_THAT(html, HasSubstr("Unclear <span class=\"soft\">1</span>"));
  EXPECT_THAT(html, Not(HasSubstr("of the faces; faces.csv has all")));
  page.all_faces = 8;
  EXPECT_THAT(faces_html(page), HasSubstr("The page shows 7 of the faces"));
  page.tells_persons = false;
  EXPECT_THAT(faces_html(page), Not(HasSubstr("seen more than once</span>")));
}

TEST(FacesPageRules, TheHistogramHasItsLimit) {
  FacesPage page;
  page.histogram = {0, 34, 17, 1000, 1};
  page.limit = 0.8;
  EXPECT_THAT(faces_html(page), AllOf(HasSubstr("<svg id=\"histogram\""), HasSubstr("the line (0.80)"),
                                      HasSubstr("\"histogram\":[0,34,17,1000,1],\"limit\":0.8")));
  page.histogram = {0, 0};
  EXPECT_THAT(faces_html(page), Not(HasSubstr("How far faces are apart")));
}

}  // namespace
}  // namespace evener::faces
