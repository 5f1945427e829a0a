// evener faces on real photos with real weights, where they are at hand, against what other software found.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/real_data.h"
#include "base/tiny_onnx.h"
#include "support/faces_helpers.h"
#include "support/in_process_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::real_data;
using test::record_in;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FacesOnRealPhotos : public test::Faces {};

struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

double shared_part(const Box& a, const Box& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double both = std::max(0.0, width) * std::max(0.0, height);
  return both / ((a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - both);
}

Box box_of(const Row& row) {
  return {std::stod(row.at("x1")), std::stod(row.at("y1")), std::stod(row.at("x2")), std::stod(row.at("y2"))};
}

constexpr const char* kLandmarks[] = {"left_eye", "right_eye", "nose", "mouth_left", "mouth_right"};

/// The faces of facenet_pytorch_boxes.json and no others, each as near as float32 computations of two programs are.
void expect_reference(const std::string& set, const std::vector<Row>& rows) {
  const json reference = json::parse(read_file(real_data(set) / "facenet_pytorch_boxes.json"));
  std::size_t expected = 0;
  for (const auto& [name, photo] : reference.items()) {
    const std::string path = (real_data(set) / name).string();
    for (std::size_t i = 0; i < photo["boxes"].size(); ++i, ++expected) {
      const auto corners = photo["boxes"][i].get<std::vector<double>>();
      const Box box{corners[0], corners[1], corners[2], corners[3]};
      const auto row = std::ranges::find_if(
          rows, [&](const Row& row) { return row.at("file") == path && shared_part(box_of(row), box) > 0.99; });
      ASSERT_NE(row, rows.end()) << path << " face " << i;
      EXPECT_NEAR(std::stod(row->at("probability")), photo["probs"][i].get<double>(), 1e-4) << path;
      for (std::size_t k = 0; k < 5; ++k) {
        const auto point = photo["landmarks"][i][k].get<std::vector<double>>();
        EXPECT_NEAR(std::stod(row->at(std::string(kLandmarks[k]) + "_x")), point[0], 0.1) << path;
        EXPECT_NEAR(std::stod(row->at(std::string(kLandmarks[k]) + "_y")), point[1], 0.1) << path;
      }
    }
  }
  EXPECT_EQ(
      std::ranges::count_if(rows, [&](const Row& row) { return row.at("file").starts_with(real_data(set).string()); }),
      expected)
      << set;
}

TEST_F(FacesOnRealPhotos, HaveTheFacesAndTheLikenessOfTheReferences) {
  if (const std::string why = test::without_real_data({"faces", "mtcnn", "mobilefacenet"}); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const ProgramResult result = run({real_data("faces").string(), real_data("mtcnn").string(), "--detector-weights",
                                    real_data("mtcnn").string(), "--embedder", "mobilefacenet", "--weights",
                                    (real_data("mobilefacenet") / "068.ckpt").string(), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  expect_reference("faces", rows);
  expect_reference("mtcnn", rows);
  // The likeliest face of each photo, as the reference took it.
  const HostTensor embeddings =
      weights::read_safetensors(folder_ / "out/embeddings.safetensors").tensors.at("embeddings");
  const auto dimensions = static_cast<std::size_t>(embeddings.shape[1]);
  std::map<std::string, const float*> likeliest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    likeliest.emplace(rows[i].at("file"), embeddings.floats() + i * dimensions);
  }
  // The reference found its landmarks with a cascade of its own, so crops differ by a pixel or two; on random pairs
  // that moves a cosine by up to 0.12. One photo shows half a face only: where a cascade puts the landmarks that
  // lie beside it decides its cosines, which then are anything from 0.13 to 0.89.
  int same_found = 0, same_expected = 0;
  double difference = 0, pairs = 0;
  for (const Row& pair : rows_of(real_data("faces") / "reference_scores.csv")) {
    const std::string name = pair.at("file_a") + " " + pair.at("file_b");
    if (name.find("partial_face.jpg") != std::string::npos) continue;
    const float* a = likeliest.at((real_data("faces") / pair.at("file_a")).string());
    const float* b = likeliest.at((real_data("faces") / pair.at("file_b")).string());
    double cosine = 0;
    for (std::size_t i = 0; i < dimensions; ++i) cosine += static_cast<double>(a[i]) * b[i];
    const double expected = std::stod(pair.at("cosine_068ckpt_112x96_numpy"));
    EXPECT_NEAR(cosine, expected, 0.13) << name;
    difference += std::abs(cosine - expected);
    ++pairs;
    constexpr double kSame = 0.3;  // no two persons are as alike in the reference
    same_found += pair.at("same_person") == "1" && cosine > kSame ? 1 : 0;
    same_expected += pair.at("same_person") == "1" && expected > kSame ? 1 : 0;
    EXPECT_TRUE(pair.at("same_person") == "1" || cosine < kSame) << name;
  }
  ASSERT_GT(pairs, 200);
  EXPECT_LT(difference / pairs, 0.05);
  EXPECT_GE(same_found, same_expected);
}

// evener faces on photos as they lie about: odd ones are looked at, and what can't be is listed with its reason.

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
    return joined({file("photos"), "--detector-weights", weights().string(), "--confidence", "0,0,0", "--on", "cpu/t2",
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
  const ProgramResult result = look({"--confidence", "0.9,0.9,0.9"});
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
