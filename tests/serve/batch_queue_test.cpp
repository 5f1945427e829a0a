// Samples of many callers answered together, without any engine.
// What a queue computes and what not: given up, failed, too much, waited for, and left when it ends.
#include "serve/batch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>
#include <span>

namespace evener::serving {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<inference::SampleValues> samples_of(const std::vector<float>& values) {
  std::vector<inference::SampleValues> samples;
  for (const float value : values) samples.push_back({.bytes = {}, .floats = {value}});
  return samples;
}

/// Ten times each value, beside the value as three bytes; rows that nobody asked for follow.
TensorMap tenfold(const std::vector<const inference::SampleValues*>& samples) {
  const std::int64_t rows = std::ssize(samples) + 2;
  std::vector<float> tens(static_cast<std::size_t>(rows), -1);
  HostTensor bytes{DType::kU8, {rows, 3}, {}};
  bytes.bytes.resize(static_cast<std::size_t>(rows) * 3);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    tens[i] = 10 * samples[i]->floats[0];
    for (std::size_t k = 0; k < 3; ++k)
      bytes.bytes[3 * i + k] = static_cast<std::byte>(samples[i]->floats[0] + static_cast<float>(k));
  }
  TensorMap outputs;
  outputs["tens"] = HostTensor::of_floats({rows}, tens);
  outputs["bytes"] = std::move(bytes);
  return outputs;
}

/// A lane that computes nothing before it is let go, and keeps what it was given.
class HeldLane {
 public:
  BatchQueue::Call call() {
    return [this](std::size_t, const std::vector<const inference::SampleValues*>& samples) {
      {
        const std::lock_guard lock(mutex_);
        std::vector<float> values;
        for (const inference::SampleValues* one : samples) values.push_back(one->floats[0]);
        calls_.push_back(values);
      }
      begun_.count_down();
      gone_.wait();
      if (samples.front()->floats[0] < 0) throw Error("negative");
      return tenfold(samples);
    };
  }
  void wait_for_first_call() { begun_.wait(); }
  void let_go() { go_.set_value(); }
  std::vector<std::vector<float>> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  struct Latch {
    void count_down() { done.store(true), done.notify_all(); }
    void wait() const { done.wait(false); }
    std::atomic<bool> done = false;
  };
  std::mutex mutex_;
  std::vector<std::vector<float>> calls_;
  Latch begun_;
  std::promise<void> go_;
  const std::shared_future<void> gone_ = go_.get_future();
};

std::future<TensorMap> asked(BatchQueue& queue, const std::vector<float>& values) {
  return std::async(std::launch::async, [&queue, values] { return queue.answer(samples_of(values), 60); });
}

void wait_until_waiting(const BatchQueue& queue, std::size_t samples) {
  while (queue.waiting() != samples) std::this_thread::yield();
}

TEST(BatchQueue, GivesEachCallerItsOwnAnswers) {
  std::atomic<std::size_t> most = 0, samples = 0;
  BatchQueue queue(
      {.lanes = 3, .batch = 4, .capacity = 10'000}, [](std::size_t, const auto& values) { return tenfold(values); },
      [&](const BatchQueue::Done& done) {
        samples += done.samples;
        if (done.samples > most) most = done.samples;
      });
  std::vector<std::future<void>> callers;
  for (int caller = 0; caller < 16; ++caller) {
    callers.push_back(std::async(std::launch::async, [&, caller] {
      for (int count = 1; count < 12; ++count) {
        std::vector<float> values;
        for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(100 * caller + i));
        const HostTensor answer = queue.answer(samples_of(values), 60).at("tens");
        ASSERT_EQ(answer.shape, std::vector<std::int64_t>{count});
        for (int i = 0; i < count; ++i) EXPECT_EQ(answer.floats()[i], 10 * static_cast<float>(100 * caller + i));
      }
    }));
  }
  for (auto& caller : callers) caller.get();
  EXPECT_EQ(samples, 16U * 66U);
  EXPECT_LE(most, 4U);
}

TEST(BatchQueue, TakesAsManyAsItHasRoomFor) {
  BatchQueue queue({.lanes = 1, .batch = 2, .capacity = 3},
                   [](std::size_t, const auto& values) { return tenfold(values); });
  EXPECT_EQ(queue.answer(samples_of({1, 2, 3}), 60).at("tens").shape.front(), 3);
  EXPECT_THROW(queue.answer(samples_of({1, 2, 3, 4}), 60), QueueFull);
}

