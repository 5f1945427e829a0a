// The page of labels that look wrong: harmless names, filters, ticks, and the list that it saves.
#include "report/labels_page.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/test_folder.h"
#include "report/browser_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A PNG file of one pixel.
constexpr std::string_view kPixel(
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x8\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9c"
    "c`\0\0\0\2\0\1H\xaf\xa4q\0\0\0\0IEND\xae"
    "B`\x82",
    67);

LabelOnPage label(const std::string& file, const std::string& kind, double score) {
  return {.file = file,
          .label = "cat",
          .suggested = "</script><b>dog",
          .probability = 0.9,
          .label_probability = 0.05,
          .score = score,
          .kind = kind,
          .part = "train",
          .small = std::string(kPixel),
          .small_type = "image/png",
          .link = "../photos/a%20b.jpg",
          .width = 400,
          .height = 300,
          .found = {},
          .labelled = {}};
}

LabelsPage doubts() {
  return {.title = "photos & more",
          .summary = {"2 of 90 labels look wrong."},
          .notes = {"a <note>"},
          .labels = {label("photos/a b.jpg", "wrong", 0.95), label("photos/c.jpg", "wrong", 0.8),
                     label("photos/d.jpg", "both", 0.5)},
          .all = 7};
}

TEST(LabelsPage, HasAllInItAndNamesAreNoMarkup) {
  const std::string html = labels_html(doubts());
  EXPECT_THAT(html, AllOf(HasSubstr("photos &amp; more"), HasSubstr("2 of 90 labels look wrong."),
                          HasSubstr("a &lt;note&gt;"), HasSubstr("data:image/png;base64,iVBOR"),
                          HasSubstr("../photos/a%20b.jpg"), HasSubstr("the worst 3 of 7"), Not(HasSubstr("<b>dog"))));
  EXPECT_THAT(html, Not(HasSubstr("class=\"soft legend\"")));
  LabelsPage boxes = doubts();
  boxes.has_boxes = true;
  boxes.labels[0].found = {{40, 30, 200, 150}};
  EXPECT_THAT(labels_html(boxes), AllOf(HasSubstr("[0.1,0.1,0.5,0.5]"), HasSubstr("class=\"soft legend\"")));
}

TEST(LabelsPage, SaysWhereNothingIsWrong) {
  LabelsPage page = doubts();
  page.labels.clear();
  page.all = 0;
  EXPECT_THAT(labels_html(page), AllOf(HasSubstr("No label looks wrong."), Not(HasSubstr("<script"))));
}

TEST(LabelsPage, TicksAndSavesWhatIsShown) {
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  const auto dom = [&](const std::string& then) {
    std::ofstream(folder / "labels.html") << labels_html(doubts()) << "<script>" << then << "</script>";
    return test::dom_of(folder / "labels.html", folder / "profile", 400);
  };
  EXPECT_THAT(dom(""), AllOf(HasSubstr("3 of 3 shown, 0 ticked"), HasSubstr("wrong class (2)"),
                             HasSubstr("looks like both (1)"), HasSubstr("data-overflow=\"overflow=false\"")));
  const std::string ticked =
      dom("byId('kind').value = 'wrong'; filter(); byId('tick').click();"
          "HTMLAnchorElement.prototype.click = function() { document.body.dataset.saved = this.download + '|' + "
          "decodeURIComponent(this.href); }; save();");
  EXPECT_THAT(ticked, AllOf(HasSubstr("2 of 3 shown, 2 ticked"), HasSubstr("Save drop.txt (2)"),
                            HasSubstr("drop.txt|data:text/plain;charset=utf-8,photos/a b.jpg\nphotos/c.jpg\n")));
  const std::string keys =
      dom("localStorage.clear(); mark(0, false); mark(1, false);"
          "const press = key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));"
          "cards[0].shown.focus(); press('ArrowRight'); press(' '); show(current); press('ArrowRight'); press(' ');"
          "document.body.dataset.at = current + ' ' + viewer.open + ' ' + ticked().join(',');");
  EXPECT_THAT(keys, HasSubstr("data-at=\"2 true photos/c.jpg,photos/d.jpg\""));
}

}  // namespace
}  // namespace evener::report
