// What evener infer makes of lists, of parts of data, and of photos that lie in the sorted folder already.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/test_folder.h"
#include "job/infer/record.h"
#include "job/infer/sort.h"
#include "job/inference/images.h"
#include "job/inference/labelled_data.h"
#include "job/inference/session_record.h"

namespace evener::job {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ImageLists, HaveANameOnEachLineWhateverEndsIt) {
  const test::TestFolder folder;
  test::write_text(folder / "list.txt", "a.jpg\r\n\r\nb c.jpg\n\nd.jpg");
  EXPECT_THAT(with_lists({"x.png", (folder / "list.txt").string(), "y.png"}),
              ElementsAre("x.png", "a.jpg", "b c.jpg", "d.jpg", "y.png"));
}

TEST(PartsOfData, AreTheirOwnSamplesAndAllTogetherInTheirOrder) {
  const data::Split split{{2, 5}, {0}, {1, 4}};
  EXPECT_THAT(indices_of(split, "train"), ElementsAre(2, 5));
  EXPECT_THAT(indices_of(split, "validation"), ElementsAre(0));
  EXPECT_THAT(indices_of(split, "test"), ElementsAre(1, 4));
  EXPECT_THAT(indices_of(split, "all"), ElementsAre(0, 1, 2, 4, 5));
}

TEST(SortedPhotos, OnlyAnEqualFileIsThereAlready) {
  const test::TestFolder folder;
  std::filesystem::create_directories(folder / "photos");
  std::filesystem::create_directories(folder / "more");
  test::write_text(folder / "photos" / "a.jpg", "one");
  test::write_text(folder / "more" / "a.jpg", "two");
  for (const SortBy by : {SortBy::kLink, SortBy::kCopy}) {
    const std::filesystem::path out = folder / (by == SortBy::kLink ? "links" : "copies");
    PhotoSorter first(out, by, {});
    first.add(folder / "photos" / "a.jpg", "cat");
    PhotoSorter second(out, by, {});
    second.add(folder / "photos" / "a.jpg", "dog");
    second.add(folder / "more" / "a.jpg", "dog");
    EXPECT_EQ(second.there(), 1U) << "it stays where it is";
    EXPECT_THAT(second.added(), ElementsAre(Pair("dog", 1)));
  }
}

TEST(Accuracies, AmongFiveClassesAreNoFigureWhereThereAreNoMore) {
  for (const std::int64_t classes : {4, 5, 6}) {
    record::Record record;
    Scores scores;
    scores.images = 8;
    scores.correct = 3;
    scores.correct_in_five = 7;
    scores.classes = classes;
    add_accuracies(record, scores);
    EXPECT_EQ(record.metrics.at("accuracy").value, 0.375);
    const record::Metric* five = &record.metrics.at("top5_accuracy");
    if (classes > 5) {
      EXPECT_EQ(five->value, 0.875);
      EXPECT_TRUE(five->interval);
      EXPECT_EQ(five->reason, "");
    } else {
      EXPECT_FALSE(five->value);
      EXPECT_FALSE(five->interval);
      EXPECT_EQ(five->reason,
                "there are " + std::to_string(classes) + " classes, so that the true one is always among five");
    }
  }
}

}  // namespace
}  // namespace evener::job
