// Image folders: what is found, how it is divided, what is left out and why.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.h"
#include "base/stop.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ImageFolder : public ::testing::Test {
 protected:
  void add(const std::string& name, std::uint8_t value = 100, int width = 4, int height = 3) {
    write_bytes(folder_ / name, plain_png(width, height, {value}));
  }
  DataOptions options() const {
    DataOptions options;
    options.location = folder_.path().string();
    options.threads = 3;
    options.cache_limit_bytes = 1 << 20;
    return options;
  }
  OpenedData open() const { return open_data(options()); }
  std::string open_error() const {
    return error_of([this] { open(); });
  }
  std::string name_of(const std::string& source) const {
    return std::filesystem::path(source).lexically_relative(folder_.path()).string();
  }

  TemporaryFolder folder_;
};

TEST_F(ImageFolder, TakesFoldersForClassesInSortedOrder) {
  add("b/2.png", 20);
  add("b/1.png", 10);
  add("a/deeper/3.png", 30);
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("a", "b"));
  ASSERT_EQ(opened.dataset->size(), 3u);
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{1, 3, 4}));
  const std::vector<std::string> names{"a/deeper/3.png", "b/1.png", "b/2.png"};
  const std::vector<std::int32_t> labels{0, 1, 1};
  const std::vector<int> values{30, 10, 20};
  std::vector<std::uint8_t> pixels(12);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(name_of(opened.dataset->source(i)), names[i]);
    EXPECT_EQ(label_of(*opened.dataset, i), labels[i]);
    opened.dataset->read(i, pixels);
    EXPECT_EQ(pixels[11], values[i]);
  }
  EXPECT_THAT(opened.notes, ElementsAre(HasSubstr("'a' has only one image")));
  EXPECT_EQ(opened.split.train.front(), 0u);
}

TEST_F(ImageFolder, BringsImagesToTheSizeAndChannelsAskedFor) {
  write_bytes(folder_ / "a/1.png", plain_png(8, 8, {200, 100, 50}));
  add("b/1.png", 77, 5, 9);
  DataOptions wanted = options();
  wanted.width = 6;
  wanted.height = 2;
  wanted.channels = 3;
  const OpenedData opened = open_data(wanted);
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{3, 2, 6}));
  std::vector<std::uint8_t> pixels(36);
  opened.dataset->read(0, pixels);
  EXPECT_EQ(pixels[0], 200);
  EXPECT_EQ(pixels[35], 50);
  opened.dataset->read(1, pixels);
  EXPECT_EQ(pixels[35], 77);
  wanted.channels = 1;
  open_data(wanted).dataset->read(0, std::span(pixels).first(12));
  EXPECT_EQ(pixels[0], (200 * 19595 + 100 * 38470 + 50 * 7471 + 32768) >> 16);
}

TEST_F(ImageFolder, IsInColourIfAnyImageIsAndAsLargeAsTheFirst) {
  add("a/1.png", 1, 7, 5);
  write_bytes(folder_ / "b/1.png", plain_png(2, 2, {1, 2, 3}));
  EXPECT_EQ(open().dataset->shape(), (ImageShape{3, 5, 7}));
}

TEST_F(ImageFolder, TellsOfDifferentSizesAndRecommendsOne) {
  add("a/1.png", 1, 400, 300);
  add("b/1.png", 1, 600, 450);
  EXPECT_THAT(open().notes,
              testing::Contains(AllOf(HasSubstr("differ in size (400x300 to 600x450 pixels in 2 that were looked at)"),
                                      HasSubstr("brought to 400x300, the first one's"), HasSubstr("--size 299x224"))));
  DataOptions chosen = options();
  chosen.width = chosen.height = 32;
  EXPECT_THAT(open_data(chosen).notes, Not(testing::Contains(HasSubstr("differ in size"))));
}

// The first 64 are alike.
TEST_F(ImageFolder, LooksForOtherSizesAmongAllImages) {
  for (int i = 0; i < 70; ++i) add("a/" + std::to_string(100 + i) + ".png", 1, 8, 8);
  for (int i = 0; i < 70; ++i) add("b/" + std::to_string(100 + i) + ".png", 1, 16, 12);
  EXPECT_THAT(open().notes, testing::Contains(HasSubstr("differ in size (8x8 to 16x12 pixels in 64 that were looked")));
}

