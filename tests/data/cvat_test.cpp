// CVAT's own XML, and annotations that nothing reads: what they are taken for.
#include <gmock/gmock.h>

#include "base/error.h"
#include "data/boxes_helpers.h"
#include "data/open/other_annotations.h"
#include "data/sources/cvat_xml.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string cvat(const std::string& images) {
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<annotations>\n<version>1.1</version>\n<meta><task><id>1</id>"
         "</task></meta>\n" +
         images + "</annotations>\n";
}

std::string cvat_image(const std::string& name, const std::string& shapes, const std::string& more = "") {
  return "<image id=\"0\" name=\"" + name + "\" width=\"40\" height=\"20\"" + more + ">" + shapes + "</image>\n";
}

const std::string kStork =
    R"(<box label="stork" occluded="0" xtl="2.5" ytl="4.00" xbr="12" ybr="10" z_order="0"></box>)";

TEST(CvatXml, ReadsBoxesAroundShapes) {
  const std::vector<CvatImage> images = parse_cvat(cvat(cvat_image(
      "a.png",
      kStork + R"(<box label="a" xtl="10" ytl="10" xbr="20" ybr="14" rotation="90"/>)"
               R"(<polygon label="b" points="3,4; 1.5,9;7,5"/><mask label="c" left="1" top="2" width="3" height="4"/>)"
               R"(<points label="d" points="1,2"/><box label="e" xtl="x" ytl="1" xbr="2" ybr="3"/><tag label="f"/>)",
      " subset=\"train\"")));
  ASSERT_THAT(images, SizeIs(1));
  EXPECT_EQ(images[0].subset, "train");
  EXPECT_EQ(images[0].width, 40);
  ASSERT_THAT(images[0].boxes, SizeIs(4));
  const auto corners = [&](std::size_t i) {
    const CvatBox& box = images[0].boxes[i];
    return std::vector<double>{box.x1, box.y1, box.x2, box.y2};
  };
  EXPECT_THAT(corners(0), ElementsAre(2.5, 4, 12, 10));
  EXPECT_THAT(corners(1), testing::Pointwise(testing::DoubleNear(1e-9), {13, 7, 17, 17}));
  EXPECT_THAT(corners(2), ElementsAre(1.5, 4, 7, 9));
  EXPECT_THAT(corners(3), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(images[0].problems,
              ElementsAre("the points of 'd' has no box around it", "the box of 'e' has a corner that is no number",
                          "the tag of 'f' has no box around it"));
  EXPECT_THAT(error_of([] { parse_cvat(cvat("<track id=\"0\" label=\"a\"/>")); }), HasSubstr("of a video"));
  EXPECT_THAT(error_of([] { parse_cvat("<annotation/>"); }), HasSubstr("PASCAL VOC's XML of one image"));
  EXPECT_THAT(error_of([] { parse_cvat("<a/>"); }), HasSubstr("no <annotations>"));
  EXPECT_THAT(error_of([] { parse_cvat(cvat("").substr(0, 70)); }), HasSubstr("no whole XML"));
  const std::string begun = cvat(cvat_image("a.png", kStork) + cvat_image("b.png", kStork));
  EXPECT_THAT(cvat_images_in(begun.substr(0, begun.size() - 120)), ElementsAre("a.png", "b.png"));
}

TEST(Cvat, ReadsTheImagesThatItsXmlNames) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "images/train/a.png", small_image());
  write_bytes(folder.path() / "images/b.png", small_image());
  write_bytes(folder.path() / "annotations.xml",
              cvat(cvat_image("a.png", kStork, " subset=\"train\"") + cvat_image("b.png", "", " subset=\"Test\"") +
                   cvat_image("gone.png", kStork)));
  for (const char* location : {"", "annotations.xml"}) {
    const OpenedData opened = open_boxes(folder.path() / location);
    EXPECT_EQ(opened.kind, "CVAT annotations");
    EXPECT_THAT(opened.dataset->classes(), ElementsAre("stork"));
    EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{2.5, 4, 12, 10, 0}));
    EXPECT_THAT(boxes_of(opened, 1), IsEmpty());
    EXPECT_EQ(opened.split.test, std::vector<std::uint32_t>{1});
    EXPECT_THAT(reasons_of(opened, folder.path()), ElementsAre(HasSubstr("its image 'gone.png' is missing")));
  }
}

// An XML beside folders of classes doesn't make them something else; and VOC's is found beside others.
TEST(Cvat, LeavesFoldersOfClassesWhatTheyAre) {
  const TemporaryFolder folder;
  for (const char* name : {"ants/1.png", "ants/2.png", "bees/1.png"}) write_bytes(folder.path() / name, small_image());
  for (const std::string& xml :
       {cvat(cvat_image("0.png", kStork)), std::string("<annotations/>"), std::string("<project/>")}) {
    write_bytes(folder.path() / "annotations.xml", xml);
    EXPECT_THAT(open_boxes(folder.path()).dataset->classes(), ElementsAre("ants", "bees"));
  }
  const TemporaryFolder voc;
  write_bytes(voc.path() / "annotations.xml", cvat(cvat_image("0.png", kStork)));
  write_bytes(voc.path() / "b.png", small_image());
  write_bytes(voc.path() / "b.xml",
              "<annotation><object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
              "</bndbox></object></annotation>");
  EXPECT_EQ(open_boxes(voc.path()).kind, "VOC annotations");
}

TEST(OtherAnnotations, AreNamed) {
  for (const auto& [file, text, name] :
       {std::tuple("images/a.json", R"({"version":"5.0","shapes":[{"label":"a","shape_type":"rectangle"}]})",
                   "Labelme's"),
        {"_annotations.createml.json", R"([{"image":"a.png","annotations":[{"label":"a","coordinates":{"x":1}}]}])",
         "CreateML's"},
        {"via.json", R"({"a.png":{"regions":[{"shape_attributes":{"name":"rect"}}]}})", "VGG Image Annotator's"},
        {"boxes.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n", "a table of boxes"},
        {"annotations.xml", "<annotations><image name=\"far.png\"/></annotations>", "CVAT's XML"}}) {
    const TemporaryFolder folder;
    write_bytes(folder.path() / "images/a.png", small_image());
    EXPECT_EQ(other_annotations(folder.path()), "");
    write_bytes(folder.path() / file, text);
    EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }),
                AllOf(HasSubstr("only one class"), HasSubstr(file), HasSubstr(name)));
    write_bytes(folder.path() / "masks/a.png", small_image());
    EXPECT_THAT(open_boxes(folder.path()).notes, Contains(HasSubstr(name)));
  }
}

}  // namespace
}  // namespace evener::data