TEST(BatchQueue, AnswersWhatWaitsWhenItEnds) {
  HeldLane lane;
  std::vector<std::future<TensorMap>> callers;
  {
    BatchQueue queue({.lanes = 1, .batch = 1, .capacity = 10, .max_wait_s = 0}, lane.call());
    for (int i = 0; i < 5; ++i) callers.push_back(asked(queue, {static_cast<float>(i)}));
    while (queue.waiting() < 4) std::this_thread::yield();
    lane.let_go();
    for (auto& caller : callers) caller.wait();
  }
  for (std::size_t i = 0; i < callers.size(); ++i) {
    EXPECT_EQ(callers[i].get().at("tens").floats()[0], 10 * static_cast<float>(i));
  }
}

TEST(BatchQueueRules, AnswersHaveARowForEachSampleInTheirOrderWhateverTheCalls) {
  HeldLane lane;
  BatchQueue queue({.lanes = 1, .batch = 3, .capacity = 20}, lane.call());
  auto first = asked(queue, {1});
  lane.wait_for_first_call();
  auto second = asked(queue, {2, 3});
  wait_until_waiting(queue, 2);
  auto third = asked(queue, {4, 5, 6, 7});
  wait_until_waiting(queue, 6);
  lane.let_go();
  EXPECT_EQ(first.get().at("tens").shape, std::vector<std::int64_t>{1});
  const TensorMap two = second.get(), four = third.get();
  EXPECT_EQ(two.at("tens").shape, std::vector<std::int64_t>{2});
  EXPECT_THAT(std::span(two.at("tens").floats(), 2), ElementsAre(20, 30));
  EXPECT_THAT(std::span(four.at("tens").floats(), 4), ElementsAre(40, 50, 60, 70));
  EXPECT_EQ(four.at("bytes").shape, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(four.at("bytes").dtype, DType::kU8);
  std::vector<int> bytes;
  for (const auto byte : four.at("bytes").bytes) bytes.push_back(static_cast<int>(byte));
  EXPECT_THAT(bytes, ElementsAre(4, 5, 6, 5, 6, 7, 6, 7, 8, 7, 8, 9));
  EXPECT_THAT(lane.calls(), ElementsAre(ElementsAre(1), ElementsAre(2, 3, 4), ElementsAre(5, 6, 7)));
}

TEST(BatchQueueRules, WhatNobodyWaitsForIsNotComputed) {
  HeldLane lane;
  BatchQueue queue({.lanes = 1, .batch = 2, .capacity = 20}, lane.call());
  auto first = asked(queue, {1});
  lane.wait_for_first_call();
  try {
    queue.answer(samples_of({2, 3, 4}), 0.01);
    FAIL() << "an answer of a lane that was held";
  } catch (const AnswerTooLate& error) {
    EXPECT_STREQ(error.what(), "no answer within 10 ms");
  }
  auto last = asked(queue, {5});
  wait_until_waiting(queue, 4);
  lane.let_go();
  EXPECT_EQ(last.get().at("tens").floats()[0], 50);
  EXPECT_THAT(lane.calls(), ElementsAre(ElementsAre(1), ElementsAre(5)));
  EXPECT_EQ(queue.waiting(), 0U);
}

TEST(BatchQueueRules, AFailureIsThatOfAllInTheCallAndLeavesTheRestOfTheirsUncomputed) {
  HeldLane lane;
  BatchQueue queue({.lanes = 1, .batch = 2, .capacity = 20}, lane.call());
  auto held = asked(queue, {1});
  lane.wait_for_first_call();
  auto alone = asked(queue, {-2});
  wait_until_waiting(queue, 1);
  auto both = asked(queue, {3, 4, 5});  // 3 is in the call that fails
  wait_until_waiting(queue, 4);
  auto after = asked(queue, {6});
  wait_until_waiting(queue, 5);
  lane.let_go();
  held.get();
  EXPECT_THROW(alone.get(), Error);
  EXPECT_THROW(both.get(), Error);
  EXPECT_EQ(after.get().at("tens").floats()[0], 60);
  EXPECT_THAT(lane.calls(), ElementsAre(ElementsAre(1), ElementsAre(-2, 3), ElementsAre(6)));
}

TEST(BatchQueueRules, CapacityCountsWhatWaitsAndNotWhatIsComputed) {
  HeldLane lane;
  BatchQueue queue({.lanes = 1, .batch = 1, .capacity = 3}, lane.call());
  auto computed = asked(queue, {1});
  lane.wait_for_first_call();
  auto two = asked(queue, {2, 3});
  wait_until_waiting(queue, 2);
  try {
    queue.answer(samples_of({4, 5}), 60);
    FAIL() << "four samples in a queue of three";
  } catch (const QueueFull& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 samples wait already, and 2 more don't fit into the queue of 3"));
  }
  EXPECT_EQ(queue.waiting(), 2U) << "none of what doesn't fit";
  auto fits = asked(queue, {6});
  wait_until_waiting(queue, 3);
  lane.let_go();
  EXPECT_EQ(fits.get().at("tens").floats()[0], 60);
  two.get();
  computed.get();
}

TEST(BatchQueueRules, AFullBatchWaitsForNobody) {
  BatchQueue queue({.lanes = 1, .batch = 2, .capacity = 20, .max_wait_s = 1e6},
                   [](std::size_t, const auto& samples) { return tenfold(samples); });
  EXPECT_EQ(queue.answer(samples_of({1, 2, 3, 4}), 60).at("tens").floats()[3], 40);
  auto one = asked(queue, {5});
  wait_until_waiting(queue, 1);
  auto other = asked(queue, {6});
  EXPECT_EQ(one.get().at("tens").floats()[0], 50);
  EXPECT_EQ(other.get().at("tens").floats()[0], 60);
}

TEST(BatchQueueRules, APartOfABatchWaitsForOthersAndThenGoesAlone) {
  std::vector<std::size_t> sizes;
  double longest_s = 0;
  BatchQueue queue(
      {.lanes = 1, .batch = 8, .capacity = 20, .max_wait_s = 0.02},
      [](std::size_t, const auto& samples) { return tenfold(samples); },
      [&](const BatchQueue::Done& done) {
        sizes.push_back(done.samples);
        longest_s = done.longest_wait_s;
      });
  EXPECT_EQ(queue.answer(samples_of({1, 2}), 60).at("tens").floats()[1], 20);
  EXPECT_THAT(sizes, ElementsAre(2));
  EXPECT_GE(longest_s, 0.02) << "it was left waiting for others";
}

TEST(BatchQueueRules, SamplesOfOneRequestWakeAllLanes) {
  std::barrier<> meeting(3);  // each lane waits until the others compute, too
  std::mutex mutex;
  std::vector<std::size_t> lanes;
  BatchQueue queue({.lanes = 3, .batch = 1, .capacity = 20}, [&](std::size_t lane, const auto& samples) {
    {
      const std::lock_guard lock(mutex);
      lanes.push_back(lane);
    }
    meeting.arrive_and_wait();
    return tenfold(samples);
  });
  EXPECT_THAT(std::span(queue.answer(samples_of({1, 2, 3}), 60).at("tens").floats(), 3), ElementsAre(10, 20, 30));
  EXPECT_THAT(lanes, testing::UnorderedElementsAre(0U, 1U, 2U));
}

TEST(BatchQueueRules, WhatACallCameToIsTold) {
  std::mutex mutex;
  std::vector<BatchQueue::Done> all;
  HeldLane lane;
  {
    BatchQueue queue({.lanes = 1, .batch = 4, .capacity = 20}, lane.call(), [&](const BatchQueue::Done& done) {
      const std::lock_guard lock(mutex);
      all.push_back(done);
    });
    auto first = asked(queue, {1, 2});
    lane.wait_for_first_call();
    auto second = asked(queue, {3});
    wait_until_waiting(queue, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    lane.let_go();
    first.get();
    second.get();
  }
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].samples, 2U);
  EXPECT_GE(all[0].compute_s, 0.005) << "it was held so long";
  EXPECT_EQ(all[1].samples, 1U);
  EXPECT_GE(all[1].longest_wait_s, 0.005) << "it waited for the lane that was held";
}

}  // namespace

}  // namespace evener::serving
