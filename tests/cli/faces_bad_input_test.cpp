// evener faces on photos as they lie about: odd ones are looked at, and what can't be is listed with its reason.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/tiny_onnx.h"
#include "cli/faces_helpers.h"
#include "cli/in_process_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

fs::path golden_file(const std::string& name) {
  return test::source_folder() / "tests/golden/data" / name;
}

class FacesBadInput : public test::Faces {
 protected:
  /// An embedder that takes no time.
  void SetUp() override {
    test::Faces::SetUp();
    if (IsSkipped()) return;
    test::write_tiny_onnx(folder_ / "means.onnx", {.input = {-1, 3, 16, 16}, .axes = {2, 3}});
    fs::create_directories(folder_ / "photos");
  }

  ProgramResult look(const Words& more = {}) const { return run(words(more)); }
  Words words(const Words& more) const {
    return joined({file("photos"), "--detector-weights", weights().string(), "--thresholds", "0,0,0", "--on", "cpu/t2",
                   "--out", file("out"), "--overwrite", "--embedder", file("means.onnx")},
                  more);
  }
  void copy_golden(const std::string& name) const { fs::copy_file(golden_file(name), folder_ / "photos" / name); }
  std::size_t faces_on(const std::string& name) const {
    std::size_t faces = 0;
    for (const Row& row : rows_of(folder_ / "out/faces.csv")) faces += row.at("file") == file("photos/" + name) ? 1 : 0;
    return faces;
  }
};

TEST(FacesWithoutPhotos, AreToldBeforeWeightsAreAskedFor) {
  const test::TemporaryFolder folder;
  const auto error = [&](const std::string& photos) {
    const ProgramResult result = test::run_in_process({"faces", photos});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.err, Not(HasSubstr("weights")));
    return result.err;
  };
  EXPECT_THAT(error((folder / "none").string()), HasSubstr("no such file or folder"));
  EXPECT_THAT(error(folder.path().string()), HasSubstr("no image files"));
  write_file_atomically(folder / "a.jpg", "no picture");
  EXPECT_THAT(error(folder.path().string()), HasSubstr("no image can be read"));
}

