#include "base/this_work.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/phase.h"
#include "base/stop.h"

namespace evener {
namespace {

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

}  // namespace
}  // namespace evener
