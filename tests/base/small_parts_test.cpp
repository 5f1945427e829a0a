// Small parts of base: devices, numbers in texts, the version and the like.
#include <gtest/gtest.h>
#include <signal.h>

#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <regex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/device.h"
#include "base/numbers.h"
#include "base/paths.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "base/version.h"

namespace evener {
namespace {

TEST(Clock, NeverGoesBackAndAgreesWithItself) {
  const Stopwatch watch;
  const std::int64_t before = now_ns();
  const double seconds = now_s();
  const std::int64_t after = now_ns();
  EXPECT_LE(before, after);
  EXPECT_NEAR(seconds, static_cast<double>(before) * 1e-9, static_cast<double>(after - before) * 1e-9 + 1e-6);
  EXPECT_GE(watch.seconds(), 0);
}

TEST(Clock, UtcTextHasTheFormOfRecords) {
  EXPECT_TRUE(std::regex_match(utc_now_text(), std::regex(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ)")));
}

TEST(Device, Texts) {
  EXPECT_EQ(device_text({DeviceKind::kCpu, 0}), "cpu");
  EXPECT_EQ(device_text({DeviceKind::kCuda, 1}), "cuda:1");
  EXPECT_EQ(device_text({DeviceKind::kOpencl, 0}), "opencl:0");
  EXPECT_EQ(device_text({DeviceKind::kIntel, 2}), "intel:2");
  EXPECT_EQ(device_text({DeviceKind::kNpu, 0}), "npu");
}

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

class Stop : public testing::Test {
 protected:
  /// Whoever runs the tests may have some of them ignored.
  void SetUp() override {
    for (const int number : kStopSignals) signal(number, SIG_DFL);
  }
  void TearDown() override {
    clear_stop_request();
    for (const int number : kStopSignals) signal(number, SIG_DFL);
  }
};

TEST_F(Stop, TheFirstSignalSetsTheFlag) {
  install_stop_handlers();
  EXPECT_FALSE(stop_requested());
  raise(SIGTERM);
  EXPECT_TRUE(stop_requested());
  clear_stop_request();
  EXPECT_FALSE(stop_requested());
  request_stop();
  EXPECT_TRUE(stop_requested());
}

TEST_F(Stop, EachOfTheSignalsSetsTheFlag) {
  install_stop_handlers();
  for (const int number : kStopSignals) {
    raise(number);
    EXPECT_TRUE(stop_requested()) << strsignal(number);
    clear_stop_request();
  }
}

TEST_F(Stop, TheExitCodeIsThatOfTheFirstSignal) {
  install_stop_handlers();
  EXPECT_EQ(stop_exit_code(), 130) << "asked for without a signal";
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_EQ(stop_exit_code(), 143);
  EXPECT_TRUE(is_stop_exit_code(143));
  EXPECT_TRUE(is_stop_exit_code(129));
  EXPECT_FALSE(is_stop_exit_code(137)) << "SIGKILL stops nothing in good order";
}

TEST_F(Stop, SignalsThatComeTogetherAreOneRequest) {
  install_stop_handlers();
  raise(SIGTERM);  // timeout's to the process
  raise(SIGTERM);  // and its to the group
  EXPECT_TRUE(stop_requested());
}

TEST_F(Stop, TheSecondSignalEndsTheProcessWith130) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        install_stop_handlers();
        raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        raise(SIGINT);
      },
      testing::ExitedWithCode(130), "second signal");
}

TEST(NvidiaDriver, ShowsByAnyOfItsFiles) {
  const test::TestFolder none;
  test::write_text(none / "dev/null", "");
  test::write_text(none / "proc/driver/rtc", "");
  EXPECT_FALSE(shows_nvidia_driver(none.path()));
  for (const char* file : {"dev/nvidiactl", "proc/driver/nvidia/version", "dev/dxg"}) {
    const test::TestFolder root;
    test::write_text(root / file, "");
    EXPECT_TRUE(shows_nvidia_driver(root.path())) << file;
  }
}

TEST(Version, IsTheNewestReleaseOfTheChangelog) {
  std::ifstream changelog(test::source_folder() / "CHANGELOG.md");
  std::string heading;
  while (std::getline(changelog, heading) && !(heading.starts_with("## [") && std::isdigit(heading.at(4)) != 0))
    continue;
  EXPECT_TRUE(heading.starts_with(std::string("## [") + program_version() + "] - ")) << heading;
}

TEST(Numbers, AreTheWholeText) {
  EXPECT_EQ(to_number<int>("-12"), -12);
  EXPECT_EQ(to_number<double>("2.5e-1"), 0.25);
  for (const char* none : {"", " 1", "1 ", "1x", "x", "+1", "1,5"}) {
    EXPECT_FALSE(to_number<int>(none)) << none;
    EXPECT_FALSE(to_number<double>(none)) << none;
  }
}

TEST(Numbers, FitOrAreNone) {
  EXPECT_EQ(to_number<std::uint8_t>("255"), 255);
  EXPECT_FALSE(to_number<std::uint8_t>("256"));
  EXPECT_FALSE(to_number<unsigned>("-1"));
  EXPECT_FALSE(to_number<double>("1e999"));
}

}  // namespace
}  // namespace evener
