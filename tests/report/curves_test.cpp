#include "report/curves.h"

#include <gmock/gmock.h>

namespace evener::report {
namespace {

using ::testing::ElementsAre;

/// Validation alone.
report::Run run_of(const std::vector<double>& losses) {
  report::Run run;
  for (const double loss : losses) {
    record::EpochRecord& epoch = run.record.training.epochs.emplace_back();
    epoch.epoch = static_cast<std::int64_t>(run.record.training.epochs.size());
    epoch.val_loss = loss;
    epoch.val_accuracy = 1 - loss / 4;
  }
  return run;
}

std::vector<std::vector<std::size_t>> groups(const std::vector<report::Run>& runs, Curve curve = Curve::kLoss) {
  std::vector<std::size_t> job;
  for (std::size_t n = 0; n < runs.size(); ++n) job.push_back(n);
  return coinciding(runs, job, curve);
}

TEST(Coinciding, CurvesThatDifferByLessThanAMarkerAreOne) {
  // From 2 to 0.02 there are 4.6 in natural logarithms; a fiftieth of that is 9 %.
  const report::Run first = run_of({2, 0.2, 0.02}), near = run_of({2, 0.21, 0.021}), far = run_of({2, 0.2, 0.025});
  EXPECT_THAT(groups({first, far, near}), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(groups({first, far, near}, Curve::kAccuracy), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(Coinciding, IsOfTrainingToo) {
  report::Run other = run_of({2, 1});
  other.record.training.epochs[1].train_loss = 1;
  EXPECT_THAT(groups({run_of({2, 1}), other}), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(Coinciding, RunsOfOtherLengthsAreNot) {
  EXPECT_THAT(groups({run_of({2, 1}), run_of({2, 1, 0.5}), run_of({})}),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(groups({}), ElementsAre());
}

TEST(Coinciding, LossesWithoutALogarithmAreLeftOut) {
  EXPECT_THAT(groups({run_of({1, 0}), run_of({1, 0})}), ElementsAre(ElementsAre(0, 1)));
}

}  // namespace
}  // namespace evener::report
