// The figures of a detector, kept in a run's folder and shown on the page.
#include "record/detection.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/html_parts.h"

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

}  // namespace
}  // namespace evener::report
