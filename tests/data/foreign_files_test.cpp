// Annotations of other tools, which are named and not read.
#include "data/sources/foreign_files.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "data/boxes_helpers.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kCvat = "<annotations><image name=\"0.png\"><box label=\"stork\"/></image></annotations>";

TEST(OtherAnnotations, AreNamed) {
  for (const auto& [file, text, name] :
       {std::tuple("images/a.json", R"({"version":"5.0","shapes":[{"label":"a","shape_type":"rectangle"}]})",
                   "Labelme's"),
        {"_annotations.createml.json", R"([{"image":"a.png","annotations":[{"label":"a","coordinates":{"x":1}}]}])",
         "CreateML's"},
        {"via.json", R"({"a.png":{"regions":[{"shape_attributes":{"name":"rect"}}]}})", "VGG Image Annotator's"},
        {"boxes.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n", "a table of boxes"},
        {"annotations.xml", kCvat, "CVAT's XML"}}) {
    const TemporaryFolder folder;
    write_bytes(folder.path() / "images/a.png", small_image());
    EXPECT_EQ(other_annotations(folder.path()), "");
    write_bytes(folder.path() / file, text);
    EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }),
                AllOf(HasSubstr("only one class"), HasSubstr(file), HasSubstr(name), HasSubstr("as COCO, PASCAL VOC")));
    EXPECT_THAT(error_of([&] { open_boxes(folder.path() / file); }),
                AllOf(StartsWith("'" + (folder.path() / file).string() + "' is "), HasSubstr(name)));
    write_bytes(folder.path() / "masks/a.png", small_image());
    EXPECT_THAT(open_boxes(folder.path()).notes, Contains(HasSubstr(name)));
  }
}

// An XML beside folders of classes doesn't make them something else; and VOC's is found beside others.
TEST(OtherAnnotations, LeaveFoldersWhatTheyAre) {
  const TemporaryFolder folder;
  for (const char* name : {"ants/1.png", "ants/2.png", "bees/1.png"}) write_bytes(folder.path() / name, small_image());
  for (const char* xml : {kCvat, "<annotations/>", "<project/>"}) {
    write_bytes(folder.path() / "annotations.xml", xml);
    EXPECT_THAT(open_boxes(folder.path()).dataset->classes(), ElementsAre("ants", "bees"));
  }
  const TemporaryFolder voc;
  write_bytes(voc.path() / "annotations.xml", kCvat);
  write_bytes(voc.path() / "b.png", small_image());
  write_bytes(voc.path() / "b.xml",
              "<annotation><object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
              "</bndbox></object></annotation>");
  EXPECT_EQ(open_boxes(voc.path()).kind, "VOC annotations");
  EXPECT_THAT(error_of([&] { open_boxes(voc.path() / "b.xml"); }), HasSubstr("name the folder with the XML of all"));
}

// COCO's JSON may have members of its own that are called as another tool's.
TEST(OtherAnnotations, AreNotCocos) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "a.json",
              R"({"images":[{"id":1,"file_name":"a.png","coordinates":[1,2]}],"categories":[{"id":1,"name":"cat"}],)"
              R"("annotations":[{"id":1,"image_id":1,"category_id":1,"bbox":[1,2,3,4]}]})");
  EXPECT_EQ(open_boxes(folder.path() / "a.json").kind, "COCO annotations");
}

}  // namespace
}  // namespace evener::data
