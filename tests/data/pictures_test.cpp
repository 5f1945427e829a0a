// Image files without labels: which are found and under what names, and what is told of them.
#include "data/open/pictures.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

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
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

class PictureFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// A file with an image's name that nobody may open: listing has to leave it alone.
  void name_only(const std::string& name) { write_bytes(folder_ / name, "no image"); }
  void add(const std::string& name, int width, int height, const std::vector<std::uint8_t>& colour) {
    write_bytes(folder_ / name, plain_png(width, height, colour));
  }
  /// The files' names below the folder.
  std::vector<std::string> names(const Pictures& pictures) const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      found.push_back(fs::path(pictures.source(i)).lexically_relative(folder_.path()).string());
    }
    return found;
  }
  std::vector<std::string> names_in(const std::string& name) const { return names(Pictures({path(name)})); }

  TemporaryFolder folder_;
};

TEST_F(PictureFiles, OneThatCanBeReadIsEnough) {
  name_only("a.jpg");
  name_only("b.png");
  try {
    Pictures({folder_.path().string()}).require_readable();
    FAIL() << "neither is a picture";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("of 2 files none is whole"), HasSubstr("a.jpg")));
  }
  add("c.png", 4, 4, {1, 2, 3});
  EXPECT_NO_THROW(Pictures({folder_.path().string()}).require_readable());
}

TEST_F(PictureFiles, AreAllBelowAFolderInTheOrderOfTheirPaths) {
  for (const char* name :
       {"b/2.png", "b/10.JPG", "a.webp", "b/deep/er/1.tif", "b/notes.txt", ".hidden.png", "b/.git/x.png", "c/z.heic"}) {
    name_only(name);
  }
  EXPECT_THAT(names_in(""), ElementsAre("a.webp", "b/10.JPG", "b/2.png", "b/deep/er/1.tif", "c/z.heic"));
}

TEST_F(PictureFiles, AreNamedByFilesFoldersAndPatterns) {
  for (const char* name : {"x/1.png", "x/2.jpg", "x/y/3.png", "x/y/.4.png", "odd.dat", "a[1].png"}) name_only(name);
  EXPECT_THAT(names(Pictures({path("x/y"), path("odd.dat"), path("x/1.png")})),
              ElementsAre("x/y/3.png", "odd.dat", "x/1.png"));
  EXPECT_THAT(names_in("x/*.png"), ElementsAre("x/1.png"));
  EXPECT_THAT(names_in("*/*.png"), ElementsAre("x/1.png"));
  EXPECT_THAT(names_in("x/**/*.png"), ElementsAre("x/1.png", "x/y/3.png"));
  EXPECT_THAT(names_in("x/[13].*"), ElementsAre("x/1.png"));
  EXPECT_THAT(names_in("a[1].png"), ElementsAre("a[1].png")) << "a file's name is no pattern";
}

TEST_F(PictureFiles, ThatAreMissingAreAnError) {
  fs::create_directory(folder_ / "empty");
  name_only("x/1.png");
  EXPECT_THAT(error_of([&] { Pictures({path("empty")}); }), AllOf(HasSubstr("no image files"), HasSubstr("empty")));
  EXPECT_THAT(error_of([&] { Pictures({path("x"), path("nowhere")}); }), HasSubstr("no such file or folder"));
  EXPECT_THAT(error_of([&] { Pictures({path("x"), path("x/*.jpg")}); }), HasSubstr("no image files fit"));
}

TEST_F(PictureFiles, WithTwoNamesAreToldOnce) {
  for (const char* name : {"real/1.png", "real/2.png", "other/3.png"}) name_only(name);
  fs::create_symlink("real", folder_ / "a_link");                 // sorts before what it leads to
  fs::create_symlink(folder_ / "real/1.png", folder_ / "0.png");  // so does this
  fs::create_hard_link(folder_ / "real/2.png", folder_ / "real/3.png");
  fs::create_symlink(folder_ / "other", folder_ / "real/only_by_link");
  EXPECT_THAT(names_in(""), ElementsAre("other/3.png", "real/1.png", "real/2.png"));
  EXPECT_THAT(names_in("real"), ElementsAre("real/1.png", "real/2.png", "real/only_by_link/3.png"));

  const Pictures twice({path("real/2.png"), path("real"), path("a_link/1.png")});
  EXPECT_THAT(names(twice), ElementsAre("real/2.png", "real/1.png", "real/only_by_link/3.png"));
  EXPECT_THAT(twice.notes(), ElementsAre(HasSubstr("3 more names")));
}

TEST_F(PictureFiles, AreFoundAmongLinksThatFormALoop) {
  name_only("a/b/1.png");
  fs::create_symlink("..", folder_ / "a/up");
  fs::create_symlink(folder_.path(), folder_ / "a/b/top");
  fs::create_symlink("self", folder_ / "self");
  fs::create_symlink("me.png", folder_ / "me.png");
  fs::create_symlink("nowhere.png", folder_ / "gone.png");
  const Pictures pictures({folder_.path().string()});
  EXPECT_THAT(names(pictures), ElementsAre("a/b/1.png", "gone.png", "me.png"));
  EXPECT_THAT(error_of([&] { pictures.read(1); }), HasSubstr("can't be read"));
  EXPECT_THAT(error_of([&] { pictures.read(2); }), HasSubstr("can't be read"));
}

