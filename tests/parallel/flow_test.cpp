#include "parallel/flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "engine/engine.h"
#include "parallel/flow_helpers.h"

namespace evener::parallel {
namespace {

using namespace test;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

std::vector<int> through_three_steps(int workers, const FlowOptions& options = {}) {
  std::vector<int> results;
  Flow flow = flow_from<int>({.name = "count"}, numbers(200))
                  .map({.name = "double", .workers = workers, .capacity = 3},
                       [](int number) {
                         take_some_time(number, 1);
                         return 2 * number;
                       })
                  .map({.name = "write out", .workers = 2 * workers, .capacity = 5},
                       [](int number) {
                         take_some_time(number, 2);
                         return std::to_string(number);
                       })
                  .map({.name = "halve", .workers = workers, .capacity = 1},
                       [](const std::string& text) {
                         take_some_time(std::stoi(text), 3);
                         return std::stoi(text) / 2;
                       })
                  .into({.name = "keep"}, [&](int number) { results.push_back(number); });
  flow.run(options);
  return results;
}

TEST(Flow, KeepsTheOrderWhoeverIsFaster) {
  EXPECT_THAT(through_three_steps(1), ElementsAreArray(all_of(200)));
  EXPECT_THAT(through_three_steps(4), ElementsAreArray(all_of(200)));
}

TEST(Flow, LosesNothingInAnyOrder) {
  std::vector<int> results = through_three_steps(4, {.keep_order = false});
  std::ranges::sort(results);
  EXPECT_THAT(results, ElementsAreArray(all_of(200)));
}

TEST(Flow, AQuickItemPassesASlowOneWhereOrderIsNotKept) {
  std::atomic<bool> second_arrived = false;
  std::vector<int> results;
  Flow flow = flow_from<int>({.name = "count"}, numbers(2))
                  .map({.name = "wait", .workers = 2},
                       [&](int number) {
                         if (number == 0) {
                           EXPECT_TRUE(comes_true([&] { return second_arrived.load(); }));
                         }
                         return number;
                       })
                  .into({.name = "keep"}, [&](int number) {
                    results.push_back(number);
                    if (number == 1) second_arrived = true;
                  });
  flow.run({.keep_order = false});
  EXPECT_THAT(results, ElementsAre(1, 0));
}

TEST(Flow, QueuesBoundWhatIsUnderWay) {
  std::atomic<int> handed_out = 0, arrived = 0, most = 0;
  // What each worker has in hand, the source and the sink among them, and what the queues hold.
  constexpr int kBound = (1 + 3 + 1 + 1) + (2 + 4 + 1);
  const auto next = [&, count = numbers(100)]() mutable {
    const auto number = count();
    if (number) most = std::max(most.load(), ++handed_out - arrived);
    return number;
  };
  Flow flow = flow_from<int>({.name = "count"}, next)
                  .map({.name = "pass on", .workers = 3, .capacity = 2}, [](int number) { return number; })
                  .map({.name = "pass on too", .workers = 1, .capacity = 4}, [](int number) { return number; })
                  .into({.name = "wait", .capacity = 1}, [&](int number) {
                    if (number == 0) {
                      EXPECT_TRUE(comes_true([&] { return handed_out == kBound; }));
                    }
                    ++arrived;
                  });
  flow.run();
  EXPECT_EQ(arrived, 100);
  EXPECT_EQ(most, kBound);
}

TEST(Flow, ASlowItemHoldsTheOthersWithinTheWindow) {
  std::atomic<int> begun = 0, begun_before_first_ended = 0;
  // The first one, two more that the queue has room for behind it, and those of the three other workers.
  constexpr int kWindow = 1 + 2 + 3;
  std::vector<int> results;
  Flow flow = flow_from<int>({.name = "count"}, numbers(50))
                  .map({.name = "wait", .workers = 4},
                       [&](int number) {
                         ++begun;
                         if (number != 0) return number;
                         EXPECT_TRUE(comes_true([&] { return begun == kWindow; }));
                         std::this_thread::sleep_for(std::chrono::milliseconds(20));
                         begun_before_first_ended = begun.load();
                         return number;
                       })
                  .into({.name = "keep", .capacity = 3}, [&](int number) { results.push_back(number); });
  flow.run();
  EXPECT_EQ(begun_before_first_ended, kWindow);
  EXPECT_THAT(results, ElementsAreArray(all_of(50)));
}

/// Faces of a photo: as many as the last digit of its number, up to 3.
std::vector<std::string> faces_of(int photo) {
  std::vector<std::string> faces;
  for (int face = 0; face < photo % 4; ++face) faces.push_back(std::to_string(photo) + "." + std::to_string(face));
  return faces;
}

TEST(Flow, OneItemBecomesAnyNumberAndBatchesAreCollected) {
  std::vector<std::string> wanted;
  for (int photo = 0; photo < 40; ++photo) {
    for (const auto& face : faces_of(photo)) wanted.push_back("face " + face);
  }
  for (const int workers : {1, 3}) {
    std::mutex mutex;
    std::multiset<std::size_t> batches;
    std::vector<std::string> results;
    Flow flow = flow_from<int>({.name = "count"}, numbers(40))
                    .expand({.name = "detect", .workers = workers},
                            [](int photo) {
                              take_some_time(photo, 4);
                              return faces_of(photo);
                            })
                    .batch(16)
                    .expand({.name = "embed", .workers = workers, .capacity = 2},
                            [&](std::vector<std::string> faces) {
                              const std::lock_guard lock(mutex);
                              batches.insert(faces.size());
                              for (auto& face : faces) face.insert(0, "face ");
                              return faces;
                            })
                    .into({.name = "keep"}, [&](std::string face) { results.push_back(std::move(face)); });
    flow.run();
    EXPECT_THAT(results, ElementsAreArray(wanted));
    EXPECT_THAT(batches, ElementsAre(60 % 16, 16, 16, 16));
  }
}

TEST(Flow, ABatchMayBecomeOneResult) {
  std::vector<int> sums;
  Flow flow = flow_from<int>({.name = "count"}, numbers(10))
                  .batch(4)
                  .map({.name = "sum", .workers = 2},
                       [](const std::vector<int>& batch) { return std::accumulate(batch.begin(), batch.end(), 0); })
                  .batch(2)
                  .into({.name = "keep"}, [&](const std::vector<int>& batch) {
                    sums.insert(sums.end(), batch.begin(), batch.end());
                    sums.push_back(-1);
                  });
  flow.run();
  EXPECT_THAT(sums, ElementsAre(0 + 1 + 2 + 3, 4 + 5 + 6 + 7, -1, 8 + 9, -1));
}

TEST(Flow, ItemsMayBeOfTypesThatAreOnlyMoved) {
  std::vector<int> results;
  Flow flow = flow_from<int>({.name = "count"}, numbers(3))
                  .map({.name = "box"}, [](int number) { return std::make_unique<int>(number); })
                  .batch(2)
                  .expand({.name = "pass on"}, [](std::vector<std::unique_ptr<int>> boxes) { return boxes; })
                  .into({.name = "unbox"}, [&](std::unique_ptr<int> box) { results.push_back(*box); });
  flow.run();
  EXPECT_THAT(results, ElementsAre(0, 1, 2));
}

TEST(Flow, ReportsWhatEachWorkerDid) {
  Flow flow = flow_from<int>({.name = "count"}, numbers(60))
                  .map({.name = "wait", .workers = 3, .capacity = 4},
                       [](int number) {
                         take_some_time(number, 7);
                         return number;
                       })
                  .batch(8)
                  .into({.name = "keep", .capacity = 2}, [](const std::vector<int>&) {});
  flow.run();
  const FlowReport& report = flow.report();
  std::vector<std::string> names;
  for (const auto& step : report.steps) {
    names.push_back(step.name);
    std::int64_t items = 0;
    for (const auto& worker : step.workers) {
      items += worker.items;
      EXPECT_THAT((std::vector{worker.busy_s, worker.wait_input_s, worker.wait_room_s}), Each(Ge(0)));
      EXPECT_LE(worker.busy_s + worker.wait_input_s + worker.wait_room_s, report.seconds);
    }
    EXPECT_EQ(items, 60) << step.name;
  }
  EXPECT_THAT(names, ElementsAre("count", "wait", "keep"));
  EXPECT_THAT(report.steps[1].workers, SizeIs(3));
  double busy_s = 0;
  for (const auto& worker : report.steps[1].workers) busy_s += worker.busy_s;
  double slept_s = 0;
  for (int number = 0; number < 60; ++number) slept_s += 50e-6 * ((number * 7919 + 7 * 104729) % 41);
  EXPECT_GE(busy_s, slept_s);
  EXPECT_FALSE(report.steps[0].queue);
  EXPECT_EQ(report.steps[1].queue->capacity, 4U);
  EXPECT_EQ(report.steps[2].queue->capacity, 8U) << "room for its batch";
  for (const std::size_t step : {1U, 2U}) {
    const FlowQueueReport& queue = *report.steps[step].queue;
    EXPECT_THAT(queue.max_depth, AllOf(Ge(1U), Le(queue.capacity)));
    EXPECT_GE(queue.mean_depth, 0);
    EXPECT_LE(queue.mean_depth, static_cast<double>(queue.max_depth));
  }
}

TEST(Flow, MarksItsPhasesForAMeter) {
  struct Listener : PhaseListener {
    void on_phase(Phase phase, bool, std::int64_t, std::int64_t, std::int64_t) override {
      ++marks[static_cast<std::size_t>(phase)];
    }
    std::array<std::atomic<int>, kPhaseCount> marks{};
  } listener;
  set_phase_listener(&listener);
  Flow flow = flow_from<int>({.name = "list", .phase = Phase::kRead}, numbers(10))
                  .map({.name = "decode", .workers = 2, .phase = Phase::kDecode}, [](int number) { return number; })
                  .batch(4)
                  .map({.name = "run", .phase = Phase::kForward}, [](std::vector<int> batch) { return batch; })
                  .into({.name = "keep"}, [](const std::vector<int>&) {});
  flow.run();
  set_phase_listener(nullptr);
  const auto marks = [&](Phase phase) { return listener.marks[static_cast<std::size_t>(phase)].load(); };
  EXPECT_EQ(marks(Phase::kRead), 11) << "the last call says that there is no more";
  EXPECT_EQ(marks(Phase::kDecode), 10);
  EXPECT_EQ(marks(Phase::kForward), 3);
}

TEST(Flow, AWorkerMayLeaveTheRestToTheOthers) {
  std::mutex mutex;
  std::vector<int> done_by(3), asked(3), kept;
  FlowStep run = {.name = "run", .workers = 3, .goes_on = [&](int worker) {
                    const std::lock_guard lock(mutex);
                    ++asked[static_cast<std::size_t>(worker)];
                    return false;
                  }};
  Flow flow = flow_from<int>({.name = "count"}, numbers(50))
                  .map(std::move(run),
                       [&](int number, int worker) {
                         const std::lock_guard lock(mutex);
                         ++done_by[static_cast<std::size_t>(worker)];
                         return number;
                       })
                  .into({.name = "keep"}, [&](int number) { kept.push_back(number); });
  flow.run();
  EXPECT_EQ(kept, all_of(50)) << "the last one stays, whatever it says";
  std::ranges::sort(done_by);
  EXPECT_THAT(done_by, ElementsAre(0, 0, 50));
  EXPECT_THAT(asked, Each(Le(1))) << "who is done is not asked again, nor is the last one";
}

TEST(Flow, RefusesNumbersThatCannotBe) {
  const auto error_of = [](FlowStep source, FlowStep step, FlowStep sink, std::size_t batch) -> std::string {
    try {
      flow_from<int>(std::move(source), numbers(1))
          .batch(batch)
          .expand(std::move(step), [](std::vector<int> items) { return items; })
          .into(std::move(sink), [](int) {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({.name = "a"}, {.name = "b"}, {.name = "c"}, 1), "");
  EXPECT_THAT(error_of({.name = "a"}, {.name = "b", .workers = 0}, {.name = "c"}, 1), HasSubstr("'b' of a flow has 0"));
  EXPECT_THAT(error_of({.name = "a"}, {.name = "b", .capacity = 0}, {.name = "c"}, 1), HasSubstr("without room"));
  EXPECT_THAT(error_of({.name = "a"}, {.name = "b"}, {.name = "c"}, 0), HasSubstr("batches of 0 items"));
  EXPECT_THAT(error_of({.name = "a", .workers = 2}, {.name = "b"}, {.name = "c"}, 1), HasSubstr("is its source"));
  EXPECT_THAT(error_of({.name = "a"}, {.name = "b"}, {.name = "c", .workers = 2}, 1), HasSubstr("is its sink"));
}

}  // namespace
}  // namespace evener::parallel
