// Labels that look wrong. Confident learning: by hand, and against figures that cleanlab 2.9.0 gave for the same
// probabilities. Folds of a cross-validation, and what heads say of samples that they were not fitted to.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "base/this_work.h"
#include "train/labels/wrong_labels.h"

namespace evener::training {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

/// What `work` is refused with.
template <class Work>
std::string refusal_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "(taken)";
}

TEST(ConfidentJoint, CountsByHand) {
  // The thresholds are (0.9 + 0.7 + 0.2) / 3 = 0.6 and (0.8 + 0.4) / 2 = 0.6.
  const ClassProbabilities probabilities{2, {0.9F, 0.1F, 0.7F, 0.3F, 0.2F, 0.8F, 0.2F, 0.8F, 0.6F, 0.4F}};
  const std::vector<std::int32_t> labels = {0, 0, 0, 1, 1};
  const ConfidentJoint joint = confident_joint(probabilities, labels);
  EXPECT_THAT(joint.thresholds, Pointwise(DoubleNear(1e-6), {0.6, 0.6}));
  EXPECT_THAT(joint.confident, ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(joint.counts, ElementsAre(ElementsAre(2, 1), ElementsAre(1, 1)));
  EXPECT_THAT(estimated_joint(joint, labels), ElementsAre(ElementsAre(2, 1), ElementsAre(1, 1)));
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, labels, joint);
  ASSERT_EQ(doubtful.size(), 2U);
  EXPECT_EQ(doubtful[0].sample, 2U);
  EXPECT_EQ(doubtful[0].suggested, 1);
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kWrong);
  EXPECT_NEAR(doubtful[0].score, 0.8, 1e-6) << "(1 + 0.8 - 0.2) / 2";
  EXPECT_EQ(doubtful[1].sample, 4U);
  EXPECT_NEAR(doubtful[1].score, 0.6, 1e-6);
}

/// compute_confident_joint() and find_label_issues(filter_by="confident_learning",
/// return_indices_ranked_by="normalized_margin") of cleanlab 2.9.0 gave these.
TEST(ConfidentJoint, IsThatOfCleanlab) {
  const ClassProbabilities probabilities{
      3, {0.48F, 0.13F, 0.39F, 0.36F, 0.37F, 0.27F, 0.15F, 0.81F, 0.04F, 0.38F, 0.22F, 0.40F, 0.93F, 0.01F, 0.06F,
          0.36F, 0.24F, 0.40F, 0.28F, 0.34F, 0.38F, 0.24F, 0.37F, 0.39F, 0.40F, 0.49F, 0.11F, 0.26F, 0.06F, 0.68F,
          0.25F, 0.51F, 0.24F, 0.62F, 0.30F, 0.08F, 0.27F, 0.57F, 0.16F, 0.33F, 0.21F, 0.46F, 0.69F, 0.30F, 0.01F,
          0.05F, 0.92F, 0.03F, 0.17F, 0.02F, 0.81F, 0.46F, 0.04F, 0.50F, 0.68F, 0.00F, 0.32F, 0.36F, 0.22F, 0.42F}};
  const std::vector<std::int32_t> labels = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2};
  const ConfidentJoint joint = confident_joint(probabilities, labels);
  EXPECT_THAT(joint.thresholds, Pointwise(DoubleNear(1e-6), {0.39777778, 0.41, 0.5125}));
  // Rounded as cleanlab does, the diagonal's 1 at least included.
  EXPECT_THAT(estimated_joint(joint, labels),
              ElementsAre(Pointwise(DoubleNear(0.5), {4, 5, 0}), Pointwise(DoubleNear(0.5), {2, 4, 1}),
                          Pointwise(DoubleNear(0.5), {3, 0, 1})));
  std::vector<std::uint32_t> wrong;
  std::vector<double> scores;
  for (const DoubtfulLabel& one : doubtful_labels(probabilities, labels, joint)) {
    if (one.kind != LabelDoubt::kWrong) continue;
    wrong.push_back(one.sample);
    scores.push_back(one.score);
  }
  EXPECT_THAT(wrong, ElementsAre(2, 9, 14, 18, 11, 8)) << "not 17, whose label is its likeliest class";
  EXPECT_THAT(scores, Pointwise(DoubleNear(1e-6), {0.83, 0.81, 0.695, 0.68, 0.66, 0.545}));
}

