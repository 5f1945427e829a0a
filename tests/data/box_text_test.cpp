// Boxes as other programs read them.
#include "data/box_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "data/sources/voc_xml.h"

namespace evener::data {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kClasses = {"cat", "a <b> & \"c\"\x01"};

BoxedFile two_found() {
  return {"photos/o&ne.jpg", 200, 100, 3, {{10, 20, 30, 60, 1}, {0.1F, 0, 199.9F, 100, 0}}, {0.75F, 0.5F}};
}

TEST(BoxText, VocCountsPixelsFromOneWithinTheBox) {
  const std::string text = voc_text(two_found(), kClasses);
  EXPECT_THAT(text, HasSubstr("<folder>photos</folder>\n  <filename>o&amp;ne.jpg</filename>"));
  EXPECT_THAT(text, HasSubstr("<name>a &lt;b&gt; &amp; \"c\"</name>"));
  EXPECT_THAT(text, HasSubstr("<score>0.75</score>"));
  EXPECT_THAT(text, HasSubstr("<xmin>11</xmin>\n      <ymin>21</ymin>\n      <xmax>30</xmax>\n      <ymax>60</ymax>"));
  EXPECT_THAT(text, HasSubstr("<xmin>1</xmin>\n      <ymin>1</ymin>\n      <xmax>200</xmax>\n      <ymax>100</ymax>"));
  EXPECT_EQ(parse_voc(text).objects.size(), 2U);
}

TEST(BoxText, VocHasFlagsAndNoBoxWithoutArea) {
  LabelledBox box{39.75F, 2, 40, 2.25F, 0};
  box.is_truncated = true;
  const std::string text = voc_text({"a.png", 40, 20, 1, {box}, {}}, kClasses);
  EXPECT_THAT(text, HasSubstr("<truncated>1</truncated>\n    <difficult>0</difficult>"));
  EXPECT_THAT(text, Not(HasSubstr("score")));
  EXPECT_THAT(text, HasSubstr("<depth>1</depth>"));
  EXPECT_THAT(text, HasSubstr("<xmin>39</xmin>\n      <ymin>3</ymin>\n      <xmax>40</xmax>\n      <ymax>4</ymax>"));
}

TEST(BoxText, YoloHasSharesOfTheImageAndNoCrowds) {
  BoxedFile file = two_found();
  file.boxes[1].is_crowd = true;
  EXPECT_EQ(yolo_text(file), "1 0.10000000 0.40000000 0.10000000 0.40000000\n");
}

TEST(BoxText, CocoCountsFromOneAndKeepsEveryDigit) {
  BoxedFile known{"b \"2\"\n.jpg", 50, 40, 3, {{1, 2, 5, 8, 1}}, {}};
  known.boxes[0].is_crowd = true;
  const json all = json::parse(coco_text(std::vector{two_found(), known}, kClasses));
  EXPECT_EQ(all["images"].size(), 2U);
  EXPECT_EQ(all["images"][1]["id"], 2);
  EXPECT_EQ(all["images"][1]["file_name"], "b \"2\"\n.jpg");
  EXPECT_EQ(all["categories"][0]["id"], 1);
  EXPECT_EQ(all["categories"][1]["name"], kClasses[1]);
  EXPECT_EQ(all["annotations"][0]["id"], 1);
  EXPECT_EQ(all["annotations"][0]["category_id"], 2);
  EXPECT_EQ(all["annotations"][0]["image_id"], 1);
  EXPECT_EQ(all["annotations"][0]["area"], 800);
  EXPECT_EQ(all["annotations"][0]["score"], 0.75);
  EXPECT_EQ(all["annotations"][1]["bbox"][0].get<float>(), 0.1F);
  const double right = all["annotations"][1]["bbox"][0].get<double>() + all["annotations"][1]["bbox"][2].get<double>();
  EXPECT_EQ(static_cast<float>(right), 199.9F);
  EXPECT_EQ(all["annotations"][2]["iscrowd"], 1);
  EXPECT_FALSE(all["annotations"][2].contains("score"));
}

}  // namespace
}  // namespace evener::data