/// Folders within each other until the path is too long to be opened: unreadable also for root, whom rights don't stop.
TEST_F(PictureFiles, InFoldersThatCantBeListedAreSkippedWithTheFolder) {
  name_only("good.png");
  const std::string part(200, 'd');
  int at = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 25; ++depth) {
    ASSERT_EQ(::mkdirat(at, part.c_str(), 0700), 0);
    const int below = ::openat(at, part.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(below, 0);
    ::close(at);
    at = below;
  }
  ::close(at);
  const Pictures pictures({folder_.path().string()});
  EXPECT_THAT(names(pictures), ElementsAre("good.png"));
  ASSERT_THAT(pictures.skipped(), SizeIs(1));
  EXPECT_THAT(pictures.skipped()[0].file, HasSubstr(part));
  EXPECT_THAT(pictures.skipped()[0].reason, AllOf(HasSubstr("can't be listed"), HasSubstr("too long")));
}

TEST_F(PictureFiles, AreReadAtTheirOwnSizeUprightAndByManyThreads) {
  add("1.png", 7, 3, {200});
  add("2.png", 5, 9, {10, 20, 30});
  write_bytes(folder_ / "3.jpg", bytes_of(golden_file("exif_6.jpg")));  // 24x16, lying on its side
  name_only("4.png");
  const Pictures pictures({folder_.path().string()});
  ASSERT_EQ(pictures.size(), 4u);
  std::atomic<int> good{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Picture grey = pictures.read(0), colour = pictures.read(1), turned = pictures.read(2);
      const bool is_right = grey.channels == 1 && grey.width == 7 && grey.height == 3 && grey.row(2)[6] == 200 &&
                            colour.channels == 3 && colour.width == 5 && colour.height == 9 && colour.row(8)[14] == 30;
      good += is_right && turned.width == 16 && turned.height == 24;
    });
  }
  threads.clear();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(error_of([&] { pictures.read(3); }),
            "no JPEG, PNG, WebP, GIF, HEIC, AVIF, JPEG XL, RAW, BMP, TIFF or PNM file, but a text file");
}

TEST_F(PictureFiles, AreSurveyed) {
  add("a/1.png", 7, 3, {200});
  add("a/2.png", 7, 3, {1, 2, 3});
  add("b.png", 50, 40, {9});
  add("c.png", 2, 2, {9});
  name_only("bad.jpg");
  for (const int threads : {1, 3}) {
    std::size_t told = 0;
    const PictureSurvey survey = survey_pictures(Pictures({folder_.path().string()}), threads,
                                                 [&](std::size_t done, std::size_t) { told = done; });
    EXPECT_EQ(told, 5u);
    EXPECT_EQ(survey.grey, 3u);
    EXPECT_EQ(survey.colour, 1u);
    EXPECT_EQ(survey.smallest.width, 2);
    EXPECT_EQ(survey.largest.width, 50);
    EXPECT_EQ(survey.largest.height, 40);
    EXPECT_EQ(survey.commonest.width, 7);
    EXPECT_EQ(survey.commonest.pictures, 2u);
    ASSERT_THAT(survey.unreadable, SizeIs(1));
    EXPECT_EQ(survey.unreadable[0].file, path("bad.jpg"));
  }
}

TEST_F(PictureFiles, OfEquallyCommonSizesTheSmallestIsTold) {
  add("1.png", 7, 3, {9});
  add("2.png", 4, 2, {9});
  EXPECT_EQ(survey_pictures(Pictures({folder_.path().string()}), 1).commonest.width, 4);
}

TEST_F(PictureFiles, AreNotListedAfterAStopRequest) {
  name_only("1.png");
  request_stop();
  EXPECT_THROW(Pictures({folder_.path().string()}), Interrupted);
  clear_stop_request();
}

TEST_F(PictureFiles, AreToldFromDataWithClasses) {
  add("classes/a/1.png", 2, 2, {1});
  add("classes/b/1.png", 2, 2, {1});
  add("parts/train/a/1.png", 2, 2, {1});
  add("parts/train/b/1.png", 2, 2, {1});
  add("one/a/1.png", 2, 2, {1});
  fs::create_directories(folder_ / "one/empty");
  add("flat/1.png", 2, 2, {1});
  EXPECT_FALSE(has_pictures_only(path("classes")));
  EXPECT_FALSE(has_pictures_only(path("parts")));
  EXPECT_TRUE(has_pictures_only(path("one")));
  EXPECT_TRUE(has_pictures_only(path("flat")));
  EXPECT_TRUE(has_pictures_only(path("flat/1.png")));
  EXPECT_TRUE(has_pictures_only(path("flat/*.png")));
  EXPECT_FALSE(has_pictures_only(path("nowhere")));
  EXPECT_FALSE(has_pictures_only("synth:digits"));
  write_bytes(folder_ / "cifar/data_batch_1.bin", "x");
  EXPECT_FALSE(has_pictures_only(path("cifar")));
}

}  // namespace
}  // namespace evener::data
