// The figures of a detector, kept in a run's folder and shown on the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/occurrences.h"
#include "base/test_folder.h"
#include "detect/page/page.h"
#include "detect/page/pictures_page.h"
#include "record/detection.h"
#include "support/browser_helpers.h"

namespace evener::detection {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

record::DetectionFigures found_figures() {
  return {.confidence = 0.25,
          .classes = {{"<cat>", 3, 0.5, 0.625, 0.25, {0.5, 1}, {1, 0.75}, {0.9, 0.4}},
                      {"dog", 0, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}}},
          .confusion = {{2, 0, 1}, {0, 0, 0}, {1, 0, 0}},
          .misses = {{"photos/a.jpg", 1, 1, "QUJD"}}};
}

TEST(Detection, ComesBackFromItsFile) {
  const test::TestFolder folder;
  record::write_detection(folder / "detection.json", found_figures());
  const record::DetectionFigures read = record::read_detection(folder / "detection.json");
  ASSERT_EQ(read.classes.size(), 2U);
  EXPECT_EQ(read.classes[0].name, "<cat>");
  EXPECT_EQ(read.classes[0].voc_2010, 0.625);
  EXPECT_EQ(read.classes[0].precision, found_figures().classes[0].precision);
  EXPECT_FALSE(read.classes[1].coco.has_value());
  EXPECT_EQ(read.confusion, found_figures().confusion);
  EXPECT_EQ(read.misses[0].jpeg_base64, "QUJD");
}

TEST(Detection, ADamagedFileIsNamed) {
  const test::TestFolder folder;
  const auto refused = [&](record::DetectionFigures damaged) {
    record::write_detection(folder / "detection.json", damaged);
    EXPECT_THAT([&] { record::read_detection(folder / "detection.json"); },
                testing::ThrowsMessage<Error>(HasSubstr("detection.json can't be read")));
  };
  record::DetectionFigures damaged = found_figures();
  damaged.misses[0].jpeg_base64 = "\"><script>";
  refused(damaged);
  damaged = found_figures();
  damaged.confusion.pop_back();
  refused(damaged);
  damaged = found_figures();
  damaged.classes[0].recall.pop_back();
  refused(damaged);
  damaged = found_figures();
  damaged.classes[0].true_boxes = -1;
  refused(damaged);
  damaged = found_figures();
  damaged.confusion[0][1] = std::numeric_limits<std::int64_t>::max();  // the sum of a row would not fit
  refused(damaged);
  damaged = found_figures();
  damaged.misses[0].wrong = -3;
  refused(damaged);
  damaged = found_figures();
  damaged.classes[0].score[1] = 1e300;
  refused(damaged);
  for (const char* count : {"1.5e300", "true", "null", "\"3\""}) {
    std::ofstream(folder / "detection.json")
        << R"({"confidence":0.25,"classes":[],"misses":[],"confusion":[[)" << count << "]]}";
    EXPECT_THAT([&] { record::read_detection(folder / "detection.json"); },
                testing::ThrowsMessage<Error>(HasSubstr("confusion")))
        << count;
  }
  const std::string whole = R"({"confidence":0.25,"classes":[],"misses":[],"confusion":[[3]]})";
  std::ofstream(folder / "detection.json") << whole;
  EXPECT_NO_THROW(record::read_detection(folder / "detection.json"));
  for (const std::string part : {R"("classes":[],)", R"("misses":[],)", R"("confidence":0.25,)"}) {
    std::string without = whole;
    std::ofstream(folder / "detection.json") << without.erase(without.find(part), part.size());
    EXPECT_THROW(record::read_detection(folder / "detection.json"), Error) << part;
  }
  std::ofstream(folder / "detection.json") << "{";
  EXPECT_THROW(record::read_detection(folder / "detection.json"), Error);
}

TEST(Detection, ThePageShowsClassesAndMisses) {
  const test::TestFolder folder;
  std::vector<report::Run> runs(2);
  for (const char* name : {"none", "found"}) {
    report::Run& run = runs[name[0] == 'f'];
    run.name = name;
    run.folder = folder / name;
    run.record.model.name = "ssdlite";
    run.record.data.location = "VOC2007";
    std::filesystem::create_directory(run.folder);
  }
  EXPECT_EQ(detection_part(runs).html, "");
  record::write_detection(runs[1].folder / record::kDetection, found_figures());
  const report::PagePart part = detection_part(runs);
  EXPECT_THAT(part.html, AllOf(HasSubstr("What ssdlite finds on VOC2007"), HasSubstr("&lt;cat&gt;"),
                               Not(HasSubstr("<cat>")), HasSubstr("62.5 %"), HasSubstr("1 missed, 1 wrong"),
                               HasSubstr("base64,QUJD"), HasSubstr("id=\"plot-precision-0\"")));
  ASSERT_EQ(part.plots.size(), 2U);
  EXPECT_TRUE(part.plots[0].is_null());
  EXPECT_THAT(part.plots[1].dump(), HasSubstr("\"recall\":[0.5,1.0]"));
  record::write_detection(runs[0].folder / record::kDetection, found_figures());
  const std::string both = detection_part(runs).html;
  EXPECT_EQ(test::occurrences(both, "id=\"plot-precision-0\""), 1U) << "of both";
  EXPECT_THAT(both, AllOf(HasSubstr("none: Classes"), HasSubstr("found: The worst misses")));
  EXPECT_THAT(runs[0].warnings, testing::IsEmpty());
}

TEST(Detection, ABrokenFileIsAWarning) {
  const test::TestFolder folder;
  std::vector<report::Run> runs(1);
  runs[0].folder = folder.path();
  std::ofstream(folder / record::kDetection) << "{";
  EXPECT_EQ(detection_part(runs).html, "");
  EXPECT_THAT(runs[0].warnings, testing::ElementsAre(HasSubstr("detection.json can't be read")));
}

// The page of pictures with boxes: harmless names, and filters that hide pictures.

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
}  // namespace evener::detection