TEST_F(ImageFolder, CanBeLookedAtWithoutDecoding) {
  add("a/1.png");
  write_bytes(folder_ / "b/1.png", "no picture");
  DataOptions look = options();
  look.look_only = true;
  const OpenedData opened = open_data(look);
  EXPECT_EQ(opened.dataset->size(), 2u);
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{1, 3, 4}));
  EXPECT_THAT(opened.skipped, SizeIs(0));
}

TEST_F(ImageFolder, UsesItsOwnParts) {
  for (const char* name : {"train/a/1.png", "train/a/2.png", "train/b/3.png", "valid/a/4.png", "test/b/5.png"})
    add(name);
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("a", "b"));
  EXPECT_THAT(opened.split.train, ElementsAre(0, 1, 2));
  EXPECT_THAT(opened.split.val, ElementsAre(3));
  EXPECT_THAT(opened.split.test, ElementsAre(4));
  EXPECT_EQ(name_of(opened.dataset->source(3)), "valid/a/4.png");

  DataOptions divided = options();
  divided.split = {80, 20};
  EXPECT_THAT(error_of([&] { open_data(divided); }), HasSubstr("leave --split out"));
}

TEST_F(ImageFolder, KnowsPartsByTheirUsualNamesInAnyCase) {
  const std::vector<std::vector<std::string>> layouts = {{"training", "validation", "testing"},
                                                         {"Train", "Val", "TEST"},
                                                         {"train", "dev", "test"},
                                                         {"TRAIN", "valid", "Test"}};
  for (const auto& layout : layouts) {
    for (const std::string& part : layout) {
      add(part + "/a/1.png");
      add(part + "/b/2.png");
    }
    const OpenedData opened = open();
    EXPECT_THAT(opened.dataset->classes(), ElementsAre("a", "b")) << layout[0];
    EXPECT_THAT(opened.split.train, SizeIs(2));
    EXPECT_THAT(opened.split.val, SizeIs(2));
    EXPECT_THAT(opened.split.test, SizeIs(2));
    for (const std::string& part : layout) std::filesystem::remove_all(folder_ / part);
  }
}

TEST_F(ImageFolder, RefusesWhatMayBeAPartOrNot) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "holdout/a/3.png"}) add(name);
  EXPECT_THAT(open_error(), AllOf(HasSubstr("train' is by name a part"), HasSubstr("holdout', which has images too"),
                                  HasSubstr("--class")));
  std::filesystem::remove_all(folder_ / "holdout");
  std::filesystem::create_directories(folder_ / "notes");  // no images, no harm
  EXPECT_THAT(open().dataset->classes(), ElementsAre("a", "b"));
  std::filesystem::rename(folder_ / "train", folder_ / "training_set");
  add("test_set/a/3.png");
  EXPECT_THAT(open_error(),
              AllOf(HasSubstr("training_set' and '"), HasSubstr("both have a folder 'a'"), HasSubstr("rename")));
}

TEST_F(ImageFolder, RefusesPartsWithoutClasses) {
  add("train/1.png");
  add("test/2.png");
  EXPECT_THAT(open_error(),
              AllOf(HasSubstr("test', '"), HasSubstr("train' are by name parts"), HasSubstr("train/CLASS'")));
  EXPECT_TRUE(has_pictures_only(folder_.path().string()));
  add("train/a/3.png");
  add("train/b/4.png");
  EXPECT_THAT(open().notes, testing::Contains(AllOf(HasSubstr("1 image file directly in"), HasSubstr("/test'"))));
}

TEST_F(ImageFolder, LetsClassesBeCalledAsParts) {
  add("valid/1.png");
  add("invalid/2.png");
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("invalid", "valid"));
  EXPECT_THAT(opened.notes, testing::Contains(HasSubstr("/valid' is taken for a class")));
}

TEST_F(ImageFolder, CanBeForTestingAlone) {
  add("a/1.png");
  add("b/2.png");
  DataOptions divided = options();
  divided.split = {0, 0, 100};
  const OpenedData opened = open_data(divided);
  EXPECT_TRUE(opened.split.train.empty() && opened.split.val.empty());
  EXPECT_THAT(opened.split.test, SizeIs(2));
}

