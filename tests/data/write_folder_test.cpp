// Datasets that are written: as image folders, and with boxes in the formats that other software reads.
#include "data/write_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/boxes.h"
#include "data/boxes_helpers.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/open/pack.h"
#include "data/sources/voc_xml.h"

namespace evener::data {
namespace {

using namespace test;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  LabelledBox difficult{3, 19.75F, 8, 20, 1};
  difficult.is_difficult = true;
  const std::string text = voc_text({"a.png", 40, 20, 1, {box, difficult}, {}}, kClasses);
  EXPECT_THAT(text, HasSubstr("<truncated>1</truncated>\n    <difficult>0</difficult>"));
  EXPECT_THAT(text, HasSubstr("<truncated>0</truncated>\n    <difficult>1</difficult>"));
  EXPECT_THAT(text, HasSubstr("<xmin>4</xmin>\n      <ymin>19</ymin>\n      <xmax>8</xmax>\n      <ymax>20</ymax>"));
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

constexpr std::size_t kImages = 40;

OpenedData shapes() {
  return open_boxes("synth:shapes:40", [](DataOptions& options) { options.width = options.height = 64; });
}

/// The sample numbers that the names of files tell, by place in `read`.
std::size_t original(const OpenedData& read, std::size_t index) {
  return std::stoul(std::filesystem::path(read.dataset->source(index)).stem().string());
}

void expect_same(const OpenedData& before, const OpenedData& read, float tolerance) {
  ASSERT_EQ(read.dataset->size(), kImages);
  EXPECT_EQ(read.dataset->classes(), before.dataset->classes());
  EXPECT_THAT(read.skipped, IsEmpty());
  EXPECT_EQ(read.split.train.size(), before.split.train.size());
  EXPECT_EQ(read.split.test.size(), before.split.test.size());
  for (std::size_t i = 0; i < kImages; ++i) {
    const std::size_t sample = original(read, i);
    const auto expected = boxes_of(before, sample), boxes = boxes_of(read, i);
    ASSERT_EQ(boxes.size(), expected.size());
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      EXPECT_NEAR(boxes[k].x1, expected[k].x1, tolerance);
      EXPECT_NEAR(boxes[k].y1, expected[k].y1, tolerance);
      EXPECT_NEAR(boxes[k].x2, expected[k].x2, tolerance);
      EXPECT_NEAR(boxes[k].y2, expected[k].y2, tolerance);
      EXPECT_EQ(boxes[k].label, expected[k].label);
    }
    std::vector<std::uint8_t> pixels(before.dataset->shape().bytes()), again(pixels.size());
    before.dataset->read(sample, pixels);
    read.dataset->read(i, again);
    EXPECT_EQ(pixels, again);
  }
}

TEST(WriteBoxes, IsReadAgain) {
  const OpenedData before = shapes();
  for (const auto& [format, tolerance] :
       {std::pair(BoxFormat::kVoc, 0.501F), std::pair(BoxFormat::kCoco, 1e-4F), std::pair(BoxFormat::kYolo, 1e-4F)}) {
    SCOPED_TRACE(static_cast<int>(format));
    const TemporaryFolder folder;
    write_box_folder(*before.dataset, before.split, folder.path() / "set", format, 2);
    expect_same(before, open_boxes(folder.path() / "set"), tolerance);
    EXPECT_THROW(write_box_folder(*before.dataset, before.split, folder.path() / "set", format, 2), Error);
  }
}

TEST(WriteBoxes, TrainvalOfVocHasAllButTheTestPart) {
  const OpenedData before = shapes();
  const TemporaryFolder folder;
  write_box_folder(*before.dataset, before.split, folder.path() / "set", BoxFormat::kVoc, 2);
  const auto lines = [&](const char* part) { return bytes_of(folder.path() / "set/ImageSets/Main" / part); };
  EXPECT_THAT(lines("test.txt"), Not(IsEmpty()));
  EXPECT_EQ(lines("trainval.txt"), lines("train.txt") + lines("val.txt"));
}

/// The set with other names of its classes.
class Renamed : public BoxedDataset {
 public:
  Renamed(std::vector<std::string> names)
      : BoxedDataset({3, 20, 40}, {{{1, 2, 30, 18, 0}, {5, 5, 20, 15, 1}}}), names_(std::move(names)) {}
  const std::vector<std::string>& classes() const override { return names_; }

 private:
  std::vector<std::string> names_;
};

TEST(WriteBoxes, KeepsNamesOfEveryKind) {
  const std::vector<std::string> names = {"a \"b\": 'c' # d", "e&<f>\\ é"};
  const Renamed dataset(names);
  for (const BoxFormat format : {BoxFormat::kVoc, BoxFormat::kCoco, BoxFormat::kYolo}) {
    SCOPED_TRACE(static_cast<int>(format));
    const TemporaryFolder folder;
    write_box_folder(dataset, {{0}, {}, {}}, folder.path() / "set", format, 1);
    EXPECT_EQ(open_boxes(folder.path() / "set").dataset->classes(), names);
  }
}

TEST(WriteBoxes, NumbersCocoFromOne) {
  LabelledBox crowd{1, 2, 5, 8, 1};
  crowd.is_crowd = true;
  const BoxedDataset dataset({3, 20, 40}, {{{0, 0, 10, 10, 0}, crowd}});
  const TemporaryFolder folder;
  write_box_folder(dataset, {{0}, {}, {}}, folder.path() / "set", BoxFormat::kCoco, 1);
  const auto json = nlohmann::json::parse(bytes_of(folder.path() / "set/annotations/instances_train.json"));
  EXPECT_EQ(json["images"][0]["id"], 1);
  EXPECT_EQ(json["annotations"][0]["id"], 1);
  EXPECT_EQ(json["annotations"][0]["category_id"], 1);
  EXPECT_EQ(json["annotations"][1]["iscrowd"], 1);
  EXPECT_EQ(json["annotations"][1]["area"], 24);
  EXPECT_EQ(boxes_of(open_boxes(folder.path() / "set"), 0).at(1), crowd);
}

TEST(WriteBoxes, RefusesClassesAndUnknownFormats) {
  const CountingDataset dataset(3, {1, 4, 4});
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] {
                write_box_folder(dataset, {{0, 1, 2}, {}, {}}, folder.path() / "set", BoxFormat::kVoc, 1);
              }),
              HasSubstr("only data with boxes"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "set"));
  EXPECT_THAT(error_of([] { parse_box_format("cocoo"); }), HasSubstr("did you mean 'coco'"));
}

