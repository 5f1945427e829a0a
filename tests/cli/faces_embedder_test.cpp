// evener faces with an embedding network in a file of another program.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"
#include "base/tiny_onnx.h"
#include "cli/faces_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using Words = test::Words;

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
    return run(joined({file("photos"), "--detector-weights", weights().string(), "--thresholds", "0,0,0", "--on",
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
  const Words again = {file("photos"), "--detector-weights", weights().string(), "--thresholds", "0,0,0",
                       "--out",        file("out"),          "--resume",         "--embedder",   file("means.onnx")};
  EXPECT_EQ(run(again).exit_code, 0);
  const ProgramResult result = run_here(joined(again, {"--cut", "upright"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--cut"), HasSubstr("--overwrite")));
}

}  // namespace
}  // namespace evener