TEST(ConfidentJoint, TellsWhatLooksLikeBothAndLikeNeither) {
  const ClassProbabilities probabilities{4, {0.7F,  0.1F,  0.1F, 0.1F, 0.0F, 0.6F, 0.2F, 0.2F,  0.05F, 0.05F,
                                             0.80F, 0.10F, 0.1F, 0.1F, 0.1F, 0.7F, 0.0F, 0.55F, 0.43F, 0.02F}};
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 2};
  ConfidentJoint joint = confident_joint(probabilities, labels);
  joint.thresholds = {0.9, 0.8, 0.8, 0.7};
  joint.confident = {-1, -1, 2, 3, -1};
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, labels, joint);
  ASSERT_EQ(doubtful.size(), 1U);
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kBoth);
  EXPECT_EQ(doubtful[0].sample, 4U);
  EXPECT_EQ(doubtful[0].suggested, 1);
  joint.thresholds = {1, 1, 0.8, 1.6};
  joint.confident[4] = 1;
  const std::vector<DoubtfulLabel> others = doubtful_labels(probabilities, labels, joint);
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].kind, LabelDoubt::kWrong);
  EXPECT_EQ(others[1].kind, LabelDoubt::kNeither);
  EXPECT_EQ(others[1].sample, 3U);
  EXPECT_EQ(others[1].label, 3);
}

TEST(ConfidentJoint, SuggestsTheLikeliestClassAndNotTheOneThatIsEasyToReach) {
  const ClassProbabilities probabilities{3, {0.38F, 0.60F, 0.02F}};
  ConfidentJoint joint = confident_joint(probabilities, std::vector<std::int32_t>{0});
  joint.thresholds = {0.9, 0.9, 0.01};
  joint.confident = {2};
  const std::vector<DoubtfulLabel> doubtful = doubtful_labels(probabilities, std::vector<std::int32_t>{0}, joint);
  ASSERT_EQ(doubtful.size(), 1U);
  EXPECT_EQ(doubtful[0].kind, LabelDoubt::kWrong);
  EXPECT_EQ(doubtful[0].suggested, 1);
  EXPECT_NEAR(doubtful[0].probability, 0.60, 1e-6);
}

TEST(ConfidentJoint, AClassThatCannotBeJudgedTakesNoSamplesOfOthers) {
  // The only sample of the third class is judged by a head that never saw it, so that its threshold would be 0.01.
  const ClassProbabilities probabilities{
      3, {0.9F, 0.1F, 0.0F, 0.6F, 0.3F, 0.1F, 0.2F, 0.8F, 0.0F, 0.3F, 0.5F, 0.2F, 0.8F, 0.19F, 0.01F}};
  const std::vector<std::int32_t> labels = {0, 0, 1, 1, 2};
  const ConfidentJoint reached = confident_joint(probabilities, labels);
  EXPECT_THAT(reached.confident, ElementsAre(0, 2, 1, 2, 0));
  const ConfidentJoint joint = confident_joint(probabilities, labels, {2});
  EXPECT_THAT(joint.confident, ElementsAre(0, -1, 1, -1, -1));
  EXPECT_THAT(estimated_joint(joint, labels),
              ElementsAre(ElementsAre(2, 0, 0), ElementsAre(0, 2, 0), ElementsAre(0, 0, 1)));
  EXPECT_THAT(doubtful_labels(probabilities, labels, joint), IsEmpty());
}

