// Labels that look wrong, found by pixels among pictures that lie in parts, with copies, a class of one image, and
// files that can't be read.
#include "train/labels/labels_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "data/codecs/decode.h"
#include "sweep/asked_sweep.h"

namespace evener::training {
namespace {
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class LabelsJob : public testing::Test {
 protected:
  /// Noise of the given size with a bright stripe at an eighth of its width that tells the class.
  void write_stripe(const std::string& file, int stripe, std::int64_t width = 20, std::int64_t height = 12) {
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = 0; i < width * height; ++i) {
      const bool is_bright = i % width * 8 / width == stripe;
      pixels.push_back(static_cast<std::uint8_t>((is_bright ? 150 : 20) + random_.below(60)));
    }
    test::write_text(folder_ / file, data::encode_png({1, height, width}, pixels));
  }

  /// A part with `each` images of ants, bees and cows.
  void write_part(const std::string& part, int each, std::int64_t width = 20, std::int64_t height = 12) {
    for (int i = 100; i < 100 + each; ++i) {
      write_stripe(part + "/ant/" + std::to_string(i) + ".png", 1, width, height);
      write_stripe(part + "/bee/" + std::to_string(i) + ".png", 3, width, height);
      write_stripe(part + "/cow/" + std::to_string(i) + ".png", 6, width, height);
    }
  }

  LabelFindings found(const std::string& location, const std::vector<std::pair<std::string, std::string>>& more = {}) {
    LabelsCommandFlags flags;
    flags.labels.data.read({(folder_ / location).string()});
    const OptionSet options = flags.options();
    for (const auto& [name, value] : more) options.find(name)->read({value});
    return find_labels(flags, notes_);
  }

  std::string refusal(const std::string& location) {
    return test::plan_refusal([&] { found(location); });
  }

