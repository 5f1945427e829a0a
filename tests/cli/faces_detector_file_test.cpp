// evener faces with a network in a file that finds the faces.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/five_points_onnx.h"
#include "base/tiny_onnx.h"
#include "cli/faces_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

class FacesDetectorFile : public test::Faces {
 protected:
  /// A network that takes bright squares for faces, and one that says what the mean of each channel is.
  void SetUp() override {
    test::Faces::SetUp();
    if (IsSkipped()) return;
    test::write_five_points_onnx(folder_ / "faces.onnx", {});
    test::write_tiny_onnx(folder_ / "means.onnx", {.input = {-1, 3, 16, 16}, .axes = {2, 3}});
  }

  /// A black photo with a white square of `side` pixels at (x, 0).
  void write_square(const std::string& name, int width, int height, int x, int side) const {
    std::string pixels(static_cast<std::size_t>(width * height), '\0');
    for (int row = 0; row < side; ++row) {
      std::fill_n(pixels.begin() + row * width + x, side, '\xff');
    }
    test::write_text(folder_ / "photos" / name,
                     "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" + pixels);
  }

  Words look(const Words& more = {}) const {
    return joined({file("photos"), "--embedder", file("means.onnx"), "--on", "cpu/t2", "--out", file("out")}, more);
  }
  ProgramResult find(const Words& more = {}) const {
    return run(joined(look({"--detector", file("faces.onnx")}), more));
  }
};

TEST_F(FacesDetectorFile, FindsFacesOnPhotosOfAllSizes) {
  write_square("fits.pgm", 96, 64, 32, 32);
  write_square("large.pgm", 192, 128, 64, 64);
  write_square("tall.pgm", 96, 192, 0, 96);
  write_square("none.pgm", 50, 40, 0, 0);
  const ProgramResult result = find();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("a SCRFD that sees photos fitted into 96x64 pixels")));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("3 faces on 4 photos"), HasSubstr("SCRFD's network"), Not(HasSubstr("MTCNN"))));
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].at("file"), file("photos/large.pgm"));
  EXPECT_NEAR(std::stod(rows[1].at("x1")), 64, 0.01);
  EXPECT_NEAR(std::stod(rows[1].at("x2")), 128, 0.01);
  EXPECT_NEAR(std::stod(rows[1].at("right_eye_x")), 112, 0.01);
  EXPECT_THAT(read_file(folder_ / "out/record.json"), HasSubstr("faces.onnx"));
}

TEST_F(FacesDetectorFile, ARunIsGoneOnWithTheSameDetectorAlone) {
  write_square("a.pgm", 96, 64, 32, 32);
  ASSERT_EQ(find().exit_code, 0);
  write_square("b.pgm", 96, 64, 64, 32);
  const ProgramResult more = find({"--resume"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("1 known from before, 1 new"));
  const auto refuses = [&](const Words& words, const std::string& option) {
    const ProgramResult result = run_here(joined(look({"--resume"}), words));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr("were found with " + option), HasSubstr("--overwrite")));
  };
  refuses({"--detector-weights", weights().string()}, "--detector a file of content");
  refuses({"--detector", file("faces.onnx"), "--thresholds", "0.4"}, "--thresholds its default, not with 0.4");
  refuses({"--detector", file("faces.onnx"), "--min-size", "30"}, "--min-size 0");
  test::write_five_points_onnx(folder_ / "other.onnx", {.channels = {1, 1, 2}});
  refuses({"--detector", file("other.onnx")}, "--detector a file of content");
}

// A score of 0.85 is a sure one of SCRFD, and none of MTCNN.
TEST_F(FacesDetectorFile, ItsOwnSureFacesBeginAPerson) {
  test::write_five_points_onnx(folder_ / "faces.onnx", {.channels = {0.85F, 0.85F, 0.85F}});
  write_square("a.pgm", 96, 64, 32, 64);
  write_square("b.pgm", 96, 64, 0, 64);
  ASSERT_EQ(find({"--founder-size", "30", "--limit", "2"}).exit_code, 0);
  const auto grouped = [&](const std::string& out) {
    for (const Row& row : rows_of(folder_ / out)) {
      if (row.at("group").empty()) return false;
    }
    return true;
  };
  EXPECT_TRUE(grouped("out/faces.csv"));
  const ProgramResult again =
      run_here({file("out/embeddings.safetensors"), "--founder-size", "30", "--limit", "2", "--out", file("again")});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(grouped("again/groups.csv")) << "the embeddings' file says from where on a face is sure";
}

TEST_F(FacesDetectorFile, OptionsOfOneDetectorAreNotOfTheOther) {
  write_square("a.pgm", 96, 64, 32, 32);
  const auto refuses = [&](const Words& words, const std::string& part, int exit_code = 2) {
    const ProgramResult result = run_here(look(words));
    EXPECT_EQ(result.exit_code, exit_code) << part;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists(folder_ / "out")) << part;
  };
  const Words by_file = {"--detector", file("faces.onnx")};
  refuses(joined(by_file, {"--detector-weights", "mtcnn"}), "--detector-weights is for mtcnn");
  refuses(joined(by_file, {"--factor", "0.5"}), "--factor is for mtcnn");
  refuses(joined(by_file, {"--thresholds", "0.6,0.7,0.7"}), "no number from 0 to 1");
  refuses(joined(by_file, {"--detector-size", "100x64"}), "--detector-size");
  refuses(joined(by_file, {"--detector-size", "wide"}), "wide");
  refuses({"--detector-weights", weights().string(), "--detector-size", "64x64"}, "is for a detector in a file");
  refuses({"--detector", "mtcn"}, "mtcnn");
  refuses({"--detector", file("means.onnx")}, "no face detector that is known", 1);
  refuses({"--detector", file("none.onnx")}, "none.onnx", 1);
}

TEST_F(FacesDetectorFile, WithoutWeightsTheOthersAreNamedWithTheirLicence) {
  write_square("a.pgm", 96, 64, 32, 32);
  const ProgramResult result = run_here(look());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--detector-weights mtcnn"), HasSubstr("YuNet of OpenCV Zoo (MIT)"),
                                HasSubstr("SCRFD of InsightFace"), HasSubstr("research that isn't commercial")));
}

}  // namespace
}  // namespace evener
