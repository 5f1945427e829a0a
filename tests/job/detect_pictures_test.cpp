// Which boxes are drawn on the pictures of evener detect.
#include <gmock/gmock.h>

#include "job/detect/pictures.h"

namespace evener::job {
namespace {

using ::testing::ElementsAre;

TEST(DetectPictures, TheLikeliestBoxLiesOnTop) {
  const task::FoundBoxes found{
      "a.jpg", {40, 30}, {{1, 2, 9, 8, 1, 0.9F}, {2, 2, 9, 8, 0, 0.5F}, {3, 2, 9, 8, 1, 0.25F}, {4, 2, 9, 8, 0, 0.1F}}};
  std::vector<std::string> texts;
  std::vector<double> left;
  for (const task::DrawnBox& box : boxes_to_draw(found, 0.25F, {"cat", "dog"})) {
    texts.push_back(box.text);
    left.push_back(box.x1);
  }
  EXPECT_THAT(texts, ElementsAre("dog 0.25", "cat 0.50", "dog 0.90"));
  EXPECT_THAT(left, ElementsAre(3, 2, 1));
}

}  // namespace
}  // namespace evener::job
