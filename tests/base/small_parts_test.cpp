// Small parts of base: devices, numbers in texts, the version and the like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/device.h"
#include "base/error.h"
#include "base/folder_lock.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/paths.h"
#include "base/phase.h"
#include "base/precision.h"
#include "base/stop.h"
#include "base/tensor.h"
#include "base/test_folder.h"
#include "base/this_work.h"
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

// This process's memory: how much it holds, and memory in huge pages.

TEST(ProcessMemory, GrowsWithWhatIsTakenAndRemembersIt) {
  const ProcessMemory before = process_memory();
  ASSERT_GT(before.resident_bytes, 1U << 20);
  EXPECT_GE(before.peak_bytes, before.resident_bytes);
  constexpr std::size_t kMore = std::size_t{64} << 20;  // the kernel may drop pages of files that are mapped meanwhile
  {
    const std::vector<char> more(kMore, 1);
    EXPECT_GE(process_memory().resident_bytes, before.resident_bytes + kMore / 2) << more.back();
  }
  EXPECT_GE(process_memory().peak_bytes, before.resident_bytes + kMore / 2);
}

bool begins_at(const void* memory, std::size_t unit) {
  return reinterpret_cast<std::uintptr_t>(memory) % unit == 0;
}

TEST(HugePages, LargeArraysBeginAtAPageAndSmallOnesAtACacheLine) {
  constexpr std::size_t kPage_bytes = std::size_t{2} << 20;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, kPage_bytes - 1}) {
    EXPECT_TRUE(begins_at(PageBytes(bytes).data(), 64)) << bytes;
  }
  for (const std::size_t bytes : {kPage_bytes, kPage_bytes + 1, 3 * kPage_bytes}) {
    EXPECT_TRUE(begins_at(PageBytes(bytes).data(), kPage_bytes)) << bytes;
  }
}

TEST(HugePages, GrowingKeepsWhatWasThere) {
  PageBytes bytes = {1, 2, 3};
  bytes.resize(std::size_t{5} << 20, 7);
  EXPECT_EQ(bytes[2], 3);
  EXPECT_EQ(bytes.back(), 7);
}

TEST(Precision, NamesAreReadBack) {
  for (const Precision precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
    EXPECT_EQ(parse_precision(precision_name(precision)), precision);
  }
  try {
    parse_precision("bf61");
    ADD_FAILURE() << "an unknown name was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean 'bf16'"));
  }
}

TEST(Precision, HasBits) {
  EXPECT_EQ(activation_bits(Precision::kFp32), 32);
  EXPECT_EQ(activation_bits(Precision::kTf32), 32);
  EXPECT_EQ(activation_bits(Precision::kBf16), 16);
  EXPECT_EQ(activation_bits(Precision::kFp16), 16);
}

TEST(Precision, CpusComputeBf16InPlaceOfFp16AndSaySo) {
  EXPECT_EQ(computed_precision(Precision::kFp16, DeviceKind::kCpu), Precision::kBf16);
  EXPECT_EQ(computed_precision(Precision::kTf32, DeviceKind::kCpu), Precision::kFp32);
  EXPECT_EQ(computed_precision(Precision::kFp16, DeviceKind::kCuda), Precision::kFp16);
  EXPECT_EQ(precision_fallback(Precision::kFp16, DeviceKind::kCpu),
            "fp16 was computed as bf16: the CPU has no fast fp16 products");
  EXPECT_EQ(precision_fallback(Precision::kBf16, DeviceKind::kCpu), "");
  EXPECT_EQ(precision_fallback(Precision::kTf32, DeviceKind::kCuda), "");
}

TEST(Precision, ACpuSaysWhetherItMultipliesBf16Fast) {
  EXPECT_TRUE(has_fast_bf16({"avx2", "avx512_bf16"}));
  EXPECT_TRUE(has_fast_bf16({"amx_bf16"}));
  EXPECT_FALSE(has_fast_bf16({"avx2", "avx512f"}));
}

struct Counter : PhaseListener {
  void on_phase(Phase, bool, std::int64_t, std::int64_t, std::int64_t) override { ++marks; }
  std::atomic<int> marks = 0;
};

TEST(ThisWork, AStopConcernsTheThreadsOfItsWorkAlone) {
  StopFlag stop;
  const WorkScope scope({&stop, nullptr});
  stop.request();
  EXPECT_TRUE(stop_requested());
  bool own = false, other = true;
  std::thread(as_this_work([&] { own = stop_requested(); })).join();
  std::thread([&] { other = stop_requested(); }).join();
  EXPECT_TRUE(own);
  EXPECT_FALSE(other);
}

