#include "base/phase.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace evener {
namespace {

struct Event {
  Phase phase;
  bool critical;
  std::int64_t begin_ns, end_ns, exclusive_ns;
};

class FakeListener : public PhaseListener {
 public:
  FakeListener() { set_phase_listener(this); }
  ~FakeListener() override { set_phase_listener(nullptr); }
  void on_phase(Phase phase, bool critical, std::int64_t begin_ns, std::int64_t end_ns,
                std::int64_t exclusive_ns) override {
    const std::lock_guard lock(mutex_);
    events.push_back({phase, critical, begin_ns, end_ns, exclusive_ns});
  }
  std::vector<Event> events;

 private:
  std::mutex mutex_;
};

void spend_ns(std::int64_t duration_ns) {
  const std::int64_t end = now_ns() + duration_ns;
  while (now_ns() < end) {
  }
}

TEST(PhaseMark, TakesChildrenOffTheirParent) {
  FakeListener listener;
  {
    const PhaseMark evaluate(Phase::kEvaluate);
    spend_ns(1000);
    {
      const PhaseMark forward(Phase::kForward);
      const PhaseMark copy(Phase::kH2D);
      spend_ns(1000);
    }
    { const PhaseMark forward(Phase::kForward); }
  }
  ASSERT_EQ(listener.events.size(), 4U);
  const Event &copy = listener.events[0], &forward = listener.events[1], &second = listener.events[2],
              &evaluate = listener.events[3];
  EXPECT_EQ(copy.phase, Phase::kH2D);
  EXPECT_EQ(forward.phase, Phase::kForward);
  EXPECT_EQ(evaluate.phase, Phase::kEvaluate);
  const auto whole = [](const Event& event) { return event.end_ns - event.begin_ns; };
  EXPECT_EQ(copy.exclusive_ns, whole(copy));
  EXPECT_EQ(forward.exclusive_ns, whole(forward) - whole(copy));
  // Only direct children are taken off: the copy is in the forward already. So all exclusive times add up to the total.
  EXPECT_EQ(evaluate.exclusive_ns, whole(evaluate) - whole(forward) - whole(second));
  EXPECT_EQ(copy.exclusive_ns + forward.exclusive_ns + second.exclusive_ns + evaluate.exclusive_ns, whole(evaluate));
}

TEST(PhaseMark, ThreadsNestApartAndOnlyTheMarkedOneIsCritical) {
  FakeListener listener;
  std::thread([] {
    mark_critical_thread();
    const PhaseMark forward(Phase::kForward);
    std::thread([] { const PhaseMark decode(Phase::kDecode); }).join();
    spend_ns(1000);
  }).join();
  ASSERT_EQ(listener.events.size(), 2U);
  EXPECT_EQ(listener.events[0].phase, Phase::kDecode);
  EXPECT_FALSE(listener.events[0].critical);
  EXPECT_EQ(listener.events[1].phase, Phase::kForward);
  EXPECT_TRUE(listener.events[1].critical);
  EXPECT_EQ(listener.events[1].exclusive_ns, listener.events[1].end_ns - listener.events[1].begin_ns);
}

TEST(PhaseMark, WithoutListenerNothingHappens) {
  { const PhaseMark outside(Phase::kRead); }
  FakeListener listener;
  EXPECT_TRUE(listener.events.empty());
}

TEST(PhaseMark, AListenerSetInsideAMarkHearsOnlyLaterMarks) {
  const PhaseMark early(Phase::kRead);
  FakeListener listener;
  { const PhaseMark late(Phase::kDecode); }
  ASSERT_EQ(listener.events.size(), 1U);
  EXPECT_EQ(listener.events[0].phase, Phase::kDecode);
}

TEST(PhaseName, EveryPhaseHasItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kPhaseCount; ++i) names.insert(phase_name(static_cast<Phase>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kPhaseCount));
  EXPECT_TRUE(names.contains("H2D"));
}

}  // namespace
}  // namespace evener
