// PASCAL VOC: the XML of an image, the trees that it comes in, and what is told of bad ones.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "data/boxes_helpers.h"
#include "data/sources/boxed_images.h"
#include "data/sources/voc_xml.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string object(const std::string& name, const std::string& corners, const std::string& flags = "") {
  static const char* const kNames[] = {"xmin", "ymin", "xmax", "ymax"};
  std::string text = "<object><name>" + name + "</name>" + flags + "<bndbox>";
  std::size_t begin = 0;
  for (const char* corner : kNames) {
    const std::size_t end = std::min(corners.find(' ', begin), corners.size());
    text += std::string("<") + corner + ">" + corners.substr(begin, end - begin) + "</" + corner + ">";
    begin = std::min(end + 1, corners.size());
  }
  return text + "</bndbox></object>\n";
}

std::string xml(const std::string& objects, const std::string& size = "<width>40</width><height>20</height>") {
  return "<?xml version=\"1.0\"?>\n<annotation><filename>told.png</filename><size>" + size + "</size>" + objects +
         "</annotation>\n";
}

TEST(VocXml, ReadsObjects) {
  const VocAnnotation read =
      parse_voc(xml("<segmented>0</segmented>" + object(" dog ", "1 2.5 30 19", "<difficult>1</difficult>") +
                    object("b&amp;w", "-3 0 4 5",
                           "<truncated>true</truncated><difficult>True</difficult><part><name>head</name></part>")));
  EXPECT_EQ(read.filename, "told.png");
  EXPECT_EQ(read.width, 40);
  EXPECT_EQ(read.height, 20);
  ASSERT_THAT(read.objects, SizeIs(2));
  EXPECT_EQ(read.objects[0].name, "dog");
  EXPECT_EQ(read.objects[0].ymin, 2.5);
  EXPECT_TRUE(read.objects[0].is_difficult);
  EXPECT_FALSE(read.objects[0].is_truncated);
  EXPECT_EQ(read.objects[1].name, "b&w");
  EXPECT_EQ(read.objects[1].xmin, -3);
  EXPECT_TRUE(read.objects[1].is_truncated);
  EXPECT_TRUE(read.objects[1].is_difficult) << "however it is spelt";
  EXPECT_THAT(read.problems, IsEmpty());
}

TEST(VocXml, ReadsOtherEncodings) {
  std::string utf16 = "\xFF\xFE";
  for (const char c : xml(object("dog", "1 2 3 4"))) utf16 += {c, '\0'};
  EXPECT_THAT(parse_voc(utf16).objects, SizeIs(1));
  const VocAnnotation latin = parse_voc("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><annotation>" +
                                        object("v\xE9lo", "1 2 3 4") + "</annotation>");
  EXPECT_EQ(latin.objects.at(0).name, "vélo");
  EXPECT_EQ(latin.width, 0);
}

TEST(VocXml, NamesTheObjectThatIsBad) {
  const VocAnnotation read =
      parse_voc(xml("<object><bndbox/></object>" + object("dog", "1 2 3 nan") + "<object><name>cat</name></object>" +
                    object("dog", "1 2 3 4") + object("dog", "1 x 3 4") + object("dog", "1 2 1e999 4")));
  EXPECT_THAT(read.objects, SizeIs(1));
  EXPECT_THAT(read.problems,
              ElementsAre("object 1 has no name", "object 2 (dog) has the ymax 'nan', which is no number",
                          "object 3 (cat) has no bndbox", "object 5 (dog) has the ymin 'x', which is no number",
                          "object 6 (dog) has the xmax '1e999', which is no number"));
}

