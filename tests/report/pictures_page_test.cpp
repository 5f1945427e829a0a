// The page of pictures with boxes: harmless names, and filters that hide pictures.
#include "report/pictures_page.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/test_folder.h"
#include "report/browser_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

PicturesPage found() {
  return {.least = 0.25,
          .classes = {{"cat", "#d55e00"}, {"</script><b>dog", "#0072b2"}},
          .pictures = {{.file = "photos/a b#1.png",
                        .picture = "a b#1.jpg",
                        .small = "small/a b#1.jpg",
                        .width = 400,
                        .height = 300,
                        .boxes = {{0, 0.9, 0.1, 0.2, 0.5, 0.6}, {1, 0.3, 0, 0, 1, 1}}},
                       {.file = "photos/none.png",
                        .picture = "none.jpg",
                        .small = "small/none.jpg",
                        .width = 30,
                        .height = 40,
                        .boxes = {}}}};
}

TEST(PicturesPage, NamesAreNoMarkupAndLinksAreAddresses) {
  const std::string html = pictures_html(found());
  EXPECT_THAT(html, AllOf(HasSubstr("a%20b%231.jpg"), HasSubstr("small/a%20b%231.jpg"), Not(HasSubstr("<b>dog"))));
}

TEST(PicturesPage, ShowsWhatTheFilterLeaves) {
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  const auto dom = [&](const std::string& then) {
    std::ofstream(folder / "index.html") << pictures_html(found()) << then;
    return test::dom_of(folder / "index.html", folder / "profile", 400);
  };
  const std::string all = dom("");
  EXPECT_THAT(all, AllOf(HasSubstr("2 of 2 pictures, 2 boxes"), HasSubstr("cat 0.90"), HasSubstr("cat (1)"),
                         HasSubstr("data-overflow=\"overflow=false\"")));
  const std::string likely = dom("<script>least.value = 0.5; show();</script>");
  EXPECT_THAT(likely, AllOf(HasSubstr("1 of 2 pictures, 1 box<"), HasSubstr("<figure hidden=")));
  EXPECT_THAT(dom("<script>chosen.value = NOTHING; show();</script>"), HasSubstr("1 of 2 pictures, 0 boxes"));
}

TEST(PicturesPage, ShowsWhatIsOfTheWholePicture) {
  PicturesPage page{.title = "Labels of <photos>",
                    .noun = "label",
                    .notes = {"1 of 9 labels looks <wrong>."},
                    .classes = {{"wrong", "#d55e00"}, {"likely", "#e69f00"}},
                    .pictures = {{.file = "a.png",
                                  .picture = "",
                                  .small = "data:image/png;base64,iVBOR+/=",
                                  .width = 40,
                                  .height = 30,
                                  .boxes = {{.label = 1, .score = 0.8}},
                                  .told = "labelled cat, looks like </script><b>dog"}}};
  const std::string html = pictures_html(page);
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>Labels of &lt;photos&gt;</h1>"), HasSubstr("1 of 9 labels looks &lt;wrong"),
                          HasSubstr("\"data:image/png;base64,iVBOR+/=\""), Not(HasSubstr("<b>dog"))));
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  std::ofstream(folder / "labels.html") << html;
  EXPECT_THAT(test::dom_of(folder / "labels.html", folder / "profile", 400),
              AllOf(HasSubstr("1 of 1 picture, 1 label<"), HasSubstr("likely 0.80"),
                    HasSubstr("looks like &lt;/script"), Not(HasSubstr("<rect")), Not(HasSubstr("value=\"nothing\""))));
}

}  // namespace
}  // namespace evener::report
