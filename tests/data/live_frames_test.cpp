// Frames of a source that doesn't wait: which are looked at, and which are dropped.
#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/stop.h"
#include "data/video/video_frames.h"
#include "data/video_helpers.h"

namespace evener::data {
namespace {

using namespace evener::test;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// What a test and its made-up camera share. Frames come when the test says so.
struct Shutter {
  std::mutex mutex;
  std::condition_variable changed;
  int allowed = 0;      // frames that may come
  int taken = 0;        // frames that LiveFrames has asked beyond
  int last = 1000;      // after which the source ends
  std::string failure;  // with which it ends; "" = none
  bool stopped = false;

  void release(int count) {
    std::unique_lock lock(mutex);
    allowed += count;
    changed.notify_all();
    // Whoever asks for the next frame has put the last one in its place.
    changed.wait(lock, [&] { return taken >= allowed; });
  }
};

class MadeUpCamera : public VideoReader {
 public:
  explicit MadeUpCamera(Shutter& shutter) : shutter_(shutter) {}

  std::unique_ptr<VideoFrame> next() override {
    std::unique_lock lock(shutter_.mutex);
    shutter_.taken = number_;
    shutter_.changed.notify_all();
    shutter_.changed.wait(lock,
                          [&] { return shutter_.stopped || shutter_.allowed > number_ || number_ == shutter_.last; });
    if (shutter_.stopped) throw Interrupted("stopped");
    if (number_ == shutter_.last && !shutter_.failure.empty()) throw Error(shutter_.failure);
    if (number_ == shutter_.last) return nullptr;
    const int number = number_++;
    return std::make_unique<VideoFrame>(
        VideoFrame{{number, number / 10.0, true}, number < 100 ? numbered_frame(number) : Picture::unset(3, 1, 1)});
  }
  void stop() override {
    const std::scoped_lock lock(shutter_.mutex);
    shutter_.stopped = true;
    shutter_.changed.notify_all();
  }

 private:
  Shutter& shutter_;
  int number_ = 0;
};

/// Lets frames come as soon as somebody waits for the first one.
class LiveFramesTest : public ::testing::Test {
 protected:
  LiveFrames frames(const FrameChoice& choice = {}) {
    return {"camera", std::make_unique<MadeUpCamera>(shutter_), choice};
  }