TEST(ThisWork, PhasesAreHeardByTheListenerOfTheWork) {
  Counter first, second;
  const auto marked = [](PhaseListener& listener, int marks) {
    const WorkScope scope({nullptr, &listener});
    std::thread(as_this_work([marks] {
      for (int i = 0; i < marks; ++i) const PhaseMark mark(Phase::kRead);
    })).join();
  };
  std::thread one([&] { marked(first, 3); }), two([&] { marked(second, 5); });
  one.join();
  two.join();
  EXPECT_EQ(first.marks, 3);
  EXPECT_EQ(second.marks, 5);
}

TEST(ThisWork, AScopeGivesBackWhatWasBefore) {
  StopFlag outer, inner;
  const WorkScope scope({&outer, nullptr});
  { const WorkScope within({&inner, nullptr}); }
  EXPECT_EQ(this_work().stop, &outer);
}

TEST(FolderLock, IsSeenByOthersAsLongAsItIsHeld) {
  const test::TestFolder folder;
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kFree);
  std::optional<FolderLock> lock(folder.path());
  EXPECT_EQ(lock->found(), LockState::kFree);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kHeld);
  EXPECT_EQ(FolderLock(folder.path()).found(), LockState::kHeld);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kHeld) << "the refused one has taken it away";
  lock.reset();
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kFree);
  EXPECT_EQ(folder_lock_state(folder / "none"), LockState::kUnknown);
}

TEST(FolderLock, GoesWithAKilledProcess) {
  const test::TestFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder.path());
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kHeld);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(folder_lock_state(folder.path()), LockState::kFree);
  close(ready[0]);
  close(ready[1]);
}

TEST(ElementCount, MultipliesTheExtents) {
  EXPECT_EQ(element_count({64, 3, 7, 7}), 9408);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({5, 0}), 0);
}

TEST(ElementCount, RefusesNegativeExtentsAndOverflow) {
  EXPECT_THROW(element_count({2, -1}), Error);
  EXPECT_THROW(element_count({0, -1}), Error);
  EXPECT_THROW(element_count({1LL << 40, 1LL << 40}), Error);
  EXPECT_EQ(element_count({1LL << 40, 1LL << 40, 0}), 0);
}

TEST(HostTensor, HoldsFloatsAndScalars) {
  HostTensor tensor = HostTensor::of_floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensor.bytes.size(), 16U);
  EXPECT_EQ(tensor.floats()[3], 4.0F);
  const HostTensor scalar = HostTensor::scalar_i64(-7);
  EXPECT_EQ(scalar.dtype, DType::kI64);
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(scalar.bytes.data()), -7);
  EXPECT_THROW(HostTensor::of_floats({3}, {1, 2}), Error);
}

TEST(HostTensor, BecomesFloats) {
  const auto floats = [](DType dtype, const auto& values) {
    HostTensor tensor{dtype, {static_cast<std::int64_t>(values.size())}, {}};
    tensor.bytes.resize(values.size() * sizeof values[0]);
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    const HostTensor result = tensor.to_floats();
    EXPECT_EQ(result.dtype, DType::kF32);
    return std::vector<float>(result.floats(), result.floats() + values.size());
  };
  // One, -2, the largest, the smallest above zero, infinity.
  EXPECT_EQ(floats(DType::kF16, std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00}),
            (std::vector<float>{1, -2, 65504, 0x1p-24F, std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(std::isnan(floats(DType::kF16, std::vector<std::uint16_t>{0x7e00})[0]));
  EXPECT_EQ(floats(DType::kBF16, std::vector<std::uint16_t>{0x3f80, 0xc040}), (std::vector<float>{1, -3}));
  EXPECT_EQ(floats(DType::kF64, std::vector<double>{0.1, -2}), (std::vector<float>{0.1F, -2}));
  EXPECT_THROW(HostTensor::scalar_i64(1).to_floats(), Error);
}

TEST(SizeBytes, IsThatOfTheType) {
  EXPECT_EQ(size_bytes(DType::kU8), 1U);
  EXPECT_EQ(size_bytes(DType::kBF16), 2U);
  EXPECT_EQ(size_bytes(DType::kF32), 4U);
  EXPECT_EQ(size_bytes(DType::kI64), 8U);
}

TEST(ShapeText, JoinsWithX) {
  EXPECT_EQ(shape_text({64, 3, 7, 7}), "64x3x7x7");
  EXPECT_EQ(shape_text({}), "scalar");
}

}  // namespace
}  // namespace evener
