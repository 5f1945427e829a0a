// Images that an earlier run knew stay in the parts that they had there. Images are numbers here: their contents.
#include "train/steps/known_parts.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "train/steps/train.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

using Numbers = std::vector<std::uint64_t>;

/// An image for each number, which is its content and, unless it is told otherwise, its name.
class NumberedImages : public data::ClassDataset {
 public:
  NumberedImages(std::string folder, Numbers contents, Numbers names)
      : folder_(std::move(folder)), contents_(std::move(contents)), names_(std::move(names)) {}

  std::size_t size() const override { return contents_.size(); }
  data::ImageShape shape() const override { return {1, 1, 1}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t) const override { return 0; }
  void read(std::size_t, std::span<std::uint8_t>) const override {}
  std::string source(std::size_t index) const override { return folder_ + "/" + std::to_string(names_[index]); }
  std::optional<std::uint64_t> content(std::size_t index) const override { return contents_[index]; }

 private:
  const std::string folder_;
  const Numbers contents_, names_;
  const std::vector<std::string> classes_ = {"one"};
};

/// A first run learnt from images 100 to 105, validated on 106 and 107, and was tested with 108 and 109.
class KnownParts : public testing::Test {
 protected:
  KnownParts() {
    for (const char* name : {"photos", "first", "run"}) std::filesystem::create_directory(folder_ / name);
    options_.data.location = (folder_ / "photos").string();
    options_.out = folder_ / "first";
    data::OpenedData before = opened(range(100, 110));
    before.split = {{0, 1, 2, 3, 4, 5}, {6, 7}, {8, 9}};
    save_manifest(options_, before);
    options_.out = folder_ / "run";
    options_.weights = folder_ / "first" / "best.safetensors";
    options_.inherits_parts = true;
    options_.epochs = 1;
  }

  static Numbers range(std::uint64_t first, std::uint64_t end) {
    Numbers numbers(end - first);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  }
  static Numbers joined(Numbers first, const Numbers& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  data::OpenedData opened(const Numbers& contents, const Numbers& names = {}) const {
    data::OpenedData opened;
    opened.dataset =
        std::make_shared<NumberedImages>(options_.data.location, contents, names.empty() ? contents : names);
    return opened;
  }
  /// The numbers of samples.
  static Numbers numbers_of(const data::OpenedData& opened, const std::vector<std::uint32_t>& samples) {
    Numbers numbers;
    for (const std::uint32_t sample : samples) numbers.push_back(*opened.dataset->content(sample));
    return numbers;
  }
  static std::string notes_of(const data::OpenedData& opened) {
    std::string notes;
    for (const std::string& note : opened.notes) notes += note + "\n";
    return notes;
  }

  std::string failure(void (*work)(const TrainOptions&, data::OpenedData&), data::OpenedData& data) const {
    return test::thrown_by<UsageError>([&] { work(options_, data); }, "none");
  }

  const test::TestFolder folder_;
  TrainOptions options_;
};

TEST_F(KnownParts, AreThoseOfTheWeightsRunWhereMoreThanHalfIsKnown) {
  data::OpenedData data = opened(joined(range(200, 209), range(100, 110)));
  data.split = {{0}, {10}, {11}};  // as it was divided before anybody asked
  options_.data.split = {60, 30, 10};
  inherit_parts(options_, data);
  const data::Split& split = data.split;
  EXPECT_THAT(split.train, SizeIs(6 + 5));
  EXPECT_THAT(split.val, SizeIs(2 + 3));
  EXPECT_THAT(split.test, SizeIs(2 + 1));
  for (const auto* part : {&split.train, &split.val, &split.test}) EXPECT_TRUE(std::ranges::is_sorted(*part));
  const Numbers train = numbers_of(data, split.train), val = numbers_of(data, split.val),
                tested = numbers_of(data, split.test);
  EXPECT_THAT(train, testing::IsSupersetOf(range(100, 106)));
  EXPECT_THAT(val, testing::IsSupersetOf(range(106, 108)));
  EXPECT_THAT(tested, testing::IsSupersetOf(range(108, 110)));
  EXPECT_THAT(joined(joined(train, val), tested), UnorderedElementsAreArray(joined(range(100, 110), range(200, 209))));
  EXPECT_THAT(split.added, IsEmpty());
  EXPECT_THAT(notes_of(data), AllOf(HasSubstr("10 images stay in the parts"), HasSubstr("9 new ones are divided")));
}

TEST_F(KnownParts, AreNotThoseOfTheWeightsRunWhereHalfIsKnown) {
  data::OpenedData data = opened(joined(range(200, 210), range(100, 110)));  // 10 of 20
  data.split = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 18, 19}, {10, 17}, {11, 12, 16}};
  inherit_parts(options_, data);
  EXPECT_THAT(numbers_of(data, data.split.val), ElementsAre(107));
  EXPECT_THAT(numbers_of(data, data.split.test), ElementsAre(106));
  EXPECT_THAT(data.split.train, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 18, 19));
  EXPECT_THAT(notes_of(data),
              AllOf(HasSubstr("first/best.safetensors' was trained on 3 images of the parts"), HasSubstr("they are")));
}