TEST(VocXml, RefusesWhatIsNone) {
  EXPECT_THAT(error_of([] { parse_voc(" \n"); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([] { parse_voc("<annotation><object>"); }), HasSubstr("no whole XML"));
  EXPECT_THAT(error_of([] { parse_voc("<html></html>"); }), HasSubstr("no <annotation>"));
  EXPECT_THAT(error_of([] { parse_voc(std::string("\x89PNG\r\n\x1a\n\0\0", 10)); }), HasSubstr("no whole XML"));
  EXPECT_THAT(error_of([] { parse_voc(std::string(kMaxVocBytes + 1, '<')); }), HasSubstr("at most"));
  std::string many = "<annotation>";
  for (std::size_t i = 0; i <= kMaxVocObjects; ++i) many += "<object/>";
  EXPECT_THAT(error_of([&] { parse_voc(many + "</annotation>"); }), HasSubstr("100000 objects"));
}

TEST(VocXml, IsNotBlownUpByHostileFiles) {
  std::string bomb = "<!DOCTYPE annotation [<!ENTITY a0 \"aaaaaaaaaa\">";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "&a" + std::to_string(i - 1) + ";";
    bomb += "<!ENTITY a" + std::to_string(i) + " \"" + before + before + before + before + before + "\">";
  }
  bomb += "<!ENTITY file SYSTEM \"file:///etc/passwd\">]>";
  const VocAnnotation read =
      parse_voc(bomb + "<annotation>" + object("&a11;", "1 2 3 4") + object("&file;", "1 2 3 4") + "</annotation>");
  EXPECT_EQ(read.objects.at(0).name, "&a11;") << "left as it stands";
  EXPECT_EQ(read.objects.at(1).name, "&file;");
  std::string deep = "<annotation>";
  for (int i = 0; i < 300'000; ++i) deep += "<a>";
  for (int i = 0; i < 300'000; ++i) deep += "</a>";
  EXPECT_THAT(parse_voc(deep + "</annotation>").objects, IsEmpty());
}

/// A tree as VOC2007 has it, of four images.
void write_voc_tree(const std::filesystem::path& root) {
  for (const char* name : {"a", "b", "c", "d"}) {
    write_bytes(root / "JPEGImages" / (std::string(name) + ".png"), small_image());
    write_bytes(root / "Annotations" / (std::string(name) + ".xml"),
                xml(object(name == std::string("a") ? "dog" : "cat", "3 5 30 16", "<difficult>1</difficult>")));
  }
  write_bytes(root / "ImageSets/Main/train.txt", "a\n");
  write_bytes(root / "ImageSets/Main/val.txt", "b\r\n");
  write_bytes(root / "ImageSets/Main/trainval.txt", "a\nb\n");
  write_bytes(root / "ImageSets/Main/test.txt", "c\n");
  write_bytes(root / "ImageSets/Main/cat_train.txt", "a -1\n");
}

TEST(Voc, ReadsTreesWithTheirSets) {
  const TemporaryFolder folder;
  write_voc_tree(folder.path() / "VOCdevkit/VOC2007");
  for (const char* location : {"", "VOCdevkit", "VOCdevkit/VOC2007"}) {
    const OpenedData opened = open_boxes(folder.path() / location);
    EXPECT_EQ(opened.kind, "VOC annotations");
    EXPECT_EQ(opened.dataset->target_kind(), TargetKind::kBoxes);
    EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog"));
    ASSERT_EQ(opened.dataset->size(), 3u) << "the fourth is in no set";
    EXPECT_THAT(opened.notes, Contains(HasSubstr("1 annotation of ")));
    EXPECT_EQ(opened.split.train, std::vector<std::uint32_t>{0});
    EXPECT_EQ(opened.split.val, std::vector<std::uint32_t>{1});
    EXPECT_EQ(opened.split.test, std::vector<std::uint32_t>{2});
    EXPECT_TRUE(opened.came_divided);
    LabelledBox expected{2, 4, 30, 16, 1};
    expected.is_difficult = true;
    EXPECT_THAT(boxes_of(opened, 0), ElementsAre(expected));
    EXPECT_THAT(opened.skipped, IsEmpty());
  }
}

// "cell 1" is a name, "d -1" one with the number that VOC's files of a class have.
TEST(Voc, ReadsNamesWithBlanksInItsSets) {
  const TemporaryFolder folder;
  for (const char* name : {"big dog", "cell 1", "d"}) {
    write_bytes(folder.path() / "images" / (std::string(name) + ".png"), small_image());
    write_bytes(folder.path() / "xml" / (std::string(name) + ".xml"), xml(object("dog", "3 5 30 16")));
  }
  write_bytes(folder.path() / "ImageSets/Main/train.txt", " big dog \r\n\ncell 1\n");
  write_bytes(folder.path() / "ImageSets/Main/test.txt", "d  -1\n");
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(opened.skipped, IsEmpty());
  EXPECT_EQ(opened.split.train.size() + opened.split.val.size(), 2u);
  EXPECT_EQ(opened.split.test.size(), 1u);
}

TEST(Voc, ReadsOtherLayouts) {
  const std::string one = xml(object("dog", "1 1 10 10"));
  const TemporaryFolder flat, beside, parts;
  for (const char* name : {"a", "b", "c"}) {
    const std::string image = std::string(name) + ".png", text = std::string(name) + ".xml";
    write_bytes(flat.path() / image, small_image());
    write_bytes(flat.path() / text, one);
    write_bytes(beside.path() / "images" / image, small_image());
    write_bytes(beside.path() / "annotations" / "xmls" / text, one);
    const char* const part = name == std::string("a") ? "train" : name == std::string("b") ? "valid" : "test";
    write_bytes(parts.path() / part / image, small_image());
    write_bytes(parts.path() / part / text, one);
  }
  for (const auto* folder : {&flat, &beside}) {
    const OpenedData opened = open_boxes(folder->path());
    EXPECT_EQ(opened.dataset->size(), 3u);
    EXPECT_FALSE(opened.came_divided);
    EXPECT_THAT(boxes_of(opened, 2), ElementsAre(LabelledBox{0, 0, 10, 10, 0}));
  }
  const OpenedData divided = open_boxes(parts.path());
  EXPECT_EQ(divided.dataset->size(), 3u);
  EXPECT_TRUE(divided.came_divided);
  EXPECT_EQ(divided.dataset->source(divided.split.val.at(0)), (parts.path() / "valid/b.png").string());
}

TEST(Voc, ScalesBoxesWithTheirImages) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml", xml(object("dog", "11 6 20 15")));
  const auto sized = [](CropMode crop) {
    return [crop](DataOptions& options) { options.width = 20, options.height = 20, options.crop = crop; };
  };
  const OpenedData stretched = open_boxes(folder.path(), sized(CropMode::kStretch));
  EXPECT_THAT(boxes_of(stretched, 0), ElementsAre(LabelledBox{5, 5, 10, 15, 0}));
  const OpenedData bordered = open_boxes(folder.path(), sized(CropMode::kLetterbox));
  EXPECT_THAT(boxes_of(bordered, 0), ElementsAre(LabelledBox{5, 7.5F, 10, 12.5F, 0}));
  std::vector<std::uint8_t> pixels(bordered.dataset->shape().bytes());
  bordered.dataset->read(0, pixels);
  EXPECT_EQ(pixels[2 * 20 + 10], 0) << "the border";
  EXPECT_EQ(pixels[10 * 20 + 10], 120);
}

TEST(Voc, ListsWhatIsWrong) {
  const TemporaryFolder folder;
  const auto add = [&](const std::string& name, const std::string& content, bool has_image = true) {
    write_bytes(folder.path() / (name + ".xml"), content);
    if (has_image) write_bytes(folder.path() / (name + ".png"), small_image());
  };
  add("a", xml(object("dog", "1 1 10 10") + object("dog", "5 5 5 9") + object("cat", "9 9 3 12") +
               object("dog", "50 1 60 9") + object("dog", "30 -4 60 19") + "<object><name>dog</name></object>"));
  add("b", xml(object("dog", "1 1 10 10")), false);
  add("c", "<annotation>");
  add("d", xml("", "<width>20</width><height>40</height>"));
  add("e", xml(object("dog", "0 0 40 20"), "<width>80</width><height>40</height>"));
  add("f", xml(""));
  write_bytes(folder.path() / "f.png", "no image");
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(
      reasons_of(opened, folder.path()),
      UnorderedElementsAre("a.xml: object 6 (dog) has no bndbox; the box is left out",
                           "a.xml: a box of 'dog' has zero area (from 5, 5 to 5, 9); the box is left out",
                           "a.xml: a box of 'cat' has swapped corners (from 9, 9 to 3, 12); the box is left out",
                           "a.xml: a box of 'dog' from (49, 0) to (60, 9) is outside of its image of 40x20 pixels; the "
                           "box is left out",
                           HasSubstr("b.xml: its image 'told.png' is missing"), HasSubstr("c.xml: it is no whole XML"),
                           AllOf(HasSubstr("d.xml: it is for an image of 20x40 pixels"), HasSubstr("with 40x20")),
                           HasSubstr("f.png: ")));
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("dog")) << "the only cat can't be used";
  EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{0, 0, 10, 10, 0}, LabelledBox{29, 0, 40, 19, 0}));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 box reached beyond")));
  EXPECT_THAT(boxes_of(opened, 1), ElementsAre(LabelledBox{0, 0, 40, 20, 0})) << "VOC's from 0 is no box beyond";
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 annotation with another size")));
  EXPECT_THROW(open_boxes(folder.path(), [](DataOptions& options) { options.strict = true; }), Error);
}

