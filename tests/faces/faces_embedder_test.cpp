// evener faces with an embedding network in a file of another program.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"
#include "base/five_points_onnx.h"
#include "base/tiny_onnx.h"
#include "support/faces_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using test::joined;
using test::ProgramResult;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FacesEmbedderFile : public test::Faces {
 protected:
  /// Networks that say what the mean of each channel is, of faces of 16 x 16 pixels where the file tells a size.
  void SetUp() override {
    test::Faces::SetUp();
    if (IsSkipped()) return;
    write_photo("a.pgm");
    write_photo("b.pgm");
    test::write_tiny_onnx(folder_ / "means.onnx", {.input = {-1, 3, 16, 16}, .axes = {2, 3}});
  }

  ProgramResult embed(const std::string& network, const Words& more = {}) const {
    return run(joined({file("photos"), "--detector-weights", weights().string(), "--confidence", "0,0,0", "--on",
                       "cpu/t1", "--out", file("out"), "--overwrite", "--embedder", file(network)},
                      more));
  }

  HostTensor embeddings() const {
    return weights::read_safetensors(folder_ / "out/embeddings.safetensors").tensors.at("embeddings");
  }
};

TEST_F(FacesEmbedderFile, AVectorForEachFace) {
  const ProgramResult result = embed("means.onnx");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--normalize 0.5/0.5 is assumed"));
  const HostTensor vectors = embeddings();
  EXPECT_EQ(vectors.shape[1], 3);
  EXPECT_NEAR(vectors.floats()[0], vectors.floats()[1], 1e-6) << "the photo is grey";
}

TEST_F(FacesEmbedderFile, AFileBesideItAndOptionsSayHowItSeesFaces) {
  test::write_tiny_onnx(folder_ / "any.onnx", {.input = {-1, 3, -1, -1}, .axes = {2, 3}});
  const ProgramResult refused = embed("any.onnx");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--size WIDTHxHEIGHT"));
  // Values of 1 and more, whose means differ only if the channels are normalised each in its own way.
  test::write_text(folder_ / "any.toml", "size = \"12x12\"\nnormalize = \"-1:-3:-5/1:1:1\"\n");
  ASSERT_EQ(embed("any.onnx", {"--cut", "upright"}).exit_code, 0);
  EXPECT_GT(embeddings().floats()[1], 1.2F * embeddings().floats()[0]);
  ASSERT_EQ(embed("any.onnx", {"--normalize", "-1/1"}).exit_code, 0);
  EXPECT_NEAR(embeddings().floats()[1], embeddings().floats()[0], 1e-6) << "an option counts more than the file";
  const ProgramResult other = run_here({file("photos"), "--detector-weights", weights().string(), "--size", "12x12"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--size is for a network in a file"));
}

TEST_F(FacesEmbedderFile, WhatIsNoEmbedderIsRefused) {
  test::write_tiny_onnx(folder_ / "maps.onnx", {.input = {-1, 3, 16, 16}, .axes = {1}});
  test::write_tiny_onnx(folder_ / "grey.onnx", {.input = {-1, 1, 16, 16}, .axes = {2, 3}});
  test::write_text(folder_ / "text.onnx", "this is text");
  const auto expect = [&](const ProgramResult& result, int exit_code, const std::string& part) {
    EXPECT_EQ(result.exit_code, exit_code) << part;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  };
  expect(embed("maps.onnx"), 1, "no vector of each, which would be of shape (8, D)");
  expect(embed("grey.onnx"), 1, "not colour images");
  expect(embed("text.onnx"), 1, "text.onnx");
  expect(embed("none.onnx"), 1, "none.onnx");
  expect(embed("means.onnx", {"--weights", file("weights/rnet.safetensors")}), 2, "leave out --weights");
  expect(embed("means.onnx", {"--margin", "16", "--cut", "box"}), 2, "--margin 16 leaves nothing");
}

TEST_F(FacesEmbedderFile, AnotherWayOfSeeingFacesIsNotMixed) {
  ASSERT_EQ(embed("means.onnx").exit_code, 0);
  const Words again = {file("photos"), "--detector-weights", weights().string(), "--confidence", "0,0,0",
                       "--out",        file("out"),          "--resume",         "--embedder",   file("means.onnx")};
  EXPECT_EQ(run(again).exit_code, 0);
  const ProgramResult result = run_here(joined(again, {"--cut", "upright"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--cut"), HasSubstr("--overwrite")));
}

// evener faces with a network in a file that finds the faces.

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
  refuses({"--detector", file("faces.onnx"), "--confidence", "0.4"}, "--confidence its default, not with 0.4");
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
  refuses(joined(by_file, {"--confidence", "0.6,0.7,0.7"}), "not a number from 0 to 1");
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