TEST(ConfidentJoint, AddsTheSurestUntilAsManyAsEstimated) {
  // Thresholds of 0.6 and 0.9: of the last two, which are likelier the first class, none reaches 0.6.
  const ClassProbabilities probabilities{
      2, {0.8F, 0.2F, 0.4F, 0.6F, 0.6F, 0.4F, 0.05F, 0.95F, 0.02F, 0.98F, 0.56F, 0.44F, 0.58F, 0.42F}};
  const std::vector<std::int32_t> labels = {0, 0, 0, 1, 1, 1, 1};
  ConfidentJoint joint = confident_joint(probabilities, labels);
  joint.counts = {{3, 0}, {1, 3}};
  joint.confident = {0, 0, 0, 1, 1, -1, -1};
  joint.thresholds = {0.6, 0.8};
  const auto told = [&] {
    std::vector<std::pair<std::uint32_t, LabelDoubt>> samples;
    for (const DoubtfulLabel& one : doubtful_labels(probabilities, labels, joint)) {
      samples.emplace_back(one.sample, one.kind);
      const double other = one.sample == 1 ? 0.6 : one.sample == 5 ? 0.56 : 0.58;
      EXPECT_NEAR(one.score, other, 1e-6) << "(1 + P - (1 - P)) / 2";
      EXPECT_NEAR(one.probability, other, 1e-6);
      EXPECT_NEAR(one.label_probability, 1 - other, 1e-6);
      EXPECT_EQ(one.suggested, one.sample == 1 ? 1 : 0);
    }
    return samples;
  };
  // One of four labels of the second class is estimated to be wrong: the surest, which no longer looks like both.
  EXPECT_THAT(told(), ElementsAre(std::pair(6U, LabelDoubt::kLikely), std::pair(1U, LabelDoubt::kBoth),
                                  std::pair(5U, LabelDoubt::kBoth)));
  joint.confident[6] = 0;
  EXPECT_THAT(told(), ElementsAre(std::pair(6U, LabelDoubt::kWrong), std::pair(1U, LabelDoubt::kBoth),
                                  std::pair(5U, LabelDoubt::kBoth)))
      << "a wrong one is one of those that are estimated";
}

TEST(ConfidentJoint, EqualScoresStandInTheOrderOfTheirSamples) {
  const ClassProbabilities probabilities{2, {0.9F, 0.1F, 0.1F, 0.9F, 0.1F, 0.9F, 0.1F, 0.9F, 0.9F, 0.1F}};
  const std::vector<std::int32_t> labels = {0, 0, 1, 0, 0};
  std::vector<std::uint32_t> samples;
  for (const auto& one : doubtful_labels(probabilities, labels, confident_joint(probabilities, labels))) {
    samples.push_back(one.sample);
  }
  EXPECT_THAT(samples, ElementsAre(1, 3));
}

TEST(ConfidentJoint, IsOfAllClassesThatHaveSamples) {
  const ClassProbabilities probabilities{3, {0.6F, 0.0F, 0.4F, 0.5F, 0.0F, 0.5F}};
  const ConfidentJoint joint = confident_joint(probabilities, std::vector<std::int32_t>{0, 2});
  EXPECT_GT(joint.thresholds[1], 1);
  EXPECT_THAT(estimated_joint(joint, std::vector<std::int32_t>{0, 2})[1], ElementsAre(0, 0, 0));
  EXPECT_THAT(doubtful_labels({1, {1, 1}}, std::vector<std::int32_t>{0, 0},
                              confident_joint({1, {1, 1}}, std::vector<std::int32_t>{0, 0})),
              IsEmpty());
}

TEST(ConfidentJoint, RefusesOtherLengthsAndLabels) {
  const ClassProbabilities probabilities{2, {0.5F, 0.5F}};
  const auto refusal = [&](const std::vector<std::int32_t>& labels) {
    EXPECT_THROW(doubtful_labels(probabilities, labels, {}), Error);
    return refusal_of([&] { confident_joint(probabilities, labels); });
  };
  EXPECT_EQ(refusal({0, 1}), "there are probabilities of 1 samples, and 2 labels");
  EXPECT_EQ(refusal({2}), "label 2 is none of 2 classes");
  EXPECT_EQ(refusal({-1}), "label -1 is none of 2 classes");
}

std::vector<std::uint32_t> each_alone(std::size_t count) {
  std::vector<std::uint32_t> groups(count);
  for (std::size_t i = 0; i < count; ++i) groups[i] = static_cast<std::uint32_t>(i);
  return groups;
}