TEST(Voc, TellsOfBoxesBeyondEachEdge) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml",
              xml(object("left", "-2 5 10 9") + object("top", "5 -2 10 9") + object("right", "5 5 43 9") +
                  object("bottom", "5 5 10 23") + object("within a pixel", "0 0 41 21")));
  EXPECT_THAT(open_boxes(folder.path()).notes, Contains(HasSubstr("4 boxes reached beyond the image by more than")));
}

TEST(Voc, TakesTheClassesThatAreAskedFor) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml",
              xml(object("car", "1 1 10 10") + object("bus", "2 2 10 10") + object("dog", "3 3 10 10")));
  const OpenedData opened = open_boxes(folder.path(), [](DataOptions& options) {
    options.classes = {{"vehicle", "car"}, {"animal", "d*"}};
  });
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("vehicle", "animal"));
  EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{0, 0, 10, 10, 0}, LabelledBox{2, 2, 10, 10, 1}));
  EXPECT_THAT(opened.notes, Contains(HasSubstr("1 boxes of other classes")));
  const auto unknown = [&] {
    open_boxes(folder.path(), [](DataOptions& options) { options.classes = {{"bird", "bird"}}; });
  };
  EXPECT_THAT(error_of(unknown), AllOf(HasSubstr("bird"), HasSubstr("bus, car, dog")));
}

