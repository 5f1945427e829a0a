// COCO's JSON: what is read of it, where its images are found, and what is told of bad ones.
#include <gmock/gmock.h>

#include "data/boxes_helpers.h"
#include "data/sources/coco_json.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string coco(const std::string& images, const std::string& annotations,
                 const std::string& categories = R"({"id":7,"name":"dog"},{"id":0,"name":"cat"})") {
  return R"({"info":{"images":[{"id":1}]},"images":[)" + images + R"(],"annotations":[)" + annotations +
         R"(],"categories":[)" + categories + "]}";
}

std::string image(const std::string& id, const std::string& name) {
  return R"({"id":)" + id + R"(,"file_name":")" + name + R"(","width":40,"height":20,"license":{"id":99}})";
}

std::string annotation(const std::string& image_id, const std::string& category, const std::string& box,
                       const std::string& more = "") {
  return R"({"id":0,"image_id":)" + image_id + R"(,"category_id":)" + category + R"(,"bbox":)" + box +
         R"(,"segmentation":[[1,2,3,4,5,6],{"counts":[7,[8]]}])" + more + "}";
}

TEST(CocoJson, ReadsTheThreeListsAlone) {
  const CocoFile file = parse_coco(coco(image("0", "a.png"), annotation("0", "7", "[1,2,3.5,4]", R"(,"iscrowd":1)") +
                                                                 "," + annotation("0", "0", "[0,0,1,1]")));
  ASSERT_THAT(file.images, SizeIs(1));
  EXPECT_EQ(file.images[0].id, "0");
  EXPECT_EQ(file.images[0].width, 40);
  ASSERT_THAT(file.boxes, SizeIs(2));
  EXPECT_EQ(file.boxes[0].width, 3.5);
  EXPECT_TRUE(file.boxes[0].is_crowd);
  EXPECT_FALSE(file.boxes[1].is_crowd);
  EXPECT_EQ(file.boxes[1].category_id, "0");
  EXPECT_THAT(file.categories, SizeIs(2));
  EXPECT_THAT(file.problems, IsEmpty());
}

TEST(CocoJson, JoinsNumbersThatAreWrittenAsTextsOrFloats) {
  const CocoFile file = parse_coco(coco(R"({"id":"12","file_name":"a.png"})", annotation("12.0", "7", "[1,2,3,4]")));
  EXPECT_EQ(file.images.at(0).id, file.boxes.at(0).image_id);
}