TEST(LabelFolds, HaveAsManyOfEachClass) {
  std::vector<std::int32_t> labels(53, 0);
  labels.resize(64, 1);
  labels.resize(66, 2);
  const auto folds = stratified_folds(labels, 3, each_alone(labels.size()), 5, 1);
  std::map<std::pair<std::int32_t, std::uint32_t>, int> counts;
  std::map<std::uint32_t, int> sizes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++counts[{labels[i], folds[i]}];
    ++sizes[folds[i]];
  }
  for (std::uint32_t fold = 0; fold < 5; ++fold) {
    EXPECT_GE((counts[{0, fold}]), 10);
    EXPECT_LE((counts[{0, fold}]), 11);
    EXPECT_GE((counts[{1, fold}]), 2);
    EXPECT_LE((counts[{1, fold}]), 3);
    EXPECT_LE((counts[{2, fold}]), 1);
    EXPECT_GE(sizes[fold], 13);
    EXPECT_LE(sizes[fold], 14);
  }
  EXPECT_EQ(folds, stratified_folds(labels, 3, each_alone(labels.size()), 5, 1));
  EXPECT_NE(folds, stratified_folds(labels, 3, each_alone(labels.size()), 5, 2));
}

TEST(LabelFolds, KeepCopiesTogether) {
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < 20; ++group) {
    for (std::uint32_t i = 0; i <= group % 4; ++i) {
      labels.push_back(static_cast<std::int32_t>((group + i) % 2));
      groups.push_back(group);
    }
  }
  const auto folds = stratified_folds(labels, 2, groups, 4, 7);
  std::map<std::uint32_t, std::set<std::uint32_t>> folds_of_group;
  std::map<std::uint32_t, int> sizes;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    folds_of_group[groups[i]].insert(folds[i]);
    ++sizes[folds[i]];
  }
  for (const auto& [group, of_group] : folds_of_group) EXPECT_EQ(of_group.size(), 1U) << group;
  for (const auto& [fold, size] : sizes) EXPECT_NEAR(size, 12.5, 0.5) << fold << ": large groups first";
}

TEST(LabelFolds, CopiesOfCopiesAreOneGroup) {
  const std::vector<std::uint32_t> indices = {4, 7, 9, 12, 20};
  const std::vector<data::CopiedImage> pairs = {{.judged = 20, .trained = 7, .relation = {}},
                                                {.judged = 7, .trained = 7, .relation = {}},
                                                {.judged = 9, .trained = 20, .relation = {}}};
  EXPECT_THAT(copy_groups(indices, pairs), ElementsAre(0, 1, 1, 2, 1));
}

TEST(LabelFolds, NeedEnoughImages) {
  const std::vector<std::int32_t> labels = {0, 1, 1};
  const auto refusal = [&](const std::vector<std::uint32_t>& groups, std::size_t folds) {
    return refusal_of([&] { stratified_folds(labels, 2, groups, folds, 1); });
  };
  EXPECT_EQ(refusal({0, 1, 1}, 3), "2 different images can't be divided into 3 folds");
  EXPECT_EQ(refusal(each_alone(3), 1), "3 different images can't be divided into 1 folds");
  EXPECT_EQ(refusal({}, 2), "0 different images can't be divided into 2 folds");
  EXPECT_EQ(refusal({0, 1, 1}, 2), "(taken)");
}

/// Two clouds, of which some samples have the other's label.
inference::FeatureTable two_clouds(std::size_t samples, std::size_t every_wrong) {
  inference::FeatureTable table;
  table.values = 2;
  Random random(5, Purpose::kSynthetic);
  for (std::size_t i = 0; i < samples; ++i) {
    const bool second = i % 2 == 1;
    for (int k = 0; k < 2; ++k) table.features.push_back(static_cast<float>(random.normal() + (second ? 8 : 0)));
    table.labels.push_back(second != (i % every_wrong == 0) ? 1 : 0);
  }
  return table;
}

