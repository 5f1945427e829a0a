// Folds of a cross-validation, and what heads say of samples that they were not fitted to.
#include "task/labels/label_folds.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "task/labels/cross_validation.h"

namespace evener::task {
namespace {

using testing::ElementsAre;

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
  for (const auto& [fold, size] : sizes) EXPECT_NEAR(size, 12.5, 2.5) << fold;
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
  EXPECT_THROW(stratified_folds(labels, 2, std::vector<std::uint32_t>{0, 1, 1}, 3, 1), Error);
  EXPECT_THROW(stratified_folds(labels, 2, each_alone(3), 1, 1), Error);
}

/// Two clouds, of which some samples have the other's label.
FeatureTable two_clouds(std::size_t samples, std::size_t every_wrong) {
  FeatureTable table;
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
  const FeatureTable table = two_clouds(200, 25);
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

TEST(CrossValidation, DoesNotDependOnThreads) {
  const FeatureTable table = two_clouds(60, 7);
  const auto folds = stratified_folds(table.labels, 2, each_alone(table.samples()), 3, 1);
  EXPECT_EQ(cross_validate(table, 2, folds, 1).probabilities.values,
            cross_validate(table, 2, folds, 3).probabilities.values);
}

}  // namespace
}  // namespace evener::task
