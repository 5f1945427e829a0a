// Samples of many callers answered together, without any engine.
#include "task/inference/batch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace evener::task {
namespace {

SampleValues sample(float value) {
  return {.bytes = {}, .floats = {value}};
}

/// Says of each sample its value and its square.
TensorMap squares(const std::vector<const SampleValues*>& samples) {
  std::vector<float> values;
  for (const SampleValues* one : samples)
    values.insert(values.end(), {one->floats[0], one->floats[0] * one->floats[0]});
  TensorMap outputs;
  outputs["squares"] = HostTensor::of_floats({std::ssize(samples), 2}, values);
  return outputs;
}

TEST(BatchQueue, GivesEachCallerItsOwnAnswers) {
  std::atomic<std::size_t> most = 0, samples = 0;
  BatchQueue queue(
      {.lanes = 3, .batch = 4, .capacity = 10'000}, [](std::size_t, const auto& values) { return squares(values); },
      [&](const BatchQueue::Done& done) {
        samples += done.samples;
        if (done.samples > most) most = done.samples;
      });
  std::vector<std::future<void>> callers;
  for (int caller = 0; caller < 16; ++caller) {
    callers.push_back(std::async(std::launch::async, [&, caller] {
      for (int count = 1; count < 12; ++count) {
        std::vector<SampleValues> asked;
        for (int i = 0; i < count; ++i) asked.push_back(sample(static_cast<float>(100 * caller + i)));
        const HostTensor answer = queue.answer(asked, 60).at("squares");
        ASSERT_EQ(answer.shape, (std::vector<std::int64_t>{count, 2}));
        for (int i = 0; i < count; ++i) {
          const auto value = static_cast<float>(100 * caller + i);
          EXPECT_EQ(answer.floats()[2 * i], value);
          EXPECT_EQ(answer.floats()[2 * i + 1], value * value);
        }
      }
    }));
  }
  for (auto& caller : callers) caller.get();
  EXPECT_EQ(samples, 16U * 66U);
  EXPECT_LE(most, 4U);
}

TEST(BatchQueue, TellsACallersFailureToAllWhoWaitForIt) {
  BatchQueue queue({.lanes = 1, .batch = 2, .capacity = 10}, [](std::size_t, const auto& values) {
    if (values.front()->floats[0] < 0) throw Error("negative");
    return squares(values);
  });
  EXPECT_THROW(queue.answer({sample(-1), sample(1), sample(2), sample(3)}, 60), Error);
  EXPECT_EQ(queue.answer({sample(3)}, 60).at("squares").floats()[1], 9);
}

TEST(BatchQueue, TakesAsManyAsItHasRoomFor) {
  BatchQueue queue({.lanes = 1, .batch = 2, .capacity = 3},
                   [](std::size_t, const auto& values) { return squares(values); });
  EXPECT_EQ(queue.answer({sample(1), sample(2), sample(3)}, 60).at("squares").shape.front(), 3);
  EXPECT_THROW(queue.answer({sample(1), sample(2), sample(3), sample(4)}, 60), QueueFull);
}

TEST(BatchQueue, AnswersWhatWaitsWhenItEnds) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future();
  std::vector<std::future<TensorMap>> callers;
  {
    BatchQueue queue({.lanes = 1, .batch = 1, .capacity = 10, .max_wait_s = 0}, [&](std::size_t, const auto& values) {
      gone.wait();
      return squares(values);
    });
    for (int i = 0; i < 5; ++i) {
      callers.push_back(
          std::async(std::launch::async, [&, i] { return queue.answer({sample(static_cast<float>(i))}, 60); }));
    }
    while (queue.waiting() < 4) std::this_thread::yield();
    go.set_value();
    for (auto& caller : callers) caller.wait();
  }
  for (std::size_t i = 0; i < callers.size(); ++i) {
    EXPECT_EQ(callers[i].get().at("squares").floats()[0], static_cast<float>(i));
  }
}

}  // namespace
}  // namespace evener::task