TEST(Voc, SeveralPatternsMayFormAClassAndNoneTwo) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml",
              xml(object("bus", "1 1 10 10") + object("car", "2 2 10 10") + object("dog", "3 3 10 10")));
  const auto opened_as = [&](const std::vector<ClassFiles>& classes) {
    return open_boxes(folder.path(), [&](DataOptions& options) { options.classes = classes; });
  };
  const OpenedData opened = opened_as({{"vehicle", "car"}, {"animal", "d*"}, {"vehicle", "b*"}});
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("vehicle", "animal"));
  EXPECT_THAT(boxes_of(opened, 0),
              ElementsAre(LabelledBox{0, 0, 10, 10, 0}, LabelledBox{1, 1, 10, 10, 0}, LabelledBox{2, 2, 10, 10, 1}));
  EXPECT_THAT(opened.notes, IsEmpty());
  EXPECT_THAT(error_of([&] {
                opened_as({{"small", "d*"}, {"large", "*us"}, {"animal", "dog"}});
              }),
              HasSubstr("boxes called 'dog' fit both --class 'small' and 'animal'"));
}

// Of 40 x 20 pixels the middle 20 are shown, in twice and in half their size.
TEST(Voc, OfTheMiddleOfAnImageOnlyItsBoxesAreServed) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml", xml(object("dog", "1 1 10 10") + object("dog", "7 5 20 16") +
                                           object("dog", "21 3 38 12") + object("dog", "13 9 16 10")));
  for (const float scale : {2.0F, 0.5F}) {
    const OpenedData opened = open_boxes(folder.path(), [&](DataOptions& options) {
      options.width = options.height = static_cast<std::int64_t>(20 * scale), options.crop = CropMode::kCentre;
    });
    EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{0, 4 * scale, 10 * scale, 16 * scale, 0},
                                                 LabelledBox{10 * scale, 2 * scale, 20 * scale, 12 * scale, 0},
                                                 LabelledBox{2 * scale, 8 * scale, 6 * scale, 10 * scale, 0}));
    EXPECT_THAT(opened.notes, IsEmpty()) << "the boxes themselves lie on their image";
    EXPECT_THAT(opened.skipped, IsEmpty());
  }
}