TEST_F(KnownParts, OfDataThatComesDividedOrIsNotToInheritAreItsOwn) {
  for (const bool divided : {true, false}) {
    SCOPED_TRACE(divided);
    options_.inherits_parts = divided;
    data::OpenedData data = opened(range(100, 110));
    data.came_divided = divided;
    data.split = {{8, 9}, {6, 0}, {7}};
    inherit_parts(options_, data);
    EXPECT_THAT(data.split.train, ElementsAre(0, 8, 9)) << "what the weights were trained on judges nothing";
    EXPECT_THAT(data.split.val, ElementsAre(6));
    EXPECT_THAT(data.split.test, ElementsAre(7));
    EXPECT_THAT(notes_of(data), AllOf(HasSubstr("on 1 image of"), HasSubstr("it is in the training part")));
  }
}

TEST_F(KnownParts, StayAsTheyAreWhereTheWeightsSawNoneOfThem) {
  options_.inherits_parts = false;
  data::OpenedData data = opened(range(106, 110));
  data.split = {{2, 3}, {0}, {1}};
  inherit_parts(options_, data);
  EXPECT_THAT(data.split.train, ElementsAre(2, 3));
  EXPECT_THAT(data.notes, IsEmpty());
  options_.weights.clear();
  data = opened(range(100, 110));
  data.split = {{8, 9}, {0}, {1}};
  inherit_parts(options_, data);
  EXPECT_THAT(data.split.val, ElementsAre(0)) << "there are no weights";
}

TEST_F(KnownParts, NewImagesAreDividedBySeedAndUsualShares) {
  options_.data.split.clear();
  // 120 that a run without weights knew, and 100 new ones.
  options_.weights.clear();
  data::OpenedData second = opened(range(100, 220));
  for (std::uint32_t i = 0; i < 120; ++i) second.split.train.push_back(i);
  save_manifest(options_, second);
  options_.weights = options_.out / "best.safetensors";
  data::OpenedData data = opened(range(100, 220 + 100)), other = opened(range(100, 220 + 100));
  inherit_parts(options_, data);
  EXPECT_THAT(data.split.train, SizeIs(120 + 85));
  EXPECT_THAT(data.split.val, SizeIs(2));
  EXPECT_THAT(data.split.test, SizeIs(13));
  options_.data.seed += 1;
  inherit_parts(options_, other);
  EXPECT_THAT(other.split.test, SizeIs(13));
  EXPECT_NE(other.split.test, data.split.test);
}