TEST(CrossValidation, JudgesEachSampleByTheOthers) {
  const inference::FeatureTable table = two_clouds(200, 25);
  const auto folds = stratified_folds(table.labels, 2, each_alone(table.samples()), 5, 1);
  std::size_t last = 0, fits = 0;
  const CrossValidation judged = cross_validate(table, 2, folds, 2, [&](std::size_t done, std::size_t of) {
    last = done;
    fits = of;
  });
  EXPECT_EQ(last, fits);
  EXPECT_NEAR(judged.accuracy, 0.96, 0.011) << "the eight wrong labels are not learnt by heart";
  const ConfidentJoint joint = confident_joint(judged.probabilities, table.labels);
  std::set<std::uint32_t> wrong;
  for (const DoubtfulLabel& one : doubtful_labels(judged.probabilities, table.labels, joint)) {
    if (one.kind == LabelDoubt::kWrong || one.kind == LabelDoubt::kLikely) wrong.insert(one.sample);
  }
  int found = 0;
  for (std::uint32_t i = 0; i < 200; i += 25) found += wrong.contains(i) ? 1 : 0;
  EXPECT_GE(found, 7) << "of eight; the first lies towards the other cloud, and is less sure than most of its class";
  EXPECT_LE(wrong.size(), 10U);
  for (std::size_t i = 0; i < table.samples(); ++i) {
    EXPECT_NEAR(judged.probabilities.of(i)[0] + judged.probabilities.of(i)[1], 1, 1e-5);
  }
}

/// Clouds of four classes that lie over each other, of which the last has few samples, in three folds of unlike sizes.
inference::FeatureTable four_clouds(std::size_t samples, std::size_t values) {
  inference::FeatureTable table;
  table.values = values;
  Random random(6, Purpose::kSynthetic);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t label = i % 10 == 9 ? 3 : i % 3;
    for (std::size_t k = 0; k < values; ++k) {
      table.features.push_back(static_cast<float>(random.normal() + (k == label ? 2.5 : 0)));
    }
    table.labels.push_back(static_cast<std::int32_t>(label));
  }
  return table;
}

std::vector<std::uint32_t> unlike_folds(std::size_t samples) {
  std::vector<std::uint32_t> folds;
  for (std::size_t i = 0; i < samples; ++i) folds.push_back(i % 7 < 4 ? 2 : i % 7 < 6 ? 0 : 1);
  return folds;
}

/// Probabilities of the samples of `fold` by a head of each `every`th sample of the others, into `all`.
void judge_by_others(const inference::FeatureTable& table, const std::vector<std::uint32_t>& folds, std::uint32_t fold,
                     double decay, std::size_t every, std::vector<double>& all) {
  inference::FeatureTable others;
  others.values = table.values;
  for (std::size_t i = 0; i < table.samples(); i += every) {
    if (folds[i] == fold) continue;
    for (std::size_t k = 0; k < table.values; ++k) others.features.push_back(table.features[i * table.values + k]);
    others.labels.push_back(table.labels[i]);
  }
  const inference::LinearFit fit = inference::fit_softmax(others, 4, decay, 2);
  for (std::size_t i = 0; i < table.samples(); ++i) {
    if (folds[i] != fold) continue;
    double total = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      double sum = fit.bias[c];
      for (std::size_t k = 0; k < table.values; ++k) {
        sum += double{fit.weight[c * table.values + k]} * double{table.features[i * table.values + k]};
      }
      total += all[i * 4 + c] = std::exp(sum);
    }
    for (std::size_t c = 0; c < 4; ++c) all[i * 4 + c] /= total;
  }
}

/// The sum of the samples' cross-entropies, of one fold or of all.
double loss_of(const inference::FeatureTable& table, const std::vector<double>& all,
               const std::function<bool(std::size_t)>& of) {
  double loss = 0;
  for (std::size_t i = 0; i < table.samples(); ++i) {
    if (of(i)) loss -= std::log(all[i * 4 + static_cast<std::size_t>(table.labels[i])]);
  }
  return loss;
}

void expect_sums_of(const CrossValidation& judged, const inference::FeatureTable& table) {
  double right = 0;
  std::vector<double> all(judged.probabilities.values.begin(), judged.probabilities.values.end());
  for (std::size_t i = 0; i < table.samples(); ++i) {
    const auto of = judged.probabilities.of(i);
    right += std::ranges::max_element(of) - of.begin() == table.labels[i] ? 1 : 0;
  }
  const auto samples = static_cast<double>(table.samples());
  EXPECT_NEAR(judged.loss, loss_of(table, all, [](std::size_t) { return true; }) / samples, 1e-5);
  EXPECT_DOUBLE_EQ(judged.accuracy, right / samples);
}