TEST(BoxedImages, CornersThatAreNoBoxAreToldByWhatIsWrong) {
  EXPECT_EQ(corners_refusal(-3, 2, 9'999'999, 4), "");
  EXPECT_THAT(corners_refusal(0, 0, 5, 1e7), HasSubstr("an impossible corner (1e+07)"));
  EXPECT_THAT(corners_refusal(0, -1e8, 5, 1), HasSubstr("an impossible corner (-1e+08)"));
  EXPECT_EQ(corners_refusal(1, 5, 9, 3), "has swapped corners (from 1, 5 to 9, 3)");
  EXPECT_EQ(corners_refusal(9, 3, 1, 5), "has swapped corners (from 9, 3 to 1, 5)");
  EXPECT_THAT(corners_refusal(1, 3, 9, 3), HasSubstr("zero area"));
  EXPECT_THAT(corners_refusal(2, 3, 2, 9), HasSubstr("zero area"));
}

TEST(BoxedImages, PartsHoldOnlyWhereAllImagesHaveOne) {
  AnnotatedListing listing;
  listing.images.resize(3);
  for (AnnotatedImage& image : listing.images) image.part = Part::kVal;
  unify_parts(listing);
  EXPECT_EQ(listing.images[1].part, Part::kVal);
  EXPECT_THAT(listing.notes, IsEmpty());
  listing.images[2].part = Part::kUndivided;
  unify_parts(listing);
  EXPECT_EQ(listing.images[0].part, Part::kUndivided);
  EXPECT_THAT(listing.notes, ElementsAre(HasSubstr("only 2 of 3 images are in a set")));
  unify_parts(listing);
  EXPECT_THAT(listing.notes, SizeIs(1)) << "where none has one, nothing is lost";
}

TEST(Voc, TellsWhenThereIsNothingToDetect) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml", xml(""));
  EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), HasSubstr("have no box at all"));
}

TEST(Voc, ReadsAThousandBoxesOnOneImage) {
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += object("dog", "1 1 " + std::to_string(2 + i % 39) + " 12");
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.xml", xml(objects));
  EXPECT_THAT(boxes_of(open_boxes(folder.path()), 0), SizeIs(1000));
}

TEST(Voc, LooksWithoutDecoding) {
  const TemporaryFolder folder;
  write_voc_tree(folder.path());
  const OpenedData opened = open_boxes(folder.path(), [](DataOptions& options) { options.look_only = true; });
  EXPECT_EQ(opened.dataset->size(), 3u);
  EXPECT_THAT(boxes_of(opened, 0), SizeIs(1));
  EXPECT_FALSE(has_pictures_only(folder.path().string()));
}

}  // namespace
}  // namespace evener::data
