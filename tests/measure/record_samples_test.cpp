// What the sampler knows, as the record has it.
#include "measure/record_samples.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "record/record_json.h"

namespace evener::measure {
namespace {

TEST(RecordSamples, CpusThatWereGivenAwayAreInTheRecord) {
  record::Record record;
  EXPECT_FALSE(to_json(record)["cpu"].contains("exchanged")) << "nobody counted";
  SamplerSummary summary;
  summary.cpu.exchanged = 7;
  summary.cpu.lent = 11;
  take_samples(record, summary);
  const auto json = to_json(record);
  EXPECT_EQ(json["cpu"]["exchanged"], 7);
  EXPECT_EQ(json["cpu"]["lent"], 11);
}

TEST(EpochEnergy, IsWhatWasUsedBetweenItsEnds) {
  const test::TestFolder folder;
  // 100 W for 10 s, then 50 W: rows of an earlier session first, which went to 100 s.
  std::string rows = "time_s,process_cpu_percent,energy_joules,package-0_watts\n99.5,1,9000,100\n100.000,1,9100,100\n";
  for (int n = 0; n <= 40; ++n) {
    const double t = 0.5 * n, joules = t <= 10 ? 100 * t : 1000 + 50 * (t - 10);
    rows += std::to_string(101.5 + t) + ",1," + std::to_string(joules) + ",\n";
  }
  test::write_text(folder / "samples.csv", rows);
  record::Record record;
  record.training.epochs.resize(5);
  const auto put = [&](std::size_t n, std::optional<double> from_s, std::optional<double> to_s) {
    record.training.epochs[n].from_s = from_s;
    record.training.epochs[n].to_s = to_s;
  };
  put(0, 2, 5);  // of the earlier session, which did not know its energy
  record.training.epochs[1].joules = 77;
  put(2, 1, 7.25);
  put(3, 7.25, 14);
  put(4, 14, 30);  // the samples end before
  record.sessions.resize(2);
  record.sessions.back().epochs = 3;
  fill_epoch_energy(record, folder / "samples.csv", 101.5);
  EXPECT_EQ(record.training.epochs[0].joules, std::nullopt);
  EXPECT_EQ(record.training.epochs[1].joules, 77);
  EXPECT_NEAR(record.training.epochs[2].joules.value_or(0), 625, 0.6);
  EXPECT_NEAR(record.training.epochs[3].joules.value_or(0), 275 + 200, 0.5);
  EXPECT_EQ(record.training.epochs[4].joules, std::nullopt);
}

/// The joules of an epoch from `from_s` to `to_s` of a session that began at 100 s in these samples.
std::optional<double> joules_in(const std::string& rows, double from_s, double to_s) {
  const test::TestFolder folder;
  test::write_text(folder / "samples.csv", "time_s,energy_joules\n" + rows);
  record::Record record;
  record.training.epochs.resize(1);
  record.training.epochs[0].from_s = from_s;
  record.training.epochs[0].to_s = to_s;
  fill_epoch_energy(record, folder / "samples.csv", 100);
  return record.training.epochs[0].joules;
}

TEST(EpochEnergy, TheRowsOfAnEarlierSessionAreNotItsOwn) {
  // The earlier one, at another height, ended more than a second before the first row of this one.
  EXPECT_NEAR(joules_in("90,5000\n100.05,10\n102.05,210\n", 0.02, 1.05).value_or(-1), 100, 1e-6);
  EXPECT_EQ(joules_in("90,5000\n100.5,10\n102.5,210\n", 0.02, 1.5), std::nullopt) << "half a second is no moment";
  EXPECT_NEAR(joules_in("100,0\n101,60\n101,60\n102,160\n", 0.5, 1.5).value_or(-1), 80, 1e-6) << "a row twice";
}

TEST(EpochEnergy, WhatWasHeldAndTakenBackIsNoEnergy) {
  EXPECT_NEAR(joules_in("100,0\n101,60\n102,50\n103,90\n", 0, 3).value_or(-1), 90, 1e-6);
  EXPECT_EQ(joules_in("100,0\n101,60\n102,50\n103,90\n", 1, 2), std::nullopt);
}

TEST(EpochEnergy, WithoutSamplesOfEnergyThereIsNone) {
  const test::TestFolder folder;
  test::write_text(folder / "samples.csv", "time_s,process_cpu_percent\n0,1\n5,1\n");
  record::Record record;
  record.training.epochs.resize(1);
  record.training.epochs[0].from_s = 0;
  record.training.epochs[0].to_s = 5;
  fill_epoch_energy(record, folder / "samples.csv", 0);
  EXPECT_EQ(record.training.epochs[0].joules, std::nullopt);
}

}  // namespace
}  // namespace evener::measure
