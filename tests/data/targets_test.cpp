// What a batch says is to be found on its images: how it is stored, cut into parts, and asked for.
#include "data/targets.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "data/batch.h"
#include "data/data_helpers.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::int32_t> kLabels{3, 1, 4, 1, 5};
const std::vector<std::int32_t> kSecond{2, 7, 1, 8, 2};
const std::vector<float> kWeights{0.5F, 0.6F, 0.7F, 0.8F, 0.9F};
const std::vector<std::vector<LabelledBox>> kBoxes{
    {{0, 0, 1, 1, 0}}, {}, {{1, 2, 3, 4, 2, true}, {5, 6, 7, 8, 1}}, {{2, 2, 4, 4, 0}}, {}};

/// Five blank images with some targets.
Batch batch_with(const Targets& targets) {
  static const std::vector<std::uint8_t> pixels(5 * 4);
  static const std::vector<std::uint32_t> samples{10, 11, 12, 13, 14};
  return {5, {1, 2, 2}, pixels, targets, samples, 1};
}

TEST(Targets, OfPartsOfABatchAreThoseOfTheirImages) {
  const Batch classes = part_of(batch_with(ClassTargets{kLabels}), 1, 4);
  EXPECT_EQ(classes.count, 3);
  EXPECT_THAT(classes.images, SizeIs(12));
  EXPECT_THAT(classes.samples, ElementsAre(11, 12, 13));
  EXPECT_THAT(std::get<ClassTargets>(classes.targets).labels, ElementsAre(1, 4, 1));

  const Batch mixed = part_of(batch_with(MixedClassTargets{kLabels, kSecond, kWeights}), 3, 5);
  const auto& parts = std::get<MixedClassTargets>(mixed.targets);
  EXPECT_THAT(parts.labels, ElementsAre(1, 5));
  EXPECT_THAT(parts.second_labels, ElementsAre(8, 2));
  EXPECT_THAT(parts.label_weights, ElementsAre(0.8F, 0.9F));

  const Batch boxed = part_of(batch_with(BoxTargets{kBoxes}), 1, 3);
  EXPECT_THAT(std::get<BoxTargets>(boxed.targets).boxes, ElementsAre(kBoxes[1], kBoxes[2]));
  EXPECT_THAT(std::get<BoxTargets>(part_of(boxed, 2, 2).targets).boxes, IsEmpty());
}

TEST(Targets, GiveTheMainClassOfEachImage) {
  EXPECT_THAT(class_labels(ClassTargets{kLabels}), ElementsAre(3, 1, 4, 1, 5));
  EXPECT_THAT(class_labels(MixedClassTargets{kLabels, kSecond, kWeights}), ElementsAre(3, 1, 4, 1, 5));
  EXPECT_THAT(error_of([] { class_labels(BoxTargets{kBoxes}); }), HasSubstr("the batch has boxes"));
}

TEST(Targets, AreStoredByKind) {
  TargetStore store;
  store.reset(TargetKind::kClasses, /*is_mixed=*/true, 2);
  store.set(0, 5);
  store.set(1, 6);
  store.mix(0, 7, 0.75F);
  store.mix(1, 8, 1);
  const Targets targets = store.view();
  EXPECT_STREQ(targets_name(targets), "mixed classes");
  EXPECT_THAT(std::get<MixedClassTargets>(targets).second_labels, ElementsAre(7, 8));
  EXPECT_THAT(error_of([&] { store.set(0, kBoxes[0]); }), AllOf(HasSubstr("has boxes"), HasSubstr("have classes")));

  store.reset(TargetKind::kBoxes, /*is_mixed=*/false, 3);
  for (std::size_t i = 0; i < 3; ++i) store.set(i, kBoxes[i]);
  EXPECT_THAT(std::get<BoxTargets>(store.view()).boxes, ElementsAre(kBoxes[0], kBoxes[1], kBoxes[2]));
  EXPECT_THAT(error_of([&] { store.set(0, 1); }), AllOf(HasSubstr("has a class"), HasSubstr("have boxes")));

  store.reset(TargetKind::kClasses, /*is_mixed=*/false, 1);
  store.set(0, 9);
  EXPECT_STREQ(targets_name(store.view()), "classes");
  EXPECT_THAT(class_labels(store.view()), ElementsAre(9));
}

TEST(Targets, WithBoxesAreNotTakenForClasses) {
  const auto dataset = std::make_shared<BoxedDataset>(ImageShape{1, 4, 4}, kBoxes);
  EXPECT_THAT(error_of([&] { label_of(*dataset, 2); }), AllOf(HasSubstr("'#2'"), HasSubstr("boxes")));
}

}  // namespace
}  // namespace evener::data