  const test::TestFolder folder_;
  Random random_{4, Purpose::kSynthetic};
  test::Notes notes_;
};

const LabelFinding& finding_of(const LabelFindings& findings, const std::string& file) {
  const auto found = std::ranges::find_if(findings.found, [&](const auto& one) { return one.file.ends_with(file); });
  EXPECT_NE(found, findings.found.end()) << file;
  return found == findings.found.end() ? findings.found.front() : *found;
}

/// The eighth of the picture's width that is bright.
std::int64_t stripe_of(const data::Picture& picture) {
  const std::uint8_t* const row = picture.row(0);
  std::array<double, 8> sums{};
  for (std::int64_t x = 0; x < picture.width; ++x) sums[static_cast<std::size_t>(x * 8 / picture.width)] += row[x];
  return std::ranges::max_element(sums) - sums.begin();
}

TEST_F(LabelsJob, FindsThemInTheirPartsBesideCopiesAndWhatCantBeJudged) {
  write_part("data/train", 12);
  write_part("data/test", 8);
  write_stripe("data/train/ant/99.png", 6);
  write_stripe("data/test/cow/98.png", 3);
  write_stripe("data/train/dog/1.png", 5);
  std::filesystem::copy_file(folder_ / "data/train/bee/100.png", folder_ / "data/test/bee/copy.png");
  test::write_text(folder_ / "data/train/cow/broken.png", "text");

  const LabelFindings findings = found("data", {{"--out", (folder_ / "out").string()}});
  EXPECT_EQ(findings.location, (folder_ / "data").string());
  EXPECT_EQ(findings.images, 36U + 24 + 2 + 1 + 1);
  const LabelFinding &ant = finding_of(findings, "train/ant/99.png"), &cow = finding_of(findings, "test/cow/98.png");
  EXPECT_EQ(ant.kind, LabelDoubt::kWrong);
  EXPECT_EQ(ant.label, "ant");
  EXPECT_EQ(ant.suggested, "cow");
  EXPECT_EQ(ant.part, "train");
  EXPECT_EQ(stripe_of(findings.picture(ant.index)), 6);
  EXPECT_EQ(cow.kind, LabelDoubt::kWrong);
  EXPECT_EQ(cow.label, "cow");
  EXPECT_EQ(cow.suggested, "bee");
  EXPECT_EQ(cow.part, "test");
  EXPECT_EQ(stripe_of(findings.picture(cow.index)), 3);
  EXPECT_GT(cow.probability, cow.label_probability);
  EXPECT_NEAR(cow.score, (1 + cow.probability - cow.label_probability) / 2, 1e-9);
  EXPECT_EQ(std::ranges::count(findings.found, LabelDoubt::kWrong, &LabelFinding::kind), 2);
  EXPECT_TRUE(std::ranges::none_of(findings.found, [](const auto& one) { return one.label == "dog"; }));

  ASSERT_EQ(findings.pairs.size(), 2U);
  EXPECT_NEAR(findings.estimated, findings.pairs[0].estimated + findings.pairs[1].estimated, 1e-9);
  for (const LabelPair& pair : findings.pairs) {
    EXPECT_EQ(pair.suggested, pair.label == "ant" ? "cow" : "bee");
    EXPECT_EQ(pair.found, 1U);
    EXPECT_NEAR(pair.estimated, 1, 0.45);
    EXPECT_NEAR(pair.share, pair.estimated / 21, 1e-9) << "20 of a class, and the wrong one";
  }
  EXPECT_GE(findings.pairs[0].estimated, findings.pairs[1].estimated);
  EXPECT_NEAR(findings.accuracy, 61.0 / 64, 1e-9) << "all but the two that are wrong, and the dog";
  EXPECT_EQ(findings.judged_by,
            "softmax heads on the pixels of the images at 20x12, cross-validated over 5 folds, copies of one image in "
            "one fold (1); they agree with 95.3 % of the labels");
  EXPECT_THAT(findings.notes, ElementsAre(HasSubstr("1 in another part than the original"),
                                          "the class 'dog' has only one image", HasSubstr("--model mobilenet_v2"),
                                          "class 'dog' has but one image, which no other can judge"));
  for (const std::string& note : findings.notes) EXPECT_THAT(notes_.texts, Contains(note));
  ASSERT_EQ(findings.skipped.size(), 1U);
  EXPECT_THAT(findings.skipped[0].file, HasSubstr("broken.png"));
  EXPECT_THAT(notes_.texts, Contains(AllOf(HasSubstr("broken.png"), HasSubstr("1 image"))));
  EXPECT_THAT(read_file(folder_ / "out/labels.csv"), HasSubstr("98.png,cow,bee,"));

  const LabelFindings tested = found("data", {{"--part", "test"}, {"--folds", "3"}});
  EXPECT_EQ(tested.images, 24U + 2);
  EXPECT_THAT(tested.judged_by, AllOf(HasSubstr("over 3 folds;"), Not(HasSubstr("copies"))));
  const LabelFinding& again = finding_of(tested, "test/cow/98.png");
  EXPECT_EQ(again.part, "test");
  EXPECT_EQ(stripe_of(tested.picture(again.index)), 3) << "by its place in the part";
  EXPECT_NE(finding_of(found("data", {{"--part", "test"}, {"--folds", "3"}, {"--seed", "2"}}), "98.png").score,
            again.score);
}

TEST_F(LabelsJob, ScalesLargePicturesDownAndNamesNoPartsWhereThereAreNone) {
  write_part("data", 6, 40, 10);
  write_stripe("data/bee/99.png", 6, 40, 10);
  const LabelFindings findings = found("data");
  EXPECT_THAT(findings.judged_by, HasSubstr("images at 16x10, cross-validated over 5 folds;"));
  const LabelFinding& bee = finding_of(findings, "bee/99.png");
  EXPECT_EQ(bee.suggested, "cow");
  EXPECT_EQ(bee.part, "");
  const data::Picture picture = findings.picture(bee.index);
  EXPECT_EQ(picture.width, 40) << "at its own size";
  EXPECT_EQ(picture.height, 10);
  EXPECT_THAT(found("data", {{"--size", "10x5"}}).judged_by, HasSubstr("images at 10x5,"));
}

TEST_F(LabelsJob, SaysWhereItsHeadsKnowLittleAndWhatItCantJudge) {
  for (int i = 0; i < 4; ++i) write_stripe(std::string("few/") + (i % 2 ? "a/" : "b/") + std::to_string(i) + ".png", i);
  const LabelFindings findings = found("few");
  EXPECT_THAT(findings.judged_by, HasSubstr("over 4 folds;")) << "as many as there are images";
  for (int i = 0; i < 12; ++i)
    write_stripe(std::string("mixed/") + (i % 2 ? "a/" : "b/") + std::to_string(i) + ".png", i / 2);
  const LabelFindings mixed = found("mixed");
  EXPECT_LT(mixed.accuracy, 0.7) << "each picture is like one of the other class";
  EXPECT_THAT(mixed.notes, Contains(AllOf(HasSubstr("the heads agree with "), HasSubstr(" % of the labels only"))));
  EXPECT_THAT(test::plan_refusal([&] { found("few", {{"--part", "new"}}); }), HasSubstr("no images in its new part"));
  std::filesystem::remove(folder_ / "few/a/3.png");
  EXPECT_THAT(refusal("few"), HasSubstr("few' has 3 different images to look at: too few"));
  std::filesystem::copy_file(folder_ / "few/b/2.png", folder_ / "few/b/4.png");
  EXPECT_THAT(refusal("few"), HasSubstr("few' has 3 different images to look at: too few")) << "a copy is no other";
  std::filesystem::remove_all(folder_ / "few/a");
  EXPECT_THAT(refusal("few"), HasSubstr("pictures without labels"));
}

TEST_F(LabelsJob, EndsWithAStop) {
  write_part("data", 2);
  LabelsCommandFlags flags;
  flags.labels.data.read({(folder_ / "data").string()});
  StopFlag stop;
  stop.request();
  EXPECT_THROW(find_labels(flags, notes_, &stop), Interrupted);
}

}  // namespace
}  // namespace evener::training
