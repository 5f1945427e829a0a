// A network with two outputs, trained by a criterion that sums two terms: what it comes to is what the terms come to by
// themselves.
#include "network/criterion.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "engine/batches_helpers.h"

namespace evener {
namespace {

using network::CrossEntropy;
using network::MeanSquaredError;

const data::ImageShape kShape{1, 6, 5};
constexpr int kClasses = 4;

network::Criterion one_term(const network::CriterionOp& op, const std::string& output) {
  return {{{op, 1, {output}, "loss"}}};
}

network::Criterion two_terms(double second_weight) {
  return {{{CrossEntropy{}, 1, {"scores"}, "score_loss"}, {MeanSquaredError{}, second_weight, {"votes"}, "vote_loss"}}};
}

/// Drives the CPU as a GPU is driven where the parameter says so.
class TwoOutputs : public test::EngineTest<test::kTorch, testing::TestWithParam<bool>> {
 protected:
  static std::unique_ptr<engine::Trainer> trainer(const network::Criterion& criterion) {
    engine::TrainerOptions options;
    options.criterion = criterion;
    options.torch.like_accelerator = GetParam();
    return test::make_trainer(test::two_outputs(kShape, kClasses), options);
  }

  const test::OwnedBatch batch_ = test::random_batch(9, kShape, kClasses);
};

TEST_P(TwoOutputs, LossAndGradientsAreThoseOfTheTermsCombined) {
  constexpr double kWeight = 0.5;
  const auto both = trainer(two_terms(kWeight)), scores = trainer(one_term(CrossEntropy{}, "scores")),
             votes = trainer(one_term(MeanSquaredError{}, "votes"));
  const engine::Sums all = both->forward_backward(batch_.view(), 1.0 / 9),
                     of_scores = scores->forward_backward(batch_.view(), 1.0 / 9),
                     of_votes = votes->forward_backward(batch_.view(), 1.0 / 9);
  EXPECT_NEAR(all.total("score_loss"), of_scores.total("loss"), 1e-5);
  EXPECT_NEAR(all.total("vote_loss"), of_votes.total("loss"), 1e-5);
  EXPECT_NEAR(all.total("loss"), of_scores.total("loss") + kWeight * of_votes.total("loss"), 1e-5);
  EXPECT_EQ(all.total("correct"), of_scores.total("correct")) << "the first term's output says the class";
  for (const auto& entry : all.entries()) EXPECT_EQ(entry.count, 9) << entry.name;

  TensorMap expected = test::exchange_of(*scores).gradients();
  for (const auto& [name, tensor] : test::exchange_of(*votes).gradients()) {
    if (!expected.contains(name))
      expected.emplace(
          name, HostTensor::of_floats(tensor.shape,
                                      std::vector<float>(static_cast<std::size_t>(element_count(tensor.shape)))));
    for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
      expected.at(name).floats()[i] += static_cast<float>(kWeight) * tensor.floats()[i];
    }
  }
  EXPECT_LT(test::relative_distance(test::exchange_of(*both).gradients(), expected), 2e-6);
}

TEST_P(TwoOutputs, Train) {
  const auto both = trainer(two_terms(1));
  engine::Sums first, last;
  for (int step = 0; step < 30; ++step) {
    engine::StepReport report = both->step(batch_.view(), 1.0 / 9, 0.1);
    if (first.entries().empty()) first = report.sums;
    if (report.steps > 0) last = report.sums;
  }
  const engine::StepReport rest = both->settle();
  EXPECT_TRUE(rest.finite);
  ASSERT_GT(first.count("loss"), 0);
  for (const char* name : {"loss", "score_loss", "vote_loss"}) {
    EXPECT_LT(*last.mean(name), *first.mean(name)) << name;
  }
  std::vector<std::int32_t> predicted;
  engine::Sums evaluation = both->evaluate(batch_.view(), &predicted);
  evaluation += both->end_evaluation(&predicted);
  EXPECT_EQ(predicted.size(), 9u);
  EXPECT_LT(*evaluation.mean("vote_loss"), *first.mean("vote_loss"));
}

TEST_P(TwoOutputs, ACriterionThatDoesNotFitIsRefused) {
  engine::TrainerOptions options;
  options.criterion = one_term(CrossEntropy{}, "boxes");
  const auto engine = engine::open_engine("torch");
  const network::Network network = test::two_outputs(kShape, kClasses);
  EXPECT_THAT(engine->trainer_refusal(network, options), testing::HasSubstr("boxes"));
  EXPECT_THROW(engine->make_trainer(network, options), Error);
}

INSTANTIATE_TEST_SUITE_P(Torch, TwoOutputs, testing::Bool(),
                         [](const auto& info) { return info.param ? "like_accelerator" : "cpu"; });

}  // namespace
}  // namespace evener