TEST(CocoJson, NamesWhatIsBad) {
  const CocoFile file = parse_coco(
      coco(R"({"id":1},{"file_name":"b.png"})",
           annotation("1", "7", "[1,2,3]") + "," + annotation("1", "7", "[1,2,3,4,5]") + R"(,{"bbox":[1,2,3,4]})"));
  EXPECT_THAT(file.problems, ElementsAre("image 1 has no \"file_name\"", "image 2 has no \"id\"",
                                         "2 annotations, the first number 1, have no \"bbox\" of four numbers",
                                         "annotation 3 has no \"image_id\"", "annotation 3 has no \"category_id\""));
  // What is no number keeps its place: the others would be another box without it.
  for (const char* box : {"[null,1,2,3,4]", "[1,2,null,4]", "[1,\"b\",3,4]", "[1,\"\",3,4]", "[1,2,3,true]",
                          "[1,2,3,4,[5]]", "[[1],2,3,4,5]", "[1,{\"a\":2},2,3,4]", "null", "\"1 2 3 4\""}) {
    const CocoFile damaged = parse_coco(coco(image("1", "a.png"), annotation("1", "7", box)));
    EXPECT_THAT(damaged.boxes, IsEmpty()) << box;
    EXPECT_THAT(damaged.problems, ElementsAre("annotation 1 has no \"bbox\" of four numbers")) << box;
  }
  EXPECT_THAT(error_of([] { parse_coco(""); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([] { parse_coco("{\"images\":["); }), HasSubstr("no whole JSON"));
  EXPECT_THAT(error_of([] { parse_coco("{\"images\":[],\"annotations\":[]}"); }), HasSubstr("no list \"categories\""));
  EXPECT_THAT(error_of([] { parse_coco("[1, 2]"); }), HasSubstr("no list"));
  EXPECT_THAT(error_of([] { parse_coco(std::string(500'000, '[')); }), HasSubstr("no whole JSON"));
}

TEST(Coco, ReadsFoldersAsCocoHasThem) {
  const TemporaryFolder folder;
  const std::string box = annotation("0", "7", "[2,4,10,6]");
  write_bytes(folder.path() / "train2017/a.png", small_image());
  write_bytes(folder.path() / "images/val2017/b.png", small_image());
  write_bytes(folder.path() / "annotations/instances_train2017.json", coco(image("0", "a.png"), box));
  write_bytes(folder.path() / "annotations/instances_val2017.json", coco(image("0", "b.png"), box));
  write_bytes(folder.path() / "annotations/captions_val2017.json", coco(image("0", "b.png"), ""));
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_EQ(opened.kind, "COCO annotations");
  EXPECT_THAT(opened.skipped, IsEmpty());
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog")) << "by their numbers";
  ASSERT_EQ(opened.dataset->size(), 2u);
  EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{2, 4, 12, 10, 1}));
  EXPECT_EQ(opened.split.train, std::vector<std::uint32_t>{0});
  EXPECT_EQ(opened.split.val, std::vector<std::uint32_t>{1});
  EXPECT_FALSE(has_pictures_only(folder.path().string()));

  const OpenedData one = open_boxes(folder.path() / "annotations/instances_val2017.json", [](DataOptions& options) {
    options.split = {0, 100};
  });
  EXPECT_EQ(one.dataset->size(), 1u);
}

TEST(Coco, ClassesAreInTheOrderOfTheirNumbersNotOfTheDigits) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "boxes.json",
              coco(image("0", "a.png"), annotation("0", "10", "[2,4,10,6]"),
                   R"({"id":10,"name":"ten"},{"id":9,"name":"nine"},{"id":100,"name":"hundred"})"));
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("nine", "ten", "hundred"));
  EXPECT_THAT(boxes_of(opened, 0), ElementsAre(LabelledBox{2, 4, 12, 10, 1}));
}

TEST(Coco, TakesThePartFromTheLastWordOfANameToo) {
  const TemporaryFolder folder;
  for (const char* part : {"train", "val"}) {
    write_bytes(folder.path() / part / "a.png", small_image());
    write_bytes(folder.path() / ("instances_" + std::string(part) + ".json"),
                coco(image("0", "a.png"), annotation("0", "7", "[2,4,10,6]")));
  }
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_EQ(opened.split.train, std::vector<std::uint32_t>{0});
  EXPECT_EQ(opened.split.val, std::vector<std::uint32_t>{1});
}

TEST(Coco, ReadsFoldersWithAFileForEachPart) {
  const TemporaryFolder folder;
  for (const char* part : {"train", "valid", "test"}) {
    write_bytes(folder.path() / part / "a.png", small_image());
    write_bytes(folder.path() / part / "_annotations.coco.json",
                coco(image("1", "a.png"), annotation("1", "0", "[2,4,10,6]")));
  }
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_EQ(opened.dataset->size(), 3u);
  EXPECT_EQ(opened.split.train.size(), 1u);
  EXPECT_EQ(opened.split.val.size(), 1u);
  EXPECT_EQ(opened.split.test.size(), 1u);
}

// As Python's json writes and reads them.
TEST(CocoJson, ReadsNanAndInfinityWhereTheyDontMatter) {
  for (const char* number : {"NaN", "Infinity", "-Infinity"}) {
    const std::string area = std::string(R"(,"area":)") + number;
    const CocoFile file = parse_coco(coco(
        R"({"id":1,"file_name":"NaN \" Infinity.png","width":)" + std::string(number) + "}",
        annotation("1", "7", "[1,2,3,4]", area) + "," + annotation("1", "7", std::string("[1,2,3, ") + number + "]") +
            "," + annotation("1", "0", "[1,-2,3,4]", area)));
    EXPECT_EQ(file.images.at(0).file_name, "NaN \" Infinity.png");
    EXPECT_EQ(file.images.at(0).width, 0);
    ASSERT_THAT(file.boxes, SizeIs(2)) << number;
    EXPECT_EQ(file.boxes[1].y, -2);
    EXPECT_THAT(file.problems, ElementsAre("annotation 2 has NaN or Infinity in its \"bbox\"")) << number;
  }
}

TEST(CocoJson, ReadsNumbersThatAreTextsAndPassesOverComments) {
  const CocoFile file =
      parse_coco("// \"a\" NaN\n/* { \" */" +
                 coco(R"({"id":"1","file_name":"a.png","width":" 40 ","height":"20"})",
                      annotation("1", "7", R"(["1","2.5"," 3","4e0"])", R"(,"iscrowd":"1","area":NaN)")));
  EXPECT_EQ(file.images.at(0).width, 40);
  ASSERT_THAT(file.boxes, SizeIs(1));
  EXPECT_EQ(file.boxes[0].y, 2.5);
  EXPECT_EQ(file.boxes[0].height, 4);
  EXPECT_TRUE(file.boxes[0].is_crowd);
  EXPECT_THAT(file.problems, IsEmpty());
}

TEST(CocoJson, SaysWhereAFileIsDamaged) {
  EXPECT_THAT(error_of([] { parse_coco("{\"images\":[\n{\"id\": nan}]}"); }),
              AllOf(HasSubstr("at byte 21"), HasSubstr("line 2, column 9"), HasSubstr("na'")));
}

TEST(CocoJson, TellsWhatABeginningHas) {
  const CocoGlance whole = glance_at_coco(coco(image("1", "a.png"), annotation("1", "7", "[1,2,3,4]")));
  EXPECT_EQ(whole.lists, kCocoLists);
  EXPECT_TRUE(whole.has_images && whole.has_boxes && !whole.ends_early);
  const CocoGlance cut = glance_at_coco(R"({"images":[{"id":1,"file_name":"a.png"},{"file_na)");
  EXPECT_EQ(cut.lists, 1u);
  EXPECT_TRUE(cut.has_images && !cut.has_boxes && cut.ends_early);
  for (const char* other : {R"([{"images":[],"annotations":[]}])", R"({"set":{"images":[],"annotations":[]}})",
                            R"({"images":3,"annotations":"categories"})", "no JSON", ""}) {
    EXPECT_EQ(glance_at_coco(other).lists, 0u) << other;
  }
}

TEST(Coco, IsKnownWhateverItsNameAndEncodingAndWhenItIsDamaged) {
  const std::string whole = coco(image("1", "a.png"), annotation("1", "7", "[2,4,10,6]", R"(,"area":NaN)"));
  std::string wide = "\xFF\xFE";
  for (const char c : whole) wide += {c, '\0'};
  for (const auto& [name, text] : {std::pair("a.json", whole),
                                   {"a.JSON", whole},
                                   {"a.json", "\xEF\xBB\xBF" + whole},
                                   {"a.json", wide},
                                   {"a.json", "// a comment\n" + whole}}) {
    const TemporaryFolder folder;
    write_bytes(folder.path() / "images/a.png", small_image());
    write_bytes(folder.path() / name, text);
    EXPECT_THAT(boxes_of(open_boxes(folder.path()), 0), ElementsAre(LabelledBox{2, 4, 12, 10, 1})) << name;
    EXPECT_EQ(open_boxes(folder.path() / name).dataset->size(), 1u) << name;
  }
  const std::string without =
      R"({"images":[)" + image("1", "a.png") + R"(],"annotations":[)" + annotation("1", "7", "[2,4,10,6]") + "]}";
  std::string many;
  for (int i = 2; i < 2000; ++i) many += "," + image(std::to_string(i), "gone.png");
  for (const auto& [text, words] : {std::pair(whole.substr(0, whole.size() - 20), "no whole JSON"),
                                    {whole.substr(0, whole.find("annotations")), "no whole JSON"},
                                    {whole.substr(0, whole.size() - 2) + ",]}", "no whole JSON"},
                                    {"# a comment\n" + whole, "no whole JSON"},
                                    {without, "no list \"categories\""},
                                    {R"({"images":[)" + image("1", "a.png") + many, "no whole JSON"}}) {
    const TemporaryFolder folder;
    write_bytes(folder.path() / "images/a.png", small_image());
    write_bytes(folder.path() / "birds.json", text);
    EXPECT_FALSE(has_pictures_only(folder.path().string()));
    EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), AllOf(HasSubstr("birds.json"), HasSubstr(words)));
  }
}