TEST_F(ImageFolder, DividesTrainingImagesIfOnlyTheTestPartIsGiven) {
  for (int i = 0; i < 10; ++i) {
    add("train/a/" + std::to_string(i) + ".png");
    add("train/b/" + std::to_string(i) + ".png");
  }
  add("test/a/x.png");
  DataOptions divided = options();
  divided.split = {40, 10, 50};
  const OpenedData opened = open_data(divided);
  EXPECT_THAT(opened.split.train, SizeIs(16));
  EXPECT_THAT(opened.split.val, SizeIs(4));
  EXPECT_THAT(opened.split.test, ElementsAre(20));
  std::filesystem::remove_all(folder_ / "test");
  EXPECT_THAT(open_data(divided).split.test, SizeIs(10));
}

TEST_F(ImageFolder, TakesATestPartAlone) {
  add("test/a/1.png");
  add("test/b/2.png");
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("a", "b"));
  EXPECT_TRUE(opened.split.train.empty());
  EXPECT_THAT(opened.split.test, ElementsAre(0, 1));
}

TEST_F(ImageFolder, RefusesPartsThatDisagree) {
  add("train/a/1.png");
  add("train/b/1.png");
  add("val/c/1.png");
  EXPECT_THAT(open_error(), HasSubstr("the class 'c' is in"));
  std::filesystem::rename(folder_ / "val/c", folder_ / "val/a");
  add("validation/a/1.png");
  EXPECT_THAT(open_error(), HasSubstr("both the validation part"));
}

TEST_F(ImageFolder, SkipsBadImagesAndSaysWhy) {
  for (int i = 0; i < 3; ++i) add("a/" + std::to_string(i) + ".png");
  add("b/good.png");
  const std::string jpeg = bytes_of(golden_file("photo_444.jpg"));
  write_bytes(folder_ / "b/cut.jpg", std::string_view(jpeg).substr(0, jpeg.size() / 2));
  const std::string png = bytes_of(golden_file("rgb.png"));
  write_bytes(folder_ / "b/cut.png", std::string_view(png).substr(0, png.size() / 2));
  write_bytes(folder_ / "b/empty.jpg", "");
  write_bytes(folder_ / "b/text.jpg", "not an image\n");
  write_bytes(folder_ / "b/animation.gif", "GIF89a......");
  write_bytes(folder_ / "b/bomb.png", png_claiming(100'000, 100'000, ""));
  std::filesystem::create_symlink("nowhere", folder_ / "b/link.png");
  ASSERT_EQ(mkfifo((folder_ / "b/pipe.png").c_str(), 0600), 0);
  write_bytes(folder_ / "b/PNG called.JPG", plain_png(4, 3, {1}));
  write_bytes(folder_ / "b/notes.txt", "passed over");
  write_bytes(folder_ / "b/Thumbs.db", "passed over");
  write_bytes(folder_ / "b/.hidden.png", "passed over");
  write_bytes(folder_ / ".git/x.png", "passed over");

  const OpenedData opened = open();
  EXPECT_EQ(opened.dataset->size(), 5u);
  std::map<std::string, std::string> reasons;
  for (const Skipped& file : opened.skipped) reasons[name_of(file.file)] = file.reason;
  ASSERT_THAT(reasons, SizeIs(8));
  EXPECT_EQ(reasons["b/cut.jpg"], "the JPEG file is cut short");
  EXPECT_THAT(reasons["b/cut.png"], HasSubstr("cut short"));
  EXPECT_EQ(reasons["b/empty.jpg"], "the file is empty");
  EXPECT_EQ(reasons["b/text.jpg"],
            "no JPEG, PNG, WebP, GIF, HEIC, AVIF, JPEG XL, RAW, BMP, TIFF or PNM file, but a text file");
  EXPECT_EQ(reasons["b/animation.gif"], "the GIF file is cut short");
  EXPECT_THAT(reasons["b/bomb.png"], HasSubstr("too large"));
  EXPECT_THAT(reasons["b/link.png"], HasSubstr("can't be read"));
  EXPECT_EQ(reasons["b/pipe.png"], "not a regular file");

  DataOptions strict = options();
  strict.strict = true;
  EXPECT_THAT(error_of([&] { open_data(strict); }), HasSubstr("8 of 13 image files"));
}

