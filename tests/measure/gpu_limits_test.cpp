// Power limits of GPUs on a made-up library of the driver.
#include "measure/limits/gpu_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "measure/limits_helpers.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GpuLimits : public ::testing::Test {
 protected:
  GpuLimits() {
    setenv("MADE_UP_NVML", cards_.path().c_str(), 1);
    put("count", 3);
    for (const int card : {0, 1, 2}) {
      const std::string folder = "gpu" + std::to_string(card) + "/";
      put(folder + "least_limit_mw", 100'000);
      put(folder + "most_limit_mw", 400'000);
      put(folder + "power_limit_mw", 350'000);
      put(folder + "uuid", 0xa0 + static_cast<std::uint64_t>(card));
    }
  }
  ~GpuLimits() override { unsetenv("MADE_UP_NVML"); }

  void put(const std::string& name, std::uint64_t value) const {
    test::write_text(cards_ / name, std::to_string(value) + "\n");
  }
  std::string limit(int card) const { return read_file(cards_ / ("gpu" + std::to_string(card) + "/power_limit_mw")); }
  LimitPlaces places() const { return machine_.places(EVENER_MADE_UP_NVML); }

  const LimitOptions options_{.power = {.gpu = 250},
                              .gpus = {{.index = 0, .uuid = "GPU-000000a2-0000-0000-0000-000000000000"}}};
  const test::TestFolder cards_;
  const test::LimitsTree machine_;
};

TEST_F(GpuLimits, AreOfTheCardsInUseAlone) {
  {
    const HeldLimits held(options_, places());
    EXPECT_EQ(limit(2), "250000\n");
    EXPECT_EQ(limit(0), "350000\n") << "cuda:0 is the driver's card 2, by its UUID";
    EXPECT_THAT(held.records().at(0).devices, ElementsAre("gpu 2"));
    EXPECT_EQ(held.records()[0].unit, "W");
    EXPECT_EQ(held.records()[0].former, 350);
  }
  EXPECT_EQ(limit(2), "350000\n");
  const HeldLimits by_number({.power = {.gpu = 250}, .gpus = {{.index = 1}}}, places());
  EXPECT_EQ(limit(1), "250000\n");
}

TEST_F(GpuLimits, WhatTheDriverRoundsToIsTold) {
  put("gpu2/limit_step_mw", 20'000);
  const HeldLimits held(options_, places());
  EXPECT_EQ(held.records().at(0).asked, 250);
  EXPECT_EQ(held.records()[0].held, 240);
  EXPECT_THAT(held.notes(), ElementsAre("GPU power of gpu 2: at most 240 W (asked: 250, before: 350)"));
  EXPECT_THAT(held.changes(), IsEmpty());
}

TEST_F(GpuLimits, ADriverThatIgnoresThemIsRefused) {
  put("gpu2/limit_step_mw", 350'000);  // rounds 350 W down to itself
  put("gpu2/power_limit_mw", 0);
  EXPECT_THAT(test::limits_refusal(options_, places()), HasSubstr("ignores limits"));
}

TEST_F(GpuLimits, RangeAndRightsAreThoseOfTheDriver) {
  LimitOptions options = options_;
  options.power.gpu = 99;
  EXPECT_THAT(test::limits_refusal(options, places()), HasSubstr("gpu 2 takes from 100 W to 400 W"));
  put("gpu2/set_limit_result", 4);
  machine_.open_folders_to_all();
  fs::permissions(cards_.path(), fs::perms::all);
  const test::WithoutRights user;
  EXPECT_THAT(test::limits_refusal(options_, places()),
              AllOf(HasSubstr("Insufficient Permissions"), HasSubstr("sudo nvidia-smi -i 2 -pl 250")));
}

TEST_F(GpuLimits, ArePutBackAfterAKill) {
  test::OtherRun(options_, places()).kill();
  EXPECT_EQ(limit(2), "250000\n");
  EXPECT_THAT(put_back_left_limits(places()), ElementsAre(HasSubstr("GPU power to 350 W (gpu 2)")));
  EXPECT_EQ(limit(2), "350000\n");
}

TEST_F(GpuLimits, ACardWithoutALimitSaysSo) {
  fs::remove(cards_ / "gpu2/most_limit_mw");
  EXPECT_THAT(test::limits_refusal(options_, places()), HasSubstr("no power limit for GPU 2"));
}

}  // namespace
}  // namespace evener::measure
