// The figures of a detector, kept in a run's folder and shown on the page.
#include "record/detection.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "base/base64.h"
#include "base/error.h"
#include "base/test_folder.h"
#include "report/browser_helpers.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/pictures_page.h"
#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

record::DetectionFigures figures() {
  return {.confidence = 0.25,
          .classes = {{"<cat>", 3, 0.5, 0.625, 0.25, {0.5, 1}, {1, 0.75}, {0.9, 0.4}},
                      {"dog", 0, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}}},
          .confusion = {{2, 0, 1}, {0, 0, 0}, {1, 0, 0}},
          .misses = {{"photos/a.jpg", 1, 1, "QUJD"}}};
}

TEST(Detection, ComesBackFromItsFile) {
  const test::TestFolder folder;
  record::write_detection(folder / "detection.json", figures());
  const record::DetectionFigures read = record::read_detection(folder / "detection.json");
  ASSERT_EQ(read.classes.size(), 2U);
  EXPECT_EQ(read.classes[0].name, "<cat>");
  EXPECT_EQ(read.classes[0].voc_2010, 0.625);
  EXPECT_EQ(read.classes[0].precision, figures().classes[0].precision);
  EXPECT_FALSE(read.classes[1].coco.has_value());
  EXPECT_EQ(read.confusion, figures().confusion);
  EXPECT_EQ(read.misses[0].jpeg_base64, "QUJD");
}

TEST(Detection, ADamagedFileIsNamed) {
  const test::TestFolder folder;
  const auto refused = [&](record::DetectionFigures damaged) {
    record::write_detection(folder / "detection.json", damaged);
    EXPECT_THAT([&] { record::read_detection(folder / "detection.json"); },
                testing::ThrowsMessage<Error>(HasSubstr("detection.json can't be read")));
  };
  record::DetectionFigures damaged = figures();
  damaged.misses[0].jpeg_base64 = "\"><script>";
  refused(damaged);
  damaged = figures();
  damaged.confusion.pop_back();
  refused(damaged);
  damaged = figures();
  damaged.classes[0].recall.pop_back();
  refused(damaged);
  damaged = figures();
  damaged.classes[0].true_boxes = -1;
  refused(damaged);
  damaged = figures();
  damaged.confusion[0][1] = std::numeric_limits<std::int64_t>::max();  // the sum of a row would not fit
  refused(damaged);
  damaged = figures();
  damaged.misses[0].wrong = -3;
  refused(damaged);
  damaged = figures();
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
  report::Run run;
  run.name = "found";
  run.record.model.name = "ssdlite";
  run.record.data.location = "VOC2007";
  EXPECT_EQ(detection_part(std::vector{run}), "");
  run.detection = figures();
  const std::string html = detection_part(std::vector{run});
  EXPECT_THAT(html, AllOf(HasSubstr("What ssdlite finds on VOC2007"), HasSubstr("&lt;cat&gt;"), Not(HasSubstr("<cat>")),
                          HasSubstr("62.5 %"), HasSubstr("1 missed, 1 wrong"), HasSubstr("base64,QUJD")));
  EXPECT_THAT(plot_data(std::vector{run}), HasSubstr("\"recall\":[0.5,1.0]"));
}

// What an inference keeps for the page, and the page's part with it.

class Answers : public testing::Test {
 protected:
  std::string failure(const std::string& text) {
    std::ofstream(folder_ / record::kPredictedImages) << text;
    try {
      record::read_predicted_images(folder_ / record::kPredictedImages);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  test::TestFolder folder_;
};

TEST_F(Answers, ComeBackAsTheyWereWritten) {
  record::write_predicted_images(
      folder_ / record::kPredictedImages,
      {{"a\xff.png", "bream", 0.75, true, "", to_base64("png")}, {"b", "x", 11, false, "y", to_base64("p")}});
  const auto answers = record::read_predicted_images(folder_ / record::kPredictedImages);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].found, "bream");
  EXPECT_EQ(answers[0].score, 0.75);
  EXPECT_TRUE(answers[0].is_probability);
  EXPECT_FALSE(answers[1].is_probability);
  EXPECT_EQ(answers[1].truth, "y");
  EXPECT_EQ(answers[0].png_base64, "cG5n");
}

TEST_F(Answers, ForeignFilesBringNothingElseThanImages) {
  const auto with_image = [](const std::string& image) {
    return R"([{"file":"a","class":"b","score":1,"is_probability":true,"true_class":"","png":")" + image + R"("}])";
  };
  EXPECT_EQ(failure(with_image("cG5n")), "");
  EXPECT_THAT(failure(with_image("x' onerror='alert(1)")), HasSubstr("key 'png': expected an image"));
  EXPECT_THAT(failure(with_image("")), HasSubstr("key 'png': expected an image"));
  EXPECT_THAT(failure("[{}]"), HasSubstr(record::kPredictedImages));
  EXPECT_THAT(failure("no JSON"), HasSubstr(record::kPredictedImages));
}

TEST_F(Answers, StandOnThePage) {
  report::Run run = test::sample_run("infer");
  run.predictions = {{"a.png", "<b>bream</b>", 0.75, true, "trout", "cG5n"},
                     {"b.png", "pike", 11.25, false, "", "cG5n"}};
  const std::string page = html_page(std::vector<report::Run>{run}, "");
  EXPECT_THAT(page, HasSubstr("src=\"data:image/png;base64,cG5n\""));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;bream&lt;/b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>bream</b>")));
  EXPECT_THAT(page, HasSubstr("</b> 75 %<br>is trout"));
  EXPECT_THAT(page, HasSubstr("<b>pike</b> 11.25<"));
  run.predictions.clear();
  EXPECT_THAT(html_page(std::vector<report::Run>{run}, ""), Not(HasSubstr("class=\"answer")));
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xff\xfe"), "//4=");
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

}  // namespace evener::report
