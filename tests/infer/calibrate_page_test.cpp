// The page's part on how far probabilities hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "infer/calibrate/page.h"
#include "record/calibration.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CalibrationPart, HasDiagramsOfTheRunsThatAreCalibrated) {
  const test::TestFolder folder;
  std::vector<report::Run> runs(2);
  for (std::size_t n = 0; n < 2; ++n) {
    runs[n].folder = folder / std::to_string(n);
    std::filesystem::create_directory(runs[n].folder);
  }
  runs[1].name = "<b>";
  EXPECT_EQ(calibration_part(runs).html, "");
  record::CalibrationRecord calibration;
  calibration.temperature = 1.5;
  calibration.judged = "test part";
  calibration.judged_images = 90;
  calibration.before = {.ece = 0.125, .ece_by_chance = 0.044, .bins = {{.images = 4}}};
  calibration.after = {.ece = 0.0625, .bins = {{.images = 3, .confidence = 0.4, .accuracy = 0.3}}};
  record::write_calibration_record(runs[1].folder / record::kCalibrationFile, calibration);
  const report::PagePart part = calibration_part(runs);
  EXPECT_TRUE(part.is_detail);
  EXPECT_THAT(part.html, AllOf(HasSubstr("&lt;b&gt;</h3>"), HasSubstr("id=\"plot-before-1\""),
                               HasSubstr("As learnt: expected calibration error 12.5 % (a perfect one: up to 4.4)"),
                               HasSubstr("Calibrated: expected calibration error 6.2 %<")));
  ASSERT_EQ(part.plots.size(), 2U);
  EXPECT_TRUE(part.plots[0].is_null());
  EXPECT_EQ(part.plots[1]["after"]["bins"][0]["images"], 3);
  std::ofstream(runs[0].folder / record::kCalibrationFile) << "{";
  calibration_part(runs);
  EXPECT_THAT(runs[0].warnings, testing::ElementsAre(HasSubstr("calibration.json")));
}

}  // namespace
}  // namespace evener::inference
