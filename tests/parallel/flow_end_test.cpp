// How flows end before their source does: failing steps, items that are set aside, stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "engine/engine.h"
#include "parallel/flow.h"
#include "parallel/flow_helpers.h"
#include "placement/plan.h"

namespace evener::parallel {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::MatchesRegex;
using testing::SizeIs;

/// A flow of numbered photos whose middle step throws `Thrown` for number 5. `alive` counts the items that exist.
template <class Thrown>
Flow failing_in_the_middle(const std::shared_ptr<int>& alive, int workers) {
  struct Photo {
    int number;
    std::shared_ptr<int> alive;
  };
  const auto next = [alive, count = numbers(1'000'000)]() mutable { return Photo{*count(), alive}; };
  const auto name = [](const Photo& photo) { return file_name(photo.number); };
  return flow_from<Photo>({.name = "list"}, next, name)
      .map({.name = "read", .workers = workers}, [](Photo photo) { return photo; })
      .map({.name = "decode", .workers = workers},
           [](Photo photo) {
             if (photo.number == 5) throw Thrown("the file is cut off");
             return photo;
           })
      .into({.name = "keep"}, [](const Photo&) {});
}

TEST(FlowEnd, AFailingStepEndsItAndSaysWhere) {
  const auto alive = std::make_shared<int>(0);
  for (const int workers : {1, 4}) {
    Flow flow = failing_in_the_middle<Error>(alive, workers);
    const long unused = alive.use_count();
    EXPECT_EQ(message_of<Error>(flow), "step 'decode', item '5.jpg': the file is cut off");
    EXPECT_EQ(alive.use_count(), unused) << "no item is left in a queue or a thread";
    EXPECT_THAT(flow.report().steps.back().workers.front().items, Le(5));
  }
}

TEST(FlowEnd, WhatKindOfErrorItWasStaysKnown) {
  const auto alive = std::make_shared<int>(0);
  Flow wrong_use = failing_in_the_middle<UsageError>(alive, 2);
  EXPECT_EQ(message_of<UsageError>(wrong_use), "step 'decode', item '5.jpg': the file is cut off");
  Flow no_memory = failing_in_the_middle<engine::OutOfMemory>(alive, 2);
  EXPECT_EQ(message_of<engine::OutOfMemory>(no_memory), "step 'decode', item '5.jpg': the file is cut off");
  Flow foreign = failing_in_the_middle<std::out_of_range>(alive, 2);
  EXPECT_EQ(message_of<Error>(foreign), "step 'decode', item '5.jpg': the file is cut off");
  Flow interrupted = failing_in_the_middle<Interrupted>(alive, 2);
  EXPECT_EQ(message_of<Interrupted>(interrupted), "the file is cut off");
}

TEST(FlowEnd, ItemsAreSetAsideInTheOrderOfTheSource) {
  for (const int workers : {1, 4}) {
    std::vector<int> results;
    Flow flow = flow_from<int>({.name = "list"}, numbers(30), file_name)
                    .map({.name = "read", .workers = workers, .on_failure = OnFailure::kSetAside},
                         [](int number) {
                           take_some_time(number, 5);
                           if (number % 10 == 3) throw Error("unreadable");
                           return number;
                         })
                    .map({.name = "decode", .workers = workers, .on_failure = OnFailure::kSetAside},
                         [](int number) {
                           take_some_time(number, 6);
                           if (number % 10 == 1) throw Error("odd");
                           return number;
                         })
                    .into({.name = "keep"}, [&](int number) { results.push_back(number); });
    flow.run();
    std::vector<std::string> told;
    for (const auto& item : flow.report().set_aside) told.push_back(item.name + " " + item.step + ": " + item.reason);
    EXPECT_THAT(told, ElementsAre("1.jpg decode: odd", "3.jpg read: unreadable", "11.jpg decode: odd",
                                  "13.jpg read: unreadable", "21.jpg decode: odd", "23.jpg read: unreadable"));
    std::vector<int> wanted = all_of(30);
    std::erase_if(wanted, [](int number) { return number % 10 == 1 || number % 10 == 3; });
    EXPECT_THAT(results, ElementsAreArray(wanted));
  }
}

TEST(FlowEnd, ABatchIsSetAsideWithAllItsItems) {
  std::vector<int> results;
  Flow flow = flow_from<int>({.name = "list"}, numbers(9), file_name)
                  .batch(3)
                  .expand({.name = "run", .on_failure = OnFailure::kSetAside},
                          [](std::vector<int> batch) {
                            if (batch.front() == 3) throw Error("odd");
                            return batch;
                          })
                  .map({.name = "look", .on_failure = OnFailure::kSetAside},
                       [](int number) {
                         if (number == 7) throw Error("not found");
                         return number;
                       })
                  .into({.name = "keep"}, [&](int number) { results.push_back(number); });
  flow.run();
  std::vector<std::string> told;
  for (const auto& item : flow.report().set_aside) told.push_back(item.name + " " + item.step + ": " + item.reason);
  EXPECT_THAT(told, ElementsAre("3.jpg run: odd", "4.jpg run: odd", "5.jpg run: odd", "7.jpg look: not found"));
  EXPECT_THAT(results, ElementsAre(0, 1, 2, 6, 8));
}

TEST(FlowEnd, OnlyWhatIsAboutAnItemSetsItAside) {
  const auto flow_throwing = [](auto error) {
    return flow_from<int>({.name = "list"}, numbers(9), file_name)
        .map({.name = "decode", .on_failure = OnFailure::kSetAside},
             [error](int number) {
               if (number == 4) throw error;
               return number;
             })
        .into({.name = "keep"}, [](int) {});
  };
  Flow wrong_use = flow_throwing(UsageError("wrong"));
  EXPECT_THROW(wrong_use.run(), UsageError);
  Flow no_memory = flow_throwing(engine::OutOfMemory("full"));
  EXPECT_THROW(no_memory.run(), engine::OutOfMemory);
  Flow full_disk = flow_throwing(OutputError("can't write 'faces.csv'"));
  EXPECT_EQ(message_of<OutputError>(full_disk), "can't write 'faces.csv'") << "no item is to blame";
  Flow no_host_memory = flow_throwing(std::bad_alloc());
  EXPECT_THROW(no_host_memory.run(), std::bad_alloc);
  EXPECT_THAT(no_host_memory.report().set_aside, IsEmpty());
}

TEST(FlowEnd, AnEmptySourceEndsAtOnce) {
  int calls = 0;
  Flow flow = flow_from<int>({.name = "count"}, numbers(0))
                  .batch(4)
                  .expand({.name = "pass on", .workers = 3},
                          [&](std::vector<int> batch) {
                            ++calls;
                            return batch;
                          })
                  .into({.name = "keep"}, [&](int) { ++calls; });
  flow.run();
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(flow.report().steps, SizeIs(3));
}

TEST(FlowEnd, ASourceThatThrowsEndsIt) {
  const auto next = [count = numbers(1'000)]() mutable {
    const auto number = count();
    if (number == 7) throw Error("the folder is gone");
    return number;
  };
  Flow flow = flow_from<int>({.name = "list"}, next)
                  .map({.name = "pass on", .workers = 2}, [](int number) { return number; })
                  .into({.name = "keep"}, [](int) {});
  EXPECT_EQ(message_of<Error>(flow), "step 'list', after 7 items: the folder is gone");
}

TEST(FlowEnd, ASinkThatThrowsEndsIt) {
  Flow flow = flow_from<int>({.name = "count"}, numbers(1'000'000))
                  .map({.name = "pass on", .workers = 2}, [](int number) { return number; })
                  .batch(3)
                  .into({.name = "write"}, [](const std::vector<int>& batch) {
                    if (batch.front() > 10) throw Error("the disk is full");
                  });
  EXPECT_EQ(message_of<Error>(flow), "step 'write', items '12' to '14': the disk is full");
}

/// Who fails in a flow of four steps.
enum class Failing { kSource, kFirst, kMiddle, kSink };

/// How many threads of a flow there are; `failed`: whether the one that failed has gone.
struct FlowThreads {
  std::atomic<int> alive = 0;
  std::atomic<bool> failed_has_gone = false;
};

/// In each thread of a flow for as long as there is one; a thread's own objects go last of all.
struct ThreadMark {
  FlowThreads* of = nullptr;
  bool has_failed = false;

  ~ThreadMark() {
    if (of == nullptr) return;
    if (has_failed) of->failed_has_gone = true;
    --of->alive;
  }
};
thread_local ThreadMark thread_mark;

/// Every hand and every queue is full when `failing` throws. The sink waits until that thread has gone and throws
/// something else: what the flow then tells.
std::string error_when_all_is_full(Failing failing, const FlowOptions& options, FlowThreads& threads) {
  // In hand at the source, the steps and the sink, and what the queues between them hold.
  constexpr int kFull = (1 + 3 + 2 + 1) + (2 + 3 + 1);
  const auto items = std::make_shared<int>(0);  // each item is a copy
  std::atomic<int> handed_out = 0, to_read = 0, to_decode = 0;
  const auto enter = [&threads] {
    if (thread_mark.of != nullptr) return;
    thread_mark.of = &threads;
    ++threads.alive;
  };
  const auto fail = [](const char* message) {
    thread_mark.has_failed = true;
    throw Error(message);
  };
  const auto next = [&]() -> std::optional<std::shared_ptr<int>> {
    enter();
    if (++handed_out == kFull && failing == Failing::kSource) fail("the folder is gone");
    return items;
  };
  // Of what came before, as much went on as there is room for behind the step, and the step's other workers have one
  // each: this item is the last that has room.
  const auto read = [&](std::shared_ptr<int> item) {
    enter();
    if (++to_read == (1 + 1 + 2 + 3) + 3 && failing == Failing::kFirst) {
      EXPECT_TRUE(comes_true([&] { return handed_out == kFull; }));
      fail("the photo is unreadable");
    }
    return item;
  };
  const auto decode = [&](std::shared_ptr<int> item) {
    enter();
    if (++to_decode == (1 + 1) + 2 && failing == Failing::kMiddle) {
      EXPECT_TRUE(comes_true([&] { return handed_out == kFull; }));
      fail("the file is cut off");
    }
    return item;
  };
  const auto write = [&](const std::shared_ptr<int>&) {
    if (failing == Failing::kSink) {
      EXPECT_TRUE(comes_true([&] { return handed_out == kFull; }));
      throw Error("the disk is full");
    }
    EXPECT_TRUE(comes_true([&] { return threads.failed_has_gone.load(); }));
    throw Error("another one, too late");
  };
  std::string told;
  {
    Flow flow = flow_from<std::shared_ptr<int>>({.name = "list"}, next)
                    .map({.name = "read", .workers = 3, .capacity = 2}, read)
                    .map({.name = "decode", .workers = 2, .capacity = 3}, decode)
                    .into({.name = "write", .capacity = 1}, write);
    told = message_of<Error>(flow, options);
  }
  EXPECT_EQ(items.use_count(), 1) << "no item is left in a queue or a thread";
  return told;
}

TEST(FlowEnd, WhoeverFailsWhileAllIsFullIsToldAndNobodyStays) {
  const std::pair<Failing, const char*> cases[] = {
      {Failing::kSource, "step 'list', after 12 items: the folder is gone"},
      {Failing::kFirst, "step 'read', item '[0-9]+': the photo is unreadable"},
      {Failing::kMiddle, "step 'decode', item '[0-9]+': the file is cut off"},
      {Failing::kSink, "step 'write', item '[0-9]+': the disk is full"}};
  for (int round = 0; round < 15; ++round) {
    for (const bool keeps_order : {true, false}) {
      for (const auto& [failing, expected] : cases) {
        FlowThreads threads;
        EXPECT_THAT(error_when_all_is_full(failing, {.keep_order = keeps_order}, threads), MatchesRegex(expected));
        EXPECT_EQ(threads.alive, 0) << "all have been waited for";
      }
    }
  }
}

class FlowStop : public testing::Test {
 protected:
  void SetUp() override { clear_stop_request(); }
  void TearDown() override { clear_stop_request(); }
};

TEST_F(FlowStop, EndsAFlowAfterWhatIsUnderWay) {
  std::vector<int> results;
  Flow flow = flow_from<int>({.name = "count"}, numbers(1'000'000))
                  .map({.name = "pass on", .workers = 3}, [](int number) { return number; })
                  .into({.name = "keep"}, [&](int number) {
                    results.push_back(number);
                    if (number == 9) request_stop();
                  });
  EXPECT_EQ(message_of<Interrupted>(flow), "interrupted after 10 items");
  EXPECT_THAT(results, ElementsAreArray(all_of(10)));
}

TEST_F(FlowStop, EndsAFlowInWhichAllWait) {
  std::atomic<bool> waiting = false;
  const auto next = [&]() -> std::optional<int> {
    waiting = true;
    EXPECT_TRUE(comes_true(stop_requested));  // such as a camera that has nothing to show
    return 1;
  };
  Flow flow = flow_from<int>({.name = "count"}, next)
                  .batch(4)
                  .map({.name = "pass on", .workers = 3}, [](std::vector<int> batch) { return batch; })
                  .into({.name = "keep"}, [](const std::vector<int>&) { ADD_FAILURE(); });
  const std::jthread stopper([&] {
    EXPECT_TRUE(comes_true([&] { return waiting.load(); }));
    request_stop();
  });
  EXPECT_THROW(flow.run(), Interrupted);
}

}  // namespace
}  // namespace evener::parallel