  Shutter shutter_;
};

TEST_F(LiveFramesTest, TheNewestIsLookedAtAndOthersAreDropped) {
  LiveFrames live = frames();
  shutter_.allowed = 1;
  ASSERT_TRUE(live.wait_for(0));
  EXPECT_EQ(live.name(0), "camera@0.000s");
  EXPECT_EQ(live.dropped(), 0U);
  shutter_.release(4);  // while the network computes
  ASSERT_TRUE(live.wait_for(1));
  EXPECT_EQ(live.name(1), "camera@0.400s");
  EXPECT_EQ(live.dropped(), 3U);
  EXPECT_EQ(live.read(1).row(10)[3 * 10], 104) << "the pixels are those of frame 4";
  EXPECT_EQ(live.read(0).row(10)[3 * 10], 100);
}

TEST_F(LiveFramesTest, FramesThatWereNotWantedAreNotDropped) {
  LiveFrames live = frames({.every = 3, .most = 2});
  shutter_.allowed = 1;
  ASSERT_TRUE(live.wait_for(0));
  shutter_.release(3);
  ASSERT_TRUE(live.wait_for(1));
  EXPECT_DOUBLE_EQ(live.time_s(1), 0.3);
  EXPECT_EQ(live.dropped(), 0U);
  EXPECT_FALSE(live.wait_for(2)) << "two were wanted";
}

TEST_F(LiveFramesTest, TheEndIsNoFailureAndAFailureNamesTheCamera) {
  {
    LiveFrames live = frames();
    shutter_.allowed = shutter_.last = 1;
    EXPECT_TRUE(live.wait_for(0));
    EXPECT_FALSE(live.wait_for(1));
    EXPECT_EQ(live.failure(), "");
  }
  shutter_.stopped = false;
  shutter_.failure = "it is gone: was it unplugged?";
  LiveFrames live = frames();
  EXPECT_TRUE(live.wait_for(0));
  EXPECT_FALSE(live.wait_for(1));
  EXPECT_THAT(live.failure(), AllOf(HasSubstr("camera: "), HasSubstr("unplugged")));
}

TEST_F(LiveFramesTest, AStopRequestEndsTheWait) {
  LiveFrames live = frames();
  request_stop();
  EXPECT_FALSE(live.wait_for(0));
  clear_stop_request();
}

TEST_F(LiveFramesTest, FramesOfLongAgoAreGone) {
  LiveFrames live = frames();
  shutter_.allowed = 1;
  ASSERT_TRUE(live.wait_for(0));
  for (std::size_t i = 1; i <= 64; ++i) {
    shutter_.release(1);
    ASSERT_TRUE(live.wait_for(i));
  }
  EXPECT_THROW(live.read(0), Error);
  EXPECT_EQ(live.read(1).width, 64);
  EXPECT_EQ(live.name(0), "camera@0.000s") << "names are kept longer";
}

TEST_F(LiveFramesTest, WhatComesAfterTheLastOneThatWasWantedIsNeitherDroppedNorAFailure) {
  LiveFrames live = frames({.most = 1});
  shutter_.allowed = 1;
  shutter_.failure = "it is gone";
  ASSERT_TRUE(live.wait_for(0));
  {
    std::unique_lock lock(shutter_.mutex);
    shutter_.allowed = shutter_.last = 4;
    shutter_.changed.notify_all();
    // The wait ends early if all four are taken, which they shouldn't be.
    shutter_.changed.wait_for(lock, std::chrono::milliseconds(300), [&] { return shutter_.taken == 4; });
  }
  EXPECT_EQ(live.dropped(), 0U);
  EXPECT_FALSE(live.wait_for(1));
  EXPECT_EQ(live.failure(), "");
}

TEST_F(LiveFramesTest, AllNamesAreKeptForThoseWhoTellOfThemAtTheEnd) {
  LiveFrames live = frames({.keeps_all_names = true});
  shutter_.allowed = shutter_.last = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < 65'540; ++i) ASSERT_TRUE(live.wait_for(i));
  EXPECT_GE(live.time_s(65'539), 6553.9);
  EXPECT_LT(live.time_s(0), live.time_s(1));
}

TEST(FrameChoice, TakesNumbersAndTimes) {
  EXPECT_EQ(parse_every("10").every, 10U);
  EXPECT_DOUBLE_EQ(parse_every("1s").every_s, 1);
  EXPECT_DOUBLE_EQ(parse_every("200ms").every_s, 0.2);
  EXPECT_TRUE(parse_every("").is_default());
  EXPECT_FALSE(parse_every("1").is_default()) << "all frames, which a folder's videos give only to who asks";
  for (const char* wrong : {"0", "-1", "1.5", "s", "1m", "ten", "0s", "inf", "nan", "1 s"}) {
    EXPECT_THROW(parse_every(wrong), UsageError) << wrong;
  }
}

TEST(FrameChoice, OfEachSpanTheFirstIsTaken) {
  std::vector<FramePlace> frames;
  for (const double time_s : {5.0, 5.4, 5.9996, 6.3, 9.1, 9.2, 10.0}) frames.push_back({0, time_s, false});
  // 5.9996 is a second after 5 in a stream whose ticks don't meet it.
  EXPECT_THAT(chosen_frames(frames, {.every_s = 1}, 100), testing::ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(chosen_frames(frames, {.every = 3}, 2), testing::ElementsAre(0, 3));
}

}  // namespace
}  // namespace evener::data
