// evener train on photos as people have them who never trained a network: each kind of trouble ends in a sentence that
// says what to do.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/built_modules.h"
#include "base/paths.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class PhotosBadInput : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino"}) {
      if (!test::module_is_built(name)) GTEST_SKIP() << "the " << name << " engine is not built";
    }
  }

  ProgramResult train(const Words& words, const Words& model = {"resnet20"}) const {
    return run_program(all_words(words, model), options());
  }
  /// The same in the test's own process: for what is refused, and for perceptrons.
  ProgramResult train_here(const Words& words, const Words& model = {"resnet20"}) const {
    return test::run_in_process(all_words(words, model), options());
  }
  Words all_words(const Words& words, const Words& model) const {
    return joined(joined({"train"}, model), joined(words, {"--on", "cpu/t1", "--out", file("run")}));
  }
  test::ProgramOptions options() const {
    return {.environment = {{"XDG_CACHE_HOME", file("cache")},
                            {"EVENER_FETCH_FROM", "http://127.0.0.1:1"},
                            {"no_proxy", "127.0.0.1"},
                            {"NO_PROXY", "127.0.0.1"}}};
  }
  Words from_digits() const { return test::from_digits(file("digits")); }
  /// A grey picture whose pixels are those of its number, and of no other.
  void write_photo(const std::string& name, int number, int side = 12) const {
    fs::create_directories((folder_ / name).parent_path());
    std::string pixels;
    for (int p = 0; p < side * side; ++p) pixels += static_cast<char>((number * 7919 + p * (p + number * 31)) % 251);
    std::ofstream(folder_ / name, std::ios::binary) << "P5\n" << side << ' ' << side << "\n255\n" << pixels;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  test::TemporaryFolder folder_;
};

TEST_F(PhotosBadInput, OneClass) {
  for (int i = 0; i < 5; ++i) write_photo("photos/ants/" + std::to_string(i) + ".pgm", i);
  for (const Words& model : {Words{"resnet20"}, Words{}}) {
    const ProgramResult result = train_here({"--data", file("photos")}, model);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("only one class with images in '" + file("photos") + "': 'ants' (5 files)"),
                                  HasSubstr("at least two folders with images are needed")));
    EXPECT_FALSE(fs::exists(file("run")));
  }
}

TEST_F(PhotosBadInput, OneImageOfEachClass) {
  for (const char* name : {"train/a/1.pgm", "train/b/2.pgm", "val/a/3.pgm", "val/b/4.pgm"}) {
    write_photo(std::string("photos/") + name, name[6]);
  }
  const ProgramResult result = train(joined({"--data", file("photos"), "--epochs", "2"}, from_digits()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("2 of 2 classes have fewer than 10 images to train on ('a' has 1): such "
                                          "classes are recognised by chance. Add images of them"),
                                Not(HasSubstr("nothing tells how good"))));
  const ProgramResult alone = train({"--data", file("photos/train"), "--epochs", "1", "--batch", "2", "--overwrite"});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("none are left to validate on, so that nothing tells how good the network is"));
}

TEST_F(PhotosBadInput, AThousandClassesOfTwoImages) {
  for (int i = 0; i < 2000; ++i)
    write_photo("photos/" + std::to_string(i / 2) + "/" + std::to_string(i) + ".pgm", i, 8);
  const ProgramResult result =
      train_here({"--data", file("photos"), "--epochs", "1", "--batch", "100"}, {"mlp:64-16-1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("1000 of 1000 classes have fewer than 10 images to train on"),
                                HasSubstr("nothing, or too little, was learnt")));
  EXPECT_LT(std::ranges::count(result.out + result.err, '\n'), 30) << "classes are told together, not each by itself";
}

TEST_F(PhotosBadInput, AllImagesCorruptButOne) {
  for (const char* part : {"train/ants/", "train/bees/", "val/ants/", "val/bees/"}) {
    for (int i = 0; i < 3; ++i) {
      const std::string name = std::string("photos/") + part + std::to_string(i) + ".pgm";
      write_photo(name, i);
      if (name != "photos/train/ants/0.pgm") fs::resize_file(file(name), 90);
    }
  }
  for (const Words& model : {Words{"resnet20"}, Words{}}) {
    const ProgramResult result = train_here({"--data", file("photos")}, model);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("only the class 'ants' of '" + file("photos") + "' has images that can be"),
                                  HasSubstr("11 of 12 image files are bad"), HasSubstr("Repair or replace them:"),
                                  HasSubstr("1.pgm: ")));
    EXPECT_FALSE(fs::exists(file("run")));
  }
}

// Classes that say nothing of what is on the pictures, some of which are copies of others, of other classes.
TEST_F(PhotosBadInput, ShuffledLabels) {
  for (int i = 0; i < 96; ++i) {
    const std::string part = i < 64 ? "train" : "val", label = (i + (i < 80 ? 0 : 1)) % 2 == 0 ? "cats" : "dogs";
    write_photo("photos/" + part + "/" + label + "/" + std::to_string(i) + ".pgm", i % 80);
  }
  const ProgramResult result =
      train_here({"--data", file("photos"), "--epochs", "12", "--lr", "0.1", "--batch", "8", "--momentum", "0.9"},
                 {"mlp:144-32-2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("warning  "), HasSubstr("is no surer than to say"),
                    HasSubstr("16 of the 32 images to validate or test on are also among those to train on (16 in "
                              "every pixel, near ones were not looked for: images of 12x12 pixels are too small")));
  EXPECT_THAT(record_in(file("run"))["warnings"],
              Contains(AllOf(HasSubstr("nothing, or too little, was learnt"),
                             HasSubstr("Look whether the images lie in the folders of their classes"))));
  const ProgramResult page = test::run_in_process({"report", file("run"), "--html", file("page.html")});
  ASSERT_EQ(page.exit_code, 0) << page.err;
}

