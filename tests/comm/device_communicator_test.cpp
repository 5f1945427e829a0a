// The sum over GPUs on a made-up NCCL (made_up/nccl): its values, and that no call of NCCL fails in silence.
#include "comm/device_communicator.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <latch>

#include "comm/ranks_helpers.h"
#include "made_up/card.h"

namespace evener::comm {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

/// Memory of the made-up card with these values.
template <class Value>
class OnCard {
 public:
  explicit OnCard(const std::array<Value, 3>& values) : block_(made_up::allocate(0, sizeof values)) {
    std::memcpy(made_up::for_work(block_), values.data(), sizeof values);
  }
  ~OnCard() { made_up::release(block_); }
  OnCard(const OnCard&) = delete;
  OnCard& operator=(const OnCard&) = delete;

  DeviceVector vector() const { return {block_, 3, sizeof(Value) == 8}; }
  std::array<Value, 3> values() const {
    std::array<Value, 3> values;
    std::memcpy(values.data(), made_up::for_work(block_), sizeof values);
    return values;
  }

 private:
  void* block_;
};

class DeviceGroup : public testing::Test {
 protected:
  /// By its name the program then gets this library.
  static void SetUpTestSuite() { ASSERT_NE(dlopen(EVENER_MADE_UP_NCCL, RTLD_NOW), nullptr) << dlerror(); }
  ~DeviceGroup() override {
    fail_in("");
    unsetenv("MADE_UP_NCCL_VERSION");
  }

  static void fail_in(const char* function) { setenv("MADE_UP_NCCL_FAILS", function, /*overwrite=*/1); }
};

TEST_F(DeviceGroup, SumsVectorsOfBothTypesOverTheRanks) {
  EXPECT_EQ(why_no_device_groups(), "");
  EXPECT_EQ(device_group_version(), "2.28.9");
  const DeviceGroupId id = make_device_group_id();
  test::run_ranks(test::RanksAre::kThreads, 3, [&](int rank) {
    const auto group = join_device_group(id, rank, 3);
    const auto own = static_cast<float>(rank + 1);
    made_up::Stream stream(0);
    const OnCard<float> floats({own, 0.5F * own, -own});
    const OnCard<double> doubles({1e-12 * own, 2, own * own});
    group->all_reduce(std::array{floats.vector(), doubles.vector()}, &stream);
    stream.wait();
    EXPECT_THAT(floats.values(), ElementsAre(6, 3, -6));
    EXPECT_THAT(doubles.values(), ElementsAre(testing::DoubleNear(6e-12, 1e-15), 6, 14));
    EXPECT_EQ(group->failure(), "");
  });
}

TEST_F(DeviceGroup, EachCallThatFailsIsAnErrorThatNamesIt) {
  for (const char* function :
       {"ncclGetUniqueId", "ncclCommInitRank", "ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"}) {
    made_up::Stream stream(0);
    const OnCard<float> floats({1.5F, 2, 3});
    std::unique_ptr<DeviceCommunicator> group;
    fail_in(function);
    const auto all = [&] {
      group = join_device_group(make_device_group_id(), 0, 1);
      group->all_reduce(std::array{floats.vector()}, &stream);
    };
    EXPECT_THAT(error_of(all), HasSubstr(std::string("NCCL: ") + function + " failed: unhandled system error"))
        << function;
    fail_in("");
    if (!group) continue;
    // What failed is over: the next sum is none of its parts.
    group->all_reduce(std::array{floats.vector()}, &stream);
    stream.wait();
    EXPECT_THAT(floats.values(), ElementsAre(1.5F, 2, 3)) << function;
    EXPECT_EQ(error_of([&] { group->all_reduce(std::array{floats.vector()}, nullptr); }),
              "NCCL: ncclAllReduce failed: invalid argument; NCCL_DEBUG=WARN tells more");
  }
}

TEST_F(DeviceGroup, WhatFailsLaterIsTold) {
  const auto group = join_device_group(make_device_group_id(), 0, 1);
  fail_in("ncclCommGetAsyncError");
  EXPECT_EQ(group->failure(), "NCCL: unhandled system error");
  fail_in("");
  EXPECT_EQ(group->failure(), "");
  group->abort();
  EXPECT_THAT(group->failure(), HasSubstr("called off"));
  EXPECT_THAT(error_of([&] { group->all_reduce({}, nullptr); }), HasSubstr("called off"));
}

TEST_F(DeviceGroup, AnAbortEndsTheWaitForARankThatIsLost) {
  const DeviceGroupId id = make_device_group_id();
  std::latch over(1);
  test::run_ranks(test::RanksAre::kThreads, 2, [&](int rank) {
    const auto group = join_device_group(id, rank, 2);
    if (rank == 1) return over.wait();  // it never comes to the sum
    made_up::Stream stream(0);
    const OnCard<float> floats({1, 2, 3});
    group->all_reduce(std::array{floats.vector()}, &stream);
    group->abort();
    stream.wait();
    over.count_down();
  });
}

// 2.8.4 was written as 2804, and from 2.9 on there is a digit more.
TEST_F(DeviceGroup, TheVersionIsReadInBothForms) {
  for (const auto& [number, text] :
       {std::pair("2804", "2.8.4"), std::pair("20912", "2.9.12"), std::pair("22003", "2.20.3")}) {
    setenv("MADE_UP_NCCL_VERSION", number, /*overwrite=*/1);
    EXPECT_EQ(device_group_version(), text);
  }
  fail_in("ncclGetVersion");
  EXPECT_EQ(device_group_version(), "");
}

TEST_F(DeviceGroup, RanksThatSumUnlikeVectorsAreTold) {
  const DeviceGroupId id = make_device_group_id();
  test::run_ranks(test::RanksAre::kThreads, 2, [&](int rank) {
    const auto group = join_device_group(id, rank, 2);
    made_up::Stream stream(0);
    const OnCard<float> floats({1, 2, 3});
    DeviceVector some = floats.vector();
    some.count -= static_cast<std::size_t>(rank);
    group->all_reduce(std::array{some}, &stream);
    stream.wait();
    EXPECT_EQ(group->failure(), "NCCL: invalid usage");
  });
}

}  // namespace
}  // namespace evener::comm