TEST_F(ImageFolder, FollowsLinksToFoldersOnce) {
  const TemporaryFolder store;
  for (const char* name : {"ants/1.png", "ants/deeper/2.png", "bees/3.png"}) {
    write_bytes(store / name, plain_png(4, 3, {100}));
  }
  for (const char* name : {"ants", "bees"}) {
    std::filesystem::create_directory(folder_ / name);
    std::filesystem::create_symlink(store / name, folder_ / name / "2024");
  }
  add("ants/own/0.png");
  std::filesystem::create_symlink("own", folder_ / "ants/a_link_that_sorts_before");
  std::filesystem::create_symlink("..", folder_ / "ants/up");
  std::filesystem::create_symlink(folder_ / "ants", folder_ / "ants/own/self");
  std::filesystem::create_symlink("nowhere", folder_ / "bees/nothing");
  std::filesystem::create_symlink(store / "ants", store / "ants/deeper/circle");
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("ants", "bees"));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < opened.dataset->size(); ++i) names.push_back(name_of(opened.dataset->source(i)));
  EXPECT_THAT(names, ElementsAre("ants/2024/1.png", "ants/2024/deeper/2.png", "ants/own/0.png", "bees/2024/3.png"));
  EXPECT_FALSE(has_pictures_only(folder_.path().string()));
}

TEST_F(ImageFolder, LeavesOutClassesWithoutUsableImages) {
  add("a/1.png");
  add("c/1.png");
  write_bytes(folder_ / "b/1.png", "broken");
  const OpenedData opened = open();
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("a", "c"));
  EXPECT_EQ(label_of(*opened.dataset, 1), 1);
  EXPECT_THAT(opened.notes, ::testing::Contains(HasSubstr("'b' has no usable image")));
}

TEST_F(ImageFolder, TellsWhichFilesAreBadWhereTheyLeaveOneClass) {
  add("a/1.png");
  write_bytes(folder_ / "a/2.png", "broken");
  write_bytes(folder_ / "b/1.png", "broken");
  EXPECT_THAT(open_error(), AllOf(HasSubstr("only the class 'a'"), HasSubstr("2 of 3 image files are bad"),
                                  HasSubstr((folder_ / "b/1.png").string())));
}

TEST_F(ImageFolder, TellsOfManyClassesOfOneImageInOneSentence) {
  for (const char* name : {"a", "b", "c", "d", "e"}) add(std::string(name) + "/1.png");
  EXPECT_THAT(open().notes, ::testing::Contains("5 classes have only one image: 'a', 'b', 'c', ..."));
}

TEST_F(ImageFolder, SaysWhatIsMissing) {
  EXPECT_THAT(open_error(), HasSubstr("no class folders"));
  add("loose.png");
  EXPECT_THAT(open_error(), HasSubstr("found 1 image file directly in it"));
  std::filesystem::create_directory(folder_ / "a");
  EXPECT_THAT(open_error(), HasSubstr("no image files"));
  add("a/1.png");
  EXPECT_THAT(open_error(), HasSubstr("only one class"));
  EXPECT_THAT(open_error(), HasSubstr("'a'"));
  write_bytes(folder_ / "a/1.png", "broken");
  EXPECT_THAT(open_error(), HasSubstr("none of the 1 image files"));
  EXPECT_THAT(open_error(), HasSubstr("a text file"));

  DataOptions nowhere;
  nowhere.location = (folder_ / "nowhere").string();
  EXPECT_THAT(error_of([&] { open_data(nowhere); }), HasSubstr("no such data"));
  nowhere.location = (folder_ / "loose.png").string();
  EXPECT_THAT(error_of([&] { open_data(nowhere); }), HasSubstr("not a folder"));
}

