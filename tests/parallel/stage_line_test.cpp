// Calls pass the stages of a divided network, several at once.
#include "parallel/stage_line.h"

#include <gtest/gtest.h>

#include <barrier>
#include <deque>
#include <utility>

#include "base/error.h"

namespace evener::parallel {
namespace {

/// Adds one to each number. In its call of that number it waits at `meeting` for others.
class AddingRunner : public engine::Runner {
 public:
  explicit AddingRunner(std::barrier<>* meeting = nullptr, int meets_in_call = 0)
      : meeting_(meeting), meets_in_call_(meets_in_call) {}

  void start(const engine::ImageSpan& images) override {
    std::visit([this](const auto& values) { values_.assign(values.begin(), values.end()); }, images);
  }
  void start_stage(const std::vector<HostTensor>& received) override {
    values_.clear();
    for (const HostTensor& each : received) values_.insert(values_.end(), each.floats(), each.floats() + each.shape[0]);
  }
  TensorMap wait() override {
    if (++calls_ == meets_in_call_) meeting_->arrive_and_wait();
    if (values_.front() == 13) throw Error("an unlucky number");
    for (float& value : values_) ++value;
    TensorMap outputs;
    outputs["first"] = HostTensor::of_floats({1}, {values_.front()});
    outputs["last"] = HostTensor::of_floats({1}, {values_.back()});
    return outputs;
  }

 private:
  std::barrier<>* meeting_;
  const int meets_in_call_;
  int calls_ = 0;
  std::vector<float> values_;
};

std::shared_ptr<StageLine> line_of(int stages) {
  std::vector<StageLine::Stage> line(static_cast<std::size_t>(stages));
  for (StageLine::Stage& stage : line) {
    stage.runners.push_back(std::make_unique<AddingRunner>());
    stage.sent = {"last", "first"};
  }
  return std::make_shared<StageLine>(std::move(line));
}

/// The values stay: a runner may read them until it was waited for.
void start(engine::Runner& runner, std::vector<float> values) {
  static std::deque<std::vector<float>> started;
  runner.start(std::span<const float>(started.emplace_back(std::move(values))));
}

TEST(StageLine, GivesEachStageWhatTheOneBeforeSent) {
  const auto lanes = StageLine::lanes(line_of(2), 1);
  start(*lanes[0], {10, 20});
  const TensorMap outputs = lanes[0]->wait();
  EXPECT_EQ(outputs.at("first").floats()[0], 22) << "the second stage was sent the last number first";
  EXPECT_EQ(outputs.at("last").floats()[0], 12);
}

TEST(StageLine, StagesComputeDifferentCallsAtOnce) {
  // The first call waits at the second stage, and the second call at the first one, until both are there.
  std::barrier<> meeting(2);
  std::vector<StageLine::Stage> stages(2);
  stages[0].runners.push_back(std::make_unique<AddingRunner>(&meeting, 2));
  stages[0].sent = {"first"};
  stages[1].runners.push_back(std::make_unique<AddingRunner>(&meeting, 1));
  const auto line = std::make_shared<StageLine>(std::move(stages));
  const auto lanes = StageLine::lanes(line, 2);
  start(*lanes[0], {1});
  start(*lanes[1], {2});
  EXPECT_EQ(lanes[0]->wait().at("first").floats()[0], 3);
  EXPECT_EQ(lanes[1]->wait().at("first").floats()[0], 4);
  for (const StageLine::Work& work : line->work()) {
    EXPECT_EQ(work.calls, 2);
    EXPECT_EQ(work.runners, 1u);
    EXPECT_GT(work.busy_s, 0);
  }
}

TEST(StageLine, TellsWhatWentWrongToTheCallAloneAndGoesOn) {
  const auto lanes = StageLine::lanes(line_of(2), 2);
  start(*lanes[0], {12});  // 13 for the second stage
  start(*lanes[1], {1});
  EXPECT_THROW(lanes[0]->wait(), Error);
  EXPECT_EQ(lanes[1]->wait().at("first").floats()[0], 3);
  start(*lanes[0], {4});
  EXPECT_EQ(lanes[0]->wait().at("first").floats()[0], 6);
}

TEST(StageLine, ALaneHasOneCallUnderWay) {
  const auto lanes = StageLine::lanes(line_of(2), 1);
  EXPECT_THROW(lanes[0]->wait(), Error);
  start(*lanes[0], {1});
  EXPECT_THROW(start(*lanes[0], {1}), Error);
}

TEST(StageLine, MayGoWhileCallsAreUnderWay) {
  const auto lanes = StageLine::lanes(line_of(3), 8);
  for (const auto& lane : lanes) start(*lane, {1});
}

}  // namespace
}  // namespace evener::parallel