// Programs write their settings, and what they found, beside images too.
TEST(Coco, PassesOverOtherJson) {
  const TemporaryFolder folder;
  const std::string name = (folder.path() / "settings.json").string();
  for (const std::string& other :
       {std::string(R"({"task":{"images":["a.png"],"annotations":"boxes","categories":[]}})"),
        std::string(R"([{"image_id":1,"category_id":7,"bbox":[1,2,3,4],"from":"annotations"}])"),
        std::string(R"({"images":[],"annotations":[]})"),
        std::string(R"({"images":[{"id":1,"file_name":"a.png"}],"annotations":[{"id":1,"image_id":1,"caption":"a"}]})"),
        "{\"notes\":\"" + std::string(70'000, 'x') + R"(","about":["images","annotations","categories"]})"}) {
    write_bytes(name, other);
    EXPECT_THAT(error_of([&] { open_boxes(folder.path()); }), testing::Not(HasSubstr("settings.json")))
        << other.substr(0, 80);
  }
}

TEST(Coco, FindsLargeFilesWhateverTheirOrder) {
  std::string many;
  for (int i = 2; i < 3000; ++i) many += "," + image(std::to_string(i), "gone.png");
  const std::string images = R"("images":[)" + image("1", "a.png") + many + "]";
  const std::string annotations = R"("annotations":[)" + annotation("1", "0", "[2,4,10,6]") + "]";
  const std::string categories = R"("categories":[{"id":0,"name":"cat"}])";
  std::string sorted = R"({"annotations":[)" + annotation("1", "0", "[2,4,10,6]");  // as json.dump(sort_keys=True) does
  for (int i = 0; i < 3000; ++i) sorted += "," + annotation("1", "0", "[2,4,10,6]");
  sorted += "]," + categories + "," + images + "}";
  for (const std::string& text : {sorted, "{" + images + "," + annotations + "," + categories + "}",
                                  "{" + images + "," + categories + "," + annotations + "}",
                                  "{" + annotations + "," + images + "," + categories + "}"}) {
    const TemporaryFolder folder;
    write_bytes(folder.path() / "a.png", small_image());
    write_bytes(folder.path() / "set.json", text);
    EXPECT_EQ(open_boxes(folder.path()).dataset->size(), 1u);
  }
}

TEST(Coco, JoinsCategoriesOfOneNameInAllFiles) {
  const TemporaryFolder folder;
  const std::string categories = R"({"id":1,"name":"cat"},{"id":2,"name":"dog"},{"id":3,"name":"cat"})";
  for (const char* part : {"train", "val"}) {
    write_bytes(folder.path() / part / "a.png", small_image());
    write_bytes(folder.path() / part / "set.json",
                coco(image("1", "a.png"), annotation("1", "3", "[2,4,10,6]") + "," + annotation("1", "2", "[2,4,10,6]"),
                     categories));
  }
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("cat", "dog"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(boxes_of(opened, i), ElementsAre(LabelledBox{2, 4, 12, 10, 0}, LabelledBox{2, 4, 12, 10, 1}));
  }
}

TEST(Coco, ListsWhatIsWrong) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "a.png", small_image());
  write_bytes(folder.path() / "b.png", small_image());
  write_bytes(folder.path() / "set.json",
              coco(image("1", "a.png") + "," + image("2", "b.png") + "," + image("3", "../../etc/passwd.png") + "," +
                       image("1", "b.png") + "," + image("5", "gone.png"),
                   annotation("1", "7", "[0,0,10,0]") + "," + annotation("1", "7", "[5,5,-3,4]") + "," +
                       annotation("1", "8", "[0,0,10,10]") + "," + annotation("9", "7", "[0,0,10,10]") + "," +
                       annotation("1", "7", "[39.5,19.25,0.504,0.752]", R"(,"iscrowd":1)") + "," +
                       annotation("5", "7", "[0,0,10,10]")));
  const OpenedData opened = open_boxes(folder.path());
  EXPECT_THAT(
      reasons_of(opened, folder.path()),
      UnorderedElementsAre(HasSubstr("'../../etc/passwd.png' is missing"), HasSubstr("two images have the id '1'"),
                           HasSubstr("'gone.png' is missing"), HasSubstr("a box of 'dog' has zero area"),
                           HasSubstr("a box of 'dog' has swapped corners"),
                           HasSubstr("1 annotation with a category that it doesn't list, such as '8'"),
                           HasSubstr("1 annotation with an image that it doesn't list, such as '9'")));
  LabelledBox rounded{39.5F, 19.25F, 40, 20, 1};
  rounded.is_crowd = true;
  EXPECT_THAT(boxes_of(opened, 0), ElementsAre(rounded)) << "clipped at the edge without a word";
  EXPECT_THAT(boxes_of(opened, 1), IsEmpty());
  EXPECT_THAT(opened.notes, Not(Contains(HasSubstr("beyond"))));
}

}  // namespace
}  // namespace evener::data
