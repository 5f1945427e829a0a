// Where a thread may run, told by several.
#include "base/thread_place.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/forked.h"
#include "base/kernels_cpus.h"

namespace evener {
namespace {

using test::kernels_cpus;

class ThreadPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (all_.size() < 2) GTEST_SKIP() << "needs two CPUs";
  }
  const std::vector<int> all_ = cpu_topology().allowed;
  const int first_ = all_.front(), last_ = all_.back();
};

/// A thread that is begun in a place, and ends with the object.
class Placed {
 public:
  Placed(std::vector<int> cpus, int number) {
    thread_ = std::thread([this, cpus = std::move(cpus), number] {
      pin_this_thread(cpus);
      tie_.begin(place, number);
      begun_.count_down();
      end_.wait();
      kernel_ = kernels_cpus();
    });
    begun_.wait();
  }
  ~Placed() { end(); }

  /// Where the kernel let it run at its end.
  std::vector<int> end() {
    if (thread_.joinable()) {
      end_.count_down();
      thread_.join();
    }
    return kernel_;
  }

  ThreadPlace place;

 private:
  PlaceTie tie_;
  std::latch begun_{1}, end_{1};
  std::vector<int> kernel_;
  std::thread thread_;
};

TEST_F(ThreadPlaceTest, TheKernelHasTheNewestWishThatIsHeld) {
  Placed thread({}, 0);
  thread.place.want(first_);
  thread.place.want(last_);
  thread.place.hold();
  EXPECT_EQ(thread.end(), std::vector<int>{last_});
}

TEST_F(ThreadPlaceTest, AWishThatNobodyHoldsChangesNothing) {
  Placed thread({}, 0);
  thread.place.want(first_);
  EXPECT_EQ(thread.end(), all_);
}

TEST_F(ThreadPlaceTest, AfterAllWishesItRunsWhereItMightBefore) {
  Placed thread({}, 0);
  thread.place.want(first_);
  thread.place.hold();
  thread.place.want_all();
  thread.place.hold();
  EXPECT_EQ(thread.end(), all_);
}

TEST_F(ThreadPlaceTest, ThreadsHaveDifferentHomesAndExchangeThem) {
  Placed one({}, 0), other({}, 1);
  EXPECT_EQ(one.place.home(), all_[0]);
  EXPECT_EQ(other.place.home(), all_[1]);
  EXPECT_TRUE(ThreadPlace::exchange_homes(one.place, other.place));
  EXPECT_EQ(one.place.home(), all_[1]);
  EXPECT_EQ(other.place.home(), all_[0]);
}

TEST_F(ThreadPlaceTest, BoundThreadsExchangeTheirCpus) {
  Placed one({first_}, 0), other({last_}, 1);
  EXPECT_TRUE(one.place.is_bound());
  EXPECT_TRUE(ThreadPlace::exchange_homes(one.place, other.place));
  for (Placed* const each : {&one, &other}) {
    each->place.want_home();
    each->place.hold();
  }
  EXPECT_EQ(one.end(), std::vector<int>{last_});
  EXPECT_EQ(other.end(), std::vector<int>{first_});
}

TEST_F(ThreadPlaceTest, ABoundAndAFreeThreadExchangeNothing) {
  Placed one({first_}, 0), other({}, 1);
  EXPECT_FALSE(ThreadPlace::exchange_homes(one.place, other.place));
}

TEST_F(ThreadPlaceTest, PinningEndsWhatOthersWanted) {
  std::thread([&] {
    ThreadPlace place;
    PlaceTie tie;
    pin_this_thread({});
    tie.begin(place, 0);
    place.want(first_);
    place.hold();
    EXPECT_EQ(kernels_cpus(), std::vector<int>{first_});
    EXPECT_EQ(cpus_of_this_thread(), all_);  // for good
    {
      const PinnedTo there({last_});
      EXPECT_EQ(kernels_cpus(), std::vector<int>{last_});
      EXPECT_FALSE(place.is_bound());
    }
    EXPECT_EQ(kernels_cpus(), all_);
  }).join();
}

TEST_F(ThreadPlaceTest, APinnedThreadIsExchangedNoMore) {
  Placed one({first_}, 0);
  std::thread([&] {
    ThreadPlace place;
    PlaceTie tie;
    pin_this_thread({last_});
    tie.begin(place, 1);
    EXPECT_TRUE(place.is_bound());
    pin_this_thread({last_});
    EXPECT_FALSE(place.is_bound());
    EXPECT_FALSE(ThreadPlace::exchange_homes(one.place, place));
    EXPECT_EQ(one.place.home(), first_);
  }).join();
}

TEST_F(ThreadPlaceTest, AThreadOutlivesItsPlace) {
  std::thread([&] {
    auto place = std::make_unique<ThreadPlace>();
    auto tie = std::make_unique<PlaceTie>();
    tie->begin(*place, 0);
    tie.reset();
    place.reset();
    pin_this_thread({last_});
    EXPECT_EQ(kernels_cpus(), std::vector<int>{last_});
  }).join();
}

// The one that starts it may be bound for the moment.
TEST_F(ThreadPlaceTest, AThreadMayRunWhereItsStarterMay) {
  Placed starter({}, 0);
  std::thread([&] {
    ThreadPlace place;
    PlaceTie tie;
    pin_this_thread({first_});
    tie.begin(place, 1, &starter.place);
    EXPECT_EQ(kernels_cpus(), all_);
    EXPECT_EQ(place.count(), static_cast<int>(all_.size()));
    EXPECT_EQ(place.home(), all_[1]);
  }).join();
}

// Another of its teams may be moving it when it comes to one.
TEST_F(ThreadPlaceTest, APlaceKnowsFromAnotherWhereTheThreadMayRunForGood) {
  std::thread([&] {
    ThreadPlace first, second;
    PlaceTie first_tie, second_tie;
    pin_this_thread({});
    first_tie.begin(first, 0);
    first.want(first_);
    first.hold();
    second_tie.begin(second, 0);
    EXPECT_EQ(second.count(), static_cast<int>(all_.size()));
  }).join();
}

TEST_F(ThreadPlaceTest, AForkedChildLeavesItsParentsThreadAlone) {
  std::thread([&] {
    ThreadPlace place;
    PlaceTie tie;
    pin_this_thread({});
    tie.begin(place, 0);
    const std::string answer = in_child([&] {
      pin_this_thread({last_});
      return std::to_string(kernels_cpus().size());
    });
    EXPECT_EQ(answer, "1");
    EXPECT_EQ(kernels_cpus(), all_);
  }).join();
}

}  // namespace
}  // namespace evener
