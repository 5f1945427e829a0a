// A folder of photos as telephones and cameras write them, through the commands; and what users are told where a
// library is missing.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "base/built_modules.h"
#include "base/paths.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using test::run_in_process;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
