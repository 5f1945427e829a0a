// calibration.json, and what a run's record and its readers are told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/calibration.h"

namespace evener::record {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CalibrationRecord calibrated() {
  CalibrationRecord calibration;
  calibration.temperature = 1.625;
  calibration.fitted_images = 70;
  calibration.judged = "test part";
  calibration.judged_images = 90;
  calibration.before = {.ece = 0.121, .ece_equal_mass = 0.13, .ece_by_chance = 0.044, .bins = {{.images = 4}}};
  calibration.after = {.ece = 0.026,
                       .ece_equal_mass = 0.03,
                       .ece_by_chance = 0.059,
                       .negative_log_likelihood = 0.7,
                       .bins = {{.images = 3, .confidence = 0.4, .accuracy = 0.3, .by_chance = Interval{0.1, 0.8}}}};
  calibration.no_unknown = "--unknown 0 asks for that";
  return calibration;
}

TEST(CalibrationRecords, ComeBackFromTheirText) {
  const CalibrationRecord back = calibration_from_text(calibration_text(calibrated()), "it");
  EXPECT_EQ(back.temperature, 1.625);
  EXPECT_EQ(back.fitted_images, 70);
  EXPECT_EQ(back.judged, "test part");
  EXPECT_EQ(back.before.ece_by_chance, 0.044);
  EXPECT_FALSE(back.before.bins.at(0).by_chance);
  EXPECT_EQ(back.after.bins.at(0).by_chance->low, 0.1);
  EXPECT_EQ(back.after.bins.at(0).by_chance->high, 0.8);
  EXPECT_EQ(back.after.negative_log_likelihood, 0.7);
}

// Files of the versions that gave a bootstrap interval are read; nothing is told of chance then.
TEST(CalibrationRecords, OfEarlierVersionsHaveNoErrorByChance) {
  auto json = nlohmann::json::parse(calibration_text(calibrated()));
  for (const char* part : {"before", "after"}) {
    json[part].erase("ece_by_chance");
    json[part]["interval"] = {0.01, 0.2};
  }
  const CalibrationRecord back = calibration_from_text(json.dump(), "it");
  EXPECT_FALSE(back.before.ece_by_chance || back.after.ece_by_chance);
  EXPECT_THAT(calibration_sentences(back).at(0),
              AllOf(HasSubstr("12.1 % before, 2.6 % after, on 90 images"), Not(HasSubstr("perfectly"))));
}

TEST(CalibrationRecords, AreRefusedWhereTheyAreBroken) {
  const auto refusal = [](const std::function<void(nlohmann::json&)>& change) -> std::string {
    auto json = nlohmann::json::parse(calibration_text(calibrated()));
    change(json);
    try {
      calibration_from_text(json.dump(), "some.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "it was taken";
  };
  EXPECT_EQ(refusal([](auto&) {}), "it was taken");
  EXPECT_THAT(refusal([](auto& json) { json = 3; }), HasSubstr("some.json can't be read: it is no JSON"));
  EXPECT_THAT(refusal([](auto& json) { json.erase("judged"); }), HasSubstr("judged"));
  EXPECT_THAT(refusal([](auto& json) { json["after"]["ece"] = 1.5; }), HasSubstr("ece"));
  EXPECT_THAT(refusal([](auto& json) { json["after"]["ece_by_chance"] = -0.1; }), HasSubstr("ece_by_chance"));
  EXPECT_THAT(refusal([](auto& json) { json["after"]["bins"][0]["accuracy"] = 2; }), HasSubstr("accuracy"));
  EXPECT_THAT(refusal([](auto& json) { json["after"]["bins"][0]["images"] = -1; }), HasSubstr("images"));
}

TEST(CalibrationRecords, AreToldInTheRunsRecordInPlaceOfEarlierOnes) {
  Record record;
  CalibrationRecord calibration = calibrated();
  add_calibration(calibration, record);
  EXPECT_EQ(record.metrics.at("ece").value, 0.026);
  EXPECT_EQ(record.metrics.at("ece_by_chance").value, 0.059);
  EXPECT_EQ(record.metrics.at("ece_equal_mass").value, 0.03);
  EXPECT_EQ(record.metrics.at("uncalibrated_ece").value, 0.121);
  EXPECT_EQ(record.metrics.at("uncalibrated_ece_by_chance").value, 0.044);
  EXPECT_FALSE(record.metrics.at("ece").interval);
  EXPECT_THAT(record.notes, testing::Contains(HasSubstr(
                                "expected calibration error 12.1 % before, 2.6 % after, on 90 images (test part); a "
                                "perfectly calibrated network would show up to 4.4 % before and 5.9 % after")));
  calibration.before.ece_by_chance.reset();
  calibration.after.ece_by_chance.reset();
  const std::size_t notes = record.notes.size();
  add_calibration(calibration, record);
  EXPECT_FALSE(record.metrics.contains("ece_by_chance") || record.metrics.contains("uncalibrated_ece_by_chance"));
  EXPECT_EQ(record.notes.size(), notes);
}

}  // namespace
}  // namespace evener::record