TEST_F(PhotosBadInput, PhotosOfTwentyMegapixels) {
  for (const char* name : {"train/a/1.pgm", "train/b/2.pgm", "val/a/3.pgm", "val/b/4.pgm"}) {
    const fs::path photo = folder_ / "photos" / name;
    fs::create_directories(photo.parent_path());
    std::ofstream(photo, std::ios::binary) << "P5\n5472 3648\n255\n" << std::string(1000 * name[6], 'x');
    fs::resize_file(photo, 17 + 5472 * 3648);  // black from there on, and no room on the disk
  }
  const ProgramResult whole = train({"--data", file("photos"), "--epochs", "1", "--memory", "4000"});
  EXPECT_EQ(whole.exit_code, 1);
  EXPECT_THAT(whole.err, AllOf(HasSubstr("too little for a batch of one"), HasSubstr("such as --size ")));
  const ProgramResult result = train(joined({"--data", file("photos"), "--epochs", "2"}, from_digits()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(record_in(file("run"))["config"]["size"], "20x20") << "with weights no size needs to be given";
}

TEST_F(PhotosBadInput, NoNetworkAndNoCache) {
  if (!test::module_is_built("fetch")) GTEST_SKIP() << "built without EVENER_FETCH";
  const ProgramResult result = train_here({"--data", "synth:digits:20", "--weights", "imagenet"}, {"mobilenet_v2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("can't download 'mobilenet_v2-7ebf99e0.pth'"), HasSubstr("no connection: is there a network"),
            HasSubstr("or get it on another machine and put it at '" +
                      file("cache/evener/weights/mobilenet_v2-imagenet/mobilenet_v2-7ebf99e0.pth"))));
  EXPECT_FALSE(fs::exists(file("run")));
}

// A folder of photos as telephones and cameras write them, through the commands; and what users are told where a
// library is missing.

constexpr const char* kNames[] = {"420.heic",  "10_bits.heic", "turned_6.heic", "420.avif",    "moving.avif",
                                  "lossy.jxl", "grey.heic",    "moving.gif",    "moving.webp", "turned_twice.dng"};

class PhotoFormatsInCommands : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* module : {"heif", "avif", "jxl", "native"}) {
      if (!test::module_is_built(module)) GTEST_SKIP() << "the module '" << module << "' is not built";
    }
    const fs::path photos = test::source_folder() / "tests/golden/photos";
    for (const char* folder : {"all", "classes/a", "classes/b"}) fs::create_directories(folder_ / folder);
    for (const char* name : kNames) {
      fs::copy_file(photos / name, folder_ / "all" / name);
      fs::copy_file(photos / name, folder_ / "classes/a" / name);
    }
    for (const char* name : {"444.heic", "444.avif", "lossless.jxl", "canvas.gif", "canvas.webp", "turned_1.dng"}) {
      fs::copy_file(photos / name, folder_ / "classes/b" / name);
    }
    for (const char* name : {"rgb.png", "photo_420.jpg"}) {
      fs::copy_file(test::source_folder() / "tests/golden/data" / name, folder_ / "classes/b" / name);
    }
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  test::TestFolder folder_;
};

TEST_F(PhotoFormatsInCommands, AreTrainedOnAndShownToTheNetwork) {
  const ProgramResult trained =
      run_in_process({"train", "mlp:768-8-2", "--data", file("classes"), "--size", "16x16", "--engine", "native",
                      "--on", "cpu/t1", "--epochs", "1", "--strict", "--out", file("run")});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  if (!test::module_is_built("torch")) return;  // as with the thread sanitizer: trained, but run by no engine
  const ProgramResult shown = run_in_process({"infer", file("run"), file("all"), "--on", "cpu/t1", "--strict"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* name : kNames) EXPECT_THAT(shown.out, HasSubstr(name));
}

TEST_F(PhotoFormatsInCommands, AreCountedAndPacked) {
  const ProgramResult told = run_in_process({"data", "info", file("all")});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("10 of 10 files; 9 in colour, 1 grey"), HasSubstr("skipped   0")));
  const ProgramResult packed =
      run_in_process({"data", "pack", file("classes"), "--size", "20x20", "--out", file("packed.safetensors")});
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_THAT(packed.out, HasSubstr("18 images"));
}

TEST_F(PhotoFormatsInCommands, NameThePackageWhereAModuleIsMissing) {
  fs::create_directory(folder_ / "no_modules");
  test::write_text(folder_ / "all/1.cr3", std::string("\0\0\0\x18", 4) + "ftypcrx ....crx isom");
  fs::copy_file(test::source_folder() / "tests/golden/data/rgb.tif", folder_ / "all/rgb.tif");
  const ProgramResult told =
      test::run_program({"data", "info", file("all")}, {.environment = {{"EVENER_MODULE_DIR", file("no_modules")}}});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  const std::string text = told.out + told.err;
  EXPECT_THAT(text, HasSubstr("a HEIC file, and the module 'heif' that decodes it is not built: install the library "
                              "that it needs (Debian: libheif-dev), then run './evener setup'"));
  for (const char* part : {"an AVIF file", "libavif-dev", "a JPEG XL file", "libjxl-dev", "a camera's RAW file",
                           "libraw-dev", "a TIFF file", "libtiff-dev"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, AllOf(HasSubstr("3 of 12 files"), Not(HasSubstr("moving.gif: "))));
}

}  // namespace
}  // namespace evener