TEST_F(ImageFolder, RefusesImpossibleOptions) {
  add("a/1.png");
  add("b/1.png");
  for (const auto& [width, channels] : {std::pair<int, int>{0, 1}, {-5, 1}, {70'000, 1}, {8, 2}, {8, 0}}) {
    DataOptions wrong = options();
    wrong.width = width;
    wrong.channels = channels;
    EXPECT_THROW(open_data(wrong), UsageError) << width << " " << channels;
  }
}

TEST_F(ImageFolder, ReadsAgainWhatDoesNotFitInMemory) {
  for (int i = 0; i < 6; ++i) add("a/" + std::to_string(i) + ".png", static_cast<std::uint8_t>(10 * i));
  add("b/1.png");
  DataOptions small = options();
  small.cache_limit_bytes = 30;  // two images of 12 bytes
  const OpenedData opened = open_data(small);
  std::filesystem::remove(folder_ / "a/1.png");
  std::vector<std::uint8_t> pixels(12);
  opened.dataset->read(1, pixels);
  EXPECT_EQ(pixels[0], 10);
  opened.dataset->read(5, pixels);
  EXPECT_EQ(pixels[0], 50);
  std::filesystem::remove(folder_ / "a/5.png");
  EXPECT_THAT(error_of([&] { opened.dataset->read(5, pixels); }), HasSubstr("a/5.png"));
}

TEST_F(ImageFolder, EndsWhenAStopIsRequested) {
  add("a/1.png");
  add("b/1.png");
  request_stop();
  EXPECT_THROW(open(), Interrupted);
  clear_stop_request();
}

TEST_F(ImageFolder, TellsHowManyImagesAreDecoded) {
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png", "b/3.png"}) add(name);
  std::size_t last = 0;
  DataOptions told = options();
  told.progress = [&](std::size_t done, std::size_t images) {
    EXPECT_EQ(images, 5u);
    last = done;
  };
  open_data(told);
  EXPECT_EQ(last, 5u);
}

TEST_F(ImageFolder, TakesClassesByPattern) {
  add("Bream GT/1.png");
  add("Bream GT/deep/2.png");
  add("Bream/1.png");
  add("Shrimp GT/1.png");
  add("Shrimp GT/.hidden.png");
  DataOptions options = this->options();
  options.classes = {{"shrimp", "Shrimp GT/**"}, {"bream", "Bream GT/**"}};
  const OpenedData opened = open_data(options);
  EXPECT_THAT(opened.dataset->classes(), ElementsAre("bream", "shrimp"));
  ASSERT_EQ(opened.dataset->size(), 3u);
  EXPECT_EQ(name_of(opened.dataset->source(1)), "Bream GT/deep/2.png");
  EXPECT_EQ(label_of(*opened.dataset, 2), 1);
  EXPECT_THAT(opened.notes, ::testing::Contains(HasSubstr("1 image file belongs to no --class")));
}

TEST_F(ImageFolder, RefusesPatternsThatOverlapOrFitNothing) {
  add("a/1.png");
  add("b/1.png");
  DataOptions options = this->options();
  const auto error = [&](std::vector<ClassFiles> classes) {
    options.classes = std::move(classes);
    return error_of([&] { open_data(options); });
  };
  EXPECT_THAT(error({{"x", "a/**"}, {"y", "**/1.png"}}),
              ::testing::AllOf(HasSubstr("'a/1.png'"), HasSubstr("'x' (a/**)"), HasSubstr("'y' (**/1.png)")));
  EXPECT_THAT(error({{"x", "a/**"}, {"y", "b/*.jpg"}}),
              ::testing::AllOf(HasSubstr("class 'y' has no image files"), HasSubstr("'b/*.jpg'")));
  EXPECT_THAT(error({{"x", "a/**"}, {"y", "b"}}), HasSubstr("write 'b/**'"));
  EXPECT_THAT(error({{"x", "**"}}), HasSubstr("only one class"));
}

TEST_F(ImageFolder, CantBeLookedAtWhereNoFileCanBeRead) {
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png"}) write_bytes(folder_ / name, "no picture");
  DataOptions look = options();
  look.look_only = true;
  const auto refusal = [&] { return error_of([&] { open_data(look); }); };
  EXPECT_THAT(refusal(), AllOf(HasSubstr("none of the 3 image files"), HasSubstr("a/1.png: no JPEG")));
  look.width = look.height = 8;
  look.channels = 3;
  EXPECT_THAT(refusal(), HasSubstr("none of the 3 image files"));
}

}  // namespace
}  // namespace evener::data
