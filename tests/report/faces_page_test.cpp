// The page about faces: who is in which part, escaped names, and how it fits a small window.
#include "report/faces_page.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/test_folder.h"
#include "report/answers.h"
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
  return "base64," + base64(bytes) + "\"";
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
  std::string html = faces_html(page);
  // What dom_of() appends is a script, which the page itself forbids.
  const std::string policy = "default-src 'none'; style-src 'unsafe-inline'";
  ASSERT_NE(html.find(policy), std::string::npos);
  html.replace(html.find(policy), policy.size(), policy + "; script-src 'unsafe-inline'");
  std::ofstream(folder / "faces.html") << html;
  const std::string dom = test::dom_of(folder / "faces.html", folder / "profile", 500);
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
}

}  // namespace
}  // namespace evener::report
