#include "made_up/card.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <vector>

namespace made_up {
namespace {

TEST(MadeUpCard, WorkHasNotHappenedWhenACallReturns) {
  Stream stream(0);
  int done = 0;
  stream.queue([&] { done = 1; });
  EXPECT_FALSE(stream.idle());
  stream.wait();
  EXPECT_EQ(done, 1);
}

TEST(MadeUpCard, AStreamGoesOnWhenAnotherHasPassedTheEvent) {
  Stream first(0), second(0);
  std::vector<int> order;
  Event event;
  first.queue([&] { order.push_back(1); });
  event.record(first);
  event.hold_back(second);
  second.queue([&] { order.push_back(2); });
  second.wait();
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_TRUE(event.passed());
}

TEST(MadeUpCard, ReplaysWorkOfStreamsThatWereDrawnIn) {
  Stream first(0), second(0);
  std::vector<int> order;
  Event forked, joined;
  first.begin_recording();
  first.queue([&] { order.push_back(1); });
  forked.record(first);
  forked.hold_back(second);
  second.queue([&] { order.push_back(2); });
  EXPECT_TRUE(second.is_recorded());
  EXPECT_THROW(second.wait(), Refused);
  EXPECT_THROW((void)forked.passed(), Refused);
  joined.record(second);
  joined.hold_back(first);
  first.queue([&] { order.push_back(3); });
  const auto recording = first.end_recording();
  EXPECT_EQ(recording->size(), 3u);
  EXPECT_TRUE(order.empty());
  recording->replay(first);
  recording->replay(first);
  first.wait();
  EXPECT_EQ(order, (std::vector{1, 2, 3, 1, 2, 3}));
  EXPECT_FALSE(second.is_recorded());
}

TEST(MadeUpCard, RefusesARecordingThatLeavesAStreamOut) {
  Stream first(0), second(0);
  Event forked, joined;
  first.begin_recording();
  forked.record(first);
  forked.hold_back(second);
  second.queue([] {});
  joined.record(second);
  joined.hold_back(first);
  second.queue([] {});  // after the point that the first one waits for
  EXPECT_THROW(first.end_recording(), Refused);
  EXPECT_FALSE(first.is_recorded());
  EXPECT_FALSE(second.is_recorded());
}

TEST(MadeUpCard, MemoryIsFullOfNanAndEnds) {
  auto* block = static_cast<float*>(allocate(0, 100 * sizeof(float)));
  EXPECT_EQ(card_of(block, 100 * sizeof(float)), 0);
  EXPECT_EQ(card_of(block, 101 * sizeof(float)), -1);
  EXPECT_EQ(card_of(&block), -1);
  EXPECT_TRUE(std::isnan(static_cast<float*>(for_work(block))[99]));
  const MemoryState state = memory_of(0);
  EXPECT_THROW(allocate(0, state.total), OutOfMemory);
  release(block);
  EXPECT_LT(memory_of(0).used, state.used);
}

// Real drivers end their work before the libraries go that it needs.
TEST(MadeUpCardDeathTest, WorkThatNobodyWaitedForIsNotDoneAtTheEnd) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a child that may use the card
  EXPECT_EXIT(
      {
        setenv("MADE_UP_LATENESS_US", "1000", 1);
        static Stream* stream = new Stream(0);
        stream->queue([] { usleep(200'000); });
        stream->queue([] { abort(); });
        exit(3);
      },
      testing::ExitedWithCode(3), "");
}

TEST(MadeUpCardDeathTest, TheHostCanNotTouchIt) {
  auto* block = static_cast<volatile float*>(allocate(0, 16));
  EXPECT_DEATH(block[0] = 1, "the host touched memory of the card");
  release(const_cast<float*>(block));
}

TEST(MadeUpCardDeathTest, WritingBeyondTheEndIsFound) {
  auto* block = static_cast<float*>(allocate(0, 16));
  auto* seen = static_cast<volatile float*>(for_work(block));
  EXPECT_DEATH(seen[64] = 1, "went beyond the end");
  EXPECT_DEATH(
      {
        seen[4] = 1;
        release(block);
      },
      "wrote beyond the end");
  seen[4] = std::numeric_limits<float>::quiet_NaN();  // the child wrote to this memory, not to a copy
  release(block);
}

}  // namespace
}  // namespace made_up
