// Energy of published times at stated powers, and the published figures beside it.
#include "report/published_energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace evener::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReferenceFigure line(const std::string& cell, const std::string& name, double value, const std::string& unit,
                     const std::string& metric, const std::string& on, const std::string& against = "") {
  ReferenceFigure figure;
  figure.cell = cell;
  figure.figure = name;
  figure.value = value;
  figure.unit = unit;
  figure.measured = {{"on", on}};
  figure.metric = metric;
  figure.against = against;
  return figure;
}

TEST(UsedDevices, AreCountedAsThePlacementSays) {
  const auto gpus_and_cpu = [](std::string_view placement) {
    const UsedDevices used = used_devices(placement);
    return std::pair(used.gpus, used.cpu);
  };
  EXPECT_EQ(gpus_and_cpu("cpu"), std::pair(std::size_t{0}, true));
  EXPECT_EQ(gpus_and_cpu("4xcpu/t1"), std::pair(std::size_t{0}, true));
  EXPECT_EQ(gpus_and_cpu("cuda:0"), std::pair(std::size_t{1}, false));
  EXPECT_EQ(gpus_and_cpu("cuda:0+cuda:1"), std::pair(std::size_t{2}, false));
  EXPECT_EQ(gpus_and_cpu("2xcuda@0.5+cpu/t4"), std::pair(std::size_t{2}, true));
  EXPECT_EQ(gpus_and_cpu("cuda:0..cuda:1..cuda:0"), std::pair(std::size_t{2}, false));
}

/// Ten hours on the processor and one on a GPU of two, at 50 W, 20 W where it only drives GPUs, 100 W, and 10 W.
const std::vector<ReferenceFigure> kTimes = {line("CPU", "time", 10, "h", "total_s", "cpu"),
                                             line("GPU", "time", 60, "min", "total_s", "cuda:0"),
                                             line("both", "time", 1800, "s", "total_s", "2xcuda")};
const measure::AssumedPower kPower = {.cpu = 50, .idle = 20, .gpu = 100, .gpu_idle = 10};

TEST(PublishedWays, HaveTheEnergyOfStatedPowers) {
  const auto ways = published_ways(kTimes, kPower);
  ASSERT_EQ(ways.size(), 3U);
  EXPECT_EQ(ways[0].energy.kind, record::EnergyClass::kEstimated);
  EXPECT_DOUBLE_EQ(*ways[0].energy.used_joules, 50 * 36000.0);
  EXPECT_DOUBLE_EQ(*ways[0].energy.joules, 70 * 36000.0);
  EXPECT_DOUBLE_EQ(*ways[1].energy.used_joules, 120 * 3600.0);
  EXPECT_DOUBLE_EQ(*ways[1].energy.joules, 130 * 3600.0);
  EXPECT_DOUBLE_EQ(*ways[2].energy.joules, 220 * 1800.0);
  EXPECT_DOUBLE_EQ(*ways[2].energy.edp_js, 220 * 1800.0 * 1800.0);

  const Table table = published_ways_table(ways);
  EXPECT_THAT(table.rows[1], ElementsAre("GPU", "1 h 00 min", "10.0x", "120 W", "estimated", "432 kJ", "1.56 GJ s",
                                         "0.0240x", "468 kJ", "0.0186x"));
}

TEST(PublishedWays, WithoutThePowerOfADeviceHaveNoEnergyAndSayWhy) {
  const auto ways = published_ways(kTimes, {.cpu = 50});
  EXPECT_TRUE(ways[0].energy.joules);
  EXPECT_FALSE(ways[1].energy.joules);
  const Table table = published_ways_table(ways);
  EXPECT_THAT(table.rows[1], ElementsAre("GPU", "1 h 00 min", "10.0x", "-", "absent", "absent", "absent", "-"));
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("GPU: the power of"), HasSubstr("both: the power of")));
  EXPECT_THROW(published_ways({line("CPU", "speedup", 2, "", "total_s", "cpu")}, kPower), Error);
}

TEST(DerivedFigures, StandBesideWhatIsPublished) {
  std::vector<ReferenceFigure> reference = kTimes;
  reference.push_back(line("GPU", "energy", 0.435, "MJ", "used_devices_joules", "cuda:0"));
  reference.push_back(line("GPU", "energy with idle GPU", 0.13, "kWh", "energy_joules", "cuda:0"));
  reference.push_back(line("CPU", "EDP", 40, "", "used_devices_edp_joule_seconds", "cpu", "GPU"));
  reference.push_back(line("GPU", "speedup", 10, "", "total_s", "cuda:0", "CPU"));
  reference.push_back(line("GPU", "accuracy", 80, "%", "test_accuracy", "cuda:0"));
  reference.push_back(line("GPU", "speedup of training", 12, "", "train_s", "cuda:0", "CPU"));  // no such time
  const auto rows = derived_figures(reference, published_ways(reference, kPower));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_NEAR(rows[0].deviation(), 432.0 / 435 - 1, 1e-12);
  EXPECT_NEAR(rows[1].deviation(), 0, 1e-12);
  EXPECT_NEAR(rows[2].derived, 1.8e6 * 36000 / (432e3 * 3600), 1e-9);
  EXPECT_NEAR(rows[3].deviation(), 0, 1e-12);
  EXPECT_THAT(derived_table(rows).rows[0], ElementsAre("GPU", "energy", "0.435 MJ", "0.432 MJ", "-0.7 %"));
  EXPECT_THAT(derived_sentence(rows), testing::AllOf(HasSubstr("3 of 4 figures"),
                                                     HasSubstr("CPU: EDP against GPU (40.0x is published, 41.7x")));
}

}  // namespace
}  // namespace evener::report
