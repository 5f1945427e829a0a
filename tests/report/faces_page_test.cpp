// The page about faces: who is in which part, escaped names, and how it fits a small window.
#include "report/faces_page.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/base64.h"
#include "base/test_folder.h"
#include "record/detection.h"
#include "report/browser_helpers.h"

namespace evener::report {
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
  // 60 + 320 x 0.25 to the right, 10 + 320 x 0.5 down.
  EXPECT_THAT(html, AllOf(HasSubstr("60.0,330.0 140.0,170.0 380.0,10.0"), HasSubstr("cx=\"140.0\" cy=\"90.0\""),
                          HasSubstr("&lt;9 pairs&gt;")));
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

TEST(FacesPage, CostsHaveAxesOrAreATable) {
  FacesPage page = sample();
  page.chunks = {{0, 50, 0, 2, 90, 300'000'000}, {1, 30, 0, 3, 80, 310'000'000}};
  const std::string few = part(faces_html(page), "What it cost");
  EXPECT_THAT(few, AllOf(HasSubstr("<td>50</td><td>2.0 s</td><td>25.0"), Not(HasSubstr("<svg"))));
  for (int i = 1; i < 5; ++i) page.chunks.push_back({0, 50, 2.0 * i, 2, 90, 300'000'000});
  const std::string many = part(faces_html(page), "What it cost");
  EXPECT_THAT(many, AllOf(HasSubstr("class=\"axis\""), HasSubstr("seconds since the start"), HasSubstr(">10</text>"),
                          HasSubstr(">20.0</text>"), HasSubstr(">100 MB</text>"), Not(HasSubstr("<table"))));
}

TEST(FacesPage, ItSaysWhenItShowsOnlyAPart) {
  FacesPage page = sample();
  page.all_faces = 5000;
  EXPECT_THAT(faces_html(page), HasSubstr("shows 5 of the faces; faces.csv has all"));
}

// RFC 4648, section 10.
TEST(FacesPage, FitsASmallWindowAndFetchesNothing) {
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  FacesPage page = sample();
  page.title = "/a/very/long/path/without/any/space/whatsoever/to/photos/of/a/long/summer/in/the/south/of/france";
  for (int i = 0; i < 40; ++i) page.faces.push_back(page.faces[0]);
  page.names_file = "/a/very/long/path/without/any/space/whatsoever/to/photos/of/a/long/summer/in/names.csv";
  for (int i = 0; i < 6; ++i) page.chunks.push_back({i % 2, 10, 1.0 * i, 1, 80, 300'000'000});
  std::ofstream(folder / "faces.html") << faces_html(page);
  const std::string dom = test::dom_of(folder / "faces.html", folder / "profile", 500);
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
}

}  // namespace
}  // namespace evener::report