TEST_F(FacesBadInput, OddPhotosAreLookedAt) {
  for (const char* name : {"exif_6.jpg", "exif_6.webp", "cmyk.jpg", "grey.jpg", "palette.png", "rgba.png"}) {
    copy_golden(name);
  }
  write_photo("pixel.pgm", 1, 1);
  write_photo("wide.pgm", 20000, 13);
  write_photo("narrow.pgm", 13, 20000);
  write_photo("good.pgm");
  const ProgramResult result = look({"--thresholds", "0.9,0.9,0.9"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("on 10 photos;"));
  EXPECT_EQ(record_in(folder_ / "out")["data"]["skipped"], 0);
}

TEST_F(FacesBadInput, BoxesLieOnThePhotoAsItIsUpright) {
  copy_golden("exif_6.jpg");  // 24 x 16 stored, 16 x 24 upright
  ASSERT_EQ(look({"--min-size", "12"}).exit_code, 0);
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  ASSERT_FALSE(rows.empty());
  double lowest = 0;
  for (const Row& row : rows) lowest = std::max(lowest, std::stod(row.at("y2")));
  EXPECT_GT(lowest, 12) << "no middle of a face lies so low on the photo as it is stored";
}

TEST_F(FacesBadInput, FiveHundredFacesOnOnePhoto) {
  write_photo("crowd.pgm", 420, 400);
  const ProgramResult result = look();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(faces_on("crowd.pgm"), 500U);
  ASSERT_EQ(look({"--largest"}).exit_code, 0);
  EXPECT_EQ(faces_on("crowd.pgm"), 1U);
}

TEST_F(FacesBadInput, WhatCantBeLookedAtIsListedWithItsReason) {
  write_photo("good.pgm");
  const std::string photo = read_file(golden_file("exif_6.jpg"));
  test::write_text(folder_ / "photos/cut.jpg", photo.substr(0, photo.size() / 2));
  test::write_text(folder_ / "photos/head.jpg", photo.substr(0, 20));
  test::write_text(folder_ / "photos/empty.jpg", "");
  test::write_text(folder_ / "photos/moving.gif", "GIF89a............");
  test::write_text(folder_ / "photos/phone.heic", std::string("\0\0\0\x18", 4) + "ftypheic............");
  std::string moving = std::string("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0", 20);
  moving += std::string("\x02\0\0\0\x0f\0\0\x0f\0\0", 10);  // says that it moves; 16 x 16
  test::write_text(folder_ / "photos/moving.webp", moving);
  test::write_text(folder_ / "photos/huge.pgm", "P5\n99999 99999\n255\n");
  fs::create_symlink(folder_ / "gone.jpg", folder_ / "photos/gone.jpg");  // as a photo that vanishes after the walk
  fs::create_directory(folder_ / "photos/folder.jpg");
  const ProgramResult result = look();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 1 photo;"), HasSubstr("8 photos could not be read")));
  EXPECT_EQ(record_in(folder_ / "out")["data"]["skipped"], 8);
  for (const char* line : {"cut.jpg: ", "head.jpg: ", "empty.jpg: the file is empty", "moving.gif: damaged GIF file",
                           "phone.heic: ", "moving.webp: ", "huge.pgm: the image is too large",
                           "gone.jpg: can't be read: it does not exist"}) {
    EXPECT_THAT(result.err, HasSubstr(line));
  }
}

TEST_F(FacesBadInput, TwoNamesOfAFileAndLoopsAreOnePhotoEach) {
  write_photo("a.pgm");
  fs::create_hard_link(folder_ / "photos/a.pgm", folder_ / "photos/hard.pgm");
  fs::create_directories(folder_ / "photos/b/c");
  fs::create_directory_symlink(folder_ / "photos", folder_ / "photos/b/c/up");
  fs::create_symlink("self.pgm", folder_ / "photos/self.pgm");
  const ProgramResult result = look();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("on 1 photo;"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 more names lead to files"), HasSubstr("self.pgm: can't be read")));
}

TEST_F(FacesBadInput, ADiskWithoutRoomIsNoUnreadablePhoto) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  write_photo("small.pgm", 8, 8);
  fs::create_directories(folder_ / "out");
  fs::create_symlink("/dev/full", folder_ / "out/chunks.csv");
  const ProgramResult result = look();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("chunks.csv': the disk is full"), Not(HasSubstr("small.pgm"))));
}

TEST_F(FacesBadInput, MemoryIsBoundedOrTheLeastThatWorksIsTold) {
  write_photo("a.pgm");
  write_photo("b.pgm", 200, 150);
  const ProgramResult little = run_here(words({"--memory", "20MB"}));
  EXPECT_EQ(little.exit_code, 2);
  EXPECT_THAT(little.err,
              AllOf(HasSubstr("--memory 20 MB is too little"), HasSubstr("The least that works is --memory")));
  EXPECT_FALSE(fs::exists(folder_ / "out/faces.csv"));
  for (const char* wrong : {"many", "-1GB", "5TB", "0MB"}) {
    EXPECT_THAT(run_here(words({"--memory", wrong})).err, HasSubstr("is no size such as 600MB or 2GB")) << wrong;
  }
  const ProgramResult enough = look({"--memory", "2.5GB"});
  ASSERT_EQ(enough.exit_code, 0) << enough.err;
  EXPECT_THAT(enough.out, HasSubstr("on 2 photos;"));
}

TEST_F(FacesBadInput, ChunksStandInTheRecordAndOnThePage) {
  for (int i = 0; i < 8; ++i) write_photo("p" + std::to_string(i) + ".pgm", 60, 50);
  const ProgramResult result = look({"--chunk", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::size_t chunks = rows_of(folder_ / "out/chunks.csv").size();
  EXPECT_GE(chunks, 4U);
  EXPECT_EQ(record_in(folder_ / "out")["metrics"]["chunk_rss_bytes"]["samples"].size(), chunks);
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("What it cost"));
}

}  // namespace
}  // namespace evener