TEST(PackBoxes, IsReadAgain) {
  const OpenedData before = shapes();
  const TemporaryFolder folder;
  const auto file = folder.path() / "shapes.safetensors";
  write_packed(before, "synth:shapes:40", file, 2);
  const OpenedData read = open_boxes(file);
  EXPECT_EQ(read.dataset->target_kind(), TargetKind::kBoxes);
  EXPECT_EQ(read.split.val, before.split.val);
  for (std::size_t i = 0; i < kImages; ++i) EXPECT_EQ(boxes_of(read, i), boxes_of(before, i));
  ASSERT_TRUE(read.statistics.has_value());
}

TEST(PackBoxes, KeepsFlagsAndOneClass) {
  LabelledBox box{1, 2, 3, 4, 2};
  box.is_difficult = box.is_truncated = box.is_crowd = true;
  OpenedData opened;
  opened.dataset =
      std::make_shared<BoxedDataset>(ImageShape{1, 20, 40}, std::vector<std::vector<LabelledBox>>{{}, {box}});
  opened.split.train = {0, 1};
  const TemporaryFolder folder;
  write_packed(opened, "", folder.path() / "a.safetensors", 1);
  EXPECT_THAT(boxes_of(open_boxes(folder.path() / "a.safetensors"), 1), ::testing::ElementsAre(box));
}

TEST(BoxCensus, CountsSizesAndFlags) {
  LabelledBox difficult{0, 0, 10, 5, 0};
  difficult.is_difficult = difficult.is_truncated = true;
  LabelledBox truncated{0, 0, 150, 150, 2};
  truncated.is_truncated = truncated.is_crowd = true;
  const BoxedDataset dataset({1, 200, 200}, {{difficult, {0, 0, 20, 7, 0}, {0, 0, 40, 40, 2}}, {}, {truncated}});
  const BoxCensus census = count_boxes(dataset);
  EXPECT_EQ(census.boxes, 4u);
  EXPECT_EQ(std::tuple(census.difficult, census.truncated, census.crowds), std::tuple(1u, 2u, 1u));
  EXPECT_EQ(census.small, 2u);
  EXPECT_EQ(census.medium, 1u);
  EXPECT_EQ(census.large, 1u);
  EXPECT_EQ(census.images_without, 1u);
  EXPECT_EQ(census.most_on_an_image, 3u);
  EXPECT_EQ(census.classes[0].boxes, 2u);
  EXPECT_EQ(census.classes[0].images, 1u);
  EXPECT_EQ(census.classes[0].median_width, 10);
  EXPECT_EQ(census.classes[0].median_height, 5);
  EXPECT_EQ(census.classes[2].median_width, 40);
  EXPECT_EQ(census.classes[1].boxes, 0u);
  EXPECT_EQ(census.classes[2].images, 2u);
}

TEST(BoxCensus, SizesBeginWhereCocosDo) {
  const BoxedDataset dataset({1, 200, 200},
                             {{{0, 0, 31, 32, 0}, {0, 0, 32, 32, 0}, {0, 0, 95, 96, 0}}, {{0, 0, 96, 96, 0}}});
  const BoxCensus census = count_boxes(dataset);
  EXPECT_EQ(census.small, 1u);
  EXPECT_EQ(census.medium, 2u);
  EXPECT_EQ(census.large, 1u);
}

TEST(WriteFolder, IsWholeOrNotThereAtAll) {
  const TemporaryFolder folder;
  const CountingDataset dataset(6, {3, 2, 4}, 3);
  const auto target = folder / "new/folder";
  write_image_folder(dataset, target, 2);
  DataOptions written;
  written.location = target.string();
  written.threads = 3;
  const OpenedData opened = open_data(written);
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("class0", "class1", "class2"));
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{3, 2, 4}));
  std::vector<std::uint8_t> pixels(24);
  opened.dataset->read(1, pixels);  // class0 holds samples 0 and 3
  EXPECT_EQ(pixels[23], 3);
  EXPECT_THAT(error_of([&] { write_image_folder(dataset, target, 1); }), HasSubstr("not an empty folder"));

  class Failing : public CountingDataset {
   public:
    Failing() : CountingDataset(6, {1, 2, 2}) {}
    void read(std::size_t, std::span<std::uint8_t>) const override { throw Error("lost"); }
  };
  EXPECT_EQ(error_of([&] { write_image_folder(Failing(), folder / "new/other", 2); }), "lost");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "new")) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ElementsAre("folder"));
}

}  // namespace
}  // namespace evener::data