TEST(CrossValidation, IsThatOfHeadsFittedToTheOtherFolds) {
  const inference::FeatureTable table = four_clouds(90, 5);
  const std::vector<std::uint32_t> folds = unlike_folds(90);
  std::map<double, std::vector<double>> by_loss;
  std::map<double, double> decays;
  for (const double decay : {0.01, 0.1, 1.0}) {
    std::vector<double> all(90 * 4);
    for (std::uint32_t fold = 0; fold < 3; ++fold) judge_by_others(table, folds, fold, decay, 1, all);
    const double loss = loss_of(table, all, [](std::size_t) { return true; });
    by_loss[loss] = all;
    decays[loss] = decay;
  }
  std::vector<std::pair<std::size_t, std::size_t>> told;
  const CrossValidation judged =
      cross_validate(table, 4, folds, 1, [&](std::size_t done, std::size_t of) { told.emplace_back(done, of); });
  EXPECT_EQ(judged.decay, decays.begin()->second) << "the least loss";
  EXPECT_THAT(judged.probabilities.values, Pointwise(testing::FloatNear(2e-5F), by_loss.begin()->second));
  expect_sums_of(judged, table);
  ASSERT_EQ(told.size(), 9U) << "three decays on three folds";
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(told[i], std::pair(i + 1, std::size_t{9}));
}

TEST(CrossValidation, OfManyValuesTriesDecaysOnOneFoldAndSomeSamples) {
  constexpr std::size_t kSamples = 4100, kValues = 250;
  const inference::FeatureTable table = four_clouds(kSamples, kValues);
  const std::vector<std::uint32_t> folds = unlike_folds(kSamples);
  std::map<double, double> decays;
  for (const double decay : {0.01, 0.1, 1.0}) {
    std::vector<double> tried(kSamples * 4);
    judge_by_others(table, folds, 0, decay, 2, tried);
    decays[loss_of(table, tried, [&](std::size_t i) { return folds[i] == 0; })] = decay;
  }
  std::size_t last = 0, fits = 0;
  const CrossValidation judged = cross_validate(table, 4, folds, 2, [&](std::size_t done, std::size_t of) {
    last = done;
    fits = of;
  });
  EXPECT_EQ(judged.decay, decays.begin()->second);
  EXPECT_EQ(fits, 3U + 3U) << "three decays, and then each fold";
  EXPECT_EQ(last, fits);
  std::vector<double> all(kSamples * 4);
  judge_by_others(table, folds, 1, judged.decay, 1, all);
  for (std::size_t i = 0; i < kSamples; ++i) {
    if (folds[i] != 1) continue;
    for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(judged.probabilities.of(i)[c], all[i * 4 + c], 1e-4);
  }
  expect_sums_of(judged, table);
}

TEST(CrossValidation, OfASampleFarAwayIsAProbabilityAndAStopEndsIt) {
  inference::FeatureTable table = two_clouds(20, 7);
  table.features[0] = 1e6F;
  const auto folds = stratified_folds(table.labels, 2, each_alone(20), 4, 1);
  const CrossValidation judged = cross_validate(table, 2, folds, 1);
  EXPECT_NEAR(judged.probabilities.of(0)[0] + judged.probabilities.of(0)[1], 1, 1e-5);
  EXPECT_TRUE(std::isfinite(judged.loss));
  StopFlag stop;
  stop.request();
  const WorkScope scope(this_work_until(&stop));
  EXPECT_THROW(cross_validate(table, 2, folds, 1), Interrupted);
}

TEST(CrossValidation, DoesNotDependOnThreads) {
  const inference::FeatureTable table = two_clouds(60, 7);
  const auto folds = stratified_folds(table.labels, 2, each_alone(table.samples()), 3, 1);
  EXPECT_EQ(cross_validate(table, 2, folds, 1).probabilities.values,
            cross_validate(table, 2, folds, 3).probabilities.values);
}

}  // namespace
}  // namespace evener::training
