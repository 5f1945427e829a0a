// Which images of validation and test are in training, too, by their names and parts.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/files.h"
#include "base/test_folder.h"
#include "data/copies_helpers.h"
#include "train/copies_table.h"
#include "train/steps/known_parts.h"

namespace evener::training {
namespace {

using namespace data::test;
using ::testing::HasSubstr;

/// Three to train on, two to validate, two to test.
data::OpenedData with_copies(const data::ImageShape& shape) {
  const Scene first = blots(1), second = blots(2);
  data::OpenedData data;
  data.dataset = std::make_shared<DrawnImages>(
      shape, std::vector<Scene>{mirrored(second), first, second, blots(3), times(second, 1.2), first, blots(4)});
  data.split = {{0, 1, 2}, {3, 4}, {5, 6}};
  return data;
}

TEST(CopiedFiles, HaveTheirPartsAndAreCountedOnce) {
  const CopySearch search = search_copies(with_copies({3, 48, 48}), 2);
  EXPECT_TRUE(search.is_made);
  EXPECT_EQ(search.near_reason, "");
  EXPECT_EQ(search.judged, 2U) << "4 and 5; of the first there are two pairs";
  EXPECT_EQ(search.exact, 1U);
  const test::TestFolder folder;
  write_copies(folder / "copies.csv", search);
  std::string csv = read_file(folder / "copies.csv");
  for (const CopiedFiles& pair : search.pairs) {
    if (pair.distance == 0) continue;
    EXPECT_LT(pair.distance, 0.05);
    csv.replace(csv.find(fmt::format("{:.4f}", pair.distance)), 6, "NEAR");
  }
  const std::string from_0 = "#4,validation,#0,training,\"mirrored, brighter\",NEAR\n";
  const std::string from_2 = "#4,validation,#2,training,brighter,NEAR\n";
  const std::string heading = "image,part,copy_of,copy_of_part,relation,distance\n";
  const std::string exact = "#5,test,#1,training,the same,0.0000\n";
  EXPECT_THAT(csv, testing::AnyOf(heading + from_0 + from_2 + exact, heading + from_2 + from_0 + exact));
  EXPECT_THAT(copies_text(search), HasSubstr("1 in every pixel, 1 nearly; such as '#4' of '#"));
}

TEST(CopiedFiles, OfSeveralTrainedOnesAreOneImage) {
  data::OpenedData data;
  data.dataset = std::make_shared<DrawnImages>(data::ImageShape{1, 8, 8}, std::vector<Scene>(4, blots(1)));
  data.split = {{0, 1, 2}, {3}, {}};
  const CopySearch search = search_copies(data, 1);
  EXPECT_EQ(search.pairs.size(), 3U);
  EXPECT_EQ(search.judged, 1U);
  EXPECT_EQ(search.exact, 1U);
}

TEST(CopiedFiles, OfSmallImagesAreExactOnesAndThatIsSaid) {
  const CopySearch search = search_copies(with_copies({3, 28, 30}), 1);
  EXPECT_EQ(search.judged, 1U);
  EXPECT_EQ(search.exact, 1U);
  EXPECT_EQ(search.near_reason,
            "images of 30x28 pixels are too small to tell near copies from others: they would need 32 a side");
  EXPECT_THAT(copies_text(search),
              testing::StartsWith("1 in every pixel, near ones were not looked for: images of 30x28"));
}

TEST(CopiedFiles, AfterATrainingAreSoughtWhereAllPixelsAreInMemory) {
  EXPECT_EQ(copies_after_training(with_copies({1, 32, 32}), 1).judged, 2U);
  class Away : public DrawnImages {
   public:
    explicit Away(std::uint32_t away) : DrawnImages({1, 32, 32}, std::vector<Scene>(3, blots(1))), away_(away) {}
    const std::uint8_t* pixels(std::size_t index) const override {
      return index == away_ ? nullptr : DrawnImages::pixels(index);
    }

   private:
    std::size_t away_;
  };
  for (const std::uint32_t away : {0U, 1U, 2U, 3U}) {
    data::OpenedData data;
    data.dataset = std::make_shared<Away>(away);
    data.split = {{0}, {1}, {2}};
    const CopySearch search = copies_after_training(data, 1);
    EXPECT_EQ(search.is_made, away == 3) << away;
    EXPECT_EQ(search.pairs.size(), away == 3 ? 2U : 0U);
  }
}

}  // namespace
}  // namespace evener::training