TEST_F(KnownParts, ImagesWithOtherContentAreDividedAnew) {
  const Numbers names = range(100, 110);
  Numbers contents = names;
  contents[0] = 900;  // one of those that were trained on
  contents[9] = 901;
  options_.data.split = {0, 100};
  data::OpenedData data = opened(contents, names);
  inherit_parts(options_, data);
  EXPECT_THAT(data.split.train, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(data.split.val, ElementsAre(0, 6, 7, 9));
  EXPECT_THAT(data.split.test, ElementsAre(8));
  EXPECT_THAT(data.split.changed, IsEmpty());
  EXPECT_THAT(notes_of(data), AllOf(HasSubstr("8 images stay"), HasSubstr("2 new ones are divided")));
}

TEST_F(KnownParts, TellNothingOfAccuracyWhereAllThatJudgesWasTrainedOn) {
  options_.epochs = 0;
  options_.inherits_parts = false;
  const data::Split trained_on{{8, 9}, {0, 1}, {2}};
  data::OpenedData data = opened(range(100, 110));
  data.split = trained_on;
  EXPECT_THAT(failure(inherit_parts, data), AllOf(HasSubstr("was trained on all 3 images"), HasSubstr("--split")));
  options_.epochs = 1;
  data.split = trained_on;
  EXPECT_EQ(failure(inherit_parts, data), "none") << "a training learns from them again";
  options_.epochs = 0;
  for (const data::Split& some : {data::Split{{8}, {0, 6}, {2}}, data::Split{{8}, {0}, {2, 6}}}) {
    data.split = some;
    EXPECT_EQ(failure(inherit_parts, data), "none") << "one is left that judges";
  }
}

TEST_F(KnownParts, OfARunAreTheSameWhenItGoesOn) {
  options_.out = folder_ / "first";
  data::OpenedData data = opened(joined(range(200, 203), range(100, 109)));  // three are new, one of the test is gone
  data.split = {{0, 1, 2, 3, 4, 5, 6}, {7, 8, 9}, {10, 11}};
  resume_parts(options_, data);
  EXPECT_EQ(numbers_of(data, data.split.train), range(100, 106));
  EXPECT_EQ(numbers_of(data, data.split.val), range(106, 108));
  EXPECT_THAT(numbers_of(data, data.split.test), ElementsAre(108));
  EXPECT_THAT(notes_of(data),
              AllOf(HasSubstr("1 of 2 test images is gone, 3 images are new"), HasSubstr("first/best.safetensors")));
  data::OpenedData same = opened(range(100, 110));
  resume_parts(options_, same);
  EXPECT_EQ(numbers_of(same, same.split.train), range(100, 106));
  EXPECT_THAT(same.notes, IsEmpty());
}

TEST_F(KnownParts, ARunDoesNotGoOnWithoutWhatItLearntFromOrWasValidatedOn) {
  options_.out = folder_ / "first";
  for (const std::uint64_t which : {100, 105, 106, 107, 108, 109}) {
    SCOPED_TRACE(which);
    const bool is_test = which >= 108;
    Numbers rest = range(100, 110);
    std::erase(rest, which);
    data::OpenedData gone = opened(rest);
    EXPECT_THAT(failure(resume_parts, gone), HasSubstr(is_test ? "none" : "can't go on with"));
    Numbers contents = range(100, 110);
    contents[which - 100] = 900;
    data::OpenedData changed = opened(contents, range(100, 110));
    EXPECT_THAT(failure(resume_parts, changed), HasSubstr(is_test ? "none" : "other content"));
  }
}

TEST_F(KnownParts, ARunDoesNotGoOnWhereOneIsGoneAndAnotherChanged) {
  options_.out = folder_ / "first";
  for (const std::uint64_t first : {100, 106}) {  // of training, of validation
    Numbers contents = range(100, 110), names = contents;
    contents[first - 100] = 900;
    std::erase(names, first + 1);
    std::erase(contents, first + 1);
    data::OpenedData data = opened(contents, names);
    EXPECT_THAT(failure(resume_parts, data), AllOf(HasSubstr("is gone"), HasSubstr("has other content")));
  }
}

TEST_F(KnownParts, NewAndChangedImagesAreDividedInTheirOrder) {
  Numbers names = joined(range(100, 110), range(200, 206)), contents = names;
  contents[2] = 900;
  options_.data.split = {40, 30, 30};
  data::OpenedData data = opened(contents, names);
  inherit_parts(options_, data);
  const std::vector<std::uint32_t> others = {2, 10, 11, 12, 13, 14, 15};
  const data::Split divided = data::split_samples(*data.dataset, others, options_.data.split, options_.data.seed);
  EXPECT_THAT(data.split.val, testing::IsSupersetOf(divided.val));
  EXPECT_THAT(data.split.test, testing::IsSupersetOf(divided.test));
  EXPECT_THAT(data.split.train, testing::IsSupersetOf(divided.train));
}

TEST_F(KnownParts, OfGeneratedImagesAndOfRunsWithoutAListAreNotLookedFor) {
  EXPECT_FALSE(knows_its_images(options_)) << "its folder has no list";
  data::OpenedData data = opened(range(100, 104));
  data.split = {{0}, {1}, {2}};
  resume_parts(options_, data);
  EXPECT_THAT(data.split.test, ElementsAre(2));
  options_.out = folder_ / "first";
  EXPECT_TRUE(knows_its_images(options_));
  options_.data.location = "synth:masks:10";
  EXPECT_FALSE(knows_its_images(options_));
  inherit_parts(options_, data);
  EXPECT_THAT(data.split.test, ElementsAre(2));
  EXPECT_THAT(data.notes, IsEmpty());
  options_.out = folder_ / "run";
  save_manifest(options_, data);
  EXPECT_TRUE(std::filesystem::is_empty(options_.out));
}

TEST_F(KnownParts, WhatFormerWeightsWereTrainedOnIsRememberedByTheNextRuns) {
  data::OpenedData second = opened(range(300, 310));
  second.split = {{0, 1, 2, 3, 4, 5, 6}, {7, 8}, {9}};
  save_manifest(options_, second);  // begun with the first run's weights
  options_.weights = options_.out / "best.safetensors";
  options_.inherits_parts = false;
  data::OpenedData third = opened(joined(range(100, 110), range(300, 310)));
  third.split = {{}, {0, 6, 10}, {1, 8, 18, 19}};
  inherit_parts(options_, third);
  EXPECT_THAT(third.split.train, ElementsAre(0, 1, 10)) << "of either run";
  EXPECT_THAT(third.split.val, ElementsAre(6));
  EXPECT_THAT(third.split.test, ElementsAre(8, 18, 19));
}

/// Even numbers are of one class, odd ones of the other.
class TwoClasses : public NumberedImages {
 public:
  using NumberedImages::NumberedImages;
  const std::vector<std::string>& classes() const override { return two_; }
  std::int32_t label(std::size_t index) const override { return static_cast<std::int32_t>(*content(index) % 2); }

 private:
  const std::vector<std::string> two_ = {"even", "odd"};
};

TEST_F(KnownParts, AClassThatLosesItsTrainingImagesIsTold) {
  const auto left_of = [&](const std::vector<std::string>& dropped, const data::Split& split) {
    data::OpenedData data;
    data.dataset = std::make_shared<TwoClasses>(options_.data.location, range(100, 110), range(100, 110));
    data.split = split;
    options_.drop = data::DropList{.file = "drop.txt", .names = dropped};
    leave_out_dropped(options_, data);
    return data;
  };
  const data::OpenedData lost = left_of({"101", "103", "105"}, {{0, 1, 2, 4}, {3, 6}, {5, 7, 8}});
  EXPECT_THAT(lost.split.train, ElementsAre(0, 2, 4));
  EXPECT_THAT(lost.split.val, ElementsAre(6));
  EXPECT_THAT(lost.split.test, ElementsAre(5, 7, 8)) << "it is not asked for";
  EXPECT_THAT(lost.notes, ElementsAre(HasSubstr("3 images named in 'drop.txt' are left out"),
                                      "no image of class 'odd' is left to train on"));
  EXPECT_THAT(left_of({"100", "777"}, {{0, 1, 2}, {3}, {}}).notes,
              ElementsAre(HasSubstr("1 image named in"), HasSubstr("'777'")))
      << "one of each class is left";
  EXPECT_THAT(left_of({"103"}, {{0, 2}, {1, 3}, {}}).notes, SizeIs(1)) << "the training part had none before";
}

TEST_F(KnownParts, ARunGoesOnOnlyWhereItsDataIs) {
  options_.resume = true;
  EXPECT_NO_THROW(require_data_of_run(options_));
  options_.data.location = (folder_ / "nowhere").string();
  EXPECT_THROW(require_data_of_run(options_), UsageError);
  options_.resume = false;
  EXPECT_NO_THROW(require_data_of_run(options_)) << "a new run says so itself";
  options_.resume = true;
  options_.data.location = "synth:masks:10";
  EXPECT_NO_THROW(require_data_of_run(options_));
}

}  // namespace
}  // namespace evener::training
